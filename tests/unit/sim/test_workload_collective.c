/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "fake_lab.h"

#define SET(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- all-to-all ---- */

Test(workload_collective, an_all_to_all_sends_once_over_each_qp_of_each_pair)
{
	struct fake_lab *lab = fake_lab("all-to-all", 6, 1, SET("qps=4", "bytes=10", "repeat=2"));
	uint64_t bytes[6][6] = {0};
	uint32_t qps[6][6] = {0};

	fake_lab_begin(lab);
	cr_assert_eq(lab->nb_flows, 6 * 5 * 4, "all at once");
	fake_lab_run(lab, NEVER_PS);
	cr_assert_eq(lab->nb_flows, 2 * 6 * 5 * 4);
	for (uint32_t i = 0; i < lab->nb_flows; i++) {
		const struct flow_conf *f = &lab->flows[i].conf;

		bytes[f->src][f->dst] += f->bytes;
		qps[f->src][f->dst] += 1u << (8 * f->qp);
	}
	for (int s = 0; s < 6; s++) {
		for (int d = 0; d < 6; d++) {
			cr_expect_eq(bytes[s][d], s == d ? 0 : 20);
			cr_expect_eq(qps[s][d], s == d ? 0 : 0x02020202);
		}
	}
	cr_expect(lab->w.is_finite_done);
	cr_expect_eq(lab->w.nb_rounds, 2);
	fake_lab_free(lab);
}

/* In the k-th place of their lists all hosts have the same destination, or all another one. */
Test(workload_collective, staggered_hosts_begin_with_different_ones)
{
	for (int staggered = 0; staggered < 2; staggered++) {
		struct fake_lab *lab = fake_lab("all-to-all", 8, 1,
		                                SET(staggered ? "staggered=yes" : "staggered=no"));
		uint32_t place[8] = {0}, seen[7] = {0};

		fake_lab_begin(lab);
		for (uint32_t i = 0; i < lab->nb_flows; i++) {
			const struct flow_conf *f = &lab->flows[i].conf;

			seen[place[f->src]] |= 1u << f->dst;
			if (staggered)
				cr_expect_eq(f->dst, (f->src + 1 + place[f->src]) % 8);
			place[f->src]++;
		}
		for (uint32_t k = 0; k < 7; k++)
			cr_expect_eq(seen[k], staggered ? 0xff : 3u << k, "place %u: %x", k,
			             seen[k]);
		fake_lab_free(lab);
	}
}

Test(workload_collective, groups_are_neighbours_or_spread_and_keep_to_themselves)
{
	static const char *const kinds[] = {"all-to-all", "allreduce"};

	for (int kind = 0; kind < 2; kind++) {
		for (int spread = 0; spread < 2; spread++) {
			struct fake_lab *lab =
				fake_lab(kinds[kind], 12, 1,
			                 SET("group=4", spread ? "spread=yes" : "spread=no"));
			uint32_t peers[12] = {0};

			fake_lab_begin(lab);
			fake_lab_run(lab, NEVER_PS);
			cr_expect(lab->w.is_finite_done);
			for (uint32_t i = 0; i < lab->nb_flows; i++) {
				const struct flow_conf *f = &lab->flows[i].conf;

				if (spread)
					cr_expect_eq(f->src % 3, f->dst % 3);
				else
					cr_expect_eq(f->src / 4, f->dst / 4);
				peers[f->src] |= 1u << f->dst;
			}
			for (int h = 0; h < 12; h++)
				cr_expect_eq(__builtin_popcount(peers[h]), kind == 0 ? 3 : 1);
			fake_lab_free(lab);
		}
	}
}

/* ---- allreduce ---- */

/*
 * What the flows of a round do to the vectors, with the rules of the ring alone: each member begins
 * with a set of one in each chunk; in the first half of the steps sets are joined, in the second
 * replaced. In the end everybody has everybody's part of every chunk.
 */
