/* SPDX-License-Identifier: BSD-3-Clause */
#include "neigh_map.h"

#include <stdlib.h>
#include <string.h>

#include "be.h"
#include "lazy.h"

/* Buckets are made ready at the start, however few neighbours there will be. Our choice. */
#define BUCKETS_MAX 4096

bool
neigh_map_init(struct neigh_map *map, uint32_t max_entries)
{
	uint32_t nb_buckets = 1;

	while (nb_buckets < max_entries && nb_buckets < BUCKETS_MAX)
		nb_buckets *= 2;
	*map = (struct neigh_map){
		.bucket_mask = nb_buckets - 1,
		.buckets = calloc(nb_buckets, sizeof(*map->buckets)),
		.max_entries = max_entries,
		.entries = lazy_zeros(max_entries * sizeof(*map->entries)),
	};
	list_init(&map->idle);
	if (map->buckets && map->entries)
		return true;
	neigh_map_fini(map);
	return false;
}

void
neigh_map_fini(struct neigh_map *map)
{
	free(map->buckets);
	lazy_free(map->entries, map->max_entries * sizeof(*map->entries));
}

static struct neigh_entry **
bucket_of(const struct neigh_map *map, const struct ip_addr *ip, uint16_t vlan)
{
	uint64_t h = get_be64(ip->b) ^ vlan ^ get_be64(ip->b + 8) * UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ h >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
	return &map->buckets[h >> 32 & map->bucket_mask];
}

struct neigh_entry *
neigh_map_find(const struct neigh_map *map, const struct ip_addr *ip, uint16_t vlan)
{
	struct neigh_entry *e = *bucket_of(map, ip, vlan);

	while (e && (e->n.vlan != vlan || memcmp(&e->n.ip, ip, sizeof(*ip)) != 0))
		e = e->next;
	return e;
}

static struct neigh_entry *
take(struct neigh_map *map)
{
	struct neigh_entry *e;

	if (map->nb_entries == map->max_entries)
		return list_is_empty(&map->idle)
		               ? NULL
		               : container_of(map->idle.next, struct neigh_entry, idle);
	e = &map->entries[map->nb_entries++];
	wheel_timer_init(&e->timer);
	list_init(&e->idle);
	list_init(&e->due);
	return e;
}

/* To the bucket of its address, out of that of an older one. */
static void
file(struct neigh_map *map, struct neigh_entry *e)
{
	struct neigh_entry **bucket = bucket_of(map, &e->n.ip, e->n.vlan);

	if (e->link) {
		*e->link = e->next;
		if (e->next)
			e->next->link = e->link;
	}
	e->next = *bucket;
	e->link = bucket;
	if (e->next)
		e->next->link = &e->next;
	*bucket = e;
}

struct neigh_entry *
neigh_map_add(struct neigh_map *map, const struct ip_addr *ip, uint16_t vlan)
{
	struct neigh_entry *e = take(map);

	if (!e)
		return NULL;
	e->n.ip = *ip;
	e->n.vlan = vlan;
	file(map, e);
	return e;
}
