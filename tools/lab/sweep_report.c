/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep_report.h"

#include <inttypes.h>
#include <string.h>

/* Lines of failures that somebody may want to read. */
#define FAILURES_TOLD 10

/* A word as a shell takes it. */
static void
print_word(FILE *out, const char *word)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "@%+=:,./-_";

	putc(' ', out);
	if (*word && word[strspn(word, plain)] == '\0') {
		fputs(word, out);
		return;
	}
	putc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\'", out);
		putc(*word, out);
	}
	putc('\'', out);
}

static void
print_failure(FILE *out, struct journal *j, uint32_t cell, const char *scenario)
{
	const struct sweep_row *row = journal_row(j, cell);
	const struct matrix *m = &j->matrix;

	fprintf(out, "  cell %" PRIu32 " %s\n", cell, row ? row->status : "failed");
	fputs("    weft-lab run", out);
	print_word(out, scenario ? scenario : "SCENARIO");
	for (uint32_t i = 0; i < m->nb_axes; i++) {
		char word[2 * MATRIX_TEXT_MAX + 2];

		snprintf(word, sizeof(word), "%s=%s", m->axes[i].key, matrix_value(m, i, cell));
		print_word(out, word);
	}
	putc('\n', out);
}

uint32_t
sweep_report_failures(FILE *out, struct journal *journals, uint32_t nb_journals,
                      const char *scenario)
{
	uint32_t nb_failed = 0, nb_cells = 0, nb_told = 0;

	for (uint32_t i = 0; i < nb_journals; i++) {
		nb_failed += journals[i].nb_failed;
		nb_cells += journals[i].nb_done;
	}
	if (nb_failed == 0)
		return 0;
	fprintf(out, "weft-lab sweep: %" PRIu32 " of %" PRIu32 " cells failed:\n", nb_failed,
	        nb_cells);
	for (uint32_t cell = 0; cell < journals[0].nb_cells && nb_told < FAILURES_TOLD; cell++) {
		for (uint32_t i = 0; i < nb_journals; i++) {
			if (journals[i].entries[cell].failed) {
				print_failure(out, &journals[i], cell, scenario);
				nb_told++;
			}
		}
	}
	if (nb_failed > nb_told)
		fprintf(out, "  and %" PRIu32 " more: see the column status\n",
		        nb_failed - nb_told);
	return nb_failed;
}
