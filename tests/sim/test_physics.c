/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <math.h>

#include "sim_run.h"

/*
 * Times of empty fabrics, worked out by hand. Nodes see whole nanoseconds, but what they answer at
 * once leaves at the very picosecond at which the frame that made them do so arrived: so all times
 * here are exact to the picosecond, as far as a byte's time is (2^-21 ps of it, link.h).
 */

/* A frame around payload, with 24 bytes of a link: Ethernet, IPv4, UDP, BTH; ICRC. */
#define AROUND (14 + 20 + 8 + 12 + 4 + 24)
#define RETH 16
#define AETH 4
/* Of weft, behind the BTH of each: MSN and map. */
#define MSN 4
#define SPH 12
#define ORDER 8

/* Bytes of frames beside payload. */
struct headers {
	const char *name;
	uint32_t data[FLOW_NB_VERBS]; /* in the middle of a message */
	uint32_t ends[FLOW_NB_VERBS]; /* more in a message of several packets */
	uint32_t one[FLOW_NB_VERBS];  /* more in a message of one packet */
	uint32_t request, ack;        /* of a READ; of the others */
	uint32_t request_ack;         /* of a READ's request; 0 = its response is enough */
};

static const struct headers framings[] = {
	{
		.name = "rocev2",
		.data = {AROUND, AROUND, AROUND},
		.ends = {[FLOW_WRITE] = RETH, [FLOW_READ] = 2 * AETH},
		.one = {[FLOW_WRITE] = RETH, [FLOW_READ] = AETH},
		.request = AROUND + RETH,
		.ack = AROUND + AETH,
	},
	{
		.name = "weft",
		.data = {[FLOW_WRITE] = AROUND + MSN + RETH,
                         [FLOW_SEND] = AROUND + MSN + SPH,
                         [FLOW_READ] = AROUND + MSN + SPH},
		.request = AROUND + MSN + RETH + ORDER,
		.ack = AROUND + MSN + AETH,
		.request_ack = AROUND + MSN + AETH,
	},
};

/* Time of so many bytes, rounded down. */
static uint64_t
bytes_ps(uint64_t bytes, uint64_t rate_bps)
{
	__extension__ unsigned __int128 bits = (unsigned __int128)bytes * 8 * PS_PER_S;

	return (uint64_t)(bits / rate_bps);
}

/* What so many bytes may be off, and one for rounding. */
static void
expect_ps(uint64_t got, uint64_t want, uint64_t bytes, const char *what)
{
	cr_expect_leq(llabs((long long)(got - want)), 1 + (long long)((double)bytes * 0x1p-21),
	              "%s: %lu ps, not %lu", what, got, want);
}

/* ---- one flow ---- */

/*
 * The last byte of a flow is there when all frames have followed each other without a gap: line
 * rate less the headers. A READ's request goes before. Plain: a RETH in the first packet of a
 * WRITE, an AETH in the first and the last response; weft: the same headers in each packet, and the
 * requests of READs are acknowledged on the way of the data, the first at once and the three that
 * come during the first response together.
 */
static void
try_flow(const struct headers *f, uint64_t rate_gbps, uint32_t mtu, enum flow_verb verb)
{
	const uint64_t bytes = 4 << 20, message = 1 << 20, delay_ps = 1000000;
	uint32_t around = f->data[verb];
	uint64_t wire_bytes = bytes / mtu * (mtu + around) + bytes / message * f->ends[verb];
	uint64_t rate_bps = rate_gbps * 1000000000, first_ps = delay_ps, took_ps;
	char what[64];
	struct sim_run r;

	snprintf(what, sizeof(what), "%s, %lu Gb/s, %u, %s", f->name, rate_gbps, mtu,
	         flow_verb_names[verb]);
	r = sim_run("[lab]\nsample = 0\n[topology]\nkind = back-to-back\nrate = %luG\n"
	            "delay = 1us\n[host]\nframing = %s\npath_mtu = %u\nwindow = 4096\n"
	            "[workload w]\nkind = long\nverb = %s\nbytes = 4M\nmessage = 1M\n",
	            rate_gbps, f->name, mtu, flow_verb_names[verb]);
	if (verb == FLOW_READ) {
		first_ps += delay_ps + bytes_ps(f->request, rate_bps);
		wire_bytes += 2 * f->request_ack;
	}
	cr_assert_eq(r.result->flows[0].status, FLOW_DONE, "%s", what);
	took_ps = r.result->flows[0].delivered_ps - first_ps;
	expect_ps(took_ps, bytes_ps(wire_bytes, rate_bps), wire_bytes, what);
	/* And so it says itself: line rate x payload / frame. */
	cr_expect_float_eq((double)bytes * 8e12 / (double)took_ps,
	                   (double)rate_bps * mtu / (mtu + around), 0.001 * (double)rate_bps, "%s",
	                   what);
	sim_run_end(&r);
}

