/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_REL_BAD_H
#define WEFT_TEST_REL_BAD_H

#include "rel_world.h"

/** Engines with one mistake each, which the suite must find. */
struct rel_planted {
	struct rel_subject subject;
	void (*plant)(void); /**< called before each run; NULL = nothing to do */
	bool is_good;        /**< the one without a mistake */
};

/** Ends with a subject without a name. */
extern const struct rel_planted rel_planted_engines[];

#endif
