/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_INT_H
#define WEFT_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "cc.h"

/**
 * @file
 * Telemetry in packets (INT): each switch on the way of a stream packet fills in one hop of an area
 * that the sender left free, at the packet's dequeue. Widths of the fields: Li et al., "HPCC",
 * SIGCOMM 2019; the flag: Odin; units and order: our choice, docs/wire.md.
 *
 * The area has 4 bytes, then 8 for each of its 1 to 7 slots. The ICRC does not cover it, so nothing
 * in it is trusted.
 */

/** Most slots of an area. */
#define INT_SLOTS_MAX 7
/** Slots that an engine with telemetry asks for. Source: HPCC, 3.3: at most 5 hops in a fat tree.
 */
#define INT_SLOTS_DEFAULT 5
/** Bytes of an area with n slots. */
#define INT_LEN(n) (4 + 8 * (uint32_t)(n))

/** Codes of link rates are 1 to INT_RATE_NB - 1. */
#define INT_RATE_NB 13

/** The code of a link rate; 0 = it has none, so a port of this rate can't have telemetry. */
uint8_t int_rate_code(uint64_t rate_bps);

/** What a switch knows when a packet leaves. */
struct int_stamp {
	uint64_t now_ns;      /**< any clock that this switch always uses; 24 bits count */
	uint64_t tx_bytes;    /**< that the port sent before this packet, FCS, preamble and gap
	                         included */
	uint64_t queue_bytes; /**< that wait at the port */
	uint16_t hop_id;      /**< of switch and egress port */
	uint8_t rate_code;    /**< of the port, from int_rate_code and not 0 */
	bool tbo;             /**< the switch's buffers are fuller than alpha_TBO allows (Odin) */
};

/** What became of a stamp; each is a counter. */
enum int_result {
	INT_NO_AREA, /**< not a stream packet, or one without slots: as it was */
	INT_WRITTEN,
	INT_FULL, /**< no slot left: overflow noted, path id and flag written, no hop */
	INT_LIES, /**< more hops than slots, or slots beyond the packet's end: as it was */
	INT_NB,
};

/**
 * Write a hop into a packet that leaves a switch.
 *
 * @param bth  of a weft packet (weft_find).
 * @param len  from the BTH to the end of the UDP datagram; nothing beyond is read or written.
 */
enum int_result int_push(uint8_t *bth, uint32_t len, const struct int_stamp *stamp);

/** The hops of one area, first hop first. */
struct int_stack {
	uint32_t nb_hops;
	uint16_t path_id; /**< XOR of the hops' ids: tells paths apart */
	bool tbo;         /**< some switch set it */
	bool overflow;    /**< there were more hops than slots */
	struct int_hop hops[INT_SLOTS_MAX];
};

/** What an area is worth. */
enum int_read_result {
	INT_READ_OK,
	INT_READ_LIES, /**< more hops than slots: as if there were no area */
	INT_READ_RATE, /**< a hop's rate has a code that doesn't exist: use none of the hops */
};

/**
 * Read an area, or its echo in an acknowledgement.
 *
 * @param area   INT_LEN(nb_slots) bytes.
 * @param stack  written completely if the result is INT_READ_OK.
 */
enum int_read_result int_read(const uint8_t *area, uint32_t nb_slots, struct int_stack *stack);

#endif
