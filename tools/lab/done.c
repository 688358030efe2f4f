/* SPDX-License-Identifier: BSD-3-Clause */
#include "done.h"

#include <errno.h>
#include <stdlib.h>

const struct size_class size_classes[SIZE_CLASSES] = {
	{"to_1k", "up to 1 kB", 1000},       {"to_10k", "1 to 10 kB", 10000},
	{"to_100k", "10 to 100 kB", 100000}, {"to_1m", "100 kB to 1 MB", 1000000},
	{"to_10m", "1 to 10 MB", 10000000},  {"above_10m", "above 10 MB", UINT64_MAX},
};

static int
by_size(const void *a, const void *b)
{
	const struct done_flow *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	if (x->fct_ps != y->fct_ps)
		return x->fct_ps < y->fct_ps ? -1 : 1;
	return (x->slowdown > y->slowdown) - (x->slowdown < y->slowdown);
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int
done_flows_create(struct done_flows *done, const struct result *result)
{
	*done = (struct done_flows){0};
	/* One more, because nothing at all may come back as NULL. */
	done->flows = calloc((size_t)result->nb_flows + 1, sizeof(*done->flows));
	done->sorted = calloc((size_t)result->nb_flows + 1, sizeof(*done->sorted));
	if (!done->flows || !done->sorted) {
		done_flows_free(done);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < result->nb_flows; i++) {
		const struct flow *f = &result->flows[i];
		uint64_t fct_ps = f->end_ps - f->start_ps;

		if (f->status == FLOW_DONE)
			done->flows[done->nb++] = (struct done_flow){
				.bytes = f->conf.bytes,
				.fct_ps = fct_ps,
				.slowdown = f->ideal_ps ? (double)fct_ps / (double)f->ideal_ps : 0,
			};
	}
	qsort(done->flows, done->nb, sizeof(*done->flows), by_size);
	return 0;
}

void
done_flows_free(struct done_flows *done)
{
	free(done->flows);
	free(done->sorted);
	*done = (struct done_flows){0};
}

uint32_t
done_flows_end(const struct done_flows *done, uint32_t size_class)
{
	uint32_t low = 0, high = done->nb;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (done->flows[mid].bytes <= size_classes[size_class].max_bytes)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct spread
spread_of(double *values, uint32_t nb)
{
	double sum = 0;

	if (nb == 0)
		return (struct spread){0};
	qsort(values, nb, sizeof(*values), by_value);
	for (uint32_t i = 0; i < nb; i++)
		sum += values[i];
	return (struct spread){
		.nb = nb,
		.mean = sum / nb,
		.p50 = values[rank_of(nb, 500)],
		.p95 = values[rank_of(nb, 950)],
		.p99 = values[rank_of(nb, 990)],
		.p999 = values[rank_of(nb, 999)],
		.max = values[nb - 1],
	};
}

struct spread
done_flows_fct(struct done_flows *done, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++)
		done->sorted[i - first] = (double)done->flows[i].fct_ps / PS_PER_NS;
	return spread_of(done->sorted, end - first);
}

struct spread
done_flows_slowdown(struct done_flows *done, uint32_t first, uint32_t end)
{
	uint32_t nb = 0;

	for (uint32_t i = first; i < end; i++) {
		if (done->flows[i].slowdown > 0)
			done->sorted[nb++] = done->flows[i].slowdown;
	}
	return spread_of(done->sorted, nb);
}
