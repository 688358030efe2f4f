/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "sim_run.h"

/*
 * Counters of hosts, switches and links of a run against each other: what one says it sent, another
 * must have got. Runs have a duration in which everything comes to rest.
 */

/* Of all ports of all switches. */
static struct switch_port_stats
sum_ports(const struct sim_run *r)
{
	const struct plan *plan = r->result->plan;
	struct switch_port_stats sum = {0};

	for (uint32_t s = 0; s < plan->nb_switches; s++) {
		for (uint16_t p = 0; p < plan->switches[s].nb_ports; p++) {
			const struct switch_port_stats *one = r->result->switches[s].ports[p];
			const uint64_t *from = (const uint64_t *)one;
			uint64_t *to = (uint64_t *)&sum;

			static_assert(sizeof(sum) % sizeof(uint64_t) == 0, "counters only");
			for (size_t i = 0; i < sizeof(sum) / sizeof(uint64_t); i++)
				to[i] += from[i];
		}
	}
	return sum;
}

static uint64_t
sum_dropped(const struct switch_port_stats *s)
{
	uint64_t sum = 0;

	for (int i = 0; i < QUEUES_NB; i++)
		sum += s->q[i].full + s->q[i].headroom;
	return sum;
}

static void
expect_all_done(const struct sim_run *r)
{
	for (uint32_t i = 0; i < r->result->nb_flows; i++)
		cr_assert_eq(r->result->flows[i].status, FLOW_DONE, "flow %u", i);
}

static const char *const framings[] = {"rocev2", "weft"};

/* ---- conservation ---- */

/* Frames that hosts and switches made or faults doubled, and where they ended. */
static void
expect_conserved(const struct sim_run *r, const char *what)
{
	const struct plan *plan = r->result->plan;
	struct switch_port_stats sw = sum_ports(r);
	uint64_t made = sw.tx_pause_frames + sw.rx_copies, ended = 0, bytes = 0, delivered = 0;

	for (uint32_t h = 0; h < plan->nb_hosts; h++) {
		made += r->result->hosts[h].nic->tx_packets;
		ended += r->result->hosts[h].nic->rx_packets;
		delivered += r->result->hosts[h].delivered_bytes;
	}
	for (uint32_t i = 0; i < plan->nb_links; i++) {
		for (int way = 0; way < 2; way++) {
			made += r->result->links[i][way].doubled_pkts;
			ended += r->result->links[i][way].lost_pkts;
		}
	}
	ended += sw.rx_filtered + sw.rx_control + sw.rx_bad + sw.rx_off_tree + sw.tx_no_buffer +
	         sw.tx_full_pkts + sw.tx_link_down + sum_dropped(&sw);
	cr_expect_eq(made, ended, "%s: %lu frames were made, %lu ended", what, made, ended);
	for (uint32_t i = 0; i < r->result->nb_flows; i++)
		bytes += r->result->flows[i].conf.bytes;
	cr_expect_eq(bytes, delivered, "%s: %lu bytes were asked for, %lu delivered", what, bytes,
	             delivered);
}

