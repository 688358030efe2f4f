/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_REL_BAD_H
#define WEFT_TEST_REL_BAD_H

#include "bad_gbn.h"
#include "rel_world.h"

/** An engine with a mistake, which the suite must find: a good one, and what is other in it. */
struct rel_planted {
	const char *name;
	const struct reliability_ops *base;
	/* NULL = the base's */
	void (*on_ack)(void *state, const struct rel_ack *ack, uint64_t now_ns,
	               struct rel_out *out);
	void (*on_timer)(void *state, uint64_t now_ns, struct rel_out *out);
	void (*on_data)(void *state, const struct rel_rx *rx, uint64_t now_ns,
	                struct rel_rx_out *out);
	enum bad_gbn mistake; /**< if the base is the laboratory's bad_gbn */
	bool needs_weft;
	bool is_good; /**< has none: nothing is found */
};

/** Ends with one without a name. */
extern const struct rel_planted rel_planted_engines[];

/** The subject that it is on a framing; the last one is good until the next call. */
struct rel_subject rel_plant(const struct rel_planted *planted, enum framing framing);

#endif
