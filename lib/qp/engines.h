/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_ENGINES_H
#define WEFT_ENGINES_H

#include <stdint.h>

#include "bind.h"
#include "qp.h"

/* The three engines that a QP runs: those that its NIC's conf names for its type. */

/** How much memory their states take at most, and where in it they lie. */
void qp_engines_layout(const struct nic *nic, uint8_t type, struct engine_layout *at);
/** They lie behind a QP that was made for them. */
void qp_engines_place(struct qp *qp, uint8_t type, const struct engine_layout *at);

/** Make the states anew, at RTR: attributes, MTU and rel_qp's receiver half are set. */
void qp_engines_init(struct qp *qp);

#endif
