/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_ENGINES_H
#define WEFT_ENGINES_H

#include <stdbool.h>

#include "qp.h"

/* The three engines that a QP runs: those that its NIC's conf names for its type. */

/** Allocate the block of their states. The QP's queues are there. False without memory. */
bool qp_engines_alloc(struct qp *qp);

/** Make the states anew, at RTR: attributes, MTU and rel_qp's receiver half are set. */
void qp_engines_init(struct qp *qp);

#endif
