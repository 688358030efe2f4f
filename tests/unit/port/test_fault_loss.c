/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "be.h"
#include "fault_wire.h"
#include "hdr.h"
#include "trim.h"
#include "weft_examples.h"
#include "wire.h"

#define MILLION 1000000
#define NB_MANY 200000

static uint32_t numbers[NB_MANY];
static bool is_there[2][NB_MANY];

/* Which of so many frames arrive. @return how many. */
static uint32_t
arrivals(const struct fault_params *params, bool outwards, uint32_t total, bool *arrived)
{
	struct fault_wire w = fault_wire_open(params, 64);
	uint32_t n = fault_wire_run(&w, outwards, total, numbers, total);

	memset(arrived, 0, total * sizeof(*arrived));
	for (uint32_t i = 0; i < n; i++)
		arrived[numbers[i]] = true;
	fault_wire_close(&w);
	return n;
}

/* ---- bursts ---- */

/* Within five standard deviations, and a bit where there are none. */
static bool
is_near(double got, double want, double variance)
{
	return (got - want) * (got - want) <= 25 * variance + 2;
}

Test(fault_loss, bursts_are_as_frequent_and_as_long_as_theory_says)
{
	static const struct {
		struct fault_burst burst;
		uint64_t seed;
	} rows[] = {
		{{10000, 250000, MILLION, 0}, 1},    {{10000, 250000, MILLION, 0}, 2},
		{{2000, 50000, MILLION, 0}, 3},      {{300000, 300000, MILLION, 0}, 4},
		{{10000, 100000, 500000, 10000}, 5}, {{500000, 500000, MILLION, 0}, 6},
		{{MILLION, MILLION, MILLION, 0}, 7},
	};

	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		const struct fault_burst *b = &rows[row].burst;
		const struct fault_params params = {.seed = rows[row].seed, .tx.burst = *b};
		double p = b->p_ppm * 1e-6, r = b->r_ppm * 1e-6;
		double bad = b->bad_ppm * 1e-6, good = b->good_ppm * 1e-6;
		double in_bad = p / (p + r), share = in_bad * bad + (1 - in_bad) * good;
		double nb_lost = NB_MANY - arrivals(&params, true, NB_MANY, is_there[0]);
		double nb_bursts = 0;

		/* Variance of the time in one of two states, and of the throws in them. */
		cr_expect(is_near(nb_lost, share * NB_MANY,
		                  NB_MANY * (in_bad * (1 - in_bad) * (2 - p - r) / (p + r) +
		                             share * (1 - share))),
		          "row %zu: %g of %g", row, nb_lost, share * NB_MANY);
		if (bad < 1 || good > 0)
			continue;
		for (uint32_t i = 1; i < NB_MANY; i++)
			nb_bursts += is_there[0][i - 1] && !is_there[0][i];
		/* So many geometric lengths. */
		cr_expect(is_near(nb_lost, nb_bursts / r, nb_bursts * (1 - r) / r / r),
		          "row %zu: %g instead of %g", row, nb_lost / nb_bursts, 1 / r);
	}
}

Test(fault_loss, bursts_are_counted_and_of_one_seed)
{
	static const struct fault_burst burst = {10000, 250000, MILLION, 0};

	for (int outwards = 0; outwards < 2; outwards++) {
		struct fault_params params = {.seed = 9, .tx.burst = burst, .rx.burst = burst};
		struct fault_wire w = fault_wire_open(&params, 64);
		uint32_t n = fault_wire_run(&w, outwards, 10000, numbers, 10000);
		const struct fault_stats *stats = port_fault_stats(w.node);

		cr_expect_eq(n + stats->tx[FAULT_BURST] + stats->rx[FAULT_BURST], 10000);
		fault_wire_close(&w);
		cr_expect_eq(arrivals(&params, outwards, 10000, is_there[0]), n);
		arrivals(&params, outwards, 10000, is_there[1]);
		cr_expect_arr_eq(is_there[0], is_there[1], 10000);
		params.seed = 10;
		arrivals(&params, outwards, 10000, is_there[1]);
		cr_expect_arr_neq(is_there[0], is_there[1], 10000);
	}
}

/* ---- patterns ---- */

static struct param_pattern
pattern_of(const char *digits)
{
	struct param_pattern pattern = {.nb_bits = (uint32_t)strlen(digits)};

	for (uint32_t i = 0; digits[i]; i++)
		pattern.bits |= (uint64_t)(digits[i] - '0') << i;
	return pattern;
}

Test(fault_loss, a_pattern_repeats_itself)
{
	static const char *const rows[] = {
		"1",
		"01",
		"10",
		"0010110",
		"0000000000000000000000000000000000000000000000000000000000000001",
	};

	for (int outwards = 0; outwards < 2; outwards++) {
		for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
			struct param_pattern pattern = pattern_of(rows[row]);
			struct fault_params params = {.tx.pattern = pattern, .rx.pattern = pattern};

			arrivals(&params, outwards, 300, is_there[0]);
			for (uint32_t i = 0; i < 300; i++)
				cr_expect_eq(is_there[0][i], rows[row][i % pattern.nb_bits] == '0',
				             "row %zu: %u", row, i);
		}
	}
}

