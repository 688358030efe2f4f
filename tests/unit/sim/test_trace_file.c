/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "table_file.h"
#include "trace_file.h"

static struct trace_file *
read_text(const char *text, size_t len, char *why, size_t size)
{
	FILE *in = len > 0 ? fmemopen((void *)text, len, "r") : fopen("/dev/null", "r");
	struct trace_file *trace;

	cr_assert(in);
	trace = trace_file_read(in, "x.trace", why, size);
	fclose(in);
	return trace;
}

Test(trace_file, rows_come_in_order_of_time_then_of_lines)
{
	static const char text[] = "time,src,dst,bytes\n"
				   "2us, 0, 1, 64K\n"
				   "# a comment\n"
				   "100 h3 h2 1 # ns\n"
				   "0 5 4 7\n"
				   "0.1us 3 1 2\n"
				   "\n"
				   "2000\t1\t0\t1M";
	static const struct trace_flow want[] = {
		{0, 7, 5, 4, 5},        {100, 1, 3, 2, 4},        {100, 2, 3, 1, 6},
		{2000, 65536, 0, 1, 2}, {2000, 1048576, 1, 0, 8},
	};
	char why[256] = "";
	struct trace_file *t = read_text(text, strlen(text), why, sizeof(why));

	cr_assert(t, "%s", why);
	cr_expect_str_eq(t->name, "x.trace");
	cr_assert_eq(t->nb, 5);
	for (int i = 0; i < 5; i++) {
		cr_expect_eq(t->flows[i].at_ns, want[i].at_ns, "%d", i);
		cr_expect_eq(t->flows[i].bytes, want[i].bytes, "%d", i);
		cr_expect_eq(t->flows[i].src, want[i].src, "%d", i);
		cr_expect_eq(t->flows[i].dst, want[i].dst, "%d", i);
		cr_expect_eq(t->flows[i].line, want[i].line, "%d", i);
	}
	trace_file_free(t);
}

Test(trace_file, what_is_none_is_told_with_file_line_and_remedy)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{"", "x.trace:1: no row; a row is time, src, dst, bytes"},
		{"time,src,dst,bytes\n", "x.trace:2: no row"},
		{"0 1 2\n", "x.trace:1: 3 fields; a row has four"},
		{"\n0 1 2 3 4\n", "x.trace:2: 5 fields"},
		{"0.5 0 1 1\n", "x.trace:1: time '0.5'"},
		{"-1 0 1 1\n", "x.trace:1: time '-1'"},
		{"5 h 0 1 1\n", "x.trace:1: 5 fields"},
		{"5h 0 1 1\n", "x.trace:1: time '5h'"},
		{"time 0 1 1\ntime 0 1 1\n", "x.trace:2: time 'time'"},
		{"1000000001ms 0 1 1\n", "at most 1000000s"},
		{"1 h 1 1\n", "x.trace:1: src 'h'"},
		{"1 x1 1 1\n", "x.trace:1: src 'x1'"},
		{"1 0 4294967296 1\n", "x.trace:1: dst '4294967296'"},
		{"1 0 1K 1\n", "x.trace:1: dst '1K'"},
		{"1 7 h7 1\n", "x.trace:1: host 7 to itself"},
		{"1 0 1 0\n", "x.trace:1: bytes '0': 1 to 1T"},
		{"1 0 1 2T\n", "x.trace:1: bytes '2T': 1 to 1T"},
		{"1 0 1 1.5\n", "x.trace:1: bytes '1.5'"},
	};
	char why[256] = "";

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_null(read_text(rows[i].text, strlen(rows[i].text), why, sizeof(why)),
		               "row %zu", i);
		cr_expect(strstr(why, rows[i].why), "row %zu: %s", i, why);
	}
	cr_expect_null(read_text("0 0 1 1\n1 \0 1", 12, why, sizeof(why)));
	cr_expect(strstr(why, "x.trace:2: a byte of 0"), "%s", why);
}

/* ---- where files are found ---- */

static bool
is_found(const char *folder, const char *file, const char *suffix, const char *first_word,
         char *why, size_t size)
{
	FILE *in = table_file_open(folder, file, suffix, why, size);
	struct table_file t = {.in = in, .name = file, .why = why, .why_size = size};

	if (!in)
		return false;
	cr_expect(table_file_next(&t) > 0, "%s", why);
	cr_expect_str_eq(t.fields[0], first_word, "%s", file);
	fclose(in);
	return true;
}

Test(trace_file, files_are_found_in_the_folder_of_who_names_them)
{
	char folder[] = "/tmp/weft-test-trace-XXXXXX", path[64], why[8192] = "";
	FILE *out;

	cr_assert(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/x.trace", folder);
	out = fopen(path, "w");
	cr_assert(out);
	fputs("4711 0 1 1\n", out);
	fclose(out);
	cr_expect(is_found(folder, "x.trace", ".trace", "4711", why, sizeof(why)), "%s", why);
	cr_expect(is_found("/nowhere", path, ".trace", "4711", why, sizeof(why)), "%s", why);
	cr_expect(!is_found(folder, "y.trace", ".trace", "", why, sizeof(why)));
	cr_expect(strstr(why, "y.trace: No such file or directory; there is no shipped file"), "%s",
	          why);
	cr_expect(!is_found(folder, "../x/y.trace", ".trace", "", why, sizeof(why)));
	cr_expect(!strstr(why, "shipped"), "%s", why);
	unlink(path);
	rmdir(folder);
}

Test(trace_file, a_folder_is_no_file)
{
	char why[256] = "";
	FILE *in = fopen("/tmp", "r");

	cr_assert(in);
	cr_expect_null(trace_file_read(in, "/tmp", why, sizeof(why)));
	cr_expect(strstr(why, "/tmp:1: cannot be read: Is a directory"), "%s", why);
	fclose(in);
}
