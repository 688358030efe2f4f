/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_NEIGH_MSG_H
#define WEFT_NEIGH_MSG_H

#include <stdbool.h>
#include <stdint.h>

#include "wire.h"

/**
 * @file
 * ARP and IPv6 neighbour discovery on the wire, as one kind of message: somebody says where an
 * address is, or asks where one is. Sources: RFC 826; RFC 4861, sections 4.3, 4.4, 7.1, 7.2.
 */

/** No message of ours is longer: Ethernet, VLAN, IPv6, 24 of ICMP, one option of 8. */
#define NEIGH_MSG_MAX 90

struct neigh_msg {
	bool is_question; /**< ARP request or neighbour solicitation; else an answer */
	/** An answer that gives way to another MAC already known (override flag not set). */
	bool is_weak;
	/** An answer to one who asked, and not to everybody; only for building. */
	bool is_solicited;
	bool has_mac;          /**< mac says where sender is */
	struct ip_addr sender; /**< who is at mac; all zero (mapped 0.0.0.0) if not sure yet */
	struct ip_addr target; /**< of a question: who is looked for; of an answer: who asked */
	uint8_t mac[6];        /**< of sender, a unicast address */
	uint8_t eth_src[6];    /**< of the frame */
	uint8_t eth_dst[6];    /**< likewise; may be a group */
	bool has_vlan;
	uint16_t vlan_tci;
};

/**
 * Read a frame.
 *
 * @param len  bytes of frame; padding behind the message is fine.
 * @return     false if it is not ARP or ND of Ethernet, or breaks a rule of theirs.
 */
bool neigh_msg_parse(const uint8_t *frame, uint32_t len, struct neigh_msg *msg);

/**
 * Write a frame of at least 60 bytes. has_mac and is_weak are not looked at: mac is always told, in
 * force, except by a solicitation of the unspecified address.
 *
 * @param buf  room for NEIGH_MSG_MAX bytes.
 * @return     bytes written.
 */
uint32_t neigh_msg_build(uint8_t *buf, const struct neigh_msg *msg);

/** The Ethernet address that a question for a target goes to: broadcast or solicited-node group. */
void neigh_msg_group(uint8_t mac[6], const struct ip_addr *target);

#endif
