/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any file may be called a trace: none crashes the reader; it gives flows in order of time that all
 * can be, or one line that says what is wrong.
 *
 * Inputs are rows of a good file, mutated.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "tables.h"
#include "trace_file.h"

static uint64_t nb_inputs, nb_good;

static void
check_trace(const struct trace_file *trace)
{
	FUZZ_CHECK(trace->nb >= 1 && trace->nb <= TRACE_FLOWS_MAX && !strcmp(trace->name, "fuzz"));
	for (uint32_t i = 0; i < trace->nb; i++) {
		const struct trace_flow *f = &trace->flows[i], *before = f - 1;

		FUZZ_CHECK(f->src != f->dst && f->at_ns <= TRACE_TIME_MAX_NS);
		FUZZ_CHECK(f->bytes >= 1 && f->bytes <= TRACE_BYTES_MAX && f->line >= 1);
		if (i > 0)
			FUZZ_CHECK(before->at_ns < f->at_ns ||
			           (before->at_ns == f->at_ns && before->line < f->line));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	FILE *in = len > 0 ? fmemopen((void *)data, len, "r") : fopen("/dev/null", "r");
	struct trace_file *trace;
	char why[512] = "";

	nb_inputs++;
	if (!in)
		abort();
	trace = trace_file_read(in, "fuzz", why, sizeof(why));
	fclose(in);
	tables_check_line(why, trace != NULL);
	if (trace) {
		nb_good++;
		check_trace(trace);
	}
	trace_file_free(trace);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
static size_t
make(struct prng *rng, uint8_t *data)
{
	static const char *const time_units[] = {"", "", "ns", "us", "ms", "s"};
	static const char *const size_units[] = {"", "", "K", "M", "B"};
	struct tables t = {.rng = rng, .buf = (char *)data};
	uint32_t nb = 1 + prng_below(rng, 20);

	if (prng_below(rng, 4) == 0)
		tables_add(&t, "time,src,dst,bytes\n");
	for (uint32_t i = 0; i < nb; i++) {
		uint32_t src = prng_below(rng, 40);

		tables_add(&t, "%u%s%s%s%u", prng_below(rng, 100), time_units[prng_below(rng, 6)],
		           tables_blank(&t), prng_below(rng, 4) ? "" : "h", src);
		tables_add(&t, "%s%u%s%u%s\n", tables_blank(&t),
		           (src + 1 + prng_below(rng, 39)) % 40, tables_blank(&t),
		           1 + prng_below(rng, 1 << prng_below(rng, 20)),
		           size_units[prng_below(rng, 5)]);
	}
	tables_mutate(&t);
	return t.len;
}

int
main(int argc, char **argv)
{
	static const struct fuzz fuzz = {
		.name = "trace",
		.unit = "files",
		.max_len = TABLES_MAX_LEN,
		.make = make,
		.nb_done = &nb_inputs,
	};
	int code = fuzz_main(argc, argv, &fuzz);

	printf("%llu of them good\n", (unsigned long long)nb_good);
	/* Mutants that nobody accepts would test nothing but the first check. */
	return code ? code : nb_good < nb_inputs / 10;
}
#endif
