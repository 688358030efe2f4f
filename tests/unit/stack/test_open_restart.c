/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "open_rig.h"
#include "prng.h"

/* NICs that are started anew, at any time. */

/* Trace 7 of the worked examples: nobody at the other end says anything by himself. */
Test(open_restart, silence_after_a_restart_is_asked_about)
{
	struct world_conf wc = wishing(AUTO, AUTO);
	struct app_qp qp[2];
	struct world w;

	world_open(&w, &wc);
	app_open(&qp[0], &w, 0, NULL);
	app_open(&qp[1], &w, 1, NULL);
	both_to_rts(&qp[0], &qp[1]);
	world_run(&w, TURNS(50));
	cr_assert_eq(qp[0].qp->framing, QP_WEFT);
	app_close(&qp[1]);
	world_restart(&w, 1);
	world_run(&w, TURNS(50));
	cr_expect_eq(qp[0].qp->state, SHM_QPS_RTS, "it has nothing to ask");
	post_empty_write(&qp[0], 1);
	world_run(&w, TURNS(7));
	cr_expect_eq(qp[0].qp->state, SHM_QPS_ERR);
	cr_expect(strstr(why_failed(&qp[0]), "started anew"), "%s", why_failed(&qp[0]));
	cr_expect_eq(peers_stats(w.nic[0]->peers)->rx_stale, 1);
	app_close(&qp[0]);
	world_close(&w);
}

static void
expect_right_reason(const struct app_qp *a, uint32_t seed)
{
	static const char *const reasons[] = {
		"started anew",    "never became ready", "no answer in time",
		"no neighbour",    "speaks RoCEv2 only", /* nothing was heard from it for 300 ms */
		"is plain RoCEv2",                       /* the same on the other side */
	};
	const char *text = why_failed(a);
	bool is_right = false;

	if (a->qp->state != SHM_QPS_ERR)
		return;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		is_right |= strstr(text, reasons[i]) != NULL;
	cr_expect(is_right, "seed %u: %s", seed, text);
}

/* A message that looks as if it came from the other side, to which a stranger knows no secret. */
static void
forge(struct world *w, int side, struct prng *rng)
{
	static const uint8_t types[] = {HELLO_ASK,    HELLO_COOKIE, HELLO_WELCOME,
	                                HELLO_ANSWER, HELLO_STALE,  HELLO_OPEN};
	struct hello_msg msg = {
		.type = types[prng_below(rng, 6)],
		.version = HELLO_VERSION,
		.nonce = prng_next(rng),
		.token = prng_next(rng),
		.nb_qps = 1,
		.who = {.boot_id = prng_next(rng),
	                .token = prng_next(rng),
	                .engine = "forged",
	                .version_min = 1},
		.qp[0] = {.window_pkts = 1, .max_msgs = 16, .mtu_code = 1, .engine = "forged"}};

	if (prng_below(rng, 2))
		memset(msg.cookie, 0x77, sizeof(msg.cookie));
	say(w, side, &msg);
}

/* A forger speaks once a millisecond to each side. */
static void
run_forged(struct world *w, uint64_t turns, struct prng *rng)
{
	for (; turns > 0; turns--) {
		world_step(w);
		if (turns % TURNS(1) == 0) {
			forge(w, 0, rng);
			forge(w, 1, rng);
		}
	}
}

static bool
is_decided(const struct app_qp *a)
{
	return a->qp->state == SHM_QPS_ERR || a->qp->framing != QP_PENDING;
}

/* From now on the link loses half of all, doubles and reorders. */
static void
spoil(struct world *w, uint32_t seed)
{
	struct fault_dir bad = {.reorder_pkts = 4, .reorder_ns = 5 * MS};
	struct fault_params fault = {.seed = seed + 1};

	bad.ppm[FAULT_LOSS] = 500000;
	bad.ppm[FAULT_DUPLICATE] = 200000;
	bad.ppm[FAULT_REORDER] = 200000;
	fault.rx = fault.tx = bad;
	world_spoil(w, &fault);
}

/* The QP whose peer is gone has failed, and the next ones are decided; or time is up. */
static void
run_to_the_end(struct world *w, const struct app_qp *left, const struct app_qp next[2],
               struct prng *rng)
{
	for (uint32_t ms = 0; ms < 3200; ms += 10) {
		if (left->qp->state == SHM_QPS_ERR && is_decided(&next[0]) && is_decided(&next[1]))
			break;
		run_forged(w, TURNS(10), rng);
	}
}

/*
 * Either side starts anew at any time, on a bad link; the other side's QP has work. It ends in
 * time, for the right reason; and the next one works.
 */
static bool
restart_once(uint32_t seed)
{
	const struct fault_params healed = {.seed = seed + 1};
	int dying = (int)(seed >> 2 & 1);
	struct world_conf wc = wishing(seed & 1 ? AUTO : WEFT, seed & 2 ? AUTO : WEFT);
	struct app_qp qp[2], next[2], *left = &qp[!dying];
	struct world w;
	struct prng rng;
	bool is_weft;

	prng_seed(&rng, seed);
	world_open(&w, &wc);
	spoil(&w, seed);
	for (int side = 0; side < 2; side++)
		app_open(&qp[side], &w, side, NULL);
	both_to_rts(&qp[0], &qp[1]);
	run_forged(&w, prng_below(&rng, TURNS(300)), &rng);

	app_close(&qp[dying]);
	world_restart(&w, dying);
	if (left->qp->state == SHM_QPS_RTS)
		post_empty_write(left, 7);
	run_forged(&w, prng_below(&rng, TURNS(200)), &rng);
	port_fault_set(w.port[0], &healed);
	for (int side = 0; side < 2; side++)
		app_open(&next[side], &w, side, NULL);
	both_to_rts(&next[0], &next[1]);
	run_to_the_end(&w, left, next, &rng);

	cr_expect_eq(left->qp->state, SHM_QPS_ERR, "seed %u", seed);
	expect_right_reason(left, seed);
	for (int side = 0; side < 2; side++)
		expect_right_reason(&next[side], seed);
	if (next[0].qp->state == SHM_QPS_RTS && next[1].qp->state == SHM_QPS_RTS)
		cr_expect_eq(next[0].qp->framing, next[1].qp->framing, "seed %u", seed);
	is_weft = next[0].qp->framing == QP_WEFT && next[0].qp->state == SHM_QPS_RTS;
	app_close(left);
	app_close(&next[0]);
	app_close(&next[1]);
	world_close(&w);
	return is_weft;
}

Test(open_restart, restarts_at_any_time_end_in_open_or_failed_for_the_right_reason)
{
	uint32_t nb_weft = 0;

	for (uint32_t seed = 0; seed < 200; seed++)
		nb_weft += restart_once(seed);
	cr_expect_gt(nb_weft, 120, "only %u of 200 were open in the end", nb_weft);
	cr_log_info("%u of 200 open in the end", nb_weft);
}
