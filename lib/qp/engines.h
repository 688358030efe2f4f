/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_ENGINES_H
#define WEFT_ENGINES_H

#include <stddef.h>
#include <stdint.h>

#include "qp.h"

/**
 * @file
 * The three engines that a QP runs: those that its NIC's conf names for its peer and its framing.
 *
 * The peer is known at RTR, and whether an RC QP that may be either is plain perhaps later. So a QP
 * is made with room for whatever it may get; until RTR it has the NIC's own, which stand still.
 */

/** Bytes of the states of any three engines that a QP of this type may get. Control time. */
size_t qp_engines_size(const struct nic *nic, uint8_t type);

/** A QP of zeros gets the NIC's own engines, and the room behind it for their states. */
void qp_engines_place(struct qp *qp);

/**
 * At RTR: find the engines for the peer, and with them qp.framing, which is QP_PLAIN or QP_PENDING;
 * make their states anew. Attributes, path, MTU and rel_qp's receiver half are set. What starts the
 * sender half is ops->start: at RTS if the QP is plain, else when its framing is decided.
 */
void qp_engines_init(struct qp *qp);

/**
 * A QP_PENDING one turns out to be plain: others take the place of its engines, made anew as by
 * qp_engines_init.
 */
void qp_engines_fall_back(struct qp *qp);

#endif
