/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the stack pays per packet beside bytes: timers, look-ups, turns and pace, go-back-N.
 * ns per operation; median of five runs of CPU time.
 */
#include <stdio.h>

#include "bind.h"
#include "keytab.h"
#include "prng.h"
#include "sched.h"
#include "timing.h"
#include "wheel.h"

enum { NB_QPS = 10000, NB_OPS = 2000000 };

static struct wheel wheel;
static struct wheel_timer timers[NB_QPS];
static struct sched sched;
static struct sched_ent ents[NB_QPS];
static struct sched_group groups[NB_QPS];
static uint32_t order[1 << 16]; /**< random QPs, so that the PRNG is not timed */

static void
report(const char *what, double ns[TIMING_RUNS])
{
	printf("  %-58s %6.1f ns\n", what, timing_median(ns));
}

/** A packet's timer is put off by 4 ms, as with every acknowledgement; loop turns of 1 us. */
static void
bench_wheel_put_off(void)
{
	double ns[TIMING_RUNS];

	for (int run = 0; run < TIMING_RUNS; run++) {
		uint64_t start, now = 0, fired = 0;

		wheel_init(&wheel, 0, 6);
		for (int i = 0; i < NB_QPS; i++)
			wheel_timer_init(&timers[i]);
		start = timing_now_ns();
		for (uint32_t i = 0; i < NB_OPS; i++) {
			wheel_arm(&wheel, &timers[order[i & 0xffff]], now + 4000000);
			if (i % 16 == 0) {
				now += 1000;
				while (wheel_expired(&wheel, now))
					fired++;
			}
		}
		ns[run] = (double)(timing_now_ns() - start) / NB_OPS;
		if (fired == NB_OPS)
			abort();
	}
	report("wheel: put a timer off (10,000 timers, 4 ms, random)", ns);
}

/** Each timer fires and is set again, 1 us to 1 ms ahead. */
static void
bench_wheel_fire(void)
{
	double ns[TIMING_RUNS];

	for (int run = 0; run < TIMING_RUNS; run++) {
		uint64_t start, now = 0, fired = 0;

		wheel_init(&wheel, 0, 6);
		for (uint32_t i = 0; i < NB_QPS; i++) {
			wheel_timer_init(&timers[i]);
			wheel_arm(&wheel, &timers[i], 1 + i * 100);
		}
		start = timing_now_ns();
		while (fired < NB_OPS) {
			struct wheel_timer *t;

			now += 1000;
			while ((t = wheel_expired(&wheel, now))) {
				wheel_arm(&wheel, t, now + 1000 + 15 * order[fired & 0xffff]);
				fired++;
			}
		}
		ns[run] = (double)(timing_now_ns() - start) / (double)fired;
	}
	report("wheel: fire and set again (10,000 timers, up to 150 us)", ns);
}

static void
bench_keytab(uint32_t nb_keys)
{
	struct keytab t = {0};
	struct prng p;
	static uint32_t keys[NB_QPS], asked[1 << 16];
	double ns[TIMING_RUNS];
	char what[80];

	prng_seed(&p, 3);
	for (uint32_t i = 0; i < nb_keys; i++) {
		keys[i] = (uint32_t)prng_next(&p) & 0xffffff;
		if (keytab_put(&t, keys[i], &keys[i]))
			keys[i] = keys[0];
	}
	for (uint32_t i = 0; i < 1 << 16; i++)
		asked[i] = keys[order[i] % nb_keys];
	for (int run = 0; run < TIMING_RUNS; run++) {
		uint64_t start = timing_now_ns(), found = 0;

		for (uint32_t i = 0; i < NB_OPS; i++)
			found += keytab_get(&t, asked[i & 0xffff]) != NULL;
		ns[run] = (double)(timing_now_ns() - start) / NB_OPS;
		if (found != NB_OPS)
			abort();
	}
	snprintf(what, sizeof(what), "keytab: find one of %u, random", nb_keys);
	report(what, ns);
	keytab_fini(&t);
}

