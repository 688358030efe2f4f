/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TESTS_VERBS_H
#define WEFT_TESTS_VERBS_H

#include <infiniband/verbs.h>

#include "must.h"

/* What tests that are programs of verbs do alike, on any implementation of it. */

/** Of this name, NULL = the first one; NULL: it is not there or can't be opened. */
struct ibv_context *verbs_open(const char *name);

/** RESET to RTS, by all that each step requires of attr. */
void verbs_to_rts(struct ibv_qp *qp, struct ibv_qp_attr attr);

/** Rights of all that the peer may do. */
#define VERBS_REMOTE_ALL                                                                           \
	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/** The same completion, which must be good; else its status is told. */
struct ibv_wc verbs_good(struct ibv_wc wc);

#endif
