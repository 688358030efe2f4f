/* SPDX-License-Identifier: BSD-3-Clause */
#include "crash.h"

#include <stdlib.h>
#include <string.h>

/*
 * What others lose when something is killed. The innocent counts its bytes in spans of 10 ms. What
 * is usual is the median of the 50 spans before; the loss is what is missing to that in the 10
 * spans from the kill on; and slow is the longest run of spans below 90 % of it among the 30 from
 * there on. On a machine of few cores much of both is the kernel's: who is on which core, and the
 * end of a process. So the same is measured without a kill, and for the kill of a process of the
 * same size that has nothing to do with weft.
 */

#define SPAN_NS UINT64_C(10000000)
#define NB_BEFORE 50
#define NB_LOSS 10
#define NB_AFTER 30

void
crash_count(uint64_t bytes)
{
	uint64_t span = (crash_now_ns() - board->start_ns) / SPAN_NS;

	atomic_fetch_add(&board->nb_bytes, bytes);
	if (span < CRASH_SPANS)
		atomic_fetch_add_explicit(&board->spans[span], bytes, memory_order_relaxed);
}

static int
compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void
crash_loss_take(struct crash_losses *all, uint64_t when_ns)
{
	uint64_t span = (when_ns - board->start_ns) / SPAN_NS, before[NB_BEFORE], usual, sum = 0;
	uint32_t run = 0, longest = 0;

	crash_nap_us((NB_AFTER + 1) * SPAN_NS / 1000);
	if (span < NB_BEFORE || span + NB_AFTER > CRASH_SPANS || all->nb == CRASH_LOSSES)
		return;
	for (uint32_t i = 0; i < NB_BEFORE; i++)
		before[i] = atomic_load(&board->spans[span - 1 - i]);
	qsort(before, NB_BEFORE, sizeof(before[0]), compare_u64);
	usual = before[NB_BEFORE / 2];
	/* On a machine that busy there is nothing to compare with. */
	if (usual == 0)
		return;
	for (uint32_t i = 0; i < NB_AFTER; i++) {
		uint64_t bytes = atomic_load(&board->spans[span + i]);

		sum += i < NB_LOSS ? bytes : 0;
		run = bytes * 10 < usual * 9 ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	all->loss[all->nb] = 1 - (double)sum / (double)(NB_LOSS * usual);
	all->slow_ms[all->nb++] = longest * (double)SPAN_NS / 1e6;
}

/* Values that reach a limit; they are sorted. */
static uint32_t
nb_from(const double *values, uint32_t nb, double limit)
{
	uint32_t i = 0;

	while (i < nb && values[i] < limit)
		i++;
	return nb - i;
}

void
crash_loss_tell(const char *what, struct crash_losses *all)
{
	uint32_t nb = all->nb;

	if (nb == 0)
		return;
	qsort(all->loss, nb, sizeof(all->loss[0]), compare_doubles);
	qsort(all->slow_ms, nb, sizeof(all->slow_ms[0]), compare_doubles);
	printf("others, %s, %u times: loss in 100 ms median %.0f %%, worst %.0f %%, "
	       "from 10 %% on %u times; slow for median %.0f ms, worst %.0f ms, from 100 ms on %u "
	       "times\n",
	       what, nb, 100 * all->loss[nb / 2], 100 * all->loss[nb - 1],
	       nb_from(all->loss, nb, 0.1), all->slow_ms[nb / 2], all->slow_ms[nb - 1],
	       nb_from(all->slow_ms, nb, 100));
}

void
crash_stranger(size_t bytes)
{
	uint8_t *memory = malloc(bytes);

	must(memory);
	/* It keeps writing, so that the compiler keeps it. */
	for (uint8_t n = 0;; n++)
		memset(memory, n, bytes);
}
