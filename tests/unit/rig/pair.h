/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TESTS_RIG_PAIR_H
#define WEFT_TESTS_RIG_PAIR_H

#include "world.h"

#define ALL_ACCESS                                                                                 \
	(SHM_ACCESS_LOCAL_WRITE | SHM_ACCESS_REMOTE_WRITE | SHM_ACCESS_REMOTE_READ |               \
	 SHM_ACCESS_REMOTE_ATOMIC)
/** Bytes of registered memory at each end. */
#define PAIR_BUF (1u << 20)

/** Two connected QPs with memory, side 0 and side 1. */
struct pair {
	struct world w;
	struct app_qp qp[2];
	struct local_mr mr[2];
	uint8_t *buf[2]; /**< side 0: a pattern; side 1: all 0xee */
};

/** Open a world, a QP and memory at each end, connect. NULL = defaults. */
void pair_open(struct pair *p, const struct world_conf *wc, const struct app_conf *ac);
/** The same without connecting. */
void pair_make(struct pair *p, const struct world_conf *wc, const struct app_conf *ac);
/** RESET to RTS at both ends with these attributes; those of peer and PSNs are app_attr's. */
void pair_connect(struct pair *p, const struct shm_qp_attr *attr);
void pair_close(struct pair *p);

struct shm_sge pair_sge(const struct pair *p, int side, uint64_t off, uint32_t len);
/** A signalled request with one entry, from side 0 to this place of side 1. */
struct shm_send_wqe pair_wqe(const struct pair *p, uint8_t op, uint64_t wr_id, uint64_t remote_off);
/** Post pair_wqe with pair_sge. */
void pair_post(struct pair *p, uint8_t op, uint64_t wr_id, uint64_t off, uint64_t remote_off,
               uint32_t len);
/** Post a receive with one entry at side 1. */
void pair_recv(struct pair *p, uint64_t wr_id, uint64_t off, uint32_t len);
/** The next completion there has this wr_id and status; returns it. */
struct shm_cqe pair_expect(struct pair *p, struct local_cq *cq, uint64_t wr_id, uint8_t status);
/** No completion is there. */
void pair_expect_none(struct local_cq *cq);
/** State of a side's QP and why it failed. */
uint8_t pair_state(const struct pair *p, int side, char why[256]);
/** A side leases nothing but so many QPs themselves: no request, message or receive is open. */
void pair_expect_rest(const struct world *w, int side, uint32_t nb_qps);
/** How many events of this type were raised. */
uint32_t pair_events(uint32_t type);

#endif
