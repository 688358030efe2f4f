/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_NETVIEW_H
#define WEFT_NETVIEW_H

#include "nic.h"
#include "rtmsg.h"

/**
 * @file
 * What the kernel has said of its interfaces and their addresses, and what that makes of a NIC that
 * stands on one of them.
 */

/** Addresses of an interface and its VLANs that are looked at; a NIC's table has fewer. */
#define NETVIEW_MAX_GIDS 256
/** Interfaces, and addresses, that are kept. Our choice, to bound what a kernel can cost. */
#define NETVIEW_MAX 65536

struct netview {
	struct rt_link *links;
	struct rt_addr *addrs;
	uint32_t nb_links, nb_addrs;
	uint32_t room_links, room_addrs;
	bool is_cut; /**< there was no memory, or no room, for something */
};

void netview_fini(struct netview *v);

/** Forget everything: all is told again. */
void netview_clear(struct netview *v);

/** Take a message, or leave one that is about something else. */
void netview_take(struct netview *v, const struct nlmsghdr *msg);

/** NULL if there is none. */
const struct rt_link *netview_link(const struct netview *v, uint32_t ifindex);
const struct rt_link *netview_find(const struct netview *v, const char *name);

/** The interface that has a NIC's addresses of a VLAN: itself, or one of its VLANs; 0 = none. */
uint32_t netview_vlan(const struct netview *v, uint32_t ifindex, uint16_t vlan);

/**
 * What a NIC takes from its interface: link-local first, then IPv4, IPv6, and those of VLANs.
 *
 * @param gids  gets the addresses, up to NETVIEW_MAX_GIDS; iface points to them.
 * @return      false if the interface is gone: it is down then, and keeps MAC, MTU and its
 *              link-local address.
 */
bool netview_nic(const struct netview *v, uint32_t ifindex, struct nic_iface *iface,
                 struct gid gids[NETVIEW_MAX_GIDS]);

#endif
