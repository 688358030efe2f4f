/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "topo.h"

static struct plan_params
defaults(void)
{
	struct plan_params p;

	param_defaults(plan_param_descs, &p);
	return p;
}

static struct plan
make(enum plan_kind kind, const struct plan_params *params)
{
	const char *key;
	char why[256] = "";
	struct plan plan;

	cr_assert_eq(plan_create(&plan, kind, params, &key, why, sizeof(why)), 0, "%s: %s",
	             plan_kind_names[kind], why);
	return plan;
}

/* ---- each port of a switch has one link, a host one, and what is between switches says so ---- */

static void
expect_ports_used_once(const struct plan *plan)
{
	uint32_t nb_nodes = plan->nb_hosts + plan->nb_switches;
	uint64_t *used = calloc(nb_nodes, sizeof(*used));

	for (uint32_t i = 0; i < plan->nb_links; i++) {
		const struct plan_link *link = &plan->links[i];

		for (int e = 0; e < 2; e++) {
			cr_assert(link->end[e].node < nb_nodes && link->end[e].port < 64);
			cr_assert_eq(used[link->end[e].node] >> link->end[e].port & 1, 0,
			             "node %u port %u twice", link->end[e].node, link->end[e].port);
			used[link->end[e].node] |= UINT64_C(1) << link->end[e].port;
		}
		cr_assert_eq(link->is_core, link->end[0].node >= plan->nb_hosts);
		if (plan->nb_switches > 0) {
			cr_assert_eq(link->is_core, i >= plan->nb_hosts);
			cr_assert(link->is_core || link->end[0].node == i);
			cr_assert_geq(link->end[1].node, plan->nb_hosts);
		}
		if (link->is_core)
			cr_assert_leq(plan->switches[link->end[0].node - plan->nb_hosts].stage,
			              plan->switches[link->end[1].node - plan->nb_hosts].stage);
	}
	for (uint32_t n = 0; n < nb_nodes; n++) {
		uint32_t nb = n < plan->nb_hosts ? 1 : plan->switches[n - plan->nb_hosts].nb_ports;

		cr_assert_eq(used[n], nb == 64 ? UINT64_MAX : (UINT64_C(1) << nb) - 1, "node %u",
		             n);
	}
	free(used);
}

/* ---- routes, by the code that computes a daemon's ---- */

static struct topo_map
map_of(const struct plan *plan)
{
	struct topo_map map = {
		.nb_switches = plan->nb_switches,
		.nb_hosts = plan->nb_hosts,
		.nb_attachments = plan->nb_hosts,
		.nb_links = plan->nb_links - plan->nb_hosts,
		.links = calloc(plan->nb_links, sizeof(map.links[0])),
		.attachments = calloc(plan->nb_links, sizeof(map.attachments[0])),
	};

	for (uint32_t i = 0; i < plan->nb_links; i++) {
		const struct plan_end *e = plan->links[i].end;
		uint32_t first_sw = plan->nb_hosts;

		if (i < plan->nb_hosts)
			map.attachments[i] = (struct topo_attachment){
				.host = e[0].node,
				.sw = (uint16_t)(e[1].node - first_sw),
				.port = (uint8_t)e[1].port,
				.up = true,
			};
		else
			map.links[i - plan->nb_hosts] = (struct topo_link){
				.sw = {(uint16_t)(e[0].node - first_sw),
			               (uint16_t)(e[1].node - first_sw)},
				.port = {(uint8_t)e[0].port, (uint8_t)e[1].port},
				.up = true,
			};
	}
	return map;
}

static struct plan_end
other_end(const struct plan *plan, uint32_t node, uint16_t port)
{
	for (uint32_t i = 0; i < plan->nb_links; i++) {
		const struct plan_end *e = plan->links[i].end;

		for (int k = 0; k < 2; k++) {
			if (e[k].node == node && e[k].port == port)
				return e[!k];
		}
	}
	cr_assert_fail("no link at port %u of node %u", port, node);
	abort();
}

/* Links of the way by the lowest ports, and how many ways there are at the first switch. */
static uint32_t
walk(const struct plan *plan, const struct topo *topo, uint32_t a, uint32_t b, int *width)
{
	uint32_t node = plan->links[a].end[1].node, nb = 1;

	*width = __builtin_popcountll(topo_ports_to(topo, node - plan->nb_hosts, b));
	while (node != b) {
		uint64_t ports = topo_ports_to(topo, node - plan->nb_hosts, b);

		cr_assert_neq(ports, 0, "no way from h%u to h%u", a, b);
		node = other_end(plan, node, (uint16_t)__builtin_ctzll(ports)).node;
		cr_assert(++nb <= 6);
	}
	return nb;
}

