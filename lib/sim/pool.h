/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SIM_POOL_H
#define WEFT_SIM_POOL_H

#include <stdint.h>

#include "pkt.h"

/**
 * @file
 * Packets of a laboratory: as many as are asked for at a time, taken from the system in slabs and
 * given back at the end.
 */

/** @param room_bytes  of each packet. @return NULL without memory; free it by sim_pool_destroy. */
struct pkt_pool *sim_pool_create(uint32_t room_bytes);

/** Packets that are out now. */
uint64_t sim_pool_nb_out(const struct pkt_pool *pool);

/** NULL does nothing. Packets that are still out go too. */
void sim_pool_destroy(struct pkt_pool *pool);

#endif
