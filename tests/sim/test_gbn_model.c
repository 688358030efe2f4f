/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <math.h>

#include "sim_run.h"

/*
 * Go-back-N against its model: 100 Gb/s, 10 us there and back, 1,024 bytes of payload in frames of
 * 1,106 (weft: 1,126 and 1,122), a window W of what fits into the round trip (113; weft: 111), an
 * ACK for every packet, independent loss p of the data's direction only, and a timeout of 4.19 ms
 * (code 10; the papers' simulators have 4 ms).
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
 * WRITE and SEND do that, and in weft a READ's responses: they are a stream like any. A plain READ
 * is another matter: its responses are not acknowledged, nobody NAKs, and the requester asks for
 *the rest of a message behind whatever is on its way already.
 */

#define RTO_S (4096e-9 * (1 << 10))

/* Of one framing and verb: what a frame takes of the link, and what fits into the round trip. */
struct frames {
	const char *framing, *verb;
	uint32_t bytes, window;
};

static const struct frames plain_write = {"rocev2", "WRITE", 1106, 113},
			   plain_send = {"rocev2", "SEND", 1106, 113},
			   weft_write = {"weft", "WRITE", 1126, 111},
			   weft_send = {"weft", "SEND", 1122, 111},
			   weft_read = {"weft", "READ", 1122, 111};

/* Of a link full of them. */
static double
rate_pps(const struct frames *f)
{
	return 100e9 / (8 * f->bytes);
}

struct found {
	double goodput; /* share of line rate less headers */
	double nb_pkts, nb_timeouts, nb_naks, nb_lost;
};

static struct found
run(const struct frames *frames, double p, uint64_t mbytes, const char *engine_keys, uint64_t seed)
{
	struct sim_run r = sim_run(
		"[lab]\nsample = 0\nseed = %lu\n"
		"[topology]\nkind = back-to-back\ndelay = 4952ns\n"
		"[host]\nframing = %s\nwindow = %u\ntimeout = 10\n"
		"[engine fixed]\nack_every = 1\n%s"
		"[link h0-h1]\nfault_loss = %f%%\n"
		"[workload w]\nkind = long\nverb = %s\nbytes = %luM\nmessage = 1M\n",
		seed, frames->framing, frames->window, engine_keys, p * 100, frames->verb, mbytes);
	const struct flow *f = &r.result->flows[0];
	struct found found = {
		.nb_pkts = (double)f->conf.bytes / 1024,
		.nb_timeouts = (double)r.result->hosts[0].nic->local_ack_timeout_err,
		.nb_naks = (double)r.result->hosts[0].nic->packet_seq_err,
		.nb_lost = (double)r.result->links[0][0].lost_pkts,
	};

	cr_assert_eq(f->status, FLOW_DONE);
	cr_assert_eq(r.result->links[0][1].lost_pkts, 0);
	found.goodput = found.nb_pkts / rate_pps(frames) / ((double)f->end_ps / 1e12);
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
		const struct frames *frames;
	} rows[] = {
		{0.0001, 100, &plain_write}, {0.001, 100, &plain_write}, {0.01, 50, &plain_write},
		{0.001, 50, &plain_send},    {0.01, 50, &plain_send},    {0.0001, 100, &weft_write},
		{0.001, 100, &weft_write},   {0.01, 50, &weft_write},    {0.001, 50, &weft_send},
		{0.01, 50, &weft_send},      {0.001, 50, &weft_read},    {0.01, 50, &weft_read},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct frames *frames = rows[i].frames;
		double p = rows[i].p, model;
		struct found f = run(frames, p, rows[i].mbytes, "", 1);

		model = 1 / (1 + f.nb_naks / f.nb_pkts * (frames->window + 1) +
		             f.nb_timeouts / f.nb_pkts * RTO_S * rate_pps(frames));
		cr_expect_float_eq(f.goodput / model, 1, 0.01, "%s, p %g, %s: %f, not %f",
		                   frames->framing, p, frames->verb, f.goodput, model);
		expect_count(f.nb_naks, f.nb_pkts * p, "NAKs", p);
		expect_count(f.nb_timeouts, f.nb_pkts * p * p / (1 - p), "timeouts", p);
	}
}

/* Within the bounds that were asked for; at 1 % over 200 timeouts if all is to be counted. */
Test(gbn_model, goodput_under_loss_is_the_models)
{
	static const struct {
		double p;
		const struct frames *frames;
		uint64_t mbytes, long_mbytes;
		double off;
	} rows[] = {
		{0.0001, &plain_write, 100, 2000, 0.05}, {0.001, &plain_write, 100, 20000, 0.05},
		{0.01, &plain_write, 200, 3000, 0.15},   {0.0001, &weft_write, 100, 2000, 0.05},
		{0.001, &weft_write, 100, 20000, 0.05},  {0.01, &weft_write, 200, 3000, 0.15},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct frames *frames = rows[i].frames;
		double p = rows[i].p, model = 1 / (1 + p * (frames->window + 1) +
		                                   p * p / (1 - p) * RTO_S * rate_pps(frames));
		uint64_t mbytes = sim_run_is_long() ? rows[i].long_mbytes : rows[i].mbytes;
		struct found f = run(frames, p, mbytes, "", 2);

		cr_expect_float_eq(f.goodput / model, 1, rows[i].off,
		                   "%s, p %g, %.0f timeouts: %f, not %f", frames->framing, p,
		                   f.nb_timeouts, f.goodput, model);
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
	static const struct frames *const all[] = {&plain_write, &weft_write, &weft_read};
	uint64_t mbytes = sim_run_is_long() ? 3000 : 50;

	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
			double p = shares[i], model = 1 / (1 + p / (1 - p) * (all[k]->window + 1));
			struct found f = run(all[k], p, mbytes, "[engine gbn]\nrenak = 11us\n", 1);

			cr_expect_float_eq(f.goodput / model, 1, 0.03, "%s, %s, p %g: %f, not %f",
			                   all[k]->framing, all[k]->verb, p, f.goodput, model);
			cr_expect_eq(f.nb_timeouts, 0, "p %g: %.0f", p, f.nb_timeouts);
		}
	}
}