/* From the first host to one at the same switch, one in the same pod, and one far away. */
static void
expect_ways(const struct plan *plan, int pod_width, int far_width)
{
	struct topo_map map = map_of(plan);
	struct topo *topo = topo_create(&map);
	uint32_t last = plan->nb_hosts - 1;
	int width;

	cr_assert(topo);
	for (uint32_t to = 1; to <= last; to += 1 + last / 97) {
		uint32_t nb = walk(plan, topo, 0, to, &width);

		cr_assert_eq(plan_nb_links(plan, 0, to), nb, "to h%u", to);
		cr_assert_leq(nb, plan_nb_links(plan, 0, last));
		if (to < plan->hosts_per_leaf)
			cr_assert_eq(width, 1, "to h%u", to);
		else if (to < plan->hosts_per_pod)
			cr_assert_eq(width, pod_width, "to h%u", to);
		else
			cr_assert_eq(width, far_width, "to h%u", to);
	}
	cr_assert_eq(walk(plan, topo, last, 0, &width), plan_nb_links(plan, 0, last));
	topo_destroy(topo);
	free(map.links);
	free(map.attachments);
}

Test(plan, each_kind_has_its_hosts_switches_links_and_ways)
{
	static const struct {
		enum plan_kind kind;
		struct plan_params p; /* 0 = the default */
		uint32_t nb_hosts, nb_switches, nb_links, nb_links_far;
		int pod_width, far_width;
	} rows[] = {
		{PLAN_DUMBBELL, {0}, 8, 2, 9, 3, 1, 0},
		{PLAN_DUMBBELL, {.hosts = 126}, 126, 2, 127, 3, 1, 0},
		{PLAN_STAR, {0}, 8, 1, 8, 2, 0, 0},
		{PLAN_STAR, {.hosts = 64}, 64, 1, 64, 2, 0, 0},
		{PLAN_TWO_PATHS, {.hosts = 2}, 2, 2, 4, 3, 2, 0},
		{PLAN_LEAF_SPINE, {0}, 16, 6, 24, 4, 2, 0},
		{PLAN_LEAF_SPINE, {.parallel = 3}, 16, 6, 40, 4, 6, 0},
		{PLAN_LEAF_SPINE,
	         {.leaves = 64, .spines = 32, .hosts_per_leaf = 32},
	         2048,
	         96,
	         4096,
	         4,
	         32,
	         0},
		{PLAN_FAT_TREE, {0}, 16, 20, 48, 6, 2, 2},
		{PLAN_FAT_TREE, {.k = 2}, 2, 5, 6, 6, 0, 1},
		{PLAN_FAT_TREE, {.k = 8}, 128, 80, 384, 6, 4, 4},
		{PLAN_RLFT, {.k = 12}, 432, 180, 1296, 6, 6, 6},
		{PLAN_RLFT, {.k = 24}, 3456, 720, 10368, 6, 12, 12},
		{PLAN_RLFT, {.k = 12, .levels = 2}, 72, 18, 144, 4, 6, 0},
		{PLAN_RLFT, {.k = 64, .levels = 2}, 2048, 96, 4096, 4, 32, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct plan_params p = defaults();
		struct plan plan;

		p.hosts = rows[i].p.hosts ? rows[i].p.hosts : p.hosts;
		p.leaves = rows[i].p.leaves ? rows[i].p.leaves : p.leaves;
		p.spines = rows[i].p.spines ? rows[i].p.spines : p.spines;
		p.hosts_per_leaf =
			rows[i].p.hosts_per_leaf ? rows[i].p.hosts_per_leaf : p.hosts_per_leaf;
		p.parallel = rows[i].p.parallel ? rows[i].p.parallel : p.parallel;
		p.k = rows[i].p.k ? rows[i].p.k : p.k;
		p.levels = rows[i].p.levels ? rows[i].p.levels : p.levels;
		plan = make(rows[i].kind, &p);
		cr_expect_eq(plan.nb_hosts, rows[i].nb_hosts, "row %zu", i);
		cr_expect_eq(plan.nb_switches, rows[i].nb_switches, "row %zu", i);
		cr_expect_eq(plan.nb_links, rows[i].nb_links, "row %zu", i);
		cr_expect_eq(plan_nb_links(&plan, 0, plan.nb_hosts - 1), rows[i].nb_links_far,
		             "row %zu", i);
		expect_ports_used_once(&plan);
		expect_ways(&plan, rows[i].pod_width, rows[i].far_width);
		plan_free(&plan);
	}
}

Test(plan, back_to_back_is_a_link_and_nothing_else)
{
	struct plan_params p = defaults();
	struct plan plan = make(PLAN_BACK_TO_BACK, &p);

	cr_expect_eq(plan.nb_hosts, 2);
	cr_expect_eq(plan.nb_switches, 0);
	cr_expect_eq(plan.nb_links, 1);
	expect_ports_used_once(&plan);
	cr_expect_eq(plan_nb_links(&plan, 0, 1), 1);
	cr_expect_eq(plan_host_link(&plan, 0), &plan.links[0]);
	cr_expect_eq(plan_host_link(&plan, 1), &plan.links[0], "the one that there is");
	plan_free(&plan);
}

Test(plan, with_switches_each_host_has_a_link_of_its_own)
{
	struct plan_params p = defaults();
	struct plan plan = make(PLAN_LEAF_SPINE, &p);

	for (uint32_t i = 0; i < plan.nb_hosts; i++)
		cr_expect_eq(plan_host_link(&plan, i)->end[0].node, i);
	plan_free(&plan);
}

Test(plan, three_levels_of_an_rlft_are_the_fat_tree)
{
	struct plan_params p = defaults();
	struct plan a, b;

	p.k = 6;
	a = make(PLAN_FAT_TREE, &p);
	b = make(PLAN_RLFT, &p);
	cr_assert_eq(a.nb_links, b.nb_links);
	for (uint32_t i = 0; i < a.nb_links; i++) {
		for (int e = 0; e < 2; e++) {
			cr_assert_eq(a.links[i].end[e].node, b.links[i].end[e].node);
			cr_assert_eq(a.links[i].end[e].port, b.links[i].end[e].port);
		}
	}
	plan_free(&a);
	plan_free(&b);
}

/* Al-Fares: core (i, j) has port p to pod p, by its switch i; so D-mod-K can count ports upwards.
 */
Test(plan, cores_of_a_fat_tree_have_a_port_per_pod_in_order)
{
	struct plan_params p = defaults();
	struct plan plan;

	p.k = 6;
	plan = make(PLAN_FAT_TREE, &p);
	for (uint32_t core = 0; core < 9; core++) {
		char name[PLAN_NAME_LEN];
		uint32_t node;

		snprintf(name, sizeof(name), "core%u", core);
		node = plan_find(&plan, name);
		for (uint16_t pod = 0; pod < 6; pod++) {
			struct plan_end mid = other_end(&plan, node, pod);
			char want[PLAN_NAME_LEN], is[PLAN_NAME_LEN];

			snprintf(want, sizeof(want), "agg%u", pod * 3 + core / 3);
			cr_expect_str_eq(plan_node_name(&plan, mid.node, is), want);
			cr_expect_eq(mid.port, 3 + core % 3, "the port upwards of %s", want);
		}
	}
	plan_free(&plan);
}

Test(plan, links_have_the_rates_and_delays_of_their_kind)
{
	struct plan_params p = defaults();
	struct plan plan;

	p.rate_bps = 10000000000;
	p.core_delay_ns = 5000;
	plan = make(PLAN_TWO_PATHS, &p);
	cr_expect_eq(plan.links[0].rate_bps, 10000000000);
	cr_expect_eq(plan.links[0].delay_ns, 1000);
	cr_expect_eq(plan.links[8].rate_bps, 10000000000, "0 = as the hosts'");
	cr_expect_eq(plan.links[8].delay_ns, 5000);
	cr_expect_eq(plan.links[9].rate_bps, 10000000000, "0 = as the first");
	cr_expect_eq(plan.links[9].delay_ns, 5000);
	plan_free(&plan);
	p.core_rate_bps = 40000000000;
	p.rate2_bps = 4000000000;
	p.delay2_ns = 20000;
	plan = make(PLAN_TWO_PATHS, &p);
	cr_expect_eq(plan.links[8].rate_bps, 40000000000);
	cr_expect_eq(plan.links[9].rate_bps, 4000000000);
	cr_expect_eq(plan.links[9].delay_ns, 20000);
	plan_free(&plan);
}

/* ---- names ---- */

Test(plan, nodes_are_found_by_their_names)
{
	static const struct {
		enum plan_kind kind;
		uint32_t levels;
		const char *name;
		uint32_t node; /* UINT32_MAX = none */
	} rows[] = {
		{PLAN_STAR, 3, "h0", 0},
		{PLAN_STAR, 3, "h7", 7},
		{PLAN_STAR, 3, "h8", UINT32_MAX},
		{PLAN_STAR, 3, "h07", UINT32_MAX},
		{PLAN_STAR, 3, "s0", 8},
		{PLAN_STAR, 3, "", UINT32_MAX},
		{PLAN_DUMBBELL, 3, "left", 8},
		{PLAN_DUMBBELL, 3, "right", 9},
		{PLAN_TWO_PATHS, 3, "right", 9},
		{PLAN_LEAF_SPINE, 3, "leaf3", 19},
		{PLAN_LEAF_SPINE, 3, "spine0", 20},
		{PLAN_FAT_TREE, 3, "edge0", 16},
		{PLAN_FAT_TREE, 3, "agg7", 31},
		{PLAN_FAT_TREE, 3, "core3", 35},
		{PLAN_FAT_TREE, 3, "core4", UINT32_MAX},
		{PLAN_RLFT, 3, "core0", 32},
		{PLAN_RLFT, 2, "leaf3", 11},
		{PLAN_RLFT, 2, "spine1", 13},
		{PLAN_RLFT, 2, "edge0", UINT32_MAX},
		{PLAN_BACK_TO_BACK, 3, "h1", 1},
		{PLAN_BACK_TO_BACK, 3, "s0", UINT32_MAX},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct plan_params p = defaults();
		char name[PLAN_NAME_LEN];
		struct plan plan;

		p.levels = rows[i].levels;
		plan = make(rows[i].kind, &p);
		cr_expect_eq(plan_find(&plan, rows[i].name), rows[i].node, "%s", rows[i].name);
		if (rows[i].node != UINT32_MAX)
			cr_expect_str_eq(plan_node_name(&plan, rows[i].node, name), rows[i].name);
		plan_free(&plan);
	}
}

/* ---- what can't be ---- */

Test(plan, impossible_ones_are_refused_with_key_and_remedy)
{
	static const struct {
		enum plan_kind kind;
		const char *set[4][2];
		const char *key, *why; /* a part of it */
	} rows[] = {
		{PLAN_STAR, {{"hosts", "65"}}, "hosts", "at most 64"},
		{PLAN_DUMBBELL, {{"hosts", "7"}}, "hosts", "6 would do"},
		{PLAN_DUMBBELL, {{"hosts", "128"}}, "hosts", "at most 126"},
		{PLAN_TWO_PATHS, {{"hosts", "126"}}, "hosts", "at most 124"},
		{PLAN_FAT_TREE, {{"k", "5"}}, "k", "4 or 6 would do"},
		{PLAN_FAT_TREE, {{"k", "26"}}, "k", "4394 hosts"},
		{PLAN_RLFT, {{"k", "64"}}, "k", "65536 hosts"},
		{PLAN_RLFT, {{"k", "3"}, {"levels", "2"}}, "k", "2 or 4 would do"},
		{PLAN_LEAF_SPINE, {{"hosts_per_leaf", "63"}}, "hosts_per_leaf", "65 ports"},
		{PLAN_LEAF_SPINE, {{"parallel", "32"}, {"spines", "1"}}, "leaves", "128 ports"},
		{PLAN_LEAF_SPINE, {{"leaves", "1"}, {"hosts_per_leaf", "1"}}, "leaves", "2 leaves"},
		{PLAN_LEAF_SPINE, {{"core_rate", "10K"}}, "core_rate", "at least 1M"},
		{PLAN_TWO_PATHS, {{"rate2", "10K"}}, "rate2", "at least 1M"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct plan_params p = defaults();
		char why[256] = "";
		const char *key = "";
		struct plan plan;

		for (int s = 0; s < 4 && rows[i].set[s][0]; s++)
			cr_assert_eq(param_set(plan_param_descs, &p, rows[i].set[s][0],
			                       rows[i].set[s][1], why, sizeof(why)),
			             0, "row %zu: %s", i, why);
		cr_expect_eq(plan_create(&plan, rows[i].kind, &p, &key, why, sizeof(why)), -EINVAL,
		             "row %zu", i);
		cr_expect_str_eq(key, rows[i].key, "row %zu", i);
		cr_expect(strstr(why, rows[i].why), "row %zu: %s", i, why);
		cr_expect_lt(strlen(why), 160, "row %zu: one line", i);
		plan_free(&plan);
	}
}

/* A key that the kind does not look at changes nothing, not even by being impossible. */
Test(plan, each_key_is_used_by_some_kind_and_unused_ones_change_nothing)
{
	for (const struct param_desc *d = plan_param_descs; d->name; d++) {
		int nb = 0;

		for (int kind = 0; kind < PLAN_NB_KINDS; kind++) {
			struct plan_params p = defaults();
			struct plan a, b;

			if (plan_kind_uses(kind, d->name)) {
				nb++;
				continue;
			}
			a = make(kind, &p);
			if (d->type == PARAM_U32)
				*(uint32_t *)((char *)&p + d->offset) = (uint32_t)d->max;
			else
				*(uint64_t *)((char *)&p + d->offset) = (uint64_t)d->max;
			b = make(kind, &p);
			cr_expect_eq(a.nb_links, b.nb_links, "%s %s", plan_kind_names[kind],
			             d->name);
			cr_expect_eq(a.rtt_ns, b.rtt_ns, "%s %s", plan_kind_names[kind], d->name);
			plan_free(&a);
			plan_free(&b);
		}
		cr_expect_gt(nb, 0, "%s", d->name);
	}
	cr_expect(!plan_kind_uses(PLAN_STAR, "host"), "part of a name is none");
	cr_expect(!plan_kind_uses(PLAN_STAR, ""));
}
