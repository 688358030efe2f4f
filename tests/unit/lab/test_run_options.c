/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <string.h>

#include "lab_cmd.h"
#include "run_options.h"

/* Up to 8 words. */
static int
parse(struct run_options *opt, const char *const *words)
{
	static char room[8][64];
	char *argv[9] = {NULL};
	int argc = 0;

	for (; words[argc]; argc++) {
		snprintf(room[argc], sizeof(room[argc]), "%s", words[argc]);
		argv[argc] = room[argc];
	}
	return run_options_parse(opt, strcmp(words[0], "check") == 0, argc, argv);
}

Test(run_options, words_and_options_stand_in_any_order)
{
	static const char *const words[] = {"run", "a=1", "-q", "b=2", "-c", "dir", "-s9", NULL};
	static const char *const others[] = {"run",      "x.scenario",    "--json", "f",
	                                     "--plot=p", "--pcap=h3=a=b", NULL};
	struct run_options opt;

	cr_assert_eq(parse(&opt, words), -1);
	cr_expect_str_eq(opt.scenario, "a=1");
	cr_expect_str_eq(opt.overrides[0], "b=2");
	cr_expect_str_eq(opt.overrides[1], "seed=9");
	cr_expect_null(opt.overrides[2]);
	cr_expect_str_eq(opt.csv, "dir");
	cr_expect(opt.is_quiet);
	cr_expect_null(opt.pcap);
	cr_assert_eq(parse(&opt, others), -1);
	cr_expect_str_eq(opt.json, "f");
	cr_expect_str_eq(opt.plot, "p");
	cr_expect_str_eq(opt.pcap_node, "h3");
	cr_expect_str_eq(opt.pcap, "a=b");
	cr_expect_null(opt.overrides[0]);
	cr_expect_not(opt.is_quiet);
}

Test(run_options, mistakes_are_of_usage)
{
	static const char *const rows[][5] = {
		{"run"},
		{"run", "x", "--pcap", "h3"},
		{"run", "x", "--pcap", "=f"},
		{"run", "x", "--pcap", "h3="},
		{"run", "x", "--pcap=h3=f", "--pcap=h4=g"},
		{"run", "x", "--seed", "1000000000000000000000000000"},
		{"run", "x", "--what"},
		{"run", "x", "--csv"},
		{"check", "x", "--csv", "d"},
		{"check"},
	};

	cr_redirect_stderr();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct run_options opt;

		cr_expect_eq(parse(&opt, rows[i]), LAB_EXIT_USAGE, "row %zu", i);
	}
}

Test(run_options, help_is_no_mistake)
{
	static const char *const rows[][3] = {{"run", "-h"}, {"check", "--help"}};

	cr_redirect_stdout();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct run_options opt;

		cr_expect_eq(parse(&opt, rows[i]), LAB_EXIT_OK, "row %zu", i);
	}
}
