/* SPDX-License-Identifier: BSD-3-Clause */
#include "hops.h"

#include <stdlib.h>
#include <string.h>

#include "be.h"

static uint32_t
bucket_of(const struct ip_addr *ip, uint32_t more)
{
	uint64_t x = get_be64(ip->b) ^ get_be64(ip->b + 8) * UINT64_C(0x9e3779b97f4a7c15) ^ more;

	x = (x ^ x >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
	return (uint32_t)(x >> 32) % HOPS_BUCKETS;
}

void
hops_init(struct hops *h)
{
	*h = (struct hops){0};
	for (uint32_t i = 0; i < HOPS_BUCKETS; i++) {
		list_init(&h->dests[i]);
		list_init(&h->hops[i]);
	}
}

void
hops_aim_nowhere(struct hop_dest *dest)
{
	struct hop *hop = dest->hop;

	if (!hop)
		return;
	list_del(&dest->link);
	dest->hop = NULL;
	if (!list_is_empty(&hop->dests))
		return;
	list_del(&hop->bucket);
	list_del(&hop->again);
	free(hop);
}

static void
forget(struct hops *h, struct hop_dest *dest)
{
	hops_aim_nowhere(dest);
	list_del(&dest->bucket);
	h->nb_dests--;
	free(dest);
}

void
hops_fini(struct hops *h)
{
	for (uint32_t i = 0; i < HOPS_BUCKETS; i++)
		while (!list_is_empty(&h->dests[i]))
			forget(h, container_of(h->dests[i].next, struct hop_dest, bucket));
}

/* One bucket at a time: all have their turn while HOPS_BUCKETS are asked for. */
static void
sweep(struct hops *h, uint64_t now_ns)
{
	struct list *bucket = &h->dests[h->swept++ % HOPS_BUCKETS];
	struct list *next;

	for (struct list *l = bucket->next; l != bucket; l = next) {
		struct hop_dest *dest = container_of(l, struct hop_dest, bucket);

		next = l->next;
		if (now_ns - dest->asked_ns > HOPS_AGE_NS)
			forget(h, dest);
	}
}

struct hop_dest *
hops_ask(struct hops *h, void *nic, const struct ip_addr *ip, uint16_t vlan, uint64_t now_ns)
{
	struct list *bucket = &h->dests[bucket_of(ip, vlan)];
	struct hop_dest *dest;

	for (struct list *l = bucket->next; l != bucket; l = l->next) {
		dest = container_of(l, struct hop_dest, bucket);
		if (dest->nic == nic && dest->vlan == vlan &&
		    memcmp(&dest->ip, ip, sizeof(*ip)) == 0) {
			dest->asked_ns = now_ns;
			return dest;
		}
	}
	sweep(h, now_ns);
	dest = h->nb_dests < HOPS_DESTS_MAX ? calloc(1, sizeof(*dest)) : NULL;
	if (!dest)
		return NULL;
	dest->nic = nic;
	dest->ip = *ip;
	dest->vlan = vlan;
	dest->asked_ns = now_ns;
	list_init(&dest->link);
	list_add_tail(bucket, &dest->bucket);
	h->nb_dests++;
	return dest;
}

struct hop *
hops_find(const struct hops *h, uint32_t ifindex, const struct ip_addr *ip)
{
	const struct list *bucket = &h->hops[bucket_of(ip, ifindex)];

	for (struct list *l = bucket->next; l != bucket; l = l->next) {
		struct hop *hop = container_of(l, struct hop, bucket);

		if (hop->ifindex == ifindex && memcmp(&hop->ip, ip, sizeof(*ip)) == 0)
			return hop;
	}
	return NULL;
}

struct hop *
hops_aim(struct hops *h, struct hop_dest *dest, uint32_t ifindex, const struct ip_addr *ip)
{
	struct hop *hop = hops_find(h, ifindex, ip);

	if (hop && hop == dest->hop)
		return hop;
	hops_aim_nowhere(dest);
	if (!hop) {
		hop = calloc(1, sizeof(*hop));
		if (!hop)
			return NULL;
		hop->ifindex = ifindex;
		hop->ip = *ip;
		list_init(&hop->dests);
		list_init(&hop->again);
		list_add_tail(&h->hops[bucket_of(ip, ifindex)], &hop->bucket);
	}
	dest->hop = hop;
	list_add_tail(&hop->dests, &dest->link);
	return hop;
}
