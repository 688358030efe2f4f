/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An enemy on the wire: frames that look like those of a peer, right or wrong in any field, of any
 * length, in any order, at both ends of connections that work. The attacked QPs may fail; nothing
 * crashes, nothing is written where it may not be, every drop has its reason, and others do not
 * notice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attack.h"
#include "judge.h"

static uint64_t nb_frames;

/* Honest work of the attacked QPs, so that there is something to disturb. */
static void
post(struct crowd *c, struct script *s, int side, int type)
{
	static const uint8_t ops[] = {SHM_WR_SEND,      SHM_WR_WRITE,     SHM_WR_READ,
	                              SHM_WR_FETCH_ADD, SHM_WR_WRITE_IMM, SHM_WR_BIND_MW,
	                              SHM_WR_LOCAL_INV, SHM_WR_SEND_INV};
	struct crowd_end *me = &c->end[side], *peer = &c->end[!side];
	struct app_qp *a = &me->qp[type];
	uint8_t op = type == CROWD_RC ? ops[script_below(s, 8)] : ops[script_below(s, 2)];
	struct shm_send_wqe wqe = {.op = type == CROWD_UD ? SHM_WR_SEND : op,
	                           .flags = (uint8_t)script_take(s, 1) & 7,
	                           .nb_sge = 1,
	                           .remote_addr = (uintptr_t)peer->buf,
	                           .rkey = peer->mr.mr->key,
	                           .imm = me->window->key};
	struct shm_sge sge = {(uintptr_t)me->buf, op == SHM_WR_FETCH_ADD ? 8 : attack_pick_len(s),
	                      me->mr.mr->key};
	struct shm_cqe cqe;

	while (local_poll(&a->scq, &cqe) || local_poll(&a->rcq, &cqe))
		;
	for (uint32_t n = 1 + script_below(s, 4); n > 0; n--)
		if (a->rq.tail - atomic_load(&a->rq.ring->ring.head) < a->rq.nb_slots)
			app_post_recv(a, 0, &sge, 1);
	if (a->sq.tail - atomic_load(&a->sq.ring->ring.head) >= a->sq.nb_slots)
		return;
	if (op == SHM_WR_BIND_MW) {
		wqe.nb_sge = 0;
		wqe.bind.addr = (uintptr_t)me->buf;
		wqe.bind.length = CROWD_BUF / 2;
		wqe.bind.mw_rkey = me->window->key;
		wqe.bind.mr_lkey = me->mr.mr->key;
		wqe.bind.access = 14;
	}
	if (type == CROWD_UD) {
		wqe.ud.av = app_attr(a, &peer->qp[type]).av;
		wqe.ud.qpn = peer->qp[type].qp->qpn;
		wqe.ud.qkey = 0x1234;
	}
	app_post_send(a, &wqe, &sge);
}

static void
receive(struct crowd *c, int side, uint8_t frames[][ATTACK_FRAME_MAX], const uint32_t *lens,
        uint32_t n)
{
	struct pkt *pkts[STACK_BURST];
	uint32_t nb = c->w.pool->alloc(c->w.pool, pkts, n) ? n : 0;

	FUZZ_CHECK(nb == n);
	for (uint32_t i = 0; i < n; i++) {
		memcpy(pkts[i]->data, frames[i], lens[i]);
		pkts[i]->len = lens[i];
	}
	nb_frames += n;
	stack_rx(c->w.nic[side], pkts, n, c->w.now_ns);
}

/* One frame at a time; the same one again and again is a flood. */
static void
attack_singly(struct attack *a, struct script *s, int side, int type, uint32_t n, bool flood)
{
	static uint8_t frame[1][ATTACK_FRAME_MAX];
	static struct judge judge;
	uint32_t len = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!flood || i == 0)
			len = attack_make(a, s, side, type, frame[0]);
		judge_begin(&judge, a->crowd, side);
		receive(a->crowd, side, frame, &len, 1);
		judge_one(&judge, frame[0], len);
	}
}

static void
attack_at_once(struct attack *a, struct script *s, int side, int type, uint32_t n)
{
	static uint8_t frames[STACK_BURST][ATTACK_FRAME_MAX];
	static struct judge judge;
	uint32_t lens[STACK_BURST];

	for (uint32_t i = 0; i < n; i++)
		lens[i] = attack_make(a, s, side, type, frames[i]);
	judge_begin(&judge, a->crowd, side);
	receive(a->crowd, side, frames, lens, n);
	judge_many(&judge, n);
}

static void
attack(struct attack *a, struct script *s, int side, int type)
{
	uint32_t n = 1 + script_below(s, 8);

	switch (script_below(s, 16)) {
	case 0:
		attack_at_once(a, s, side, type, STACK_BURST / 8 * n);
		break;
	case 1:
		attack_singly(a, s, side, type, RESP_FIFO_LEN / 4 * n, true);
		break;
	default:
		attack_singly(a, s, side, type, n, false);
		break;
	}
}

static struct crowd crowd;
static struct attack enemy = {.crowd = &crowd};

/* Of all NICs that were attacked. */
static struct nic_stats sums;

static void
end(void)
{
	for (int i = 0; i < 2; i++) {
		const struct nic_stats *s = &crowd.w.nic[i]->stats;

		sums.rx_packets += s->rx_packets;
		for (uint32_t k = 0; k < WIRE_BAD_NB; k++)
			sums.bad[k] += s->bad[k];
		for (uint32_t k = 0; k < DROP_NB; k++)
			sums.drop[k] += s->drop[k];
	}
	crowd_close(&crowd);
}

