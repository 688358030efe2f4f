/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SWITCH_H
#define WEFT_SWITCH_H

#include <stdint.h>

#include "param.h"
#include "pkt.h"
#include "stat.h"

/**
 * @file
 * A learning Ethernet switch: frames of any kind go to the port where their destination was last
 * seen, and to all others if it was not, or is a group. VLAN tags are carried and not looked at.
 * Source: IEEE 802.1Q, clause 8. What it does not forward: frames to the reserved group addresses
 * 01-80-c2-00-00-00 to -0f (table 8-1; pause frames of 802.1Qbb among them) and all MAC control.
 */

struct fabric_switch;

/** What a conf file can set; see switch_param_descs. */
struct switch_params {
	uint32_t macs_max;        /**< addresses it remembers */
	uint64_t mac_age_ns;      /**< for so long after their last frame */
	uint32_t queue_pkts_max;  /**< per egress port; what comes beyond is dropped */
	uint64_t queue_bytes_max; /**< likewise */
};

extern const struct param_desc switch_param_descs[];

/** Counters of one port. */
struct switch_port_stats {
	uint64_t rx_packets, rx_bytes;
	uint64_t tx_packets, tx_bytes;
	uint64_t rx_flooded;    /**< destination unknown or a group: to all other ports */
	uint64_t rx_filtered;   /**< destination on the port it came from */
	uint64_t rx_control;    /**< for the switch itself, or link-local: not forwarded */
	uint64_t rx_bad;        /**< too short for an Ethernet header */
	uint64_t tx_queue_full; /**< frames dropped because the queue was at its limit */
	uint64_t tx_no_buffer;  /**< flooded frames dropped because the pool was empty */
};

extern const struct stat_desc switch_port_stat_descs[];

/**
 * @param nb_ports  1 to 65534.
 * @param params    copied; ranges as in switch_param_descs.
 * @param pool      for the copies of flooded frames; must live as long as the switch.
 * @return          NULL without memory.
 */
struct fabric_switch *switch_create(uint16_t nb_ports, const struct switch_params *params,
                                    struct pkt_pool *pool);

/** Frees the frames that are still queued. NULL does nothing. */
void switch_destroy(struct fabric_switch *sw);

/** n frames came in on a port, and are the switch's now. */
void switch_receive(struct fabric_switch *sw, uint16_t in_port, struct pkt **pkts, uint32_t n,
                    uint64_t now_ns);

/** Take up to max frames that go out on a port, in order; they are the caller's then. */
uint32_t switch_send(struct fabric_switch *sw, uint16_t port, struct pkt **pkts, uint32_t max,
                     uint64_t now_ns);

/** 0 while any frame is queued, else NEVER_NS. */
uint64_t switch_next_ns(const struct fabric_switch *sw);

uint16_t switch_nb_ports(const struct fabric_switch *sw);
const struct switch_port_stats *switch_port_stats(const struct fabric_switch *sw, uint16_t port);

#endif
