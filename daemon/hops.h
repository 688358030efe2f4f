/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_HOPS_H
#define WEFT_HOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "ip_addr.h"
#include "list.h"

/**
 * @file
 * Where NICs send to, and through which neighbour: a NIC asks for a destination, the kernel tells
 * of neighbours, and a gateway is the next hop of many destinations.
 */

/** Destinations that are remembered. */
#define HOPS_DESTS_MAX 131072
/** One that was not asked for since is forgotten: NICs ask again every NEIGH_REFRESH_NS. */
#define HOPS_AGE_NS UINT64_C(120000000000)
#define HOPS_BUCKETS 16384

/** A neighbour that is the next hop of some destinations. */
struct hop {
	struct list bucket;
	struct list dests;
	struct list again; /**< among those to be looked for again; the caller's */
	uint32_t ifindex;
	struct ip_addr ip;
};

/** A destination of a NIC. */
struct hop_dest {
	struct list bucket;
	struct list link; /**< of hop->dests */
	struct hop *hop;  /**< NULL = there is no way */
	void *nic;        /**< who asks; the caller's */
	struct ip_addr ip;
	uint16_t vlan;
	uint64_t asked_ns;
};

struct hops {
	struct list dests[HOPS_BUCKETS], hops[HOPS_BUCKETS];
	uint32_t nb_dests;
	uint32_t swept; /**< the bucket that is looked through next */
};

void hops_init(struct hops *h);
void hops_fini(struct hops *h);

/**
 * A NIC asks for a destination: find it or remember it. Forgets some that are old.
 *
 * @return NULL without memory, or if there are too many.
 */
struct hop_dest *hops_ask(struct hops *h, void *nic, const struct ip_addr *ip, uint16_t vlan,
                          uint64_t now_ns);

/** This neighbour is the destination's next hop from now on. @return NULL without memory. */
struct hop *hops_aim(struct hops *h, struct hop_dest *dest, uint32_t ifindex,
                     const struct ip_addr *ip);
/** There is no way to it. */
void hops_aim_nowhere(struct hop_dest *dest);

/** NULL if no destination has this next hop. */
struct hop *hops_find(const struct hops *h, uint32_t ifindex, const struct ip_addr *ip);

#endif
