/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWARM_MAKE_H
#define WEFT_LAB_SWARM_MAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "prng.h"
#include "swarm_sketch.h"

/**
 * @file
 * Scenarios from dice: small fabrics of every kind, every engine of this build whose needs the
 * fabric meets, odd numbers for hosts and switches, faults and messages, with a liking for edges
 * (one packet, a window of one, PSNs about to wrap). What they ask for is bounded, so that one runs
 * for some milliseconds; and all of them are good: the reader finds no mistake in any.
 */

/** The scenario of a seed: always the same in one build. */
void swarm_make(uint64_t seed, struct sketch *s);

/* ---- between the files that make them ---- */

/** What has been thrown so far. */
struct swarm_dice {
	struct prng prng;
	struct sketch *s;
	uint32_t nb_hosts, nb_switches;
	uint32_t ports_max; /**< of a switch, or more */
	uint32_t traits;    /**< enum engine_trait that the fabric offers */
	bool has_cores;     /**< links between switches */
	uint32_t path_mtu;
	uint64_t rate_bps;    /**< of hosts */
	uint64_t duration_ns; /**< in which things begin */
	bool has_end;         /**< it is also the run's; else that ends when all is done */
};

/** 0 to n - 1. */
static inline uint32_t
dice_below(struct swarm_dice *d, uint32_t n)
{
	return prng_below(&d->prng, n);
}

/** Once in n times. */
static inline bool
dice_once_in(struct swarm_dice *d, uint32_t n)
{
	return prng_below(&d->prng, n) == 0;
}

/** From min to max, smaller ones as often as larger ones: each power of two alike. */
uint64_t dice_log(struct swarm_dice *d, uint64_t min, uint64_t max);

/** One of several texts. */
const char *dice_word(struct swarm_dice *d, const char *const *words, size_t nb);
#define DICE_WORD(d, words) dice_word(d, words, sizeof(words) / sizeof((words)[0]))

/** The sections [topology], [switch], [queue N] and [port]. */
void swarm_make_fabric(struct swarm_dice *d);
/** The sections [host] and [engine NAME]. */
void swarm_make_hosts(struct swarm_dice *d);
/** The sections [link WHICH]. */
void swarm_make_links(struct swarm_dice *d);
/** The sections [workload NAME]. */
void swarm_make_workloads(struct swarm_dice *d);

#endif
