/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdlib.h>

#include "lab_cmd.h"
#include "scenario.h"
#include "summary.h"
#include "sweep.h"

/* weft-lab sweep: its cells are what weft-lab run does with a scenario. */

/* Of all events, so often is looked whether there are more. */
#define SLICE_EVENTS (1 << 20)

/* Mistakes go to errors; of doubts, which the same cells would raise again and again, nothing is
 * said. */
static struct scenario *
read_quietly(const char *path, char *const *overrides, FILE *errors)
{
	char *said = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&said, &len);
	struct scenario *s;

	if (!out)
		return NULL;
	s = scenario_read(path, (const char *const *)overrides, out);
	fclose(out);
	if (!s)
		fwrite(said, 1, len, errors);
	free(said);
	return s;
}

static bool
check(const char *path, char *const *overrides, FILE *errors)
{
	struct scenario *s = read_quietly(path, overrides, errors);

	scenario_free(s);
	return s != NULL;
}

static bool
write_row(const struct result *result, FILE *row)
{
	struct summary summary;
	char text[VALUE_TEXT_MAX];

	if (summary_create(&summary, result) != 0) {
		fputs("no memory for the summary\n", stderr);
		return false;
	}
	for (uint32_t i = 0; i < summary.nb; i++)
		fprintf(row, "%s\t%s\n", summary.metrics[i].name,
		        value_text(&summary.metrics[i].value, text));
	summary_free(&summary);
	return true;
}

/* Nothing is freed: it is the process of this cell alone. */
static int
run(const char *path, char *const *overrides, FILE *row)
{
	struct scenario *s = read_quietly(path, overrides, stderr);
	struct lab *lab = s ? lab_create(&s->conf) : NULL;
	struct result result;

	if (!lab) {
		if (s)
			fputs("no memory for its hosts and switches\n", stderr);
		return -1;
	}
	while (lab_run(lab, SLICE_EVENTS))
		;
	result = *lab_result(lab);
	result.scenario = s->path;
	if (result.violation.rule) {
		fprintf(stderr, "%s: %s, at %" PRIu64 " ps\n", result.violation.rule,
		        result.violation.what, result.violation.at_ps);
		return -1;
	}
	return write_row(&result, row) ? 0 : -1;
}

int
lab_cmd_sweep(int argc, char **argv)
{
	static const struct sweep_ops ops = {.run = run, .check = check};

	return sweep_main(argc, argv, &ops);
}
