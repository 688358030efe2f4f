/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "table_file.h"
#include "units.h"

static int
parse_time(const struct table_file *t, const char *text, uint64_t *ns)
{
	bool is_plain = strspn(text, "0123456789") == strlen(text);
	const char *why;

	if (units_parse(is_plain ? UNITS_COUNT : UNITS_TIME, text, ns, &why) < 0)
		return table_file_refuse(t, "time '%s': %s; whole nanoseconds, or such as 1.5us",
		                         text, why);
	if (*ns > TRACE_TIME_MAX_NS)
		return table_file_refuse(t, "time '%s': at most 1000000s", text);
	return 0;
}

static int
parse_host(const struct table_file *t, const char *what, const char *text, uint32_t *host)
{
	const char *digits = text + (text[0] == 'h');
	const char *why = "not a number";
	uint64_t v;

	if (strspn(digits, "0123456789") != strlen(digits) ||
	    units_parse(UNITS_COUNT, digits, &v, &why) < 0 || v > UINT32_MAX)
		return table_file_refuse(t, "%s '%s': %s; a host such as 3 or h3", what, text, why);
	*host = (uint32_t)v;
	return 0;
}

static int
parse_row(const struct table_file *t, int nb_fields, struct trace_flow *f)
{
	const char *why;

	if (nb_fields != 4)
		return table_file_refuse(t, "%d fields; a row has four: time, src, dst, bytes",
		                         nb_fields);
	if (parse_time(t, t->fields[0], &f->at_ns) < 0 ||
	    parse_host(t, "src", t->fields[1], &f->src) < 0 ||
	    parse_host(t, "dst", t->fields[2], &f->dst) < 0)
		return -EINVAL;
	if (f->src == f->dst)
		return table_file_refuse(t, "host %u to itself; another must be one of them",
		                         f->src);
	if (units_parse(UNITS_SIZE, t->fields[3], &f->bytes, &why) < 0)
		return table_file_refuse(t, "bytes '%s': %s; a whole number such as 10000 or 64K",
		                         t->fields[3], why);
	if (f->bytes < 1 || f->bytes > TRACE_BYTES_MAX)
		return table_file_refuse(t, "bytes '%s': 1 to 1T", t->fields[3]);
	f->line = t->line;
	return 0;
}

static int
add(struct trace_file *trace, const struct table_file *t, const struct trace_flow *f)
{
	if (trace->nb == TRACE_FLOWS_MAX)
		return table_file_refuse(t,
		                         "more than %u rows; two files with a workload each "
		                         "would do",
		                         TRACE_FLOWS_MAX);
	if (trace->nb == trace->room) {
		uint32_t room = trace->room ? 2 * trace->room : 64;
		struct trace_flow *more = realloc(trace->flows, room * sizeof(*more));

		if (!more)
			return table_file_refuse(t, "no memory for more rows");
		trace->flows = more;
		trace->room = room;
	}
	trace->flows[trace->nb++] = *f;
	return 0;
}

static int
by_time(const void *x, const void *y)
{
	const struct trace_flow *a = x, *b = y;

	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
}

static int
read_rows(struct trace_file *trace, struct table_file *t)
{
	bool is_first = true;
	int nb_fields;

	while ((nb_fields = table_file_next(t)) > 0) {
		bool is_heading = is_first && !strcmp(t->fields[0], "time");
		struct trace_flow f;

		is_first = false;
		if (is_heading)
			continue;
		if (parse_row(t, nb_fields, &f) < 0 || add(trace, t, &f) < 0)
			return -EINVAL;
	}
	if (nb_fields < 0)
		return nb_fields;
	if (trace->nb == 0)
		return table_file_refuse(t, "no row; a row is time, src, dst, bytes");
	qsort(trace->flows, trace->nb, sizeof(trace->flows[0]), by_time);
	return 0;
}

struct trace_file *
trace_file_read(FILE *in, const char *name, char *why, size_t size)
{
	struct table_file t = {.in = in, .name = name, .why = why, .why_size = size};
	struct trace_file *trace = calloc(1, sizeof(*trace));

	if (trace)
		trace->name = strdup(name);
	if (!trace || !trace->name)
		snprintf(why, size, "%s: no memory", name);
	else if (read_rows(trace, &t) == 0)
		return trace;
	trace_file_free(trace);
	return NULL;
}

void
trace_file_free(struct trace_file *trace)
{
	if (!trace)
		return;
	free(trace->flows);
	free(trace->name);
	free(trace);
}
