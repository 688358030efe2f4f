/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "bind.h"
#include "scenario_rig.h"

/* Engines that need something of the fabric, in the place of this build's. */
extern const struct cc_ops fixed_ops;
static const struct cc_ops marks = {.info = {.name = "marks", .needs = TRAIT_ECN}};
static const struct cc_ops hops = {.info = {.name = "hops", .needs = TRAIT_INT | TRAIT_TBO}};
static const struct cc_ops stays = {.info = {.name = "stays", .needs = TRAIT_FLOW_ECMP}};
static const struct cc_ops cuts = {.info = {.name = "cuts", .needs = TRAIT_TRIM}};
const struct cc_ops *const cc_engines[] = {&fixed_ops, &marks, &hops, &stays, &cuts, NULL};

#define FABRIC LONG "[topology]\nkind = leaf-spine\n"

Test(scenario_traits, an_engine_without_what_it_needs_is_told_with_line_and_remedy)
{
	static const struct scenario_row rows[] = {
		{FABRIC "[host]\nmtu = 4200\ncc = marks\n",
	         "t.scenario:7: [host]: cc marks needs trait ecn, which the fabric does not have: "
	         "it takes ecn_kmin and ecn_kmax of [switch]\n"},
		{FABRIC "[host]\ncc = hops\n",
	         "t.scenario:6: [host]: cc hops needs trait int, which the fabric does not have: "
	         "it takes int = yes of [switch]\n"},
		{FABRIC "[host]\ncc = cuts\n",
	         "t.scenario:6: [host]: cc cuts needs trait trim, which the fabric does not have: "
	         "it takes trim_queue of [switch]\n"},
		{FABRIC "[host]\ncc = stays\n[switch]\nlb = spray\n",
	         "t.scenario:6: [host]: cc stays needs trait flow_ecmp, which the fabric does not "
	         "have: it takes lb = ecmp of [switch]\n"},
		/* Without switches nobody marks, whatever is said of them. */
		{LONG
	         "[topology]\nkind = back-to-back\n[switch]\necn_kmax = 1K\n[host]\ncc = marks\n",
	         "t.scenario:8: [host]: cc marks needs trait ecn, which the fabric does not have: "
	         "it takes a topology with switches\n"},
		{FABRIC,
	         "command line: host.cc: [host]: cc marks needs trait ecn, which the fabric does "
	         "not have: it takes ecn_kmin and ecn_kmax of [switch]\n",
	         {"host.cc=marks"}},
	};

	TRY_ROWS(rows);
}

Test(scenario_traits, what_a_fabric_has_is_found)
{
	static const struct scenario_row rows[] = {
		{FABRIC "[host]\ncc = marks\n[queue 3]\necn_kmax = 10K\n"},
		{FABRIC "[host]\ncc = hops\n[switch]\nint = yes\n"},
		{FABRIC "[host]\ncc = cuts\n[switch]\ntrim_queue = 7\n"},
		{FABRIC "[host]\ncc = stays\n"},
		/* Where there is one path, all stay on it. */
		{LONG "[host]\ncc = stays\n[switch]\nlb = spray\n"},
		{LONG "[host]\ncc = stays\n[switch]\nlb = spray\n[topology]\nkind = dumbbell\n"},
		{LONG "[host]\ncc = stays\n[topology]\nkind = back-to-back\n"},
	};

	TRY_ROWS(rows);
}