/** Per packet, turns of one to four packets of 4 KB; a loop turn takes 32 packets at 100 Gb/s. */
static void
bench_sched(const char *what, uint32_t nb_groups, uint32_t nb, uint64_t rate_bps)
{
	double ns[TIMING_RUNS];

	for (int run = 0; run < TIMING_RUNS; run++) {
		uint64_t start, now = 0, pkts = 0;

		sched_init(&sched, 0);
		for (uint32_t i = 0; i < nb_groups; i++)
			sched_group_init(&groups[i]);
		for (uint32_t i = 0; i < nb; i++) {
			sched_ent_init(&ents[i], &groups[i % nb_groups]);
			sched_wake(&sched, &ents[i], 0);
		}
		start = timing_now_ns();
		while (pkts < NB_OPS) {
			struct sched_ent *e;
			uint32_t burst = 0;

			now += 32 * 334;
			while (burst < 32 && (e = sched_next(&sched, now))) {
				do {
					sched_sent(e, 4174, rate_bps, now);
					burst++;
				} while (sched_may_send(e, now));
				sched_done(&sched, e, true, now);
			}
			pkts += burst;
		}
		ns[run] = (double)(timing_now_ns() - start) / (double)pkts;
	}
	report(what, ns);
}

/** Post, send, receive, acknowledge each 16: both halves of go-back-N per packet. */
static void
bench_gbn(void)
{
	static _Alignas(ENGINE_STATE_ALIGN) uint8_t state[1024];
	static struct rel_msg msgs[64];
	const struct reliability_ops *ops = reliability_find("gbn");
	const struct engine_env env = {.window_pkts = 256, .max_msgs = 64};
	const uint64_t params[8] = {0};
	double ns[TIMING_RUNS];

	for (int run = 0; run < TIMING_RUNS; run++) {
		struct rel_qp qp = {
			.rx_first_psn = 1u << 24,
			.tx_first_psn = 1u << 24,
			.tx_end_psn = 1u << 24,
			.ack_timeout_ns = 4000000,
			.window_pkts = 256,
			.msg_mask = 63,
			.tx_msgs = msgs,
		};
		uint64_t start;

		ops->init(state, params, &env, &qp);
		ops->start(state, 0);
		start = timing_now_ns();
		for (uint64_t i = 0; i < NB_OPS / 16; i++) {
			struct rel_msg *m = &msgs[i & 63];
			struct rel_out out = {.acked.nb_pkts = 0};
			struct rel_ack ack = {.kind = REL_ACK};

			*m = (struct rel_msg){.msn = i, .first_psn = qp.tx_end_psn, .nb_psns = 16};
			qp.tx_end_psn += 16;
			qp.tx_end_msn++;
			ops->on_post(state, m, i);
			for (int k = 0; k < 16; k++) {
				struct rel_tx tx = {.nb_psns = 1};
				struct rel_rx_out rx_out = {.place = REL_DROP};

				ops->tx_next(state, i, &tx);
				ops->on_data(state,
				             &(struct rel_rx){.psn = tx.psn, .nb_psns = tx.nb_psns},
				             i, &rx_out);
				if (rx_out.place != REL_PLACE)
					abort();
			}
			ack.cum = qp.tx_end_psn;
			ops->on_ack(state, &ack, i, &out);
			qp.tx_first_msn++;
		}
		ns[run] = (double)(timing_now_ns() - start) / NB_OPS;
	}
	report("gbn: send and receive, ACK and message per 16 packets", ns);
}

int
main(void)
{
	struct prng p;

	prng_seed(&p, 1);
	for (uint32_t i = 0; i < 1 << 16; i++)
		order[i] = prng_below(&p, NB_QPS);
	bench_wheel_put_off();
	bench_wheel_fire();
	bench_keytab(64);
	bench_keytab(10000);
	bench_sched("sched: per packet, 64 senders, unpaced", 1, 64, SCHED_UNPACED);
	bench_sched("sched: per packet, 64 clients, unpaced", 64, 64, SCHED_UNPACED);
	bench_sched("sched: per packet, 64 senders at line rate", 1, 64, 100000000000);
	bench_sched("sched: per packet, 10,000 senders, unpaced", 1, 10000, SCHED_UNPACED);
	bench_sched("sched: per packet, 10,000 of 100 clients, unpaced", 100, 10000, SCHED_UNPACED);
	bench_sched("sched: per packet, 10,000 senders at 9 Mb/s each", 1, 10000, 9000000);
	bench_sched("sched: per packet, 1,000 senders at 99 Mb/s each", 1, 1000, 99000000);
	bench_gbn();
	return 0;
}
