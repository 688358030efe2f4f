/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "scenario_rig.h"

Test(scenario_switch, mistakes_are_told_with_line_and_what_would_do)
{
	static const struct scenario_row rows[] = {
		{LONG "[switch]\nbufer = 1M\n",
	         "t.scenario:4: unknown key 'bufer' (nearest: 'buffer')\n"},
		/* These come from elsewhere. */
		{LONG "[switch]\nseed = 1\n", "t.scenario:4: unknown key 'seed'"},
		{LONG "[port]\nrate = 1G\n", "t.scenario:4: unknown key 'rate'"},
		{LONG "[switch]\ntrust = vlan\n",
	         "t.scenario:4: trust 'vlan': known are dscp and pcp\n"},
		{LONG "[switch]\ndscp_map = 64:1\n",
	         "t.scenario:4: dscp_map '64:1': pairs such as 3:5, up to 63:7\n"},
		{LONG "[switch]\npfc = 8\n", "t.scenario:4: pfc '8': classes from 0 to 7\n"},
		{LONG "[switch]\nlb = fixed\n",
	         "t.scenario:4: unknown lb engine of switches 'fixed' (known: "},
		{LONG "[queue 8]\n", "t.scenario:3: [queue 8]: 0 to 7, please\n"},
		{LONG "[queue 1]\n[queue 01]\n",
	         "t.scenario:4: section [queue 1] began at line 3 already\n"},
		{LONG "[switch]\necn_kmin = 9K\n",
	         "t.scenario:4: [switch]: ecn_kmin = 9216, and ecn_kmax is missing: the bytes "
	         "above which all is marked\n"},
		{LONG "[switch]\necn_kmax = 1K\n[queue 3]\necn_kmin = 9K\n",
	         "t.scenario:6: [queue 3]: ecn_kmin = 9216 is above ecn_kmax = 1024\n"},
		{LONG "[switch]\nbuffer = 64K\n",
	         "t.scenario:4: [switch], at s0 with 8 ports: reserve and headroom of all ports "
	         "take 262144 bytes: no part of buffer = 65536 is left to share\n"},
		{LONG "[switch]\npfc = 3\ntrim_queue = 3\n",
	         "t.scenario:5: [switch], at s0 with 8 ports: queue 3 cannot be lossless and for "
	         "header-only packets\n"},
		{LONG "[topology]\nrate = 30G\n[switch]\nint = yes\n",
	         "t.scenario:4: [switch], port 0 of s0: telemetry knows links of 1, "},
		{LONG "[switch]\nint = yes\n", NULL},
	};

	TRY_ROWS(rows);
}

Test(scenario_switch, what_is_hardly_meant_is_told)
{
	static const struct scenario_row rows[] = {
		{LONG "[topology]\nk = 8\n",
	         "t.scenario:4: warning: [topology] k has no effect with kind = star\n"},
		{LONG "[topology]\ndelay = 100us\n[switch]\npfc = 0\n[host]\nwindow = 4600\n",
	         "t.scenario:6: warning: [port] headroom = 524288, and two delays of the link at "
	         "port 0 of s0 and two frames take "},
		{LONG "[switch]\npfc = 0\necn_kmin = 10M\necn_kmax = 10M\n",
	         "t.scenario:5: warning: queue 0 marks above ecn_kmin = 10485760, and at s0 its "
	         "senders may be paused from "},
		{LONG "[queue 2]\nlimit = 1K\n",
	         "t.scenario:4: warning: queue 2: limit = 1024 is less than a frame of mtu = 4200, "
	         "which is 4214: a longer one than limit never passes\n"},
		{LONG "[switch]\npfc = 2\n[queue 2]\nlimit = 1K\n[host]\ntraffic_class = 64\n",
	         "t.scenario:6: warning: [queue 2]: limit has no effect on a lossless class: what "
	         "bounds it is beta_dt and headroom of [port]\n"},
		{LONG "[link core]\nfault_loss = 1%\n",
	         "t.scenario:3: warning: [link core]: this topology has no such link\n"},
	};

	TRY_ROWS(rows);
}

#define CHOICE LONG "[topology]\nkind = leaf-spine\n"

Test(scenario_switch, what_hosts_do_that_the_fabric_is_not_for_is_told)
{
	static const struct scenario_row rows[] = {
		{LONG "[switch]\npfc = 3\n",
	         "t.scenario:4: warning: no host sends class 3: host.traffic_class = 96 would\n"},
		{LONG "[switch]\npfc = 3\n[host]\ntraffic_class = 96\n", NULL},
		{LONG "[switch]\npfc = 0, 3\n", NULL},
		{LONG "[switch]\npfc = 3\ndscp_map = 5:3\n[host]\ntraffic_class = 23\n", NULL},
		{LONG "[switch]\npfc = 3\ntrust = pcp\n[host]\ntraffic_class = 96\n",
	         "t.scenario:4: warning: no host sends class 3: hosts send no VLAN tags, so all "
	         "of theirs is of class 0 with trust = pcp; trust = dscp, please\n"},
		{LONG "[switch]\npfc = 3\ntrust = pcp\npcp_map = 0:3\n", NULL},
		{CHOICE "[switch]\nlb = spray\n",
	         "t.scenario:6: warning: [switch]: with lb = spray packets of a flow overtake each "
	         "other, and gbn, the reliability of hosts, repeats all behind a gap; flowlet or "
	         "adaptive, each with a gap, keeps their order\n"},
		{CHOICE "[switch]\nlb = adaptive\n",
	         "t.scenario:6: warning: [switch]: with lb = adaptive packets of a flow overtake"},
		{CHOICE "[switch]\nlb = adaptive\n[engine adaptive]\ngap = 9us\n", NULL},
		{CHOICE "[switch]\nlb = flowlet\n", NULL},
		/* One path. */
		{LONG "[switch]\nlb = spray\n", NULL},
		{LONG "[host]\nwindow = 8\n", "t.scenario:4: warning: [host] window = 8 of "
	                                      "path_mtu = 1024: 8848 bytes of frames, "
	                                      "and the longest path, empty, holds "},
		{LONG "[topology]\ndelay = 100us\n",
	         "t.scenario:4: warning: [host] window = 256 of path_mtu = 1024: 283136 bytes of "
	         "frames, and the longest path, empty, holds "},
	};

	TRY_ROWS(rows);
}

