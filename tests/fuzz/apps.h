/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_FUZZ_APPS_H
#define WEFT_FUZZ_APPS_H

#include "crowd.h"
#include "fuzz.h"

/**
 * @file
 * Applications at both ends of a crowd's attacked RC QP, which change their minds: they post what
 * comes to their minds, too few receives, drain, fail, reset and destroy QPs, with a queue of
 * receives of their own or a shared one. What completes is checked: each once, in its order, and
 * none well behind one that failed.
 */

#define RECVS_MAX 65536

/** A queue: requests are numbered as they are posted. */
struct ledger {
	uint64_t nb_posted, nb_done;
	bool has_failed; /**< one did, since the QP was connected */
};

/** What the application of a side knows. */
struct side {
	struct ledger sq, rq;
	struct app_srq srq;
	bool is_open[RECVS_MAX]; /**< receives of the shared queue, by number */
	uint32_t nb_shared;
};

struct apps {
	struct crowd *crowd;
	struct side sides[2];
};

/** In a crowd that was just opened: QPs that are connected, on some terms. */
void apps_open(struct apps *all, struct crowd *crowd, struct script *s);
/** The crowd has QPs as it knows them, to be closed with it. */
void apps_close(struct apps *all);

/** Take all that has completed at a side, and check it. */
void apps_take(struct apps *all, int side);
/** Some requests of a side, and receives at either. */
void apps_post(struct apps *all, struct script *s, int side);
/** The QP of a side goes elsewhere: drained, failed, reset, replaced by another one. */
void apps_change_state(struct apps *all, struct script *s, int side);
/** A QP that ended is left alone for a while: packets for it, and what it still says, go on. */
void apps_mend(struct apps *all, struct script *s);

#endif
