/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <math.h>

#include "sim_run.h"

/*
 * Go-back-N against its model: 100 Gb/s, 10 us there and back, 1,024 bytes of payload in frames of
 * 1,106, a window of what fits into the round trip (113), an ACK for every packet, independent loss
 * p of the data's direction only, and a timeout of 4.19 ms (code 10; the papers' simulators have
 * 4 ms).
 *
 * A packet that is lost once is told of by a NAK when the next one arrives: it and the W behind it
 * are sent again. Its repetition is lost with probability p, and then the receiver, which has said
 * its NAK, is silent: the timer repairs it, RTO later, again and again while the repetitions are
 * lost, p^2 + p^3 + ... = p^2 / (1 - p) times per packet. With R packets per second,
 *
 *	G = 1 / (1 + p (W + 1) + p^2 / (1 - p) x RTO x R)
 *
 * of line rate less headers. With `renak` the NAK is repeated, the timer is not needed, and every
 * loss costs a window: G = 1 / (1 + p / (1 - p) x (W + 1)).
 *
 * WRITE and SEND do that. A READ is another matter: its responses are not acknowledged, nobody
 * NAKs, and the requester asks for the rest of a message behind whatever is on its way already.
 */

#define RATE_PPS (100e9 / (8 * 1106))
#define WINDOW 113
#define RTO_S (4096e-9 * (1 << 10))

struct found {
	double goodput; /* share of line rate less headers */
	double nb_pkts, nb_timeouts, nb_naks, nb_lost;
};

static struct found
run(double p, uint64_t mbytes, const char *verb, const char *engine_keys, uint64_t seed)
{
	struct sim_run r =
		sim_run("[lab]\nsample = 0\nseed = %lu\n"
	                "[topology]\nkind = back-to-back\ndelay = 4952ns\n"
	                "[host]\nwindow = %d\ntimeout = 10\n"
	                "[engine fixed]\nack_every = 1\n%s"
	                "[link h0-h1]\nfault_loss = %f%%\n"
	                "[workload w]\nkind = long\nverb = %s\nbytes = %luM\nmessage = 1M\n",
	                seed, WINDOW, engine_keys, p * 100, verb, mbytes);
	const struct flow *f = &r.result->flows[0];
	struct found found = {
		.nb_pkts = (double)f->conf.bytes / 1024,
		.nb_timeouts = (double)r.result->hosts[0].nic->local_ack_timeout_err,
		.nb_naks = (double)r.result->hosts[0].nic->packet_seq_err,
		.nb_lost = (double)r.result->links[0][0].lost_pkts,
	};

	cr_assert_eq(f->status, FLOW_DONE);
	cr_assert_eq(r.result->links[0][1].lost_pkts, 0);
	found.goodput = found.nb_pkts / RATE_PPS / ((double)f->end_ps / 1e12);
	sim_run_end(&r);
	return found;
}

/* Five standard deviations of a count that is nearly Poisson's. */
static void
expect_count(double got, double want, const char *what, double p)
{
	cr_expect_leq(fabs(got - want), 5 * sqrt(want) + 1, "p %g: %.0f %s, not %.0f", p, got, what,
	              want);
}

/*
 * Each part of the model: how many NAKs and timeouts there are, and what each of them costs. This
 * needs no long run, as luck with the number of timeouts is counted, not averaged out.
 */
Test(gbn_model, each_loss_costs_a_window_and_each_that_is_lost_again_a_timeout)
{
	static const struct {
		double p;
		uint64_t mbytes;
		const char *verb;
	} rows[] = {
		{0.0001, 100, "WRITE"}, {0.001, 100, "WRITE"}, {0.01, 50, "WRITE"},
		{0.001, 50, "SEND"},    {0.01, 50, "SEND"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double p = rows[i].p, model;
		struct found f = run(p, rows[i].mbytes, rows[i].verb, "", 1);

		model = 1 / (1 + f.nb_naks / f.nb_pkts * (WINDOW + 1) +
		             f.nb_timeouts / f.nb_pkts * RTO_S * RATE_PPS);
		cr_expect_float_eq(f.goodput / model, 1, 0.01, "p %g, %s: %f, not %f", p,
		                   rows[i].verb, f.goodput, model);
		expect_count(f.nb_naks, f.nb_pkts * p, "NAKs", p);
		expect_count(f.nb_timeouts, f.nb_pkts * p * p / (1 - p), "timeouts", p);
	}
}

/* Within the bounds that were asked for; at 1 % over 200 timeouts if all is to be counted. */
Test(gbn_model, goodput_under_loss_is_the_models)
{
	static const struct {
		double p;
		uint64_t mbytes, long_mbytes;
		double off;
	} rows[] = {
		{0.0001, 100, 2000, 0.05},
		{0.001, 100, 20000, 0.05},
		{0.01, 200, 3000, 0.15},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double p = rows[i].p;
		double model = 1 / (1 + p * (WINDOW + 1) + p * p / (1 - p) * RTO_S * RATE_PPS);
		uint64_t mbytes = sim_run_is_long() ? rows[i].long_mbytes : rows[i].mbytes;
		struct found f = run(p, mbytes, "WRITE", "", 2);

		cr_expect_float_eq(f.goodput / model, 1, rows[i].off,
		                   "p %g, %.0f timeouts: %f, not %f", p, f.nb_timeouts, f.goodput,
		                   model);
		if (sim_run_is_long() && p > 0.005)
			cr_expect_geq(f.nb_timeouts, 200);
	}
}

/*
 * The NAK is repeated when the first packet arrives that is renak behind the last one: a
 * microsecond more than the round trip, so that a repetition which is on its way is waited for.
 */
Test(gbn_model, goodput_with_repeated_naks_needs_no_timer)
{
	static const double shares[] = {0.0001, 0.001, 0.01};
	uint64_t mbytes = sim_run_is_long() ? 3000 : 50;

	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		double p = shares[i], model = 1 / (1 + p / (1 - p) * (WINDOW + 1));
		struct found f = run(p, mbytes, "WRITE", "[engine gbn]\nrenak = 11us\n", 1);

		cr_expect_float_eq(f.goodput / model, 1, 0.03, "p %g: %f, not %f", p, f.goodput,
		                   model);
		cr_expect_eq(f.nb_timeouts, 0, "p %g: %.0f", p, f.nb_timeouts);
	}
}
