/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_GOLDEN_H
#define WEFT_GOLDEN_H

#include <stdint.h>

#include "wire.h"

/** Longest frame that golden_rebuild writes. */
#define GOLDEN_FRAME_MAX (WIRE_HDR_MAX + 4096 + 3 + ICRC_LEN)

/** A RoCEv2 frame as some other implementation sent it, or as the standard's rules give it. */
struct golden_frame {
	const char *name; /**< the vector's, or the capture's file */
	const uint8_t *data;
	uint32_t len;
};

/**
 * The vectors, then every packet of rxe-*.pcap: Linux Soft-RoCE at both ends, and in rxe-ipv6 what
 * it sent to weft, one frame of each opcode, pad and kind of NAK. Read once and kept for the life
 * of the process; a file that is missing or no capture ends it.
 */
const struct golden_frame *golden_frames(uint32_t *nb_frames);

/** Bytes from pairs of hex digits, with at most one space between two pairs. @return how many. */
uint32_t golden_hex(uint8_t *out, const char *hex);

/**
 * Build a parsed frame anew from what the parse gave; only MACs, IPv4 identification and payload
 * are taken from the frame.
 *
 * @param out  room for GOLDEN_FRAME_MAX bytes.
 * @return     bytes written.
 */
uint32_t golden_rebuild(uint8_t *out, const uint8_t *frame, const struct wire_pkt *w);

#endif
