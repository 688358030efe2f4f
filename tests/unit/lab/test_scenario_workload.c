/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cdf.h"
#include "scenario_rig.h"

Test(scenario_workload, mistakes_are_told_with_line_and_what_would_do)
{
	static const struct scenario_row rows[] = {
		{"[workload]\n", "t.scenario:1: the section is written [workload NAME]\n"},
		{"[workload a/b]\n",
	         "t.scenario:1: name 'a/b': letters, digits, '_', '-' and '.' only\n"},
		{"[workload a]\n", "t.scenario:1: [workload a] has no kind\n"},
		{LONG LONG, "t.scenario:3: section [workload w] began at line 1 already\n"},
		/* What follows from an unknown kind is not told. */
		{"[workload a]\nkind = incest\nsenders = 3\n",
	         "t.scenario:2: unknown kind of workload 'incest' (known: incast, "},
		{"[workload a]\nverb = wirte\nkind = long\n",
	         "t.scenario:2: unknown verb 'wirte' (known: WRITE, SEND, READ)\n"},
		{"[workload a]\nsenders = 3\nkind = incast\n",
	         "t.scenario:2: unknown key 'senders'"},
		{"[workload a]\nkind = incast\nload = 3\n",
	         "t.scenario:3: unknown key 'load': kind = incast has none\n"},
		{"[workload a]\nkind = long\nfile = x\n",
	         "t.scenario:3: [workload a] file: kind = long has none\n"},
		{"[workload a]\nkind = cdf\n",
	         "t.scenario:1: [workload a] has no file, which kind = cdf needs\n"},
		{"[workload a]\nkind = cdf\nfile = there/is/none\n",
	         "t.scenario:3: [workload a] file: there/is/none: No such file or directory"},
		{"[workload a]\nkind = trace\nfile = /dev/null\n",
	         "t.scenario:3: [workload a] file: /dev/null:"},
		{"[workload a]\nkind = long\nbytes = 1\nqps = 2\n",
	         "t.scenario:3: [workload a] bytes: 1 bytes are not one for each of 2 QPs"},
		{"[workload a]\nkind = long\nstart = 2us\nstop = 1us\n",
	         "t.scenario:4: [workload a] stop: "},
		{"[workload a]\nkind = long\n[topology]\nkind = fat-tree\nk = 3\n",
	         "t.scenario:5: [topology] k: half of 3 ports is no whole number; 2 or 4 would "
	         "do\n"},
	};

	TRY_ROWS(rows);
}

Test(scenario_workload, what_never_ends_needs_an_end)
{
	static const struct scenario_row rows[] = {
		{"[workload a]\nkind = permutation\nrepeat = 0\n",
	         "t.scenario:1: [workload a] never ends: it needs a stop, or [lab] a duration\n"},
		{"[workload a]\nkind = permutation\nrepeat = 0\nstop = 1ms\n", NULL},
		{"[workload a]\nkind = permutation\nrepeat = 0\n[lab]\nduration = 1ms\n", NULL},
	};

	TRY_ROWS(rows);
}

/* A folder with a file of sizes, and a scenario beside it. */
static void
write_file(const char *folder, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	cr_assert_not_null(f);
	fputs(text, f);
	fclose(f);
}

Test(scenario_workload, a_file_lies_beside_the_scenario)
{
	char folder[] = "/tmp/weft-scenario-XXXXXX", path[512], command[512];
	struct scenario *s;

	cr_assert_not_null(mkdtemp(folder));
	write_file(folder, "sizes.cdf", "0 0\n1000 100\n");
	write_file(folder, "a.scenario",
	           "[lab]\nduration = 1ms\n[workload a]\nkind = cdf\nfile = sizes.cdf\n");
	snprintf(path, sizeof(path), "%s/a.scenario", folder);
	s = scenario_read(path, NULL, stderr);
	cr_assert_not_null(s);
	cr_assert_not_null(s->workloads[0].cdf);
	cr_expect_float_eq(cdf_mean_bytes(s->workloads[0].cdf), 500, 1);
	scenario_free(s);
	snprintf(command, sizeof(command), "rm -r '%s'", folder);
	cr_expect_eq(system(command), 0);
}
