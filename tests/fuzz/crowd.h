/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TESTS_CROWD_H
#define WEFT_TESTS_CROWD_H

#include "fuzz.h"
#include "world.h"

/*
 * What the fuzzers of the stack have in common: connections of each type that are attacked, their
 * registered memory between guards, and an innocent connection on the same NICs whose traffic must
 * go on as if nothing were.
 */

enum { CROWD_RC, CROWD_UC, CROWD_UD, CROWD_TYPES };
#define CROWD_BUF 16384u
#define CROWD_GUARD 512u

struct crowd_end {
	struct app_qp qp[CROWD_TYPES];
	struct local_mr mr;
	uint8_t *block, *buf; /**< buf is inside of block, between guards */
	struct mr *window;    /**< type 2, often bound */
};

struct crowd {
	struct world w;
	struct crowd_end end[2];
	uint32_t nb_agreed; /**< of RC, in the weft framing: each time on other options */
	/* the innocent */
	struct app_qp good[2];
	struct local_mr good_mr[2];
	uint8_t good_buf[2][8192];
	uint64_t nb_sent, nb_done, nb_got;
};

/** @param conf  NULL = defaults. */
void crowd_open(struct crowd *c, const struct world_conf *conf);
/** Checks the guards, that the innocent got all, and that no packet leaked. */
void crowd_close(struct crowd *c);
/** Let time pass; the innocent go on and are checked. */
void crowd_run(struct crowd *c, uint32_t turns);
/** Bring a pair of attacked QPs back to RTS, whatever state they are in. */
void crowd_connect(struct crowd *c, int type);

#endif
