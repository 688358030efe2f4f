/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TESTS_RIG_REFUSAL_H
#define WEFT_TESTS_RIG_REFUSAL_H

#include "peer.h"

/*
 * What tests of refused requests share, in either framing: a key of each kind that a request may
 * name, what the application has posted before, and what it finds when the QP has ended.
 */

enum key {
	KEY_FULL, /**< of all memory of the QP, with all rights */
	KEY_NONE, /**< of nothing */
	KEY_OTHER_PD,
	KEY_READ_ONLY, /**< remote read, nothing else */
	KEY_LOCAL,     /**< no remote right */
	KEY_GONE,      /**< deregistered */
	KEY_UNBOUND,   /**< window of type 2 that nobody bound */
	KEY_NB,
};

struct keys {
	struct local_mr mr[KEY_NB];
	uint32_t key[KEY_NB];
	struct mr *window;
};

void keys_open(struct keys *k, struct peer *p);
void keys_close(struct keys *k, struct peer *p);

/** Two receives of two entries of an MTU each, 50 and 51, and a WRITE, 1. recv_status is that
 * which the first receive shall end with: SHM_WC_LOC_PROT_ERR = its second key is wrong. */
void refusal_post(struct peer *p, uint8_t recv_status);
/** The QP has ended for this reason; all that was posted is flushed, but for a receive with a
 * status of its own, if that is not 0. name is for messages. */
void refusal_expect_end(struct peer *p, const char *name, const char *why, uint8_t recv_status);

#endif