Test(counts, no_frame_appears_or_vanishes_whatever_befalls_it)
{
	static const struct {
		const char *what, *keys;
		bool is_real;
	} rows[] = {
		{"idle", "", false},
		{"losses", "[link all]\nfault_loss = 1%\nfault_rx_loss = 0.5%\n", false},
		{"doubles", "[link all]\nfault_duplicate = 3%\nfault_rx_duplicate = 1%\n", false},
		{"damage", "[link core]\nfault_corrupt = 0.5%\nfault_rx_corrupt = 0.5%\n", true},
		{"overtaking", "[link host]\nfault_reorder = 1%\nfault_reorder_time = 20us\n",
	         false},
		{"bursts",
	         "[link all]\nfault_burst_p = 0.1%\nfault_burst_r = 20%\n"
	         "fault_burst_bad_loss = 100%\n",
	         false},
		{"a full buffer", "[switch]\nbuffer = 1M\nreserve = 0\n", false},
		{"outages",
	         "[link h0-leaf0]\nfault_down_at = 30us\nfault_down_for = 20us\n"
	         "[link leaf1-spine0]\nfault_down_at = 20us\nfault_down_for = 100us\n",
	         false},
		{"pauses",
	         "[switch]\npfc = 0\nbuffer = 4M\n[port]\nheadroom = 64K\n"
	         "[link all]\nfault_loss = 0.2%\n",
	         false},
		{"all at once",
	         "[switch]\nbuffer = 2M\nlb = spray\n"
	         "[link all]\nfault_loss = 0.5%\nfault_duplicate = 0.5%\nfault_corrupt = 0.1%\n"
	         "fault_reorder = 0.5%\nfault_rx_loss = 0.5%\nfault_rx_reorder = 0.2%\n"
	         "fault_jitter = 500ns\nfault_delay = 1us\n",
	         true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int k = 0; k < 2 * FLOW_NB_VERBS; k++) {
			const char *verb = flow_verb_names[k / 2], *framing = framings[k % 2];
			struct sim_run r = sim_run(
				"[lab]\nduration = 100ms\nsample = 0\npayload = %s\nseed = 5\n"
				"[topology]\nkind = leaf-spine\n"
				"[host]\nframing = %s\ntimeout = 5\n"
				"[workload w]\nkind = permutation\nshift = 4\nbytes = 60K\n"
				"message = 20K\nverb = %s\n"
				"[workload x]\nkind = incast\nbytes = 30K\nverb = %s\n%s",
				rows[i].is_real ? "real" : "absent", framing, verb, verb,
				rows[i].keys);
			char what[64];

			snprintf(what, sizeof(what), "%s, %s, %s", rows[i].what, framing, verb);
			expect_all_done(&r);
			expect_conserved(&r, what);
			sim_run_end(&r);
		}
	}
}

/* ---- faults ---- */

/* Of what a link carried, in a run; each way and kind its own. Five standard deviations. */
Test(counts, faults_strike_the_shares_of_frames_that_a_scenario_says)
{
	struct sim_run r = sim_run("[lab]\nsample = 0\n[topology]\nkind = star\nhosts = 2\n"
	                           "[host]\ntimeout = 5\n[engine gbn]\nrenak = 6us\n"
	                           "[link h0-s0]\nfault_loss = 0.3%%\nfault_duplicate = 1%%\n"
	                           "fault_rx_loss = 2%%\n"
	                           "[workload w]\nkind = long\nbytes = 200M\n");
	const struct link_result *ways = r.result->links[sim_run_link(&r, "h0", "s0")];
	const struct {
		uint64_t hits, nb;
		double share;
	} rows[] = {
		{ways[0].faults.tx[FAULT_LOSS], ways[0].pkts, 0.003},
		{ways[0].faults.tx[FAULT_DUPLICATE], ways[0].pkts - ways[0].lost_pkts, 0.01},
		{ways[0].faults.rx[FAULT_LOSS], ways[1].pkts, 0.02},
	};

	expect_all_done(&r);
	cr_expect_gt(ways[0].pkts, 200000);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double mean = (double)rows[i].nb * rows[i].share;

		cr_expect_leq(fabs((double)rows[i].hits - mean), 5 * sqrt(mean),
		              "row %zu: %lu of %lu, not %.0f", i, rows[i].hits, rows[i].nb, mean);
	}
	sim_run_end(&r);
}

/* ---- switches ---- */

/*
 * 256 QPs from four hosts to four others over four spines: each QP stays on one of them, and each
 * spine has its share of QPs within five standard deviations; by spray, its share of frames.
 */