Test(fault_loss, another_pattern_begins_at_its_start_and_the_same_goes_on)
{
	struct fault_params params = {.tx.pattern = pattern_of("001")};
	struct fault_wire w = fault_wire_open(&params, 64);
	static const uint32_t want[] = {0, 1, 3};
	uint32_t n;

	fault_wire_send(&w, w.node, 0, 0);
	params.tx.ppm[FAULT_LOSS] = 1;
	port_fault_set(w.node, &params);
	fault_wire_send(&w, w.node, 1, 0);
	fault_wire_send(&w, w.node, 2, 0);
	params.tx.pattern = pattern_of("01");
	port_fault_set(w.node, &params);
	fault_wire_send(&w, w.node, 3, 0);
	fault_wire_send(&w, w.node, 4, 0);
	n = fault_wire_receive(w.far, numbers, 64, 0);
	cr_expect_eq(n, 3);
	for (uint32_t i = 0; i < n; i++)
		cr_expect_eq(numbers[i], want[i]);
	cr_expect_eq(port_fault_stats(w.node)->tx[FAULT_PATTERN], 2);
	fault_wire_close(&w);
}

/* ---- queue pairs ---- */

enum shape { IPV4, IPV6, TAGGED, TAGGED_TWICE, OPTIONS, MANUFACTURER, OTHER_PORT, FRAGMENT, TCP };

/* A frame to a QP that ends with its BTH. @return its bytes. */
static uint32_t
make_frame(uint8_t *f, enum shape shape, uint32_t qpn, uint32_t psn)
{
	uint32_t nb_tags = shape == TAGGED_TWICE ? 2 : shape == TAGGED;
	uint32_t len = ETH_LEN - 2, ip_off;

	memset(f, 0, FAULT_WIRE_LEN);
	for (uint32_t i = 0; i < nb_tags; i++, len += VLAN_LEN)
		put_be16(f + len, ETH_TYPE_VLAN);
	put_be16(f + len, shape == IPV6 ? ETH_TYPE_IPV6 : ETH_TYPE_IPV4);
	ip_off = len + 2;
	len = ip_off + (shape == IPV6 ? IPV6_LEN : IPV4_LEN) + (shape == OPTIONS ? 8 : 0);
	f[ip_off] = shape == IPV6 ? 0x60 : shape == OPTIONS ? 0x47 : IPV4_VERSION_IHL;
	f[ip_off + (shape == IPV6 ? 6 : 9)] = shape == TCP ? 6 : IP_PROTO_UDP;
	if (shape == FRAGMENT)
		put_be16(f + ip_off + 6, 100);
	put_be16(f + len + 2, shape == OTHER_PORT ? UDP_PORT_HELLO : UDP_PORT_ROCE);
	f[len + UDP_LEN] = shape == MANUFACTURER ? 0xe4 : 4;
	put_be32(f + len + UDP_LEN + 4, 0xc0000000 | qpn);
	put_be32(f + len + UDP_LEN + 8, 0x80000000 | psn);
	return len + UDP_LEN + BTH_LEN;
}

/* Send such a frame outwards. @return whether it arrived. */
static bool
passes(struct fault_wire *w, enum shape shape, uint32_t qpn, uint32_t psn)
{
	uint8_t frame[FAULT_WIRE_LEN];
	uint32_t len = make_frame(frame, shape, qpn, psn);

	fault_wire_send_bytes(w, w->node, frame, len, 0);
	return fault_wire_receive(w->far, numbers, 1, 0) == 1;
}

Test(fault_loss, every_nth_frame_to_a_queue_pair_is_lost)
{
	const struct fault_params params = {.tx.qpn = {.qpn = 0x123456, .every = 3}};
	struct fault_wire w = fault_wire_open(&params, 64);

	for (uint32_t i = 1; i <= 30; i++) {
		cr_expect(passes(&w, IPV4, 0x123457, i), "%u", i);
		cr_expect_eq(passes(&w, IPV4, 0x123456, i), i % 3 != 0, "%u", i);
	}
	cr_expect_eq(port_fault_stats(w.node)->tx[FAULT_QPN], 10);
	fault_wire_close(&w);
}

Test(fault_loss, a_psn_is_lost_so_many_times)
{
	static const uint32_t rows[] = {0, 1, 3, 1000000000};

	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		struct fault_params params = {
			.tx.qpn = {.qpn = 7, .psn = 0xfffffe, .psn_times = rows[row]}};
		struct fault_wire w = fault_wire_open(&params, 64);

		for (uint32_t i = 0; i < 10; i++) {
			cr_expect(passes(&w, IPV4, 7, 0xfffffd));
			cr_expect_eq(passes(&w, IPV4, 7, 0xfffffe), i >= rows[row], "row %zu: %u",
			             row, i);
			cr_expect(passes(&w, IPV4, 7, 0xffffff));
			cr_expect(passes(&w, IPV4, 8, 0xfffffe));
		}
		/* The same once more: as often again. */
		params.tx.qpn.psn = 1;
		port_fault_set(w.node, &params);
		cr_expect_eq(passes(&w, IPV4, 7, 1), rows[row] == 0);
		fault_wire_close(&w);
	}
}

