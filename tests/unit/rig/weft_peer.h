/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TESTS_RIG_WEFT_PEER_H
#define WEFT_TESTS_RIG_WEFT_PEER_H

#include "peer.h"

/*
 * Packets of the weft framing, by hand: for a QP of peer_open_weft. PSNs count from the first of
 * their stream, MSNs and SSNs from the world's first, so that a test reads the same wherever they
 * wrap. Each call makes one packet, to be changed at will and put.
 */

/** A packet of the peer's stream, or an acknowledgement. op without OP_WEFT. */
struct wire_pkt wp_pkt(const struct peer *p, uint8_t op, uint32_t psn, uint32_t msn);
/** Packet idx of a SEND of len bytes that begins at psn. */
struct wire_pkt wp_send(const struct peer *p, uint32_t psn, uint32_t msn, uint32_t ssn,
                        uint32_t len, uint32_t idx);
/** The same as VOID. */
struct wire_pkt wp_void(const struct peer *p, uint32_t psn, uint32_t msn, uint32_t ssn,
                        uint32_t len, uint32_t idx);
/** Packet idx of a WRITE of len bytes to this place in the QP's memory. */
struct wire_pkt wp_write(const struct peer *p, uint32_t psn, uint32_t msn, uint64_t off,
                         uint32_t len, uint32_t idx);
/** A WRITE with immediate in one packet, to the begin of the memory. */
struct wire_pkt wp_write_imm(const struct peer *p, uint32_t psn, uint32_t msn, uint32_t ssn,
                             uint32_t len, uint32_t imm);
/** A READ of len bytes from this place; ssn = the next that the peer uses. */
struct wire_pkt wp_read(const struct peer *p, uint32_t psn, uint32_t msn, uint64_t off,
                        uint32_t len, uint32_t ssn);
/** A FETCH_ADD of 1 at this place. */
struct wire_pkt wp_add(const struct peer *p, uint32_t psn, uint32_t msn, uint64_t off,
                       uint32_t ssn);
/** Packet idx of a READ response of len bytes to the QP's message req_msn. */
struct wire_pkt wp_read_resp(const struct peer *p, uint32_t psn, uint32_t msn, uint32_t req_msn,
                             uint32_t len, uint32_t idx);
/** An acknowledgement of the QP's stream. */
struct wire_pkt wp_ack(const struct peer *p, uint8_t syndrome, uint32_t cum, uint32_t emsn,
                       uint32_t value);
/** A plain one that refuses: block N. */
struct wire_pkt wp_refusal(const struct peer *p, uint32_t cum, uint32_t emsn, uint32_t ssn,
                           uint32_t msn, uint8_t code);

/** Keep it for the next burst; payload bytes are 0, 1, 2 ... */
void wp_put(struct peer *p, struct wire_pkt w);
/** The same, and the burst goes. */
void wp_hand(struct peer *p, struct wire_pkt w);

/** The last acknowledgement that left says this; there is one. */
const struct wire_pkt *wp_expect_ack(const struct peer *p, uint8_t syndrome, uint32_t cum,
                                     uint32_t emsn);
/** Frame i that left is this packet of the QP's stream. */
const struct wire_pkt *wp_expect_pkt(const struct peer *p, uint32_t i, uint8_t op, uint32_t psn,
                                     uint32_t msn);
/** How many of this opcode left. */
uint32_t wp_nb(const struct peer *p, uint8_t op);

#endif