Test(physics, a_flow_on_an_idle_path_fills_it_at_all_rates_and_sizes_by_each_verb)
{
	static const uint64_t rates[] = {10, 25, 40, 100, 200, 400, 97};
	static const uint32_t mtus[] = {256, 1024, 4096};

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		for (size_t j = 0; j < sizeof(mtus) / sizeof(mtus[0]); j++) {
			for (int verb = 0; verb < FLOW_NB_VERBS; verb++) {
				try_flow(&framings[0], rates[i], mtus[j], (enum flow_verb)verb);
				try_flow(&framings[1], rates[i], mtus[j], (enum flow_verb)verb);
			}
		}
	}
}

/* ---- one message ---- */

/*
 * A message of 8 bytes there, and its ACK back, over nb_links each way; every switch forwards a
 * frame when its last bit is there. A READ's request goes there, its response with the bytes back,
 * in weft behind the request's ACK.
 */
static void
try_rtt(const struct headers *f, const char *kind, uint32_t dst, uint32_t nb_links,
        uint64_t rate_gbps, uint64_t delay_ns)
{
	for (int verb = 0; verb < FLOW_NB_VERBS; verb++) {
		uint32_t bytes = f->data[verb] + f->one[verb] + 8 +
		                 (verb == FLOW_READ ? f->request : f->ack);
		uint64_t want_ps =
			nb_links * (bytes_ps(bytes, rate_gbps * 1000000000) + 2 * delay_ns * 1000);
		struct sim_run r;
		char what[64];

		if (verb == FLOW_READ)
			want_ps += bytes_ps(f->request_ack, rate_gbps * 1000000000);
		snprintf(what, sizeof(what), "%s, %s, %lu Gb/s, %s", f->name, kind, rate_gbps,
		         flow_verb_names[verb]);
		r = sim_run("[topology]\nkind = %s\nrate = %luG\ndelay = %luns\n"
		            "[host]\nframing = %s\n"
		            "[workload w]\nkind = long\nverb = %s\nbytes = 8\ndst = %u\n",
		            kind, rate_gbps, delay_ns, f->name, flow_verb_names[verb], dst);
		expect_ps(r.result->flows[0].end_ps, want_ps, nb_links * 1024, what);
		sim_run_end(&r);
	}
}

Test(physics, a_round_trip_is_serialization_and_propagation_of_each_link)
{
	static const uint64_t rates[] = {10, 100, 400};
	static const uint64_t delays_ns[] = {0, 1, 500, 4952};

	static const struct {
		const char *kind;
		uint32_t dst, nb_links;
	} ways[] = {
		{"back-to-back", 1, 1}, {"star", 1, 2},      {"fat-tree", 1, 2},
		{"fat-tree", 2, 4},     {"fat-tree", 15, 6}, {"rlft", 15, 6},
	};

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		for (size_t j = 0; j < sizeof(delays_ns) / sizeof(delays_ns[0]); j++)
			for (size_t k = 0; k < sizeof(ways) / sizeof(ways[0]); k++)
				for (int f = 0; f < 2; f++)
					try_rtt(&framings[f], ways[k].kind, ways[k].dst,
					        ways[k].nb_links, rates[i], delays_ns[j]);
}

/* ---- sharing ---- */

/*
 * Two hosts send to a third; each has a window of two round trips of its share, so that the link
 * never idles and the queue never overflows. FIFO service of equal windows is even service.
 */
Test(physics, two_flows_with_fixed_windows_share_a_link_evenly_and_fill_it)
{
	struct sim_run r =
		sim_run("[lab]\nsample = 0\nduration = 2ms\n[topology]\nkind = star\nhosts = 3\n"
	                "[host]\nwindow = 128\n[engine fixed]\nack_every = 1\n"
	                "[workload w]\nkind = incast\nfirst_sink = 2\nbytes = 1G\nmessage = 1M\n");
	const struct flow *flows = r.result->flows;
	double a, b, jain, line_bytes, first_ps = 2e6 + 2 * 88480;

	cr_assert_eq(r.result->nb_flows, 2);
	a = (double)r.result->hosts[0].nic->tx_bytes;
	b = (double)r.result->hosts[1].nic->tx_bytes;
	jain = (a + b) * (a + b) / (2 * (a * a + b * b));
	cr_expect_gt(jain, 0.999, "%f", jain);
	/* All that the third got since the first frame could be there, at line rate. */
	line_bytes = (double)(r.result->hosts[2].rx_data_pkts) * (1024 + AROUND);
	cr_expect_float_eq(line_bytes * 80 / (2e9 - first_ps), 1, 0.001, "%f of the link",
	                   line_bytes * 80 / (2e9 - first_ps));
	cr_expect(flows[0].status == FLOW_RUNS && flows[1].status == FLOW_RUNS);
	sim_run_end(&r);
}
