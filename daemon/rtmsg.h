/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_RTMSG_H
#define WEFT_RTMSG_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/netlink.h>

#include "ip_addr.h"

/**
 * @file
 * Messages of rtnetlink(7), to and from structs. Lengths are checked: what is cut short, of another
 * type or without what it must have is no message.
 */

/** Bytes that any request of ours fits. */
#define RTMSG_MAX 256

/** Bytes of an interface's name with its NUL. Source: the kernel's IFNAMSIZ. */
#define RTMSG_NAME_LEN 16

/** RTM_NEWLINK, RTM_DELLINK. */
struct rt_link {
	uint32_t ifindex;
	char name[RTMSG_NAME_LEN];
	bool is_ethernet; /**< mac is one */
	bool is_up;       /**< switched on, with a carrier, and usable */
	uint8_t mac[6];
	uint32_t mtu_bytes;
	uint16_t vlan;   /**< VLAN ID of an 802.1Q interface; 0 = it is none */
	uint32_t parent; /**< its ifindex, in this network namespace; 0 = none */
};

/** RTM_NEWADDR, RTM_DELADDR. */
struct rt_addr {
	uint32_t ifindex;
	struct ip_addr ip;
	uint8_t prefix_bits; /**< an address may be there with several */
	bool is_usable;      /**< not tentative: nobody else has it */
};

/** RTM_NEWNEIGH, RTM_DELNEIGH. */
struct rt_neigh {
	uint32_t ifindex;
	struct ip_addr ip;
	uint16_t state; /**< NUD_* */
	bool has_mac;
	uint8_t mac[6];
};

/** RTM_NEWROUTE, as an answer: where a packet goes next. */
struct rt_route {
	uint8_t type; /**< RTN_* */
	uint32_t ifindex;
	bool has_gateway;
	struct ip_addr gateway; /**< may be of another family than what was asked for */
};

bool rtmsg_link(const struct nlmsghdr *msg, struct rt_link *link);
bool rtmsg_addr(const struct nlmsghdr *msg, struct rt_addr *addr);
bool rtmsg_neigh(const struct nlmsghdr *msg, struct rt_neigh *neigh);
bool rtmsg_route(const struct nlmsghdr *msg, struct rt_route *route);

/* Requests, written to buf of RTMSG_MAX bytes; seq is left 0. */

/** All of a kind: RTM_GETLINK or RTM_GETADDR. */
struct nlmsghdr *rtmsg_put_dump(void *buf, uint16_t type);
/** The route to an address through an interface. */
struct nlmsghdr *rtmsg_put_get_route(void *buf, const struct ip_addr *ip, uint32_t ifindex);
/** The entry of a neighbour. */
struct nlmsghdr *rtmsg_put_get_neigh(void *buf, const struct ip_addr *ip, uint32_t ifindex);
/** Treat a neighbour as if a packet were to be sent there: find it, or see that it still answers.
 */
struct nlmsghdr *rtmsg_put_use_neigh(void *buf, const struct ip_addr *ip, uint32_t ifindex);

#endif
