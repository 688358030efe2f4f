/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "nearest.h"

Test(nearest, finds_what_was_probably_meant)
{
	static const char *const names[] = {"port",        "ip",     "mtu", "vlan", "traffic_class",
	                                    "reliability", "fabric", "cc",  "lb"};
	static const struct {
		const char *word, *want;
		uint32_t edits;
	} rows[] = {
		{"prot", "port", 1}, /* neighbours swapped */
		{"poort", "port", 1},
		{"por", "port", 1},
		{"pork", "port", 1},
		{"traffic-class", "traffic_class", 0},
		{"trafic_clas", "traffic_class", 2},
		{"relaibilty", "reliability", 2},
		{"mut", "mtu", 1},
		{"MTU", "mtu", 0},
		{"Trafic-Class", "traffic_class", 1},
		{"lp", NULL, 0}, /* half of it is another word */
		{"colour", NULL, 0},
		{"", NULL, 0},
		{"reliabilityreliabilityreliabilityreliabilityreliabilityreliability", NULL, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nearest n = nearest_of(rows[i].word);

		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			nearest_offer(&n, names[k]);
		if (rows[i].want) {
			cr_assert_not_null(n.name, "row %zu", i);
			cr_expect_str_eq(n.name, rows[i].want, "row %zu: %s", i, n.name);
			cr_expect_eq(n.edits, rows[i].edits, "row %zu: %u", i, n.edits);
		} else {
			cr_expect_null(n.name, "row %zu: %s", i, n.name);
		}
	}
}

Test(nearest, the_first_of_equally_near_names_stays)
{
	struct nearest n = nearest_of("rate");

	nearest_offer(&n, "rite");
	nearest_offer(&n, "rote");
	cr_expect_str_eq(n.name, "rite");
	nearest_offer(&n, "rate");
	cr_expect_str_eq(n.name, "rate");
}

Test(nearest, explains_in_one_line)
{
	struct nearest n = nearest_of("windw");
	char why[100];

	nearest_explain(&n, "key", why, sizeof(why));
	cr_expect_str_eq(why, "unknown key 'windw'");
	nearest_offer(&n, "window");
	nearest_explain(&n, "key", why, sizeof(why));
	cr_expect_str_eq(why, "unknown key 'windw' (nearest: 'window')");
}

Test(nearest, lists_all_names_the_nearest_first)
{
	static const struct {
		const char *word;
		size_t size; /* of the line */
		const char *want;
	} rows[] = {
		{"fixt", 100, "unknown engine 'fixt' (known: fixed, hpcc, dcqcn)"},
		{"hpc", 100, "unknown engine 'hpc' (known: hpcc, dcqcn, fixed)"},
		{"", 100, "unknown engine '' (known: hpcc, dcqcn, fixed)"},
		{"fixt", 30, "unknown engine 'fixt' (known:"},
		{"fixt", 37, "unknown engine 'fixt' (known: fixed,"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *names[] = {"dcqcn", "fixed", "hpcc"};
		char why[100];

		nearest_list(rows[i].word, "engine", names, 3, why, rows[i].size);
		cr_expect_str_eq(why, rows[i].want, "row %zu: %s", i, why);
	}
}
