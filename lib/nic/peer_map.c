/* SPDX-License-Identifier: BSD-3-Clause */
#include "peer_map.h"

#include <assert.h>
#include <sodium/crypto_shorthash.h>
#include <stdlib.h>
#include <string.h>

#include "be.h"
#include "lazy.h"

/* Chains of 16 when all peers are there. Our choice. */
#define BUCKETS 4096

void
peer_map_init(struct peer_map *map, uint32_t max_peers)
{
	*map = (struct peer_map){.max_peers = max_peers};
	list_init(&map->idle);
}

void
peer_map_fini(struct peer_map *map)
{
	free(map->buckets);
	lazy_free(map->entries, map->max_peers * sizeof(*map->entries));
}

void
peer_map_set_key(struct peer_map *map, uint64_t a, uint64_t b)
{
	assert(!map->nb_peers);
	put_be64(map->key, a);
	put_be64(map->key + 8, b);
}

static struct peer_entry **
bucket_of(const struct peer_map *map, const struct ip_addr *ip, const struct ip_addr *own_ip,
          uint16_t vlan)
{
	uint8_t in[34], out[crypto_shorthash_siphash24_BYTES];

	memcpy(in, ip->b, 16);
	memcpy(in + 16, own_ip->b, 16);
	put_be16(in + 32, vlan);
	crypto_shorthash_siphash24(out, in, sizeof(in), map->key);
	return &map->buckets[get_be16(out) % BUCKETS];
}

struct peer_entry *
peer_map_find(const struct peer_map *map, const struct ip_addr *ip, const struct ip_addr *own_ip,
              uint16_t vlan)
{
	struct peer_entry *e;

	if (!map->nb_peers)
		return NULL;
	e = *bucket_of(map, ip, own_ip, vlan);
	while (e && (e->p.vlan != vlan || memcmp(&e->p.ip, ip, sizeof(*ip)) != 0 ||
	             memcmp(&e->p.own_ip, own_ip, sizeof(*own_ip)) != 0))
		e = e->next;
	return e;
}

static bool
has_memory(struct peer_map *map)
{
	if (!map->buckets)
		map->buckets = calloc(BUCKETS, sizeof(struct peer_entry *));
	if (!map->entries)
		map->entries = lazy_zeros(map->max_peers * sizeof(*map->entries));
	return map->buckets && map->entries;
}

static void
take_out(struct peer_entry *e)
{
	*e->link = e->next;
	if (e->next)
		e->next->link = e->link;
}

static void
file(struct peer_map *map, struct peer_entry *e)
{
	struct peer_entry **bucket = bucket_of(map, &e->p.ip, &e->p.own_ip, e->p.vlan);

	e->next = *bucket;
	e->link = bucket;
	if (e->next)
		e->next->link = &e->next;
	*bucket = e;
}

struct peer_entry *
peer_map_add(struct peer_map *map, const struct ip_addr *ip, const struct ip_addr *own_ip,
             uint16_t vlan, void (*forget)(void *arg, struct peer_entry *old), void *arg)
{
	struct peer_entry *e;

	if (!has_memory(map))
		return NULL;
	if (map->nb_peers < map->max_peers) {
		e = &map->entries[map->nb_peers++];
	} else if (!list_is_empty(&map->idle)) {
		e = container_of(map->idle.next, struct peer_entry, idle);
		forget(arg, e);
		take_out(e);
		list_del(&e->idle);
	} else {
		return NULL;
	}
	*e = (struct peer_entry){.p = {.ip = *ip, .own_ip = *own_ip, .vlan = vlan}};
	list_init(&e->p.asking);
	list_init(&e->p.open);
	list_init(&e->p.dead);
	list_init(&e->opens);
	list_init(&e->deaths);
	list_init(&e->idle);
	wheel_timer_init(&e->ask_timer);
	wheel_timer_init(&e->open_timer);
	file(map, e);
	list_add_tail(&map->idle, &e->idle);
	return e;
}

void
peer_map_touch(struct peer_map *map, struct peer_entry *e)
{
	if (e->nb_refs)
		return;
	list_del(&e->idle);
	list_add_tail(&map->idle, &e->idle);
}

void
peer_map_ref(struct peer_entry *e)
{
	if (e->nb_refs++ == 0)
		list_del(&e->idle);
}

void
peer_map_unref(struct peer_map *map, struct peer_entry *e)
{
	assert(e->nb_refs > 0);
	if (--e->nb_refs == 0)
		list_add_tail(&map->idle, &e->idle);
}
