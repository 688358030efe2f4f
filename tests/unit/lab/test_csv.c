/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "csv.h"
#include "result_rig.h"

static int
write_all(struct rig *rig, const char *folder)
{
	struct summary s;
	int err;

	cr_assert_eq(summary_create(&s, &rig->result), 0);
	err = csv_write(&rig->result, &s, folder);
	summary_free(&s);
	return err;
}

static void
expect_text(const char *name, const char *want)
{
	char *text = rig_read(name, NULL);

	cr_assert(text, "no %s", name);
	cr_expect_str_eq(text, want, "%s: %s", name, text);
	free(text);
}

Test(csv, flows_are_told_in_whole_picoseconds)
{
	struct rig *rig = rig_create();

	cr_assert_eq(write_all(rig, rig_folder()), 0);
	expect_text(
		"flows.csv",
		"flow,workload,src,dst,verb,qp,bytes,status,reason,delivered_bytes,start_ps,"
		"delivered_ps,end_ps,ideal_ps,slowdown\n"
		"0,in,h0,h2,WRITE,0,1000000,done,,1000000,1000000,161000000,165000000,82000000,2\n"
		"1,in,h1,h2,WRITE,0,1000000,done,,1000000,1000000,161000000,169000000,82000000,"
		"2.04878048780488\n"
		"2,\"web, "
		"\"\"b\"\"\",h0,h1,SEND,1,500,done,,500,10000000,14000000,16000000,3000000,"
		"2\n"
		"3,\"web, \"\"b\"\"\",h1,h0,READ,1,20000,failed,2,4096,20000000,,100000000,5000000,"
		"\n"
		"4,\"web, \"\"b\"\"\",h2,h0,SEND,,300,runs,,0,150000000,,,3000000,\n");
	rig_remove_folder();
	rig_free(rig);
}

Test(csv, samples_are_one_to_a_line)
{
	struct rig *rig = rig_create();

	rig->series[0].nb = 2;
	rig->series[1].nb = 0;
	rig->series[2].nb = 1;
	cr_assert_eq(write_all(rig, rig_folder()), 0);
	expect_text("series.csv", "time_ns,probe,unit,value\n"
	                          "10000,goodput,bps,0\n"
	                          "20000,goodput,bps,4750000000\n"
	                          "10000,drops,pkt,0\n");
	rig_remove_folder();
	rig_free(rig);
}

Test(csv, queues_end_with_the_longest)
{
	struct rig *rig = rig_create();

	memset(&rig->queues, 0, sizeof(rig->queues));
	rig->queues.count[0] = 5;
	rig->queues.count[3] = 1;
	rig->queues.nb = 6;
	cr_assert_eq(write_all(rig, rig_folder()), 0);
	expect_text("queues.csv", "from_bytes,to_bytes,samples\n0,0,5\n1,1,0\n2,3,0\n4,7,1\n");
	rig_remove_folder();
	rig_free(rig);
}

/* Value of a column in the n-th line, from 1 on, of text without quotes. */
static char *
column(const char *text, const char *name, int line)
{
	const char *field = text;
	int nb = 0;

	while (strncmp(field, name, strlen(name)) != 0 || !strchr(",\n", field[strlen(name)])) {
		field += strcspn(field, ",\n");
		cr_assert(*field == ',', "no column %s", name);
		field++;
		nb++;
	}
	while (line-- > 0)
		text = strchr(text, '\n') + 1;
	while (nb-- > 0)
		text += strcspn(text, ",\n") + 1;
	return strndup(text, strcspn(text, ",\n"));
}

