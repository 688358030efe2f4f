/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_GID_H
#define WEFT_GID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "wire.h"

/**
 * @file
 * The addresses of a NIC, by index. An application remembers an index and uses it later, so an
 * address keeps its own for as long as the NIC has it, whatever comes and goes beside it.
 */

/**
 * Most entries of a table. Programs look through all of them, with a call for each: enough for a
 * host with twenty VLANs of three addresses, and no more. Source: our choice.
 */
#define GID_TABLE_MAX 64
/** Of the link-local address that the NIC is never without. */
#define GID_LINK_LOCAL 0

/** An address of a NIC. Two with the same ip in different VLANs are different ones. */
struct gid {
	struct ip_addr ip; /**< all zero = empty entry */
	uint16_t vlan;     /**< VLAN ID that its frames carry; 0 = untagged */
	uint32_t ifindex;  /**< interface of the kernel that it belongs to; 0 = none */
};

struct gid_table {
	struct gid entry[GID_TABLE_MAX];
	uint32_t len;     /**< entries that applications can ask for; fixed from the start */
	uint32_t nb_used; /**< those from here on are empty */
};

/** What gid_table_set did. */
struct gid_changes {
	uint32_t nb_added, nb_removed;
	uint32_t nb_left_out; /**< wanted, and the table is full */
};

static inline bool
gid_is_empty(const struct gid *gid)
{
	return ip_addr_is_unspecified(&gid->ip);
}

/** Whether both are one address in one VLAN. */
static inline bool
gid_is_same(const struct gid *a, const struct gid *b)
{
	return a->vlan == b->vlan && memcmp(&a->ip, &b->ip, sizeof(a->ip)) == 0;
}

/** VLAN ID of a received frame; the tag of a mere priority counts as none. */
static inline uint16_t
vlan_id(uint16_t tci)
{
	return tci & 0xfff;
}

/** fe80::/64 with the MAC as EUI-64, untagged. Source: RFC 4291, appendix A. */
struct gid gid_link_local(const uint8_t mac[6]);

/** Indices in use, "0, 1, 3", as many as there is room for. @return text. */
const char *gid_indices_text(const struct gid_table *t, char *text, size_t size);

/** NULL if the table has no such address. */
const struct gid *gid_find(const struct gid_table *t, const struct ip_addr *ip, uint16_t vlan);

/** Whether it is there in any VLAN. */
bool gid_has_ip(const struct gid_table *t, const struct ip_addr *ip);

/** The entry of an index if there is an address; else NULL. */
static inline const struct gid *
gid_at(const struct gid_table *t, uint32_t index)
{
	return index < t->nb_used && !gid_is_empty(&t->entry[index]) ? &t->entry[index] : NULL;
}

/**
 * Have these addresses and no others. Those that were there keep their index, others take the
 * first free one, in this order; the first is the link-local one, whose index is GID_LINK_LOCAL.
 *
 * @param wanted  at least one, none empty; an address that comes twice counts once.
 */
struct gid_changes gid_table_set(struct gid_table *t, const struct gid *wanted, uint32_t nb_wanted);

#endif
