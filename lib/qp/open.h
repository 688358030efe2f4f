/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_OPEN_H
#define WEFT_OPEN_H

#include <stdbool.h>
#include <stdint.h>

#include "peers.h"
#include "qp.h"

/**
 * @file
 * OPEN: two QPs agree on the weft framing and its terms, or turn out to be plain RoCEv2. What their
 * NICs speak is peers.h. docs/wire.md, "OPEN".
 *
 * A QP_PENDING QP asks until it is answered; who is asked says what it thinks of it and forgets,
 * so that an answer may be lost. It is open when its own question was answered, or a packet of the
 * peer's stream shows that the peer is.
 */

/** The table of peers of a NIC some of whose binds wish for weft; NULL without memory. */
struct peers *open_peers(struct nic *nic);

/** At RTR, while QP_PENDING: find out about the peer. Returns at once. */
void open_begin(struct qp *qp, uint64_t now_ns);

/** Two QPs of one process that are at RTR or beyond and QP_PENDING: they agree without a message.
 */
void open_pair(struct qp *qp, struct qp *peer, uint64_t now_ns);

/** The QP stops: it is reset, or ends. */
void open_end(struct qp *qp);

/** A packet of its peer came for a QP_PENDING QP: perhaps that decides. */
void open_heard(struct qp *qp, bool is_weft, uint64_t now_ns);

/** Nothing comes from the peer of an open QP: perhaps it was started anew. */
void open_probe(struct qp *qp, uint64_t now_ns);

/** The application has posted to a QP_PENDING QP. */
void open_posted(struct qp *qp, uint64_t now_ns);

/** When a QP_PENDING QP gives up, NEVER_NS if it does not. */
uint64_t open_gives_up_ns(const struct qp *qp);

/** It is that time. */
void open_give_up(struct qp *qp);

#endif
