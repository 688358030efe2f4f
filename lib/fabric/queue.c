/* SPDX-License-Identifier: BSD-3-Clause */
#include "queue.h"

#include <assert.h>
#include <string.h>

/* More than a factor of a thousand between two weights is served as that. */
#define QUANTA_MAX 1024

void
queues_init(struct queues *qs, const double weights[QUEUES_NB], uint32_t quantum_bytes)
{
	double least = 0;

	*qs = (struct queues){0};
	for (int i = 0; i < QUEUES_NB; i++) {
		assert(weights[i] >= 0);
		if (weights[i] > 0 && (least == 0 || weights[i] < least))
			least = weights[i];
	}
	for (int i = 0; i < QUEUES_NB; i++) {
		double share = weights[i] > 0 ? weights[i] / least : 0;

		if (weights[i] == 0)
			qs->strict |= (uint8_t)(1u << i);
		qs->quantum[i] = (uint32_t)(share < QUANTA_MAX ? share * quantum_bytes
		                                               : QUANTA_MAX * quantum_bytes);
	}
}

/* The first that is ready behind queue i, and round to itself. */
static uint8_t
next_ready(uint8_t ready, uint8_t i)
{
	uint32_t behind = ready & (0xfeu << i);

	return (uint8_t)__builtin_ctz(behind & 0xff ? behind : ready);
}

/* No debt is more than a frame, 9 KB: a few rounds at most. */
static uint8_t
weighted_turn(struct queues *qs, uint8_t ready)
{
	uint8_t i = qs->turn;

	if ((ready >> i & 1) && qs->deficit[i] > 0)
		return i;
	for (;;) {
		i = next_ready(ready, i);
		qs->deficit[i] += qs->quantum[i];
		if (qs->deficit[i] <= 0)
			continue;
		qs->turn = i;
		return i;
	}
}

/* Only who goes on waiting keeps what it did not use; what it took too much everybody owes. */
static void
run_empty(struct queues *qs, uint8_t i)
{
	qs->backlog &= (uint8_t) ~(1u << i);
	if (qs->deficit[i] > 0)
		qs->deficit[i] = 0;
	if (!qs->backlog)
		memset(qs->deficit, 0, sizeof(qs->deficit));
}

struct pkt *
queues_pop(struct queues *qs, uint8_t may, uint32_t overhead_bytes, uint8_t *queue)
{
	uint8_t ready = qs->backlog & may, strict = ready & qs->strict;
	struct pkt *p;
	uint8_t i;

	*queue = QUEUE_NONE;
	if (!ready)
		return NULL;
	if (strict)
		i = (uint8_t)(31 - __builtin_clz(strict));
	else
		i = weighted_turn(qs, ready);
	p = pkt_queue_pop(&qs->q[i]);
	qs->deficit[i] -= p->len + overhead_bytes;
	if (!qs->q[i].head)
		run_empty(qs, i);
	*queue = i;
	return p;
}
