/* SPDX-License-Identifier: BSD-3-Clause */
#include "routes.h"

#include <errno.h>
#include <stdlib.h>

struct routes {
	uint32_t nb, max;
	struct route list[];
};

struct routes *
routes_create(uint32_t max)
{
	struct routes *r = calloc(1, sizeof(*r) + max * sizeof(r->list[0]));

	if (r)
		r->max = max;
	return r;
}

void
routes_destroy(struct routes *routes)
{
	free(routes);
}

bool
routes_is_empty(const struct routes *routes)
{
	return routes->nb == 0;
}

static bool
covers(const struct route *route, const struct ip_addr *ip)
{
	uint32_t bytes = route->prefix_bits / 8, bits = route->prefix_bits % 8;

	if (memcmp(route->prefix.b, ip->b, bytes) != 0)
		return false;
	return bits == 0 || (route->prefix.b[bytes] ^ ip->b[bytes]) >> (8 - bits) == 0;
}

int
routes_set(struct routes *routes, const struct route *route)
{
	for (uint32_t i = 0; i < routes->nb; i++) {
		struct route *r = &routes->list[i];

		if (r->prefix_bits != route->prefix_bits || !covers(r, &route->prefix))
			continue;
		*r = *route;
		return 0;
	}
	if (routes->nb == routes->max)
		return -ENOSPC;
	routes->list[routes->nb++] = *route;
	return 0;
}

void
routes_clear(struct routes *routes)
{
	routes->nb = 0;
}

const struct route *
routes_find(const struct routes *routes, const struct ip_addr *ip)
{
	const struct route *best = NULL;

	for (uint32_t i = 0; i < routes->nb; i++) {
		const struct route *r = &routes->list[i];

		if (covers(r, ip) && (!best || r->prefix_bits > best->prefix_bits))
			best = r;
	}
	return best;
}
