/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PERF_TERMS_H
#define WEFT_PERF_TERMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "ip_addr.h"
#include "perf.h"

/**
 * @file
 * What the two ends tell each other before they begin, as JSON. What comes is not trusted: each
 * value is checked, and one that can't be is told on stderr.
 */

/** A member that must be a whole number in [min, max]; false after a message. */
bool terms_number(const json_t *object, const char *name, uint64_t min, uint64_t max,
                  uint64_t *value);

/** The test that a client asks for; the caller's to free. */
json_t *terms_test(const struct perf_test *test);
/** @return false after a message if it is no test that options allow. */
bool terms_take_test(const json_t *json, struct perf_test *test);

/** What an end says of itself. */
struct perf_end {
	struct ip_addr gid;
	uint32_t mtu;  /**< the greatest path MTU that it can, bytes, 256 to 4096 */
	uint64_t addr; /**< of its memory */
	uint32_t rkey;
};

/** @param qps  Array of terms_qp, which is taken. @return the caller's to free. */
json_t *terms_end(const struct perf_end *end, json_t *qps);
json_t *terms_qp(uint32_t qpn, uint32_t psn);

/** @return the peer's QPs, as many as nb_qps, which live as long as json; NULL after a message. */
const json_t *terms_take_end(const json_t *json, uint32_t nb_qps, struct perf_end *end);
/** @param i  Index of one of them. */
bool terms_take_qp(const json_t *qps, uint32_t i, uint32_t *qpn, uint32_t *psn);

#endif
