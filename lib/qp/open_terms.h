/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_OPEN_TERMS_H
#define WEFT_OPEN_TERMS_H

#include <stdbool.h>

#include "hello.h"
#include "qp.h"

/**
 * @file
 * The terms of a weft QP, as OPEN carries them: what either side wants and expects, and what
 * follows from both.
 */

/** What a QP that is at RTR or beyond wants and expects. */
struct hello_terms open_terms_of(const struct qp *qp);

/** What follows from what both sides want. Trimming is agreed on with the engine. */
struct weft_terms open_terms_agree(const struct qp *qp, const struct hello_terms *own,
                                   const struct hello_terms *peer);

/** What this side thinks of what the other one wants: own->status and reason. */
void open_terms_judge(const struct qp *qp, const struct hello_terms *peer, struct hello_terms *own);

/**
 * Whether the peer speaks of a connection before or after this one: of the PSNs that both have
 * named none is the same. In one direction they may differ: nobody need use it.
 */
bool open_terms_are_foreign(const struct hello_terms *own, const struct hello_terms *peer);

/** Whether both are terms of the same connection. */
bool open_terms_equal(const struct weft_terms *a, const struct weft_terms *b);

/** Whether one side's status says that the two do not fit, */
bool open_terms_refused(const struct hello_terms *t);
/** and why the QP fails then. */
enum qp_reason open_terms_reason(const struct hello_terms *t);

#endif
