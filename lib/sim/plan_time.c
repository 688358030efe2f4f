/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>

#include "flow.h"
#include "plan_impl.h"

/*
 * How long frames take in an empty fabric. Times are added up in 2^-20 ps and rounded once, so that
 * links whose byte takes no whole number of picoseconds don't add errors.
 */

#define FRAC_BITS 20
__extension__ typedef unsigned __int128 fine_ps;

/** Rounded up here, down in the end: what is whole in all stays so. */
static fine_ps
serialization(const struct plan_link *link, uint64_t bytes)
{
	fine_ps bit_ps = (fine_ps)bytes * (8 * PS_PER_S) << FRAC_BITS;

	return (bit_ps + link->rate_bps - 1) / link->rate_bps;
}

static fine_ps
propagation(const struct plan_link *link)
{
	return (fine_ps)(link->delay_ns * PS_PER_NS) << FRAC_BITS;
}

static uint64_t
whole_ps(fine_ps t)
{
	return (uint64_t)(t >> FRAC_BITS);
}

/** Links between switches on the way. */
static uint32_t
nb_core_links(const struct plan *plan, uint32_t a, uint32_t b)
{
	if (a / plan->hosts_per_leaf == b / plan->hosts_per_leaf)
		return 0;
	if (plan->kind == PLAN_DUMBBELL || plan->kind == PLAN_TWO_PATHS)
		return 1;
	return a / plan->hosts_per_pod == b / plan->hosts_per_pod ? 2 : 4;
}

uint32_t
plan_nb_links(const struct plan *plan, uint32_t a, uint32_t b)
{
	return plan->nb_switches == 0 ? 1 : 2 + nb_core_links(plan, a, b);
}

/** How many ways there are that differ in rate or delay. */
static uint32_t
nb_ways(const struct plan *plan)
{
	return plan->kind == PLAN_TWO_PATHS ? 2 : 1;
}

/** Links of a shortest path. Those between switches are alike, but for the ways of two paths. */
static uint32_t
path(const struct plan *plan, uint32_t a, uint32_t b, uint32_t way,
     const struct plan_link *links[PLAN_PATH_MAX])
{
	uint32_t nb = 0, nb_core;

	assert(a != b && a < plan->nb_hosts && b < plan->nb_hosts);
	links[nb++] = plan_host_link(plan, a);
	if (plan->nb_switches == 0)
		return nb;
	nb_core = nb_core_links(plan, a, b);
	for (uint32_t i = 0; i < nb_core; i++)
		links[nb++] = &plan->links[plan->nb_hosts + way];
	links[nb++] = plan_host_link(plan, b);
	return nb;
}

static fine_ps
one_frame(const struct plan *plan, uint32_t a, uint32_t b, uint32_t way, uint32_t bytes)
{
	const struct plan_link *links[PLAN_PATH_MAX];
	uint32_t nb = path(plan, a, b, way, links);
	fine_ps t = 0;

	for (uint32_t i = 0; i < nb; i++)
		t += serialization(links[i], bytes) + propagation(links[i]);
	return t;
}

uint64_t
plan_rtt_ps(const struct plan *plan, uint32_t a, uint32_t b, uint32_t data_bytes,
            uint32_t ack_bytes)
{
	fine_ps longest = 0;

	for (uint32_t way = 0; way < nb_ways(plan); way++) {
		fine_ps t = one_frame(plan, a, b, way, data_bytes) +
		            one_frame(plan, b, a, way, ack_bytes);

		longest = t > longest ? t : longest;
	}
	return whole_ps(longest);
}

/**
 * When the last frame is through. It waits for the frames before it on one of the links: up to
 * there it goes at the pace of full frames, behind which the slowest link so far has made it wait,
 * and from there on at its own. That link is the one which makes it latest.
 */
static fine_ps
train(const struct plan *plan, uint32_t a, uint32_t b, uint32_t way, uint64_t nb_full,
      uint32_t full_bytes, uint32_t last_bytes)
{
	const struct plan_link *links[PLAN_PATH_MAX];
	uint32_t nb = path(plan, a, b, way, links);
	const struct plan_link *slowest = links[0];
	fine_ps latest = 0, before = 0, behind = 0;

	for (uint32_t i = 0; i < nb; i++)
		behind += serialization(links[i], last_bytes) + propagation(links[i]);
	for (uint32_t i = 0; i < nb; i++) {
		fine_ps t;

		before += serialization(links[i], full_bytes);
		slowest = links[i]->rate_bps < slowest->rate_bps ? links[i] : slowest;
		t = before + serialization(slowest, (nb_full - 1) * full_bytes) + behind;
		latest = t > latest ? t : latest;
		before += propagation(links[i]);
		behind -= serialization(links[i], last_bytes) + propagation(links[i]);
	}
	return latest;
}

uint64_t
plan_ideal_ps(const struct plan *plan, uint32_t a, uint32_t b, uint64_t nb_full,
              uint32_t full_bytes, uint32_t last_bytes)
{
	fine_ps best = 0;

	assert(nb_full == 0 || full_bytes >= last_bytes);
	for (uint32_t way = 0; way < nb_ways(plan); way++) {
		fine_ps t = nb_full == 0 ? one_frame(plan, a, b, way, last_bytes)
		                         : train(plan, a, b, way, nb_full, full_bytes, last_bytes);

		best = way == 0 || t < best ? t : best;
	}
	return whole_ps(best);
}