Test(counts, ecmp_keeps_flows_on_their_paths_and_spreads_them)
{
	static const char *const spines[] = {"spine0", "spine1", "spine2", "spine3"};

	for (int is_spray = 0; is_spray < 2; is_spray++) {
		struct sim_run r = sim_run(
			"[lab]\nsample = 0\nduration = 10ms\n"
			"[topology]\nkind = leaf-spine\nleaves = 2\nspines = 4\ncore_rate = 400G\n"
			"[switch]\nlb = %s\n"
			"[workload w]\nkind = permutation\nshift = 4\nqps = 64\nbytes = 640K\n",
			is_spray ? "spray" : "ecmp");
		uint64_t sum = 0, late = 0, per_qp = 10;

		expect_all_done(&r);
		for (int i = 0; i < 4; i++) {
			uint32_t link = sim_run_link(&r, "leaf0", spines[i]);
			double pkts = (double)r.result->links[link][0].pkts;
			/* 256 QPs of leaf0's hosts: 10 packets of data and, for leaf1's, an ACK */
			double mean = 256 * (double)(per_qp + 1) / 4;
			double off = 5 * sqrt(256 * 0.25 * 0.75) * (double)(per_qp + 1);

			sum += r.result->links[link][0].pkts;
			if (is_spray)
				off = 5 * sqrt(256 * (double)(per_qp + 1) * 0.25 * 0.75);
			cr_expect_leq(fabs(pkts - mean), off, "%s: %.0f, not %.0f", spines[i], pkts,
			              mean);
		}
		cr_expect_eq(sum, 256 * (per_qp + 1), "%lu", sum);
		for (uint32_t h = 0; h < 8; h++)
			late += r.result->hosts[h].nic->out_of_sequence;
		if (!is_spray)
			cr_expect_eq(late, 0);
		sim_run_end(&r);
	}
}

#define INCAST                                                                                     \
	"[lab]\nprobes = paused, paused:h3, paused:s0\nduration = 200ms\n"                         \
	"[topology]\nkind = star\nhosts = 9\n"                                                     \
	"[host]\nframing = %s\nwindow = 256\ntraffic_class = %d\ntimeout = 6\n"                    \
	"[workload w]\nkind = incast\nbytes = 1M\n"

/* Whether a series has anything else than zeros. */
static void
expect_paused(const struct sim_run *r, const char *probe, bool want)
{
	bool is_found = false;

	for (uint32_t i = 0; i < r->result->nb_series; i++) {
		const struct series *s = &r->result->series[i];

		for (uint32_t k = 0; k < s->nb && strcmp(s->name, probe) == 0; k++)
			is_found |= s->values[k] > 0;
	}
	cr_expect_eq(is_found, want, "%s", probe);
}

/* Eight windows of at least 277 KB are 2.2 MB, and a queue may have half of the buffer's 2 MB. */
Test(counts, pauses_stop_all_drops_and_are_heard_as_often_as_they_are_told)
{
	for (int k = 0; k < 4; k++) {
		bool has_pfc = k % 2;
		struct sim_run r =
			sim_run(INCAST "[switch]\nbuffer = 2M\nreserve = 0\n%s", framings[k / 2],
		                26 << 2, has_pfc ? "pfc = 3\n[port]\nheadroom = 64K\n" : "");
		struct switch_port_stats sw = sum_ports(&r);
		uint64_t heard = 0, others = 0;

		expect_all_done(&r);
		for (uint32_t h = 0; h < 9; h++) {
			for (int c = 0; c < PAUSE_CLASSES; c++)
				*(c == 3 ? &heard : &others) +=
					r.result->hosts[h].nic->pfc.pauses[c];
		}
		cr_expect_eq(others, 0);
		cr_expect_eq(heard, sw.tx_pause[3], "%lu of %lu", heard, sw.tx_pause[3]);
		expect_paused(&r, "paused", has_pfc);
		expect_paused(&r, "paused:h3", has_pfc);
		expect_paused(&r, "paused:s0", false);
		if (has_pfc) {
			cr_expect_gt(heard, 0);
			cr_expect_geq(sw.tx_pause_frames, sw.tx_pause[3]);
			cr_expect_eq(sum_dropped(&sw), 0);
		} else {
			cr_expect_eq(heard, 0);
			cr_expect_gt(sw.q[3].full, 0);
		}
		sim_run_end(&r);
	}
}

/*
 * Two windows of 128 packets keep a queue of a nearly constant length, which is q; of what leaves
 * it a share of (q - kmin) / (kmax - kmin) x pmax is marked, and every mark arrives.
 */
