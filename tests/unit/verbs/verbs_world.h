/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_VERBS_WORLD_H
#define WEFT_VERBS_WORLD_H

/* A device of the fake daemon with one of each object, for tests of the shim. */

#include "fake.h"
#include "shim.h"

extern struct fake world_daemon;
extern struct ibv_context *world_context;
extern struct ibv_pd *world_pd;
extern struct ibv_mr *world_mr;
extern struct ibv_cq *world_cq;
extern struct ibv_qp
	*world_qp; /**< with wr_*, 4 sends and receives of 2 entries, 64 bytes inline */
extern char world_buffer[4096];

/** Everything up to a QP of this type in RTS. */
void world_start(const struct fake_conf *conf, enum ibv_qp_type type);
void world_stop(void);
/** Move the QP to a state, whatever the way. */
void world_set_state(enum ibv_qp_state state);
/** Poll until there is a completion; 5 s at most. */
struct ibv_wc world_poll(void);

static inline volatile struct fake_view *
world_view(void)
{
	return fake_view(to_weft(world_context)->arena);
}

#endif
