/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_ROUTES_H
#define WEFT_ROUTES_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "ip_prefix.h"
#include "lb.h"

/**
 * @file
 * Static prefixes of a switch: which ports, equal in cost, lead to an address.
 *
 * A table of fixed size, filled at control time. A look-up is one hash per length of prefix that
 * occurs, the longest first: most fabrics have host routes and a default. IPv4 addresses are mapped
 * into IPv6, so ::/0 covers both, and ::ffff:0:0/96 is the default of IPv4 alone.
 */

/** Most ports of one prefix. */
#define ROUTE_PORTS_MAX LB_GROUP_MAX

struct route {
	_Alignas(64) struct ip_prefix prefix; /**< bits behind it are not looked at */
	uint16_t nb_ports;                    /**< at least 1 */
	bool in_a_row;                        /**< set by routes_set: ports[i] = ports[0] + i */
	/** Bit i: ports[i] keeps its place and does not lead there now, as if its link were down.
	 */
	uint64_t away;
	uint16_t ports[ROUTE_PORTS_MAX];
};

static_assert(ROUTE_PORTS_MAX <= 64, "a set of a route's ports is a word");

struct routes;

/**
 * @param max  most prefixes, 1 to 2^24.
 * @return     NULL without memory.
 */
struct routes *routes_create(uint32_t max);

/** NULL does nothing. */
void routes_destroy(struct routes *routes);

bool routes_is_empty(const struct routes *routes);

/** Grows, from 1 on, whenever routes_find may have another answer. */
uint64_t routes_version(const struct routes *routes);

/** How many prefixes there are. */
uint32_t routes_nb(const struct routes *routes);

/**
 * Add a prefix, or replace the ports of one that is there.
 *
 * @return  0; -ENOSPC if there are as many as can be; -ENOMEM, of a prefix that is new.
 */
int routes_set(struct routes *routes, const struct route *route);

/** Forget all. Pointers that routes_find gave are void. */
void routes_clear(struct routes *routes);

/**
 * The longest prefix that covers an address; NULL = none.
 *
 * The pointer stays good until routes_clear; what it points to changes if the prefix is set again.
 */
const struct route *routes_find(const struct routes *routes, const struct ip_addr *ip);

#endif
