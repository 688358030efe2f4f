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

/** An RC QP of one CQ, for so many requests of one entry each. */
struct ibv_qp *verbs_rc_qp(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t depth);

/**
 * RESET to RTS towards a peer, which may WRITE; path MTU 4096, all retries.
 *
 * @param gid_idx  the own one.
 * @param timeout  code of the time that it waits for an answer: 4.096 us x 2^this.
 */
void verbs_connect_rc(struct ibv_qp *qp, uint32_t peer_qpn, const union ibv_gid *peer_gid,
                      uint8_t gid_idx, uint8_t timeout);

/** Rights of all that the peer may do. */
#define VERBS_REMOTE_ALL                                                                           \
	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/** The same completion, which must be good; else its status is told. */
struct ibv_wc verbs_good(struct ibv_wc wc);

#endif
