/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_FABRIC_RIG_H
#define WEFT_FABRIC_RIG_H

#include <stdint.h>

#include "mem.h"
#include "switch.h"

/*
 * A switch on a pool of plain memory, and frames for it. Host n has the MAC 02:00:00:00:00:n and
 * the address 10.0.0.n; 0xff as a destination is broadcast.
 */

#define RIG_PORTS_MAX 128
#define RIG_BROADCAST 0xff

struct rig {
	struct switch_conf conf; /* to be changed before rig_open */
	struct switch_port_params ports[RIG_PORTS_MAX];
	uint32_t nb_pkts; /* of the pool */
	uint32_t room_bytes;
	struct pkt_pool *pool;
	struct fabric_switch *sw;
};

/* A conf with everything at its default. */
void rig_init(struct rig *r, uint16_t nb_ports);
void rig_open(struct rig *r);
/* All packets have come home, and the buffer is empty. */
void rig_close(struct rig *r);

/* Frames; the rest is 0x5a. */
struct pkt *rig_frame(struct rig *r, uint8_t dst, uint8_t src, uint32_t len);
struct pkt *rig_copy(struct rig *r, const uint8_t *data, uint32_t len);
/* UDP over IPv4, 42 bytes or more. */
struct pkt *rig_udp(struct rig *r, uint8_t dst, uint8_t src, uint8_t tos, uint16_t sport,
                    uint32_t len);
/* A SEND of the weft framing with so many slots for telemetry, 100 bytes or more. */
struct pkt *rig_weft(struct rig *r, uint8_t dst, uint8_t src, uint8_t tos, uint8_t nb_slots,
                     uint32_t len);
/* A pause of these classes for so many quanta. */
struct pkt *rig_pause(struct rig *r, uint8_t classes, uint16_t quanta);

void rig_receive(struct rig *r, uint16_t in_port, struct pkt *p, uint64_t now_ns);
/* Let the switch know where hosts 1 to n are: host i at port i - 1. */
void rig_learn(struct rig *r, uint16_t nb_hosts);
/* How many frames leave a port now; they are freed. */
uint32_t rig_drain(struct rig *r, uint16_t port, uint64_t now_ns);
/* One frame that leaves a port now, or NULL. The caller's. */
struct pkt *rig_take(struct rig *r, uint16_t port, uint64_t now_ns);

const struct switch_port_stats *rig_stats(const struct rig *r, uint16_t port);

#endif
