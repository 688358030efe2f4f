/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hostile peer: any RoCE packets with a right ICRC and the right addresses may come at any time,
 * between honest ones. Nothing crashes, nothing is written outside of what was registered, and the
 * other connections of the NIC do not notice.
 *
 *   fuzz_stack [SEED [COUNT]]   random inputs
 *   clang -fsanitize=fuzzer -DFUZZ_LIBFUZZER: without main
 */
#include <string.h>

#include "crowd.h"

static const uint8_t rc_ops[] = {0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
                                 0x09, 0x0a, 0x0b, 0x0c, 0x0c, 0x0d, 0x0e, 0x0f, 0x10,
                                 0x11, 0x11, 0x11, 0x12, 0x13, 0x14, 0x16, 0x17, OP_CNP};

static uint8_t
pick_opcode(struct script *s, int type)
{
	if (script_below(s, 16) == 0)
		type = (int)script_below(s, CROWD_TYPES);
	switch (type) {
	case CROWD_RC:
		return rc_ops[script_below(s, sizeof(rc_ops))];
	case CROWD_UC:
		return (uint8_t)(OP_UC | script_below(s, 12));
	default:
		return (uint8_t)(OP_UD | OP_SEND_ONLY | script_below(s, 2));
	}
}

/* Mostly near what is due: at the responder, or at the requester. */
static uint32_t
pick_psn(struct script *s, const struct qp *qp)
{
	uint32_t due = (uint32_t)(script_below(s, 2) ? qp->rel->rx_cum : qp->rel->tx_una);

	switch (script_below(s, 8)) {
	case 0:
		return (uint32_t)script_take(s, 3);
	case 1:
		return (due + (uint32_t)(int8_t)script_take(s, 1)) & 0xffffff;
	case 2:
		return (uint32_t)(qp->tx_nxt_psn - script_below(s, 4)) & 0xffffff;
	default:
		return due & 0xffffff;
	}
}

static uint32_t
pick_len(struct script *s)
{
	static const uint32_t lens[] = {0, 1, 4, 8, 1023, 1024, 1025, 2048, 4095, 4096};

	return script_below(s, 3) ? lens[script_below(s, 10)] : (uint32_t)script_take(s, 2) % 4097;
}

static uint32_t
pick_dma_len(struct script *s, uint32_t payload_len)
{
	switch (script_below(s, 4)) {
	case 0:
		return (uint32_t)script_take(s, 4);
	case 1:
		return payload_len;
	case 2:
		return 1024u * script_below(s, 17);
	default:
		return pick_len(s);
	}
}

static struct wire_pkt
make(struct script *s, const struct crowd_end *to, const struct crowd_end *from, int type)
{
	const struct qp *qp = to->qp[type].qp;
	struct wire_pkt w = {
		.opcode = pick_opcode(s, type),
		.mig_req = true,
		.pkey = PKEY_DEFAULT,
		.dest_qpn = qp->qpn,
		.psn = pick_psn(s, qp),
		.ack_req = script_below(s, 2),
		.solicited = script_below(s, 2),
		.fecn = script_below(s, 2),
		.syndrome = script_below(s, 3) ? AETH_ACK : (uint8_t)script_take(s, 1),
		.msn = (uint32_t)script_take(s, 1),
		.va = (uintptr_t)to->buf,
		.rkey = to->mr.mr->key,
		.inv_rkey = to->window->key,
		.qkey = script_below(s, 8) ? 0x1234 : 0x4321,
		.src_qpn = from->qp[type].qp->qpn,
		.swap_add = script_take(s, 1),
	};

	if (opcode_table[w.opcode].flags & OPF_PAYLOAD)
		w.payload_len = pick_len(s);
	if (w.opcode == OP_CNP)
		w.payload_len = 0;
	w.dma_len = pick_dma_len(s, w.payload_len);
	switch (script_below(s, 8)) {
	case 0:
		w.va += script_take(s, 2);
		break;
	case 1:
		w.va -= script_take(s, 1);
		break;
	case 2:
		w.va = script_take(s, 8);
		break;
	case 3:
		w.rkey = to->window->key;
		break;
	case 4:
		w.rkey ^= (uint32_t)script_take(s, 1);
		break;
	default:
		break;
	}
	return w;
}

static struct pkt *
build(struct crowd *c, int side, const struct wire_pkt *w, struct script *s)
{
	struct wire_addr addr = {.ttl = 64,
	                         .dst = c->w.nic[side]->gids[1],
	                         .src = c->w.nic[!side]->gids[1],
	                         .dmac = {2, 0, 0, 0, 0, (uint8_t)(side + 1)},
	                         .smac = {2, 0, 0, 0, 0, (uint8_t)(!side + 1)}};
	struct wire_path path;
	struct pkt *p;
	uint32_t crc, len;
	uint8_t seed = (uint8_t)script_take(s, 1);

	if (!c->w.pool->alloc(c->w.pool, &p, 1))
		return NULL;
	wire_path_init(&path, &addr);
	len = wire_build(p->data, &path, w, 0xc000, 2 + (seed & 1), &crc);
	for (uint32_t i = 0; i < w->payload_len; i++)
		p->data[len + i] = (uint8_t)(seed + i);
	crc = icrc_update(crc, p->data + len, w->payload_len);
	len += w->payload_len;
	p->len = len + wire_end(p->data + len, w->payload_len, crc);
	return p;
}

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
	struct shm_sge sge = {(uintptr_t)me->buf, op == SHM_WR_FETCH_ADD ? 8 : pick_len(s),
	                      me->mr.mr->key};
	struct shm_cqe cqe;

	while (app_poll(&a->scq, &cqe) || app_poll(&a->rcq, &cqe))
		;
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
attack(struct crowd *c, struct script *s)
{
	struct pkt *pkts[STACK_BURST];
	uint32_t n = 0, want = 1 + script_below(s, 8);
	int side = (int)script_below(s, 2), type = (int)script_below(s, CROWD_TYPES);

	while (n < want) {
		struct wire_pkt w = make(s, &c->end[side], &c->end[!side], type);

		pkts[n] = build(c, side, &w, s);
		if (!pkts[n])
			break;
		n++;
	}
	stack_rx(c->w.nic[side], pkts, n, c->w.now_ns);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct script s = {.data = data, .len = len};
	static struct crowd c;

	crowd_open(&c);
	while (s.at < s.len) {
		int side = (int)script_below(&s, 2), type = (int)script_below(&s, CROWD_TYPES);
		uint8_t state = c.end[side].qp[type].qp->state;

		if (state == SHM_QPS_ERR || state == SHM_QPS_SQE)
			crowd_connect(&c, type);
		switch (script_below(&s, 4)) {
		case 0:
			post(&c, &s, side, type);
			break;
		case 1:
			crowd_run(&c, script_below(&s, 6));
			break;
		default:
			attack(&c, &s);
			break;
		}
	}
	crowd_close(&c);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
int
main(int argc, char **argv)
{
	return crowd_main(argc, argv, 8192);
}
#endif
