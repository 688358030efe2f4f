/* SPDX-License-Identifier: BSD-3-Clause */
#include "plot_data.h"

#include <inttypes.h>
#include <string.h>

#include "human.h"

/* Tenths of flows. */
#define SLOWDOWN_GROUPS 10

static void
begin_curve(FILE *f, struct curves *curves, const char *name)
{
	if (curves->nb > 0)
		fputs("\n\n", f);
	snprintf(curves->names[curves->nb++], sizeof(curves->names[0]), "%s", name);
}

static void
see(struct curves *curves, double x, double y)
{
	const bool is_first = curves->nb_points++ == 0;

	curves->x_min = is_first || x < curves->x_min ? x : curves->x_min;
	curves->x_max = is_first || x > curves->x_max ? x : curves->x_max;
	curves->y_max = is_first || y > curves->y_max ? y : curves->y_max;
}

static void
put_point(FILE *f, struct curves *curves, double x, double y)
{
	fprintf(f, "%.12g %.9g\n", x, y);
	see(curves, x, y);
}

/* Mean or highest of n samples. */
static double
merge(const double *values, uint32_t n, bool is_level)
{
	double sum = 0, max = values[0];

	for (uint32_t i = 0; i < n; i++) {
		sum += values[i];
		max = values[i] > max ? values[i] : max;
	}
	return is_level ? max : sum / n;
}

/* What a curve is called: its probe, with what one would not guess. */
static const char *
label(const char *probe)
{
	return strcmp(probe, "drops") == 0 ? "drops so far (switches)" : probe;
}

void
curves_series(FILE *f, const struct result *r, const struct series_kind *kind,
              struct curves *curves)
{
	curves->nb_merged = 1;
	for (uint32_t i = 0; i < r->nb_series; i++) {
		const struct series *s = &r->series[i];
		const uint32_t step = s->nb / CURVE_POINTS_MAX + 1;

		if (strcmp(s->unit, kind->unit) != 0 || s->nb == 0)
			continue;
		if (curves->nb == CURVES_MAX) {
			curves->nb_left_out++;
			continue;
		}
		begin_curve(f, curves, label(s->name));
		curves->nb_merged = step > curves->nb_merged ? step : curves->nb_merged;
		for (uint32_t k = 0; k < s->nb; k += step) {
			const uint32_t n = s->nb - k < step ? s->nb - k : step;

			put_point(f, curves, (double)(k + n) * (double)r->sample_ps / PS_PER_NS,
			          merge(&s->values[k], n, kind->is_level));
		}
	}
}

/* Sorted values as a CDF; of many, so many ranks at even distances. */
static void
put_cdf(FILE *f, struct curves *curves, const double *sorted, uint32_t nb)
{
	const uint64_t points = nb < CURVE_POINTS_MAX ? nb : CURVE_POINTS_MAX;

	put_point(f, curves, sorted[0], 0);
	for (uint64_t i = 1; i <= points; i++) {
		const uint64_t rank = i * nb / points;

		put_point(f, curves, sorted[rank - 1], (double)rank / nb);
	}
}

void
curves_fct(FILE *f, struct done_flows *done, struct curves *curves)
{
	uint32_t first = 0;

	if (done->nb == 0)
		return;
	begin_curve(f, curves, "all flows");
	done_flows_fct(done, 0, done->nb);
	put_cdf(f, curves, done->sorted, done->nb);
	for (uint32_t c = 0; c < SIZE_CLASSES; c++) {
		uint32_t end = done_flows_end(done, c);

		/* All of one class: it would be the same curve. */
		if (end > first && end - first < done->nb) {
			begin_curve(f, curves, size_classes[c].text);
			done_flows_fct(done, first, end);
			put_cdf(f, curves, done->sorted, end - first);
		}
		first = end;
	}
}

void
curves_slowdown(FILE *f, struct done_flows *done, struct curves *curves)
{
	uint32_t first = 0;

	for (uint32_t end = 1; end <= done->nb; end++) {
		const uint64_t bytes = done->flows[end - 1].bytes;
		char text[HUMAN_TEXT_MAX];
		struct spread s;

		if (end < done->nb && (done->flows[end].bytes == bytes ||
		                       (uint64_t)(end - first) * SLOWDOWN_GROUPS < done->nb))
			continue;
		s = done_flows_slowdown(done, first, end);
		if (s.nb) {
			fprintf(f, "%" PRIu64 " %.9g %.9g %.9g \"%s\"\n", bytes, s.p50, s.p95,
			        s.p99, human_short(value_count(bytes), "B", text));
			see(curves, (double)bytes, s.p99);
		}
		first = end;
	}
}

void
curves_queue(FILE *f, const struct queue_histogram *q, struct curves *curves)
{
	uint32_t first = 0, last = 0;
	uint64_t sum = 0;

	if (!q || q->nb == 0)
		return;
	for (uint32_t b = 1; b < QUEUE_BINS; b++) {
		if (q->count[b] > 0) {
			first = first == 0 ? b : first;
			last = b;
		}
	}
	for (uint32_t b = 0; b <= last; b++) {
		sum += q->count[b];
		put_point(f, curves, b, (double)sum / (double)q->nb);
	}
	curves->x_min = first;
}
