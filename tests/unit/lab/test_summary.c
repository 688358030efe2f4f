/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "done.h"
#include "result_rig.h"
#include "sheets.h"
#include "summary.h"

Test(summary, has_what_was_worked_out_by_hand)
{
	static const struct {
		const char *name, *text;
	} rows[] = {
		{"seed", "7"},
		{"virtual_time_ns", "200000"},
		{"violations", "0"},
		{"flows", "5"},
		{"flows_done", "3"},
		{"flows_failed", "1"},
		{"qps", "6"},
		{"qps_failed", "1"},
		{"data_pkts", "2000"},
		{"events", "123456"},
		/* 2004596, 500 and 2000000 B in the 199 us from the first start on */
		{"goodput_bps", "80586773869.3467"},
		{"goodput_host_min_bps", "20100502.5125628"},
		{"goodput_host_max_bps", "80402010050.2513"},
		/* 164, 168 and 6 us */
		{"fct_mean_ns", "112666.666666667"},
		{"fct_p50_ns", "164000"},
		{"fct_p99_ns", "168000"},
		{"fct_p999_ns", "168000"},
		{"slowdown_p50", "2"},
		{"slowdown_p99", "2.04878048780488"},
		{"to_1k_flows_done", "1"},
		{"to_1k_fct_p50_ns", "6000"},
		{"to_10k_flows_done", "0"},
		{"to_10k_fct_mean_ns", ""},
		{"to_10k_slowdown_p99", ""},
		{"to_1m_flows_done", "2"},
		{"to_1m_fct_mean_ns", "166000"},
		{"above_10m_flows_done", "0"},
		/* nearest rank in the histogram; 5000 B is the most of any */
		{"queue_p50_bytes", "0"},
		{"queue_p99_bytes", "2047"},
		{"queue_max_bytes", "5000"},
		{"buffer_max_bytes", "7000"},
		{"drops_switch_pkts", "39"},
		{"drops_link_pkts", "27"},
		{"drops_nic_pkts", "18"},
		{"trimmed_pkts", "15"},
		{"marked_pkts", "300"},
		{"pauses", "18"},
		{"paused_ns", "21000"},
		{"tx_data_pkts", "3000"},
		{"retransmitted_pkts", "90"},
		{"retransmitted_share", "0.03"},
		{"spurious_pkts", "9"},
		{"spurious_share", "0.003"},
		{"timeouts", "3"},
		{"naks", "6"},
		{"rnr_naks", "9"},
		{"cnps", "12"},
		{"in.done_ns", "169000"},
		{"in.rounds", "1"},
		{"in.fairness", "1"},
		/* 500 B in 4 us, 4096 B in 80 us, and nothing */
		{"web, \"b\".fairness", "0.567168901623184"},
		{"web, \"b\".done_ns", ""},
		{"fairness", "0.567168901623184"},
	};
	struct rig *rig = rig_create();
	struct summary summary;

	cr_assert_eq(summary_create(&summary, &rig->result), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[VALUE_TEXT_MAX];
		struct value v = summary_value(&summary, rows[i].name);

		cr_expect_str_eq(value_text(&v, text), rows[i].text, "%s: %s", rows[i].name,
		                 value_text(&v, text));
	}
	summary_free(&summary);
	rig_free(rig);
}

Test(summary, has_the_same_names_whatever_came_out)
{
	struct rig *rig = rig_create();
	struct summary full, empty;

	cr_assert_eq(summary_create(&full, &rig->result), 0);
	rig->result.nb_flows = 0;
	rig->result.queues = NULL;
	rig->result.end_ps = 0;
	for (int h = 0; h < RIG_HOSTS; h++)
		rig->hosts[h].tx_data_pkts = 0;
	cr_assert_eq(summary_create(&empty, &rig->result), 0);
	cr_assert_eq(full.nb, empty.nb);
	for (uint32_t i = 0; i < full.nb; i++) {
		char text[VALUE_TEXT_MAX];

		cr_expect_str_eq(full.metrics[i].name, empty.metrics[i].name);
		cr_expect_str_eq(full.metrics[i].unit, empty.metrics[i].unit);
		cr_expect_null(strstr(value_text(&empty.metrics[i].value, text), "n"),
		               "%s is %s, no number", empty.metrics[i].name, text);
	}
	cr_expect_eq(summary_value(&empty, "goodput_bps").kind, VALUE_NONE);
	cr_expect_eq(summary_value(&empty, "queue_p99_bytes").kind, VALUE_NONE);
	cr_expect_eq(summary_value(&empty, "retransmitted_share").kind, VALUE_NONE);
	cr_expect_eq(summary_value(&empty, "fairness").kind, VALUE_NONE);
	summary_free(&full);
	summary_free(&empty);
	rig_free(rig);
}

/* Text of docs/lab-results.md; the caller frees it. */
static char *
manual(void)
{
	const char *root = getenv("WEFT_SOURCE_ROOT");
	char path[512], *text = NULL;
	size_t size = 0;
	FILE *f;

	cr_assert(root, "WEFT_SOURCE_ROOT is not set");
	snprintf(path, sizeof(path), "%s/docs/lab-results.md", root);
	f = fopen(path, "r");
	cr_assert(f, "cannot read %s", path);
	cr_assert_gt(getdelim(&text, &size, '\0', f), 0);
	fclose(f);
	return text;
}

static bool
explains(const char *text, const char *name)
{
	char quoted[METRIC_NAME_MAX + 2];

	snprintf(quoted, sizeof(quoted), "`%s`", name);
	return strstr(text, quoted) != NULL;
}

Test(summary, the_manual_explains_each_name)
{
	struct rig *rig = rig_create();
	char *text = manual();
	struct summary s;

	cr_assert_eq(summary_create(&s, &rig->result), 0);
	for (uint32_t i = 0; i < s.nb; i++) {
		const char *name = s.metrics[i].name, *dot = strrchr(name, '.');

		for (int c = 0; c < SIZE_CLASSES; c++) {
			const size_t len = strlen(size_classes[c].key);

			/* The classes and the names under them are each explained once. */
			if (strncmp(name, size_classes[c].key, len) == 0 && name[len] == '_') {
				char class[32];

				snprintf(class, sizeof(class), "%.*s", (int)len + 1, name);
				cr_expect(explains(text, class), "%s", class);
				name += len + 1;
			}
		}
		cr_expect(explains(text, dot ? dot + 1 : name), "%s", name);
	}
	for (const struct sheet *sheet = sheets; sheet->name; sheet++)
		cr_expect(explains(text, sheet->name), "%s", sheet->name);
	summary_free(&s);
	free(text);
	rig_free(rig);
}

Test(summary, names_are_unique)
{
	struct rig *rig = rig_create();
	struct summary s;

	cr_assert_eq(summary_create(&s, &rig->result), 0);
	for (uint32_t i = 0; i < s.nb; i++) {
		for (uint32_t k = 0; k < i; k++)
			cr_expect_str_neq(s.metrics[i].name, s.metrics[k].name);
	}
	summary_free(&s);
	rig_free(rig);
}

Test(summary, a_scenario_is_named_without_its_folder)
{
	static const struct {
		const char *path, *name;
	} rows[] = {{"/a/b/x.scenario", "x.scenario"}, {"x.scenario", "x.scenario"}, {NULL, "-"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct result r = {.scenario = rows[i].path};

		cr_expect_str_eq(summary_scenario(&r), rows[i].name);
	}
}
