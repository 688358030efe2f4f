/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_LB_BAD_H
#define WEFT_TEST_LB_BAD_H

#include "lb_check.h"

/** An engine with a planted fault, and what the check has to say about it. */
struct lb_bad {
	struct lb_ops ops;
	enum lb_fault fault;
};

/** Ends with an engine without a name. The first keep all promises, with a timer and feedback. */
extern const struct lb_bad lb_bad_engines[];

/** Keeps all promises and does not look at its seed. */
extern const struct lb_ops lb_seedless;

#endif
