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
