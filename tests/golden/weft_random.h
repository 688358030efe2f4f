/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_WEFT_RANDOM_H
#define WEFT_WEFT_RANDOM_H

#include "prng.h"
#include "wire.h"

/** Longest frame that weft_random_frame makes. */
#define WEFT_RANDOM_FRAME_MAX (WIRE_HDR_MAX + 4096 + 3 + ICRC_LEN)

/**
 * A packet of the weft framing that wire_build takes and wire_parse gives back: this opcode, with
 * OPF_WEFT and not a bounce, with any optional parts. Areas and blocks that it points to are kept
 * for the life of the process.
 */
void weft_random(struct prng *rng, uint8_t opcode, struct wire_pkt *w);

/** One of those opcodes. */
uint8_t weft_random_opcode(struct prng *rng);

/**
 * The packet as a frame, payload and ICRC included.
 *
 * @param frame  room for WEFT_RANDOM_FRAME_MAX bytes.
 * @return       its length.
 */
uint32_t weft_frame(uint8_t *frame, const struct wire_pkt *w, const struct wire_addr *addr,
                    uint16_t udp_sport, uint8_t ecn);

/** Any such packet between any addresses, with or without a VLAN tag. @return its length. */
uint32_t weft_random_frame(struct prng *rng, uint8_t *frame, struct wire_pkt *w);

#endif
