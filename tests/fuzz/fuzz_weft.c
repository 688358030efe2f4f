/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * QPs of the weft framing under engines that take packets in any order, with every optional part,
 * between an enemy on the wire (attack.h) and applications that change their minds (apps.h). Memory
 * and neighbours are as fuzz_stack.c has it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps.h"
#include "attack.h"
#include "judge.h"
#include "sr.h"
#include "trim.h"

static uint64_t nb_frames;

static struct crowd crowd;
static struct attack enemy = {.crowd = &crowd};
static struct apps apps;

/* ---- the enemy ---- */

/* A switch on the way may cut what lets itself be cut. */
static uint32_t
trim(struct script *s, uint8_t *frame, uint32_t len)
{
	bool ipv6 = crowd.w.conf.ipv6;

	if (script_below(s, 4) || len < 64 || !wire_may_trim(frame, len, 14, ipv6))
		return len;
	return wire_trim(frame, 14, ipv6);
}

static void
attack(struct script *s, int side)
{
	static uint8_t frame[ATTACK_FRAME_MAX];
	static struct judge judge;

	for (uint32_t n = 1 + script_below(s, 6); n > 0; n--) {
		uint32_t len = trim(s, frame, attack_make(&enemy, s, side, CROWD_RC, frame));
		struct pkt *pkt;

		FUZZ_CHECK(crowd.w.pool->alloc(crowd.w.pool, &pkt, 1) == 1);
		memcpy(pkt->data, frame, len);
		pkt->len = len;
		judge_begin(&judge, &crowd, side);
		stack_rx(crowd.w.nic[side], &pkt, 1, crowd.w.now_ns);
		judge_one(&judge, frame, len);
		nb_frames++;
	}
	apps_take(&apps, side);
}

static void
rest(struct script *s)
{
	for (uint32_t n = script_below(s, 32); n > 0; n--) {
		crowd_run(&crowd, 1);
		apps_take(&apps, 0);
		apps_take(&apps, 1);
	}
}

/* ---- engines ---- */

static struct reliability_ops gbn_all, sr_odd;

/* Whatever an engine may answer to a packet beyond what is due, by turns. */
static void
answer_oddly(const struct rel_head *h, const struct rel_rx *rx, struct rel_rx_out *out)
{
	static const enum rel_resp answers[] = {REL_RESP_GAP, REL_RESP_MISSING, REL_RESP_RESTART};
	uint64_t nb = rx->psn - h->rx_cum;

	out->resp = answers[rx->psn % 3];
	out->miss_first = h->rx_cum;
	out->miss_stride = 1;
	out->miss_count = nb < REL_MISSING_MAX ? (uint32_t)nb : REL_MISSING_MAX;
}

static void
odd_on_data(void *state, const struct rel_rx *rx, uint64_t now_ns, struct rel_rx_out *out)
{
	sr_ops.on_data(state, rx, now_ns, out);
	if (out->resp == REL_RESP_GAP)
		answer_oddly(state, rx, out);
}

static void
odd_on_trimmed(void *state, const struct rel_rx *rx, uint64_t now_ns, struct rel_rx_out *out)
{
	const struct rel_head *h = state;

	(void)now_ns;
	if (rx->psn <= h->rx_cum || rx->psn % 2)
		out->resp = REL_RESP_BOUNCE;
	else
		answer_oddly(h, rx, out);
}

static void
make_engines(void)
{
	gbn_all = *reliability_find("gbn");
	gbn_all.info.wire = WIRE_SACK | WIRE_TS | WIRE_CE_ECHO | WIRE_ACK_EACH;
	sr_odd = sr_ops;
	sr_odd.info.wire |= WIRE_TRIM;
	sr_odd.on_data = odd_on_data;
	sr_odd.on_trimmed = odd_on_trimmed;
}

/* ---- an input ---- */

static void
begin(struct script *s)
{
	const struct reliability_ops *engines[] = {reliability_find("gbn"), &gbn_all, &sr_ops,
	                                           &sr_all_ops, &sr_odd};
	static const uint32_t windows[] = {256, 256, 64, 5}, msns[] = {0, 0xffffff, 0x7ffffe};
	struct world_conf conf = {.nb_pkts = 1024,
	                          .weft = true,
	                          .ipv6 = script_below(s, 4) == 0,
	                          .rel = engines[script_below(s, 5)],
	                          .window_pkts = windows[script_below(s, 4)],
	                          .first_msn = msns[script_below(s, 3)],
	                          .tap = attack_tap,
	                          .tap_arg = &enemy};

	make_engines();
	setenv("WEFT_TEST_FRAMING", "weft", 1);
	memset(enemy.nb_seen, 0, sizeof(enemy.nb_seen));
	memset(enemy.seen, 0, sizeof(enemy.seen));
	crowd_open(&crowd, &conf);
	apps_open(&apps, &crowd, s);
}

static void
end(void)
{
	apps_close(&apps);
	crowd_close(&crowd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct script s = {.data = data, .len = len};

	begin(&s);
	while (s.at < s.len) {
		int side = (int)script_below(&s, 2);

		apps_mend(&apps, &s);
		switch (script_below(&s, 16)) {
		case 0:
			apps_change_state(&apps, &s, side);
			break;
		case 1:
		case 2:
		case 3:
		case 4:
			rest(&s);
			break;
		case 5:
		case 6:
		case 7:
		case 8:
			apps_post(&apps, &s, side);
			break;
		default:
			attack(&s, side);
			break;
		}
	}
	end();
	return 0;
}

#ifndef FUZZ_LIBFUZZER
int
main(int argc, char **argv)
{
	static const struct fuzz fuzz = {
		.name = "weft",
		.unit = "packets",
		.max_len = 8192,
		.nb_done = &nb_frames,
	};

	return fuzz_main(argc, argv, &fuzz);
}
#endif
