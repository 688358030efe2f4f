/* SPDX-License-Identifier: BSD-3-Clause */
#include "routes.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define LENGTHS_MAX 129
#define SLOTS_LOG2_MIN 4

/* An address as two words, in the order in which its bytes lie. */
struct key {
	uint64_t word[2];
};

struct length {
	struct key mask;
	uint8_t bits;
};

struct slot {
	struct key key;
	uint32_t route; /* number in list, plus 1; 0 = free */
	uint8_t bits;
};

/* Open addressing, at most half full. */
struct routes {
	struct slot *slots;
	uint32_t shift; /* 64 - log2 of the number of slots */
	uint32_t mask;  /* that number - 1 */
	uint32_t nb_lengths;
	struct length lengths[LENGTHS_MAX]; /* that occur, the longest first */
	uint32_t nb, max;
	uint64_t version;
	struct route list[];
};

static struct key
key_of(const struct ip_addr *ip)
{
	struct key key;

	memcpy(&key, ip->b, sizeof(key));
	return key;
}

/* The last bytes differ most and are the upper ones: fold, or they never mix. */
static uint32_t
home(const struct routes *r, struct key key, uint8_t bits)
{
	uint64_t h = key.word[1] * UINT64_C(0x9e3779b97f4a7c15);

	h ^= (key.word[0] + bits) * UINT64_C(0xc2b2ae3d27d4eb4f);
	h = (h ^ h >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
	return (uint32_t)(h >> r->shift);
}

/* The slot of a prefix, or the free one where it would go. */
static uint32_t
find_slot(const struct routes *r, struct key key, uint8_t bits)
{
	uint32_t i = home(r, key, bits);

	for (;; i = (i + 1) & r->mask) {
		const struct slot *s = &r->slots[i];

		if (s->route == 0 || (s->key.word[0] == key.word[0] &&
		                      s->key.word[1] == key.word[1] && s->bits == bits))
			return i;
	}
}

/* A table of its own size for those that are there; look-ups then touch little memory. */
static bool
resize(struct routes *r, uint32_t log2)
{
	struct slot *old = r->slots, *slots = calloc((size_t)1 << log2, sizeof(*slots));
	size_t nb_old = old ? (size_t)r->mask + 1 : 0;

	if (!slots)
		return false;
	r->slots = slots;
	r->shift = 64 - log2;
	r->mask = (1u << log2) - 1;
	for (size_t i = 0; i < nb_old; i++)
		if (old[i].route)
			slots[find_slot(r, old[i].key, old[i].bits)] = old[i];
	free(old);
	return true;
}

struct routes *
routes_create(uint32_t max)
{
	struct routes *r;

	assert(max >= 1 && max <= 1u << 24);
	r = aligned_alloc(64, sizeof(*r) + max * sizeof(r->list[0]));
	if (!r)
		return NULL;
	memset(r, 0, sizeof(*r));
	if (!resize(r, SLOTS_LOG2_MIN)) {
		free(r);
		return NULL;
	}
	r->max = max;
	r->version = 1;
	return r;
}

void
routes_destroy(struct routes *r)
{
	if (!r)
		return;
	free(r->slots);
	free(r);
}

uint64_t
routes_version(const struct routes *routes)
{
	return routes->version;
}

uint32_t
routes_nb(const struct routes *routes)
{
	return routes->nb;
}

bool
routes_is_empty(const struct routes *r)
{
	return r->nb == 0;
}

static void
add_length(struct routes *r, uint8_t bits)
{
	struct ip_addr ones;
	uint32_t i = 0;

	while (i < r->nb_lengths && r->lengths[i].bits > bits)
		i++;
	if (i < r->nb_lengths && r->lengths[i].bits == bits)
		return;
	memmove(&r->lengths[i + 1], &r->lengths[i], (r->nb_lengths - i) * sizeof(r->lengths[0]));
	memset(ones.b, 0xff, sizeof(ones.b));
	ones = ip_addr_trim(&ones, bits);
	r->lengths[i] = (struct length){key_of(&ones), bits};
	r->nb_lengths++;
}

static bool
is_in_a_row(const struct route *route)
{
	for (uint16_t i = 1; i < route->nb_ports; i++)
		if (route->ports[i] != route->ports[0] + i)
			return false;
	return true;
}

/* Room for one more, and at most half of the slots in use. */
static int
add_slot(struct routes *r, struct key key, uint8_t bits)
{
	if (r->nb == r->max)
		return -ENOSPC;
	if (2 * (r->nb + 1) > r->mask && !resize(r, 65 - r->shift))
		return -ENOMEM;
	r->slots[find_slot(r, key, bits)] = (struct slot){key, ++r->nb, bits};
	r->version++;
	add_length(r, bits);
	return 0;
}

int
routes_set(struct routes *r, const struct route *route)
{
	const uint8_t bits = route->prefix.bits;
	struct ip_addr ip = ip_addr_trim(&route->prefix.ip, bits);
	struct slot *slot = &r->slots[find_slot(r, key_of(&ip), bits)];
	int err = slot->route == 0 ? add_slot(r, key_of(&ip), bits) : 0;

	assert(route->nb_ports >= 1 && route->nb_ports <= ROUTE_PORTS_MAX);
	if (err)
		return err;
	slot = &r->slots[find_slot(r, key_of(&ip), bits)];
	r->list[slot->route - 1] = *route;
	r->list[slot->route - 1].in_a_row = is_in_a_row(route);
	r->list[slot->route - 1].prefix.ip = ip;
	return 0;
}

void
routes_clear(struct routes *r)
{
	memset(r->slots, 0, ((size_t)r->mask + 1) * sizeof(*r->slots));
	r->nb = 0;
	r->nb_lengths = 0;
	r->version++;
}

const struct route *
routes_find(const struct routes *r, const struct ip_addr *ip)
{
	struct key key = key_of(ip);

	for (uint32_t i = 0; i < r->nb_lengths; i++) {
		const struct length *len = &r->lengths[i];
		struct key masked = {
			{key.word[0] & len->mask.word[0], key.word[1] & len->mask.word[1]}};
		const struct slot *slot = &r->slots[find_slot(r, masked, len->bits)];

		if (slot->route)
			return &r->list[slot->route - 1];
	}
	return NULL;
}