/* Two hosts at 10 Gb/s and 5 us: 12500 bytes, a frame and an ACK on their way are 12.4 frames. */
Test(scenario_switch, the_window_that_would_do_does)
{
	static const struct scenario_row rows[] = {
		{LONG "[topology]\nkind = back-to-back\nrate = 10G\ndelay = 5us\n[host]\nwindow = "
	              "12\n",
	         "t.scenario:8: warning: [host] window = 12 of path_mtu = 1024: 13272 bytes of "
	         "frames, and the longest path, empty, holds 13692 in a round trip: a lone flow "
	         "does not fill its link; window = 13 would do\n"},
		{LONG "[topology]\nkind = back-to-back\nrate = 10G\ndelay = 5us\n[host]\nwindow = "
	              "13\n",
	         NULL},
	};

	TRY_ROWS(rows);
}

Test(scenario_switch, a_queue_says_what_differs_from_the_switch_in_any_order)
{
	struct scenario *s = read_good(LONG "[queue 3]\nweight = 5\n[switch]\nweight = 2\n"
	                                    "ecn_kmin = 1K\necn_kmax = 2K\nlb = spray\n");
	const struct switch_conf *sw = &s->conf.sw;

	cr_expect_float_eq(sw->queues[3].weight, 5, 0);
	cr_expect_float_eq(sw->queues[2].weight, 2, 0);
	for (int i = 0; i < QUEUES_NB; i++)
		cr_expect_eq(sw->queues[i].kmax_bytes, 2048);
	cr_expect_eq(sw->lb, lb_find("spray", LB_SWITCH));
	cr_expect_not_null(sw->lb_params);
	scenario_free(s);
}

Test(scenario_switch, headers_have_the_weight_that_the_largest_switch_needs)
{
	struct scenario *s = read_good(LONG "[topology]\nhosts = 4\n[switch]\ntrim_queue = 7\n");

	cr_expect_gt(s->conf.sw.queues[7].weight, 1);
	scenario_free(s);
	s = read_good(LONG "[switch]\ntrim_queue = 7\n[queue 7]\nweight = 3\n");
	cr_expect_float_eq(s->conf.sw.queues[7].weight, 3, 0);
	scenario_free(s);
}

Test(scenario_link, mistakes_are_told_with_line_and_what_is_known)
{
	static const struct scenario_row rows[] = {
		{LONG "[link]\n", "t.scenario:3: the section is written [link WHICH]\n"},
		{LONG "[link some]\n",
	         "t.scenario:3: [link some]: all, host, core or two nodes such as h0-s0\n"},
		{LONG "[link all]\nloss = 1%\n", "t.scenario:4: unknown key 'loss'\n"},
		{LONG "[link all]\n[link all]\n",
	         "t.scenario:4: section [link all] began at line 3 already\n"},
		{LONG "[link h9-s0]\n", "t.scenario:3: [link h9-s0]: unknown node 'h9'"},
		{LONG "[link h0-leaf0]\n", "t.scenario:3: [link h0-leaf0]: unknown node 'leaf0'"},
		{LONG "[link h0-h1]\n", "t.scenario:3: [link h0-h1]: no link joins these two\n"},
		{LONG "[link -]\n", "t.scenario:3: [link -]: unknown node ''\n"},
	};

	TRY_ROWS(rows);
}

Test(scenario_link, the_narrowest_section_counts_for_each_key)
{
	struct scenario *s = read_good(LONG "[topology]\nkind = dumbbell\nhosts = 4\n"
	                                    "[link right-left]\nfault_loss = 3%\n"
	                                    "[link h1-left]\nfault_rx_loss = 4%\n"
	                                    "[link host]\nfault_loss = 2%\n"
	                                    "[link all]\nfault_loss = 1%\nfault_trim = 5%\n");
	const struct fault_params *f = s->conf.faults;
	const struct plan *plan = s->conf.plan;
	uint32_t core = plan->nb_links - 1;

	cr_assert_not_null(f);
	cr_expect(plan->links[core].is_core);
	cr_expect_eq(f[0].tx.ppm[FAULT_LOSS], 20000);
	cr_expect_eq(f[0].rx.ppm[FAULT_LOSS], 0);
	cr_expect_eq(f[1].tx.ppm[FAULT_LOSS], 20000);
	cr_expect_eq(f[1].rx.ppm[FAULT_LOSS], 40000);
	/* left is its first end: what right sends is received there. */
	cr_expect_eq(f[core].tx.ppm[FAULT_LOSS], 10000);
	cr_expect_eq(f[core].rx.ppm[FAULT_LOSS], 30000);
	for (uint32_t i = 0; i < plan->nb_links; i++) {
		cr_expect_eq(f[i].tx.ppm[FAULT_TRIM], 50000);
		/* They do not lose in step. */
		for (uint32_t k = 0; k < i; k++)
			cr_expect_neq(f[i].seed, f[k].seed);
	}
	scenario_free(s);
}
