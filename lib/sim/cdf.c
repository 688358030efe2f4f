/* SPDX-License-Identifier: BSD-3-Clause */
#include "cdf.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "table_file.h"
#include "units.h"

struct point {
	uint64_t bytes;
	double percent;
};

struct cdf {
	double mean_bytes;
	uint32_t nb;
	struct point points[CDF_POINTS_MAX + 1]; /* from percent 0 to 100 */
};

static int
parse_percent(const char *text, double *percent, const char **why)
{
	int rc = units_parse_real(text, percent, why);

	if (rc < 0)
		return rc;
	if (strchr(text, '%'))
		*percent *= 100;
	if (*percent > 100) {
		*why = "more than 100 percent";
		return -ERANGE;
	}
	return 0;
}

/** A row behind the points that there are. */
static int
add_row(struct cdf *cdf, const struct table_file *t, int nb_fields)
{
	const struct point *last = &cdf->points[cdf->nb - 1];
	struct point p;
	const char *why;

	if (nb_fields != 2)
		return table_file_refuse(t, "%d fields; a row has two: bytes and percent",
		                         nb_fields);
	if (units_parse(UNITS_SIZE, t->fields[0], &p.bytes, &why) < 0)
		return table_file_refuse(t, "bytes '%s': %s; a whole number such as 10000 or 64K",
		                         t->fields[0], why);
	if (p.bytes > CDF_BYTES_MAX)
		return table_file_refuse(t, "bytes '%s': at most 1T", t->fields[0]);
	if (parse_percent(t->fields[1], &p.percent, &why) < 0)
		return table_file_refuse(t, "percent '%s': %s; a number from 0 to 100",
		                         t->fields[1], why);
	if (p.bytes < last->bytes || p.percent < last->percent)
		return table_file_refuse(t, "less than in the row before; no column may fall");
	if (cdf->nb == CDF_POINTS_MAX + 1)
		return table_file_refuse(t, "more than %d rows; fewer would do", CDF_POINTS_MAX);
	/* Before the first one that counts, a row says only where sizes begin. */
	if (p.percent > 0)
		cdf->nb++;
	cdf->points[cdf->nb - 1] = p;
	return 0;
}

static double
mean_of(const struct cdf *cdf)
{
	double sum = 0;

	for (uint32_t i = 1; i < cdf->nb; i++) {
		const struct point *a = &cdf->points[i - 1], *b = &cdf->points[i];

		sum += (b->percent - a->percent) / 100 * ((double)(a->bytes + b->bytes) / 2);
	}
	return sum;
}

static int
read_rows(struct cdf *cdf, struct table_file *t)
{
	int nb_fields;

	while ((nb_fields = table_file_next(t)) > 0) {
		int rc = add_row(cdf, t, nb_fields);

		if (rc < 0)
			return rc;
	}
	if (nb_fields < 0)
		return nb_fields;
	if (cdf->points[cdf->nb - 1].percent < 100)
		return table_file_refuse(t, "the file ends at %g percent; the last row must be 100",
		                         cdf->points[cdf->nb - 1].percent);
	cdf->mean_bytes = mean_of(cdf);
	if (cdf->mean_bytes <= 0)
		return table_file_refuse(t, "all flows have 0 bytes; the last row must have more");
	return 0;
}

struct cdf *
cdf_read(FILE *in, const char *name, char *why, size_t size)
{
	struct table_file t = {.in = in, .name = name, .why = why, .why_size = size};
	struct cdf *cdf = calloc(1, sizeof(*cdf));

	if (!cdf) {
		snprintf(why, size, "%s: no memory", name);
		return NULL;
	}
	cdf->nb = 1; /* 0 bytes at 0 percent */
	if (read_rows(cdf, &t) < 0) {
		free(cdf);
		return NULL;
	}
	return cdf;
}

void
cdf_free(struct cdf *cdf)
{
	free(cdf);
}

double
cdf_mean_bytes(const struct cdf *cdf)
{
	return cdf->mean_bytes;
}

uint64_t
cdf_quantile_bytes(const struct cdf *cdf, double share)
{
	uint32_t low = 0, high = cdf->nb - 1;
	const struct point *a, *b;
	double bytes;

	assert(share >= 0 && share <= 1);
	/* The first stretch that reaches it: percent of low < share <= percent of high. */
	while (high - low > 1) {
		uint32_t mid = (low + high) / 2;

		if (cdf->points[mid].percent < share * 100)
			low = mid;
		else
			high = mid;
	}
	a = &cdf->points[low];
	b = &cdf->points[high];
	bytes = (double)a->bytes;
	if (b->percent > a->percent)
		bytes += (double)(b->bytes - a->bytes) *
		         ((share * 100 - a->percent) / (b->percent - a->percent));
	return bytes < 1 ? 1 : (uint64_t)(bytes + 0.5);
}
