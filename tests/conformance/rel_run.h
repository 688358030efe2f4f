/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_REL_RUN_H
#define WEFT_TEST_REL_RUN_H

#include "prng.h"
#include "rel_world.h"
#include "world.h"

/**
 * @file
 * A run from inside: rel_setup.c makes and ends it, rel_turn.c lets time pass for the stacks,
 * rel_apps.c is the applications, rel_world.c goes on until all is done, and judges. Everyone else
 * calls rel_world.h.
 */

/** Whatever is still on its way arrives in this time. */
#define REST_NS 20000000

/** An application at one end of a pair. */
struct end {
	struct app_qp qp;
	uint64_t next_post_ns;
	struct mr *windows[REL_OPS_MAX]; /**< which the other end's SEND_INVs invalidate */
	uint32_t inv_keys[REL_OPS_MAX];
};

/** Who posts receives of a QP, or of an SRQ. */
struct poster {
	uint64_t next_ns; /**< NEVER_NS: there is no room */
	uint64_t nb;
};

struct run {
	struct rel_schedule *s;
	struct rel_oracle o;
	struct rel_watch *watch;
	struct world w;
	struct local_mr mr[2];
	struct app_srq srq[2];
	struct end ends[REL_PAIRS_MAX][2];
	struct poster posters[REL_PAIRS_MAX][2];
	uint64_t nb_turns;
	struct prng prng; /**< whom CE strikes */
	bool is_spoilt;   /**< the link is as the schedule says */
	/* mischief */
	uint32_t countdown; /**< occasions to let pass; 0 = done */
	struct pkt *leaked;
};

static inline uint64_t
min_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/** A turn of all; then time goes on, by as much as nothing happens, but not beyond end_ns. */
void run_turn(struct run *r, uint64_t apps_next_ns, uint64_t end_ns);
/** So much time passes without the applications. */
void run_rest(struct run *r, uint64_t ns);

/** Applications do what they can; when they want a turn again, whatever the stacks do. */
uint64_t run_apps(struct run *r);
/** They look at their completions, no more. */
void run_poll(struct run *r);

/** All is open, connected and registered, or the verdict says why not. */
void run_set_up(struct run *r, const struct rel_subject *subject);
/** The same QPs once more, with memory of their own. */
void run_set_up_again(struct run *r, const struct rel_subject *subject);
/** From now on the link is as the schedule says. */
void run_spoil(struct run *r);
/** Whether a QP has not agreed on its framing yet. */
bool run_is_pending(const struct run *r);
/** All is closed; nothing has leaked. */
void run_tear_down(struct run *r);

#endif