Test(csv, counters_are_under_their_names)
{
	static const struct {
		const char *file, *name;
		int line;
		const char *want;
	} rows[] = {
		{"hosts.csv", "host", 3, "h2"},
		{"hosts.csv", "delivered_bytes", 3, "2000000"},
		{"hosts.csv", "tx_packets", 2, "1001"},
		{"hosts.csv", "drop_gap", 1, "5"},
		{"hosts.csv", "gbn_rewinds", 2, "12"},
		{"hosts.csv", "gbn_naks_ignored", 2, "0"},
		{"hosts.csv", "cc_cuts", 2, "22"},
		{"switches.csv", "switch", 1, "s0"},
		{"switches.csv", "buffer_used_max", 1, "7000"},
		{"ports.csv", "port", 3, "2"},
		{"ports.csv", "tx_prio0_queue_max", 3, "5000"},
		{"links.csv", "from", 3, "h1"},
		{"links.csv", "to", 3, "s0"},
		{"links.csv", "from", 4, "s0"},
		{"links.csv", "to", 4, "h1"},
		{"links.csv", "to_port", 4, "0"},
		{"links.csv", "from_port", 4, "1"},
		{"links.csv", "used_share", 3, "0.25"},
		/* each way has the hits of its own */
		{"links.csv", "fault_lost", 3, "9"},
		{"links.csv", "fault_lost", 4, "0"},
		{"links.csv", "fault_trimmed", 3, "0"},
		{"links.csv", "fault_trimmed", 4, "1"},
	};
	struct rig *rig = rig_create();

	cr_assert_eq(write_all(rig, rig_folder()), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = rig_read(rows[i].file, NULL), *got;

		cr_assert(text);
		got = column(text, rows[i].name, rows[i].line);
		cr_expect_str_eq(got, rows[i].want, "%s, %s, line %d: %s", rows[i].file,
		                 rows[i].name, rows[i].line, got);
		free(got);
		free(text);
	}
	rig_remove_folder();
	rig_free(rig);
}

Test(csv, all_lines_of_a_file_have_as_many_fields)
{
	static const char *const files[] = {"summary.csv", "workloads.csv", "flows.csv",
	                                    "hosts.csv",   "switches.csv",  "ports.csv",
	                                    "links.csv",   "series.csv",    "queues.csv"};
	struct rig *rig = rig_create();

	rig->workloads[1].name = "web"; /* no comma that is no separator */
	cr_assert_eq(write_all(rig, rig_folder()), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *text = rig_read(files[i], NULL);
		int want = -1, nb = 0;

		cr_assert(text);
		for (const char *c = text; *c; c++) {
			nb += *c == ',';
			if (*c != '\n')
				continue;
			cr_expect(want < 0 || nb == want, "%s", files[i]);
			want = nb;
			nb = 0;
		}
		cr_expect_gt(want, 0);
		free(text);
	}
	rig_remove_folder();
	rig_free(rig);
}

Test(csv, what_has_no_rows_leaves_no_file_of_another_run)
{
	struct rig *rig = rig_create();
	const char *folder = rig_folder();
	char *text;

	cr_assert_eq(write_all(rig, folder), 0);
	text = rig_read("series.csv", NULL);
	cr_expect(text);
	free(text);
	rig->result.nb_series = 0;
	cr_assert_eq(write_all(rig, folder), 0);
	cr_expect_null(rig_read("series.csv", NULL));
	rig_remove_folder();
	rig_free(rig);
}

Test(csv, a_broken_rule_is_there_with_its_history)
{
	static char history[] = "1 a\n2 b\n";
	struct rig *rig = rig_create();

	rig->result.violation = (struct violation){
		.rule = "once", .what = "twice", .at_ps = 42, .history = history};
	cr_assert_eq(write_all(rig, rig_folder()), 0);
	expect_text("violations.csv", "rule,at_ps,what,history\nonce,42,twice,\"1 a\n2 b\n\"\n");
	rig_remove_folder();
	rig_free(rig);
}

Test(csv, holds_nothing_of_the_machine)
{
	static const char *const files[] = {"summary.csv", "flows.csv", "hosts.csv"};
	struct rig *rig = rig_create();

	cr_assert_eq(write_all(rig, rig_folder()), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *text = rig_read(files[i], NULL);

		cr_expect_null(strstr(text, "/home"));
		cr_expect_null(strstr(text, "wall"));
		cr_expect_null(strstr(text, "cpu"));
		free(text);
	}
	rig_remove_folder();
	rig_free(rig);
}

Test(csv, what_cannot_be_written_is_told_by_name)
{
	struct rig *rig = rig_create();
	char line[LOG_LINE_MAX], path[256];
	const char *folder;

	rig_listen();
	cr_expect_eq(write_all(rig, "/nowhere/at/all"), -ENOENT);
	cr_expect_eq(rig_logged(line), 1);
	cr_expect(strstr(line, "/nowhere/at/all"));
	/* A disk that is full. */
	folder = rig_folder();
	snprintf(path, sizeof(path), "%s/hosts.csv", folder);
	cr_assert_eq(symlink("/dev/full", path), 0);
	cr_expect_eq(write_all(rig, folder), -ENOSPC);
	cr_expect_eq(rig_logged(line), 1);
	cr_expect(strstr(line, "hosts.csv: No space left"), "%s", line);
	rig_remove_folder();
	rig_free(rig);
}
