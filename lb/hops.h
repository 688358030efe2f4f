/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_HOPS_H
#define WEFT_HOPS_H

#include "lb.h"
#include "prng.h"

/**
 * @file
 * Choices among hops that several engines of switches make.
 */

/**
 * A random hop, each that is up equally likely.
 *
 * @return  an index; when none is up, any.
 */
static inline uint16_t
hops_random(const struct lb_hop *hops, uint16_t nb_hops, struct prng *prng)
{
	uint16_t hop = (uint16_t)prng_below(prng, nb_hops);
	uint16_t nb_up = 0;
	uint32_t nth;

	if (hops[hop].up)
		return hop;
	for (uint16_t i = 0; i < nb_hops; i++)
		nb_up = (uint16_t)(nb_up + hops[i].up);
	if (nb_up == 0)
		return hop;
	nth = prng_below(prng, nb_up);
	for (hop = 0; !hops[hop].up || nth-- > 0; hop++)
		;
	return hop;
}

#endif
