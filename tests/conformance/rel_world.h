/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_REL_WORLD_H
#define WEFT_TEST_REL_WORLD_H

#include "rel_oracle.h"
#include "rel_trace.h"

/**
 * @file
 * A schedule carried out by two whole host stacks in virtual time, under the oracle's eyes.
 */

/** An engine under test on a framing. */
struct rel_subject {
	const char *name; /**< for people: "gbn over rocev2" */
	const struct reliability_ops *ops;
	enum framing framing;
};

/** What a run did, beside its verdict: for those who want to know whether it was hard enough. */
struct rel_tally {
	uint64_t nb_ops, nb_retransmits, nb_timeouts, nb_rnr, nb_dropped, nb_frames, nb_ce;
	uint64_t nb_again; /**< runs whose QPs were used again */
	uint64_t virtual_ns;
};

/** What the rig itself does wrong once in a run, so that the oracle has something to find. */
enum rel_mischief {
	REL_NO_MISCHIEF,
	REL_FLIP_BYTE,   /**< of memory that applications own, in the middle of the run */
	REL_FLIP_GUARD,  /**< of what lies between their buffers */
	REL_ADD_AGAIN,   /**< an atomic is done twice */
	REL_LOSE_SENT,   /**< a completion does not come: of a signalled operation */
	REL_DOUBLE_SENT, /**< comes twice */
	REL_FAIL_SENT,   /**< has another status */
	REL_LOSE_RECV,
	REL_DOUBLE_RECV,
	REL_LENGTHEN,  /**< of a receive: says one byte more */
	REL_OTHER_IMM, /**< another immediate */
	REL_LEAK,      /**< a packet stays away */
	REL_NB_MISCHIEFS,
};

/** Whoever looks on. */
struct rel_watch {
	struct rel_trace *trace; /**< filled; NULL = none */
	struct rel_tally tally;  /**< added to */
	char failed[1024];       /**< a line of each QP that has failed; may be cut */
	enum rel_mischief mischief;
};

/** Run a seed to its end or to the first thing wrong. */
struct rel_verdict rel_run(const struct rel_subject *subject, uint64_t seed,
                           struct rel_watch *watch);

/** For a message. */
const char *rel_mischief_text(enum rel_mischief mischief);

#endif
