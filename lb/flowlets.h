/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_FLOWLETS_H
#define WEFT_FLOWLETS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lb.h"

/**
 * @file
 * Which hop each flow took last, and when: a table of fixed size in the state of an engine.
 *
 * A slot belongs to a value of the flow's hash and holds no more of the flow: flows that share one
 * count as one flow. They may be of different groups, so a hop is what the last of them made of it:
 * an index that the other's group may not have, or that is down there.
 */
struct flowlets {
	uint64_t *slots; /**< time of the last packet in ns mod 2^48, above 16 bits of its hop */
	uint32_t nb_slots;
	uint64_t gap_ns; /**< a flowlet ends when longer than this nothing came; below 2^47 */
};

/** @param slots  nb_slots, of any content; with none there are no flowlets to ask for. */
static inline struct flowlets
flowlets_of(uint64_t *slots, uint32_t nb_slots, uint64_t gap_ns)
{
	/* A hop that no group has: the first packet has no flowlet to go on with. */
	memset(slots, 0xff, nb_slots * sizeof(*slots));
	return (struct flowlets){slots, nb_slots, gap_ns};
}

static inline uint64_t *
flowlets_slot(const struct flowlets *f, uint32_t flow_hash)
{
	/* Flows on one hop have equal upper bits in a hash that chose it: multiply. */
	uint32_t h = flow_hash * UINT32_C(0x9e3779b1);

	return &f->slots[(uint64_t)h * f->nb_slots >> 32];
}

/** Whether a flow's packet belongs to the flowlet before it, whose hop is up. */
static inline bool
flowlets_goes_on(const struct flowlets *f, uint64_t slot, const struct lb_hop *hops,
                 uint16_t nb_hops, uint64_t now_ns)
{
	uint64_t idle_ns = ((now_ns << 16) - (slot & ~UINT64_C(0xffff))) >> 16;
	uint16_t hop = (uint16_t)slot;

	return idle_ns <= f->gap_ns && hop < nb_hops && hops[hop].up;
}

static inline uint64_t
flowlets_pack(uint16_t hop, uint64_t now_ns)
{
	return now_ns << 16 | hop;
}

#endif
