/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf_rig.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct conf *
read_text(const char *text, char **errors)
{
	size_t size;
	FILE *in = fmemopen((void *)text, strlen(text), "r");
	FILE *out = open_memstream(errors, &size);
	struct conf *conf = conf_read_stream(in, "dir/t.conf", out);

	fclose(in);
	fclose(out);
	return conf;
}

struct conf *
read_good(const char *text)
{
	char *errors;
	struct conf *conf = read_text(text, &errors);

	cr_assert_not_null(conf, "%s", errors);
	cr_expect_str_empty(errors);
	free(errors);
	return conf;
}

void
expect_report(const char *text, bool is_good, const char *report, size_t row)
{
	char *errors;
	struct conf *conf = read_text(text, &errors);

	cr_expect_eq(conf != NULL, is_good, "row %zu", row);
	cr_expect_str_eq(errors, report, "row %zu: %s", row, errors);
	conf_free(conf);
	free(errors);
}

void
expect_lines(const char *head, const char *text, bool is_good, const char *report, size_t row)
{
	char all[2048], want[2048] = "";
	const char *line = report;

	snprintf(all, sizeof(all), "%s%s", head, text);
	while (line && *line) {
		size_t len = strcspn(line, "\n") + 1;

		strcat(want, "dir/t.conf");
		strncat(want, line, len);
		line += len;
	}
	expect_report(all, is_good, want, row);
}