static void
try_marks(const char *framing)
{
	struct sim_run r =
		sim_run("[lab]\nsample = 0\nduration = 5ms\n[topology]\nkind = star\nhosts = 3\n"
	                "[host]\nframing = %s\nwindow = 128\ntraffic_class = 2\n[engine "
	                "fixed]\nack_every = 1\n"
	                "[switch]\necn_kmin = 100K\necn_kmax = 500K\necn_pmax = 0.5\n"
	                "[workload w]\nkind = incast\nfirst_sink = 2\nbytes = 20M\nmessage = 1M\n",
	                framing);
	struct switch_port_stats sw = sum_ports(&r);
	double q = (double)sw.q[0].bytes_max, share;

	expect_all_done(&r);
	cr_expect_eq(sw.q[0].marked, r.result->hosts[2].nic->np_ecn_marked_roce_packets);
	share = (double)sw.q[0].marked / (double)r.result->hosts[2].rx_data_pkts;
	cr_expect_float_eq(share, (q - 100 * 1024) / (400 * 1024) * 0.5, 0.01,
	                   "%s: %f of a queue of %.0f", framing, share, q);
	sim_run_end(&r);
}

Test(counts, marks_are_as_many_as_the_queue_says_and_all_arrive)
{
	for (int i = 0; i < 2; i++)
		try_marks(framings[i]);
}

/*
 * Plain RoCEv2 has no tag that says a packet may be cut, and weft's says it of engines that know
 * what to do then, which gbn does not: what does not fit is dropped.
 */
Test(counts, what_may_not_be_cut_is_dropped)
{
	for (int i = 0; i < 2; i++) {
		struct sim_run r =
			sim_run(INCAST "[switch]\nbuffer = 2M\nreserve = 0\ntrim_queue = 7\n",
		                framings[i], 0);
		struct switch_port_stats sw = sum_ports(&r);

		expect_all_done(&r);
		cr_expect_eq(sw.q[0].trimmed + sw.q[1].trimmed, 0, "%s", framings[i]);
		cr_expect_gt(sw.q[0].full, 0, "%s", framings[i]);
		expect_conserved(&r, framings[i]);
		sim_run_end(&r);
	}
}

/* ---- clock ---- */

/*
 * A frame's way over a link is two events, the end of its sending and its arrival, and nobody is
 * asked in vain: neither who is paused or paced, nor who waits for a timer or a link.
 */
Test(counts, a_frame_on_a_link_is_two_events_of_the_clock)
{
	static const struct {
		const char *what, *keys;
	} rows[] = {
		{"one flow", "kind = long\nbytes = 10M\n"},
		{"READs", "kind = incast\nverb = READ\n"},
		{"pauses", "kind = incast\n[switch]\nbuffer = 2M\nreserve = 0\npfc = 0\n"
	                   "[port]\nheadroom = 64K\n"},
		{"a pace", "kind = incast\n[engine fixed]\nrate = 10G\n"},
		{"losses", "kind = long\n[link all]\nfault_loss = 1%\n"},
		{"an outage",
	         "kind = long\n[link h0-s0]\nfault_down_at = 20us\nfault_down_for = 1ms\n"},
		{"delays of faults", "kind = long\n[link all]\nfault_delay = 20us\n"
	                             "fault_jitter = 3us\nfault_rate = 1G\n"},
	};

	for (size_t n = 0; n < 2 * sizeof(rows) / sizeof(rows[0]); n++) {
		size_t i = n / 2, k = n % 2;
		struct sim_run r = sim_run("[lab]\nsample = 0\n[topology]\nhosts = 9\n"
		                           "[host]\nframing = %s\ntimeout = 6\n[workload w]\n%s",
		                           framings[k], rows[i].keys);
		uint64_t frames = 0;

		for (uint32_t l = 0; l < r.result->plan->nb_links; l++)
			frames += r.result->links[l][0].pkts + r.result->links[l][1].pkts;
		cr_expect_leq((double)r.result->nb_events, 2.1 * (double)frames,
		              "%s, %s: %lu events, %lu frames", rows[i].what, framings[k],
		              r.result->nb_events, frames);
		expect_all_done(&r);
		sim_run_end(&r);
	}
}
