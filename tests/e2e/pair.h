/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PAIR_H
#define WEFT_PAIR_H

/* Two devices in one program, for tests that look at verbs from an application's side. */

#include <stdbool.h>
#include <stdint.h>

#include "verbs.h"

enum { PAIR_DEPTH = 64, PAIR_BYTES = 1 << 20 };

/** One end. */
struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buffer;
	union ibv_gid gid;
	int gid_index;
};

struct pair {
	struct end a, b;
};

/** Code of the time that a QP waits for an answer, 4.096 us x 2^this; for whoever connects next. */
extern uint8_t pair_timeout;

/** One end alone, not connected. */
void end_open(struct end *end, const char *device, enum ibv_qp_type type);
void end_close(struct end *end);
/** Bring its QP, in whatever state, to RTS towards a peer of which qp->qp_num and gid are known. */
void end_connect(struct end *end, const struct end *peer);

/** Open both and make a connected QP of this type at each end. */
void pair_open(struct pair *pair, const char *dev_a, const char *dev_b, enum ibv_qp_type type);
void pair_close(struct pair *pair);
/** Bring both QPs, in whatever state, to RTS. */
void pair_connect(struct pair *pair);
/** Replace an end's QP by one on a shared receive queue. */
void end_use_srq(struct end *end, uint32_t max_wr);
/** Replace an end's QP. */
void end_new_qp(struct end *end, enum ibv_qp_type type);

/** Post one request with one entry at an offset of the end's buffer. */
void end_send(struct end *end, struct ibv_send_wr wr, uint64_t offset, uint32_t bytes);
void end_recv(struct end *end, uint64_t wr_id, uint64_t offset, uint32_t bytes);
/** The next completion; 10 s at most. */
struct ibv_wc end_poll(struct end *end);
/** The next one, which must be good. */
struct ibv_wc end_poll_good(struct end *end);
/** Nothing is there, for a while. */
bool end_is_quiet(struct end *end);

#endif
