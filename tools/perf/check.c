/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "load.h"
#include "prng.h"

/*
 * What the messages of a compared test hold. Each has its own stream of numbers, so that a message
 * that went to another's place is found. An atomic adds 1: the n-th brings back n.
 */

/* Whether the bytes of this end leave it; those of the other arrive here. */
static bool
is_source(const struct load *l)
{
	return l->is_client != (l->test.op == PERF_READ);
}

static uint64_t
seed_of(uint32_t qp, uint64_t i)
{
	return UINT64_C(0x77656674) << 32 ^ (uint64_t)qp << 40 ^ i;
}

static void
fill(uint8_t *mem, uint32_t len, uint64_t seed)
{
	for (uint32_t at = 0; at < len; at += 8) {
		uint64_t word = prng_splitmix(&seed);

		memcpy(mem + at, &word, len - at < 8 ? len - at : 8);
	}
}

static bool
is_filled(const uint8_t *mem, uint32_t len, uint64_t seed)
{
	for (uint32_t at = 0; at < len; at += 8) {
		uint64_t word = prng_splitmix(&seed);

		if (memcmp(mem + at, &word, len - at < 8 ? len - at : 8) != 0)
			return false;
	}
	return true;
}

static uint8_t *
slot_of(const struct load *l, uint32_t qp, uint64_t i)
{
	return l->qps[qp].mem + i % l->nb_slots * l->slot_bytes;
}

void
load_fill(struct load *l)
{
	if (l->test.op == PERF_ATOMIC)
		return;
	for (uint32_t q = 0; q < l->test.nb_qps; q++) {
		for (uint64_t i = l->first; i < l->end; i++) {
			if (is_source(l))
				fill(slot_of(l, q, i), l->test.size, seed_of(q, i));
			else
				memset(slot_of(l, q, i), 0, l->test.size);
		}
	}
}

static uint64_t
verify_atomics(const struct load *l)
{
	uint64_t nb_wrong = 0, value;

	for (uint32_t q = 0; q < l->test.nb_qps; q++) {
		if (!l->is_client) {
			memcpy(&value, l->qps[q].mem, sizeof(value));
			nb_wrong += value != l->end;
			continue;
		}
		for (uint64_t i = l->first; i < l->end; i++) {
			memcpy(&value, slot_of(l, q, i), sizeof(value));
			nb_wrong += value != i;
		}
	}
	return nb_wrong;
}

uint64_t
load_verify(const struct load *l)
{
	uint64_t nb_wrong = 0;

	if (l->test.op == PERF_ATOMIC)
		return verify_atomics(l);
	if (is_source(l))
		return 0;
	for (uint32_t q = 0; q < l->test.nb_qps; q++) {
		for (uint64_t i = l->first; i < l->end; i++)
			nb_wrong += !is_filled(slot_of(l, q, i), l->test.size, seed_of(q, i));
	}
	return nb_wrong;
}