static void
begin(bool ipv6)
{
	struct world_conf conf = {
		.nb_pkts = 512, .ipv6 = ipv6, .tap = attack_tap, .tap_arg = &enemy};

	enemy.nb_seen[0] = enemy.nb_seen[1] = 0;
	memset(enemy.seen, 0, sizeof(enemy.seen));
	crowd_open(&crowd, &conf);
}

static void
mend(int type)
{
	for (int i = 0; i < 2; i++) {
		uint8_t state = crowd.end[i].qp[type].qp->state;

		if (state == SHM_QPS_ERR || state == SHM_QPS_SQE)
			crowd_connect(&crowd, type);
	}
}

/* Time passes, for everybody; before the longest of these, some classes are paused or opened. */
static void
rest(struct script *s, int side)
{
	uint32_t nb_turns = script_below(s, 6);

	if (nb_turns == 5) {
		uint8_t classes = (uint8_t)script_take(s, 1);

		world_pause(&crowd.w, side, classes, (uint16_t)script_take(s, 2));
	}
	crowd_run(&crowd, nb_turns);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct script s = {.data = data, .len = len};

	begin(script_below(&s, 4) == 0);
	while (s.at < s.len) {
		int side = (int)script_below(&s, 2), type = (int)script_below(&s, CROWD_TYPES);

		mend(type);
		switch (script_below(&s, 4)) {
		case 0:
			post(&crowd, &s, side, type);
			break;
		case 1:
			rest(&s, side);
			break;
		default:
			attack(&enemy, &s, side, type);
			break;
		}
	}
	end();
	return 0;
}

#ifndef FUZZ_LIBFUZZER
/* Whole frames with one opcode and each number of bytes behind the headers, to both ends. */
static void
try_lengths(int type, uint8_t opcode, uint32_t step)
{
	static uint8_t frame[1][ATTACK_FRAME_MAX];
	static struct judge judge;
	static uint8_t random[64];

	for (uint32_t len = 0; len <= 4200; len += len % 1024 < 8 || len % 1024 > 1016 ? 1 : step) {
		struct script s = {.data = random, .len = sizeof(random)};
		int side = (int)(len & 1);
		uint32_t frame_len;

		mend(type);
		memset(random, (int)len, sizeof(random));
		post(&crowd, &s, side, type);
		crowd_run(&crowd, 1);
		frame_len = attack_make_len(&enemy, side, type, opcode, len, frame[0]);
		judge_begin(&judge, &crowd, side);
		receive(&crowd, side, frame, &frame_len, 1);
		judge_one(&judge, frame[0], frame_len);
	}
}

static void
try_all_lengths(uint32_t step)
{
	const uint8_t transports[CROWD_TYPES] = {world_speaks_weft() ? OP_WEFT : OP_RC, OP_UC,
	                                         OP_UD};

	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		begin(ipv6);
		for (uint32_t op = 0; op < 256; op++)
			for (int t = 0; t < CROWD_TYPES; t++)
				if (opcode_table[op].flags &&
				    !(opcode_table[op].flags & OPF_BOUNCE) &&
				    (op == OP_CNP || (op & OP_TRANSPORT_MASK) == transports[t]))
					try_lengths(t, (uint8_t)op, step);
		end();
	}
}

/* What nothing that comes in can be dropped for: reasons of what goes out, of the other framing. */
static bool
is_out_of_reach(const uint64_t *n)
{
	static const enum drop never[] = {DROP_NO_NEIGH, DROP_LINK, DROP_MTU};
	static const enum drop plain[] = {DROP_PARTS, DROP_MESSAGE};
	static const enum drop weft[] = {DROP_SEQUENCE};
	bool is_weft = world_speaks_weft();
	const enum drop *list = is_weft ? weft : plain;
	uint32_t nb = is_weft ? sizeof(weft) / sizeof(weft[0]) : sizeof(plain) / sizeof(plain[0]);

	for (uint32_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (n == &sums.drop[never[i]])
			return true;
	for (uint32_t i = 0; i < nb; i++)
		if (n == &sums.drop[list[i]])
			return true;
	return false;
}

/* An attack that does not get to a reason does not test it. */
static int
nb_reasons_missing(void)
{
	int nb = 0;

	STAT_FOREACH (d, nic_stat_descs) {
		const uint64_t *n =
			(const uint64_t *)(const void *)((const char *)&sums + d->offset);
		bool is_reason = n > sums.bad && n < sums.drop + DROP_NB;

		if (!is_reason)
			continue;
		printf("%-22s %12llu\n", d->name, (unsigned long long)*n);
		nb += !*n && !is_out_of_reach(n);
	}
	return nb;
}

int
main(int argc, char **argv)
{
	static const struct fuzz fuzz = {
		.name = "stack",
		.unit = "packets",
		.max_len = 8192,
		.nb_done = &nb_frames,
	};
	int code;

	if (argc <= 1 || strtoull(argv[1], NULL, 0) % 2)
		try_all_lengths(getenv("WEFT_TEST_LONG") ? 1 : 61);
	printf("%llu packets of all lengths\n", (unsigned long long)nb_frames);
	nb_frames = 0;
	code = fuzz_main(argc, argv, &fuzz);
	if (nb_frames < 100000)
		return code;
	return code ? code : nb_reasons_missing();
}
#endif
