/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TESTS_DAEMON_NETMSG_H
#define WEFT_TESTS_DAEMON_NETMSG_H

#include <linux/netlink.h>
#include <stdint.h>

#include "ip_addr.h"

/* Messages as the kernel would send them. Attributes may be added to msg. */

struct netmsg {
	_Alignas(8) uint8_t buf[1024];
	struct nlmsghdr *msg; /**< = buf */
};

void netmsg_link(struct netmsg *m, uint16_t type, int ifindex, const char *name,
                 const uint8_t mac[6], unsigned int flags);
/** Make the link that of a VLAN; kind is "vlan" if it is to be one. */
void netmsg_vlan(struct netmsg *m, uint32_t parent, uint16_t id, const char *kind,
                 uint16_t protocol);
/** Without any address: netmsg_ip adds it. family_of tells the family. */
void netmsg_addr(struct netmsg *m, uint16_t type, uint32_t ifindex,
                 const struct ip_addr *family_of);
void netmsg_neigh(struct netmsg *m, uint16_t type, int ifindex, const struct ip_addr *ip,
                  uint16_t state, const uint8_t *mac);
void netmsg_route(struct netmsg *m, uint8_t family, uint8_t type, uint32_t ifindex);
/** Add an address as an attribute of 4 or 16 bytes. */
void netmsg_ip(struct netmsg *m, uint16_t attr, const struct ip_addr *ip);

#endif
