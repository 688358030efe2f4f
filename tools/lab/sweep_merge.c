/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep_merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab_cmd.h"
#include "sweep_report.h"
#include "sweep_table.h"

#define WHY_SIZE 4352

/* A part's name is that of its CSV or that of its journal. */
static int
open_part(struct journal *j, const char *part, char *why)
{
	size_t len = strlen(part), tail = strlen(MERGE_SUFFIX);
	bool is_journal = len > tail && strcmp(part + len - tail, MERGE_SUFFIX) == 0;
	char *path;
	int err;

	if (asprintf(&path, "%s%s", part, is_journal ? "" : MERGE_SUFFIX) < 0)
		return -ENOMEM;
	err = journal_read(j, path, why, WHY_SIZE);
	free(path);
	return err;
}

/* Whether another part is of the same sweep as the first. */
static bool
belongs(const struct journal *first, const struct journal *j, char *why)
{
	if (j->id.scenario != first->id.scenario || !matrix_equal(&j->matrix, &first->matrix)) {
		snprintf(why, WHY_SIZE, "%s and %s are of different sweeps", first->path, j->path);
		return false;
	}
	if (j->id.program != first->id.program)
		fprintf(stderr,
		        "weft-lab sweep: note: %s and %s are of different builds of "
		        "weft-lab\n",
		        first->path, j->path);
	return true;
}

static int
write_table(const struct sweep_options *opt, struct journal *parts, char *why)
{
	struct sweep_gaps gaps = sweep_table_gaps(parts, opt->nb_parts);

	if (gaps.nb_double > 0) {
		snprintf(why, WHY_SIZE, "%u cells, the first is %u, are in more than one part",
		         gaps.nb_double, gaps.first_double);
		return LAB_EXIT_USAGE;
	}
	if (gaps.nb_missing > 0) {
		snprintf(why, WHY_SIZE,
		         "%u of %u cells, the first is %u, are in no part: is a shard missing, or "
		         "not at its end?",
		         gaps.nb_missing, parts[0].nb_cells, gaps.first_missing);
		return LAB_EXIT_USAGE;
	}
	if (sweep_table_write(opt->out, parts, opt->nb_parts, why, WHY_SIZE) < 0)
		return LAB_EXIT_USAGE;
	if (!opt->is_quiet)
		fprintf(stderr, "weft-lab sweep: %u cells in %s\n", parts[0].nb_cells, opt->out);
	if (sweep_report_failures(stderr, parts, opt->nb_parts, NULL) > 0)
		return LAB_EXIT_VIOLATED;
	return LAB_EXIT_OK;
}

int
sweep_merge(const struct sweep_options *opt)
{
	struct journal *parts = calloc(opt->nb_parts, sizeof(*parts));
	char why[WHY_SIZE] = "no memory";
	int code = LAB_EXIT_USAGE;
	uint32_t nb = 0;

	while (parts && nb < opt->nb_parts && open_part(&parts[nb], opt->parts[nb], why) == 0) {
		nb++;
		if (!belongs(&parts[0], &parts[nb - 1], why))
			break;
		if (nb == opt->nb_parts) {
			why[0] = '\0';
			code = write_table(opt, parts, why);
		}
	}
	if (why[0])
		fprintf(stderr, "weft-lab sweep: %s\n", why);
	while (nb > 0)
		journal_close(&parts[--nb]);
	free(parts);
	return code;
}