Test(fault_loss, a_queue_pair_is_found_in_frames_of_every_shape)
{
	static const struct {
		enum shape shape;
		bool is_lost;
	} rows[] = {
		{IPV4, true},         {IPV6, true},      {TAGGED, true},
		{TAGGED_TWICE, true}, {OPTIONS, true},   {MANUFACTURER, true},
		{OTHER_PORT, false},  {FRAGMENT, false}, {TCP, false},
	};
	static const struct fault_params params = {.tx.qpn = {.qpn = 5, .every = 1}};
	struct fault_wire w = fault_wire_open(&params, 64);

	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		uint8_t frame[FAULT_WIRE_LEN];
		uint32_t len = make_frame(frame, rows[row].shape, 5, 0);

		cr_expect_eq(passes(&w, rows[row].shape, 5, 0), !rows[row].is_lost, "row %zu", row);
		/* Cut short anywhere, it has none. */
		for (uint32_t cut = 0; cut < len; cut++) {
			fault_wire_send_bytes(&w, w.node, frame, cut, 0);
			cr_expect_eq(fault_wire_receive(w.far, numbers, 1, 0), 1, "row %zu: %u",
			             row, cut);
		}
	}
	fault_wire_close(&w);
}

/* ---- trims ---- */

Test(fault_loss, what_may_be_trimmed_is_and_the_rest_is_lost)
{
	const struct fault_params params = {.tx.ppm[FAULT_TRIM] = MILLION};
	uint32_t nb, nb_trimmed = 0;
	const struct weft_example *all = weft_examples(&nb);
	struct fault_wire w = fault_wire_open(&params, 64);

	for (uint32_t i = 0; i < nb; i++) {
		const struct weft_example *x = &all[i];
		bool may = wire_may_trim(x->frame, x->len, x->l3_off, x->ipv6);
		uint8_t want[512];
		struct pkt *p;

		memcpy(want, x->frame, x->len);
		fault_wire_send_bytes(&w, w.node, x->frame, x->len, 0);
		cr_assert_eq(w.far->ops->rx_burst(w.far, &p, 1, 0), may, "%s", x->id);
		if (!may)
			continue;
		nb_trimmed++;
		cr_expect_eq(p->len, wire_trim(want, x->l3_off, x->ipv6), "%s", x->id);
		cr_expect_arr_eq(p->data, want, p->len, "%s", x->id);
		pkt_free(&p, 1);
	}
	cr_expect_gt(nb_trimmed, 0);
	cr_expect_eq(port_fault_stats(w.node)->tx[FAULT_TRIM], nb_trimmed);
	cr_expect_eq(port_fault_stats(w.node)->tx[FAULT_NO_TRIM], nb - nb_trimmed);
	fault_wire_close(&w);
}

Test(fault_loss, the_asked_share_is_trimmed)
{
	const struct fault_params params = {.seed = 4, .rx.ppm[FAULT_TRIM] = 300000};
	const struct weft_example *x = weft_example("2");
	struct fault_wire w = fault_wire_open(&params, 64);
	uint64_t nb_trimmed;

	for (uint32_t i = 0; i < 10000; i++) {
		fault_wire_send_bytes(&w, w.far, x->frame, x->len, 0);
		cr_assert_eq(fault_wire_receive(w.node, numbers, 1, 0), 1, "none is lost");
	}
	nb_trimmed = port_fault_stats(w.node)->rx[FAULT_TRIM];
	/* Standard deviation 46. */
	cr_expect(nb_trimmed > 2700 && nb_trimmed < 3300, "%lu", nb_trimmed);
	fault_wire_close(&w);
}

/* ---- together ---- */

Test(fault_loss, ways_of_losing_take_nothing_from_each_other)
{
	static const struct fault_dir alone[] = {
		{.ppm[FAULT_LOSS] = 100000},
		{.burst = {20000, 200000, MILLION, 0}},
		{.pattern = {0x49, 10}},
	};
	struct fault_params all = {.seed = 77};
	static bool all_there[10000];

	all.tx.ppm[FAULT_LOSS] = alone[0].ppm[FAULT_LOSS];
	all.tx.burst = alone[1].burst;
	all.tx.pattern = alone[2].pattern;
	arrivals(&all, true, 10000, all_there);
	memset(is_there[1], 1, 10000);
	for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++) {
		const struct fault_params params = {.seed = 77, .tx = alone[i]};

		arrivals(&params, true, 10000, is_there[0]);
		for (uint32_t k = 0; k < 10000; k++)
			is_there[1][k] &= is_there[0][k];
	}
	cr_expect_arr_eq(all_there, is_there[1], 10000);
}
