/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "result_rig.h"

static char *
write_and_read(struct rig *rig)
{
	struct summary s;
	char path[256], *text;

	snprintf(path, sizeof(path), "%s/run.json", rig_folder());
	cr_assert_eq(summary_create(&s, &rig->result), 0);
	cr_assert_eq(json_write(&rig->result, &s, path), 0);
	summary_free(&s);
	text = rig_read("run.json", NULL);
	cr_assert(text);
	rig_remove_folder();
	return text;
}

static json_t *
parse(const char *text)
{
	json_error_t error;
	json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	cr_assert(j, "line %d: %s", error.line, error.text);
	return j;
}

Test(json, has_all_that_is_in_the_csv)
{
	static const struct {
		const char *name;
		size_t nb;
	} rows[] = {
		{"workloads", 2}, {"flows", 5},   {"hosts", 3},   {"switches", 1},   {"ports", 3},
		{"links", 6},     {"series", 60}, {"queues", 14}, {"violations", 0},
	};
	struct rig *rig = rig_create();
	char *text = write_and_read(rig);
	json_t *j = parse(text), *flow;

	cr_expect_str_eq(json_string_value(json_object_get(j, "scenario")), "incast.scenario");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(json_array_size(json_object_get(j, rows[i].name)), rows[i].nb, "%s",
		             rows[i].name);
	flow = json_array_get(json_object_get(j, "flows"), 3);
	cr_expect_str_eq(json_string_value(json_object_get(flow, "src")), "h1");
	cr_expect_str_eq(json_string_value(json_object_get(flow, "dst")), "h0");
	cr_expect_str_eq(json_string_value(json_object_get(flow, "workload")), "web, \"b\"");
	cr_expect_eq(json_integer_value(json_object_get(flow, "end_ps")), 100000000);
	cr_expect(json_is_null(json_object_get(flow, "delivered_ps")));
	cr_expect(json_is_null(json_object_get(flow, "slowdown")));
	json_decref(j);
	free(text);
	rig_free(rig);
}

Test(json, numbers_are_those_of_the_summary)
{
	struct rig *rig = rig_create();
	char *text = write_and_read(rig);
	json_t *j = parse(text), *numbers = json_object_get(j, "summary");
	struct summary s;

	cr_assert_eq(summary_create(&s, &rig->result), 0);
	cr_expect_eq(json_object_size(numbers), s.nb);
	for (uint32_t i = 0; i < s.nb; i++) {
		const json_t *n = json_object_get(numbers, s.metrics[i].name);
		char want[VALUE_TEXT_MAX], got[VALUE_TEXT_MAX];

		snprintf(got, sizeof(got), "%.*g", VALUE_DIGITS, json_number_value(n));
		if (s.metrics[i].value.kind == VALUE_NONE)
			cr_expect(json_is_null(n), "%s", s.metrics[i].name);
		else if (s.metrics[i].value.kind == VALUE_COUNT)
			cr_expect_eq((uint64_t)json_integer_value(n), s.metrics[i].value.count);
		else
			cr_expect_str_eq(got, value_text(&s.metrics[i].value, want), "%s",
			                 s.metrics[i].name);
	}
	summary_free(&s);
	json_decref(j);
	free(text);
	rig_free(rig);
}

Test(json, a_run_is_the_same_bytes_each_time)
{
	struct rig *rig = rig_create();
	char *first = write_and_read(rig), *second;

	rig->result.scenario = "elsewhere/incast.scenario";
	rig->result.cpu_s = 9;
	rig->result.wall_s = 10;
	second = write_and_read(rig);
	cr_expect_str_eq(first, second);
	free(first);
	free(second);
	rig_free(rig);
}

Test(json, names_that_are_not_utf8_do_not_spoil_it)
{
	struct rig *rig = rig_create();
	char *text;
	json_t *j, *workload;

	rig->workloads[0].name = "caf\xe9";
	text = write_and_read(rig);
	j = parse(text);
	workload = json_array_get(json_object_get(j, "workloads"), 0);
	cr_expect_str_eq(json_string_value(json_object_get(workload, "workload")), "caf?");
	json_decref(j);
	free(text);
	rig_free(rig);
}

Test(json, a_full_disk_is_told_once)
{
	struct rig *rig = rig_create();
	struct summary s;
	char line[LOG_LINE_MAX];

	rig_listen();
	cr_assert_eq(summary_create(&s, &rig->result), 0);
	cr_expect_eq(json_write(&rig->result, &s, "/dev/full"), -ENOSPC);
	cr_expect_eq(rig_logged(line), 1);
	cr_expect(strstr(line, "/dev/full: No space left"), "%s", line);
	summary_free(&s);
	rig_free(rig);
}
