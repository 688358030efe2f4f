/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "result_rig.h"
#include "table.h"

static char *
print(struct rig *rig)
{
	struct summary s;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	cr_assert(f);
	cr_assert_eq(summary_create(&s, &rig->result), 0);
	table_print(f, &rig->result, &s);
	fclose(f);
	summary_free(&s);
	return text;
}

Test(table, says_first_what_was_run_and_last_how_fast)
{
	static const char first[] = "incast.scenario, seed 7: star, 3 hosts, 1 switch; 200 us of "
				    "virtual time\n";
	static const char last[] =
		"\n2,000 data packets delivered in 500 ms; 8,000 of them per second of CPU time\n";
	struct rig *rig = rig_create();
	char *text = print(rig);

	cr_expect(strncmp(text, first, strlen(first)) == 0, "%s", text);
	cr_expect_str_eq(text + strlen(text) - strlen(last), last);
	free(text);
	rig_free(rig);
}

Test(table, shows_only_sizes_that_there_were)
{
	struct rig *rig = rig_create();
	char *text = print(rig);

	cr_expect(strstr(text, "\nup to 1 kB             1        6 us"), "%s", text);
	cr_expect_null(strstr(text, "\n10 to 100 kB"));
	cr_expect(strstr(text, "\nall                    3"));
	free(text);
	rig_free(rig);
}

Test(table, fits_a_hundred_columns)
{
	struct rig *rig = rig_create();
	char *text;

	/* Numbers as long as they get. */
	for (int h = 0; h < RIG_HOSTS; h++) {
		rig->hosts[h].tx_data_pkts = 123456789012;
		rig->hosts[h].retransmitted_pkts = 12345678901;
		rig->hosts[h].spurious_pkts = 1234567890;
		rig->nics[h].local_ack_timeout_err = 123456789;
	}
	text = print(rig);
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		cr_expect_leq(strcspn(line, "\n"), 100, "%.*s", (int)strcspn(line, "\n"), line);
	free(text);
	rig_free(rig);
}

Test(table, what_is_not_known_is_a_dash)
{
	struct rig *rig = rig_create();
	char *text;

	rig->result.nb_flows = 0;
	rig->result.queues = NULL;
	rig->result.cpu_s = 0;
	text = print(rig);
	cr_expect(strstr(text, "goodput       -; by receiver: min -"), "%s", text);
	cr_expect(strstr(text, "queues        p50 -, p99 -"));
	cr_expect_null(strstr(text, "nan"));
	free(text);
	rig_free(rig);
}

Test(table, a_broken_rule_stands_at_the_top)
{
	struct rig *rig = rig_create();
	char *text;

	rig->result.violation = (struct violation){.rule = "once", .what = "PSN 5 twice"};
	text = print(rig);
	cr_expect(strstr(text, "time\nVIOLATED      once: PSN 5 twice\n"), "%s", text);
	free(text);
	rig_free(rig);
}
