/* SPDX-License-Identifier: BSD-3-Clause */
#include "scenario_rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

struct scenario *
read_text(const char *text, const char *const *overrides, char **errors)
{
	size_t size;
	FILE *in = fmemopen((void *)text, strlen(text), "r");
	FILE *out = open_memstream(errors, &size);
	struct scenario *s = scenario_read_stream(in, "t.scenario", overrides, out);

	fclose(in);
	fclose(out);
	return s;
}

struct scenario *
read_good(const char *text)
{
	char *errors;
	struct scenario *s = read_text(text, NULL, &errors);

	cr_assert_not_null(s, "%s", errors);
	cr_expect_str_empty(errors);
	free(errors);
	return s;
}

void
try_rows(const struct scenario_row *rows, size_t nb)
{
	for (size_t i = 0; i < nb; i++) {
		const char *want = rows[i].want ? rows[i].want : "";
		char *errors;
		struct scenario *s = read_text(rows[i].text, rows[i].overrides, &errors);
		bool is_good = !*want || strstr(want, ": warning: ");
		size_t len = strlen(want);

		/* What grows with the engines is not told to its end. */
		cr_expect(*want && want[len - 1] != '\n' ? strncmp(errors, want, len) == 0
		                                         : strcmp(errors, want) == 0,
		          "row %zu: got\n%swanted\n%s", i, errors, want);
		cr_expect_eq(s != NULL, is_good, "row %zu", i);
		scenario_free(s);
		free(errors);
	}
}