static void
expect_reduced(const struct fake_lab *lab, uint32_t nb, uint32_t nb_rings)
{
	uint32_t sets[8][8][4]; /* member, chunk, ring */

	for (uint32_t m = 0; m < nb; m++) {
		for (uint32_t c = 0; c < nb; c++) {
			for (uint32_t r = 0; r < nb_rings; r++)
				sets[m][c][r] = 1u << m;
		}
	}
	for (uint32_t i = 0; i < lab->nb_flows; i++) {
		const struct flow_conf *f = &lab->flows[i].conf;
		uint32_t step = (uint32_t)f->tag, chunk = (f->src + nb * 2 - step) % nb;
		uint32_t *to = &sets[f->dst][chunk][f->qp];

		cr_assert_eq(f->dst, (f->src + 1) % nb);
		/* Flows are in order of their start, and a member's steps before it are done. */
		*to = step < nb - 1 ? *to | sets[f->src][chunk][f->qp] : sets[f->src][chunk][f->qp];
	}
	for (uint32_t m = 0; m < nb; m++) {
		for (uint32_t c = 0; c < nb; c++) {
			for (uint32_t r = 0; r < nb_rings; r++)
				cr_expect_eq(sets[m][c][r], (1u << nb) - 1, "member %u chunk %u", m,
				             c);
		}
	}
}

Test(workload_collective, after_an_allreduce_everybody_has_everything)
{
	static const struct {
		uint32_t nb, nb_rings;
		const char *bytes, *qps;
		uint64_t total;
	} rows[] = {
		{2, 1, "bytes=1M", "qps=1", 1048576}, {3, 1, "bytes=10", "qps=1", 10},
		{8, 1, "bytes=8", "qps=1", 8},        {8, 4, "bytes=1001", "qps=4", 1001},
		{7, 3, "bytes=1M", "qps=3", 1048576},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fake_lab *lab =
			fake_lab("allreduce", rows[i].nb, 1, SET(rows[i].bytes, rows[i].qps));
		uint32_t nb_steps = 2 * (rows[i].nb - 1);
		uint64_t sum = 0;

		fake_lab_begin(lab);
		fake_lab_run(lab, NEVER_PS);
		cr_assert_eq(lab->nb_flows, rows[i].nb * nb_steps * rows[i].nb_rings, "row %zu", i);
		expect_reduced(lab, rows[i].nb, rows[i].nb_rings);
		for (uint32_t f = 0; f < lab->nb_flows; f++)
			sum += lab->flows[f].conf.bytes;
		cr_expect_eq(sum, nb_steps * rows[i].total, "row %zu", i);
		cr_expect(lab->w.is_finite_done);
		cr_expect_eq(lab->w.nb_rounds, 1);
		cr_expect_eq(lab->w.done_ps, lab->now_ps);
		fake_lab_free(lab);
	}
}

/* Step k + 1 of a host begins at the moment when step k of the one before it has arrived. */
Test(workload_collective, a_step_begins_when_the_chunk_is_there_and_not_before)
{
	struct fake_lab *lab = fake_lab("allreduce", 5, 1, SET("bytes=1003", "repeat=3"));
	uint64_t round_ps = 0;
	uint32_t nb = 0;

	fake_lab_begin(lab);
	fake_lab_run(lab, NEVER_PS);
	cr_assert_eq(lab->nb_flows, 3 * 5 * 8);
	for (uint32_t i = 0; i < lab->nb_flows; i++) {
		const struct flow *f = &lab->flows[i];

		if (i % 40 == 0)
			round_ps = f->start_ps;
		if (f->conf.tag == 0) {
			cr_expect_eq(f->start_ps, round_ps);
			continue;
		}
		for (uint32_t j = i / 40 * 40; j < i; j++) {
			const struct flow *before = &lab->flows[j];

			if (before->conf.dst != f->conf.src || before->conf.tag + 1 != f->conf.tag)
				continue;
			cr_expect_eq(before->delivered_ps, f->start_ps);
			cr_expect_eq(before->conf.bytes, f->conf.bytes, "it hands on what it got");
			nb++;
		}
	}
	cr_expect_eq(nb, 3 * 5 * 7);
	fake_lab_free(lab);
}

Test(workload_collective, a_ring_that_breaks_ends)
{
	struct fake_lab *lab = fake_lab("allreduce", 5, 1, SET("repeat=3"));

	lab->fails = 12;
	fake_lab_begin(lab);
	fake_lab_run(lab, NEVER_PS);
	cr_expect(lab->w.is_finite_done);
	cr_expect_eq(lab->w.nb_rounds, 0);
	cr_expect_eq(lab->w.done_ps, 0);
	cr_expect_eq(lab->w.nb_ended, lab->w.nb_started);
	fake_lab_free(lab);
}
