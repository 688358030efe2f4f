/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_FAKE_LAB_H
#define WEFT_TEST_FAKE_LAB_H

#include "workload.h"

/*
 * A laboratory without a fabric: a flow is delivered when a link of env.rate_bps would have carried
 * it and as long again after that it ends. It checks what a workload promises of each flow, and
 * keeps them all.
 */

struct fake_event {
	uint64_t at_ps, number, what;
	enum { FAKE_TIME, FAKE_DELIVERED, FAKE_END } kind;
};

struct fake_lab {
	struct workload w;
	uint64_t now_ps;
	struct flow *flows;
	uint32_t nb_flows, room;
	struct fake_event *heap;
	uint32_t nb_events, heap_room;
	uint64_t number;
	uint32_t fails; /* the flow of this number, from 1 on, fails */
};

/*
 * One that may begin.
 *
 * settings: "key=value" of both tables, ending with NULL.
 */
struct fake_lab *fake_lab(const char *kind, uint32_t nb_hosts, uint64_t seed,
                          const char *const *settings);
/* What workload_check says: NULL = nothing; else the key. The line in why. */
const char *fake_lab_check(struct fake_lab *lab, char *why, size_t size);
/* It passes the check and begins at its start_ns. */
void fake_lab_begin(struct fake_lab *lab);
/* Go on until this time, or until nothing is left to do. */
void fake_lab_run(struct fake_lab *lab, uint64_t until_ps);
void fake_lab_free(struct fake_lab *lab);

#endif
