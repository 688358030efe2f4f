/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TESTS_OPEN_RIG_H
#define WEFT_TESTS_OPEN_RIG_H

#include "framing.h"
#include "hello.h"
#include "pair.h"
#include "peers.h"

/*
 * Two NICs that find out about each other, and QPs of theirs that agree on a framing or do not:
 * what the tests of OPEN share.
 */

#define MS UINT64_C(1000000)
/** A turn of the clock, and how many are so many milliseconds. */
#define STEP_NS 50000
#define TURNS(ms) ((ms)*MS / STEP_NS)

#define ROCEV2 FRAMING_WISH_ROCEV2
#define WEFT FRAMING_WISH_WEFT
#define AUTO FRAMING_WISH_AUTO

/** A world whose two NICs have these wishes. */
struct world_conf wishing(enum framing_wish a, enum framing_wish b);

/** pair_make in such a world. */
void pair_wish(struct pair *p, enum framing_wish a, enum framing_wish b);

/** One end to RTS, towards another one. */
void to_rts(struct app_qp *a, const struct app_qp *peer);
void both_to_rts(struct app_qp *a, struct app_qp *b);
/** The reason of a QP that has failed; valid until the next call. */
const char *why_failed(const struct app_qp *a);
/** A request of no bytes: it keeps an open QP from being silent for ever. */
void post_empty_write(struct app_qp *a, uint64_t wr_id);

/** The NIC of side to hears this, as from the other side's address. */
void say(struct world *w, int to, const struct hello_msg *msg);

#endif
