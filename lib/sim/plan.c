/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "plan_impl.h"

/* Which kinds of topologies there are, and what each makes of the numbers. */

#define RATE_MIN 1e6 /* slower ones would overflow the clock of a switch's port */
#define RATE_MAX 1.6e12
#define DELAY_MAX 1e9

#define ROW(name, type, member, def, min, max, unit, source)                                       \
	{                                                                                          \
		name, type, offsetof(struct plan_params, member), def, min, max, unit, source      \
	}

const struct param_desc plan_param_descs[] = {
	ROW("hosts", PARAM_U32, hosts, 8, 2, PLAN_HOSTS_MAX, "1", "our choice"),
	ROW("leaves", PARAM_U32, leaves, 4, 1, PLAN_PORTS_MAX, "1", "our choice"),
	ROW("spines", PARAM_U32, spines, 2, 1, PLAN_PORTS_MAX, "1", "our choice"),
	ROW("hosts_per_leaf", PARAM_U32, hosts_per_leaf, 4, 1, PLAN_PORTS_MAX, "1",
            "our choice: with 2 spines 2 to 1"),
	ROW("k", PARAM_U32, k, 4, 2, PLAN_PORTS_MAX, "1", "our choice: the smallest with choice"),
	ROW("levels", PARAM_U32, levels, 3, 2, 3, "1", "our choice"),
	ROW("parallel", PARAM_U32, parallel, 1, 1, PLAN_PORTS_MAX, "1", "our choice"),
	ROW("rate", PARAM_U64, rate_bps, 100e9, RATE_MIN, RATE_MAX, "bps",
            "HPCC simulator: 100 Gb/s"),
	ROW("delay", PARAM_U64, delay_ns, 1000, 0, DELAY_MAX, "ns", "HPCC simulator: 1 us"),
	ROW("core_rate", PARAM_U64, core_rate_bps, 0, 0, RATE_MAX, "bps", "0: as rate"),
	ROW("core_delay", PARAM_U64, core_delay_ns, 0, 0, DELAY_MAX, "ns", "0: as delay"),
	ROW("rate2", PARAM_U64, rate2_bps, 0, 0, RATE_MAX, "bps", "0: as core_rate"),
	ROW("delay2", PARAM_U64, delay2_ns, 0, 0, DELAY_MAX, "ns", "0: as core_delay"),
	{NULL},
};

/** What is wrong, if something is. */
struct mistake {
	const char **key;
	char *why;
	size_t size;
};

__attribute__((format(printf, 3, 4))) static int
refuse(const struct mistake *m, const char *key, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(m->why, m->size, fmt, ap);
	va_end(ap);
	*m->key = key;
	return -EINVAL;
}

static int
make_back_to_back(struct plan *plan, const struct plan_params *p, const struct mistake *m)
{
	(void)m;
	return plan_build_hosts_alone(plan, p);
}

static int
make_pair(struct plan *plan, const struct plan_params *p, uint32_t nb_between,
          const struct mistake *m)
{
	uint32_t most = 2 * (PLAN_PORTS_MAX - nb_between);

	if (p->hosts % 2 != 0)
		return refuse(m, "hosts", "%u hosts are not as many at both switches; %u would do",
		              p->hosts, p->hosts - 1);
	if (p->hosts > most)
		return refuse(m, "hosts",
		              "%u hosts are more than two switches of %d ports have room for; "
		              "at most %u, or kind = leaf-spine",
		              p->hosts, PLAN_PORTS_MAX, most);
	return plan_build_pair(plan, p, nb_between);
}

static int
make_dumbbell(struct plan *plan, const struct plan_params *p, const struct mistake *m)
{
	return make_pair(plan, p, 1, m);
}

static int
make_two_paths(struct plan *plan, const struct plan_params *p, const struct mistake *m)
{
	return make_pair(plan, p, 2, m);
}

static int
make_star(struct plan *plan, const struct plan_params *p, const struct mistake *m)
{
	if (p->hosts > PLAN_PORTS_MAX)
		return refuse(m, "hosts",
		              "%u hosts are more than the %d ports of a switch; at most %d, or "
		              "kind = leaf-spine",
		              p->hosts, PLAN_PORTS_MAX, PLAN_PORTS_MAX);
	return plan_build_tree(plan, p,
	                       &(struct plan_tree){
				       .pods = 1,
				       .leaves = 1,
				       .hosts_per_leaf = p->hosts,
			       });
}

static int
make_leaf_spine(struct plan *plan, const struct plan_params *p, const struct mistake *m)
{
	uint32_t leaf_ports = p->hosts_per_leaf + p->spines * p->parallel;
	uint32_t spine_ports = p->leaves * p->parallel;

	if (leaf_ports > PLAN_PORTS_MAX)
		return refuse(m, "hosts_per_leaf",
		              "%u hosts and %u x %u links to spines are %u ports of a leaf; hosts, "
		              "spines or parallel must be fewer, for at most %d",
		              p->hosts_per_leaf, p->spines, p->parallel, leaf_ports,
		              PLAN_PORTS_MAX);
	if (spine_ports > PLAN_PORTS_MAX)
		return refuse(m, "leaves",
		              "%u leaves with %u links each are %u ports of a spine; at most %d",
		              p->leaves, p->parallel, spine_ports, PLAN_PORTS_MAX);
	if (p->leaves * p->hosts_per_leaf < 2)
		return refuse(m, "leaves", "one host has nobody to talk to; 2 leaves would do");
	return plan_build_tree(plan, p,
	                       &(struct plan_tree){
				       .pods = 1,
				       .leaves = p->leaves,
				       .mids = p->spines,
				       .hosts_per_leaf = p->hosts_per_leaf,
				       .parallel = p->parallel,
			       });
}

/**
 * All switches have k ports, half of them down and half up, but the top ones, which have all of
 * them down. Of three levels that is the k-ary fat tree.
 */
static int
make_fat_tree_of(struct plan *plan, const struct plan_params *p, uint32_t levels,
                 const struct mistake *m)
{
	uint32_t half = p->k / 2;
	struct plan_tree tree = {
		.pods = levels == 3 ? p->k : 1,
		.leaves = levels == 3 ? half : p->k,
		.mids = half,
		.hosts_per_leaf = half,
		.parallel = 1,
		.cores_per_mid = levels == 3 ? half : 0,
	};
	uint32_t nb_hosts = tree.pods * tree.leaves * half;

	if (p->k % 2 != 0)
		return refuse(m, "k", "half of %u ports is no whole number; %u or %u would do",
		              p->k, p->k - 1, p->k + 1);
	if (nb_hosts > PLAN_HOSTS_MAX)
		return refuse(m, "k",
		              "%u ports and %u levels make %u hosts, more than %d; at most k = 24 "
		              "with 3 levels",
		              p->k, levels, nb_hosts, PLAN_HOSTS_MAX);
	return plan_build_tree(plan, p, &tree);
}

static int
make_fat_tree(struct plan *plan, const struct plan_params *p, const struct mistake *m)
{
	return make_fat_tree_of(plan, p, 3, m);
}

static int
make_rlft(struct plan *plan, const struct plan_params *p, const struct mistake *m)
{
	return make_fat_tree_of(plan, p, p->levels, m);
}

const char *const plan_kind_names[PLAN_NB_KINDS] = {
	[PLAN_BACK_TO_BACK] = "back-to-back",
	[PLAN_DUMBBELL] = "dumbbell",
	[PLAN_STAR] = "star",
	[PLAN_TWO_PATHS] = "two-paths",
	[PLAN_LEAF_SPINE] = "leaf-spine",
	[PLAN_FAT_TREE] = "fat-tree",
	[PLAN_RLFT] = "rlft",
};

static const struct {
	const char *keys; /* blanks around each */
	int (*make)(struct plan *plan, const struct plan_params *p, const struct mistake *m);
} kinds[PLAN_NB_KINDS] = {
	[PLAN_BACK_TO_BACK] = {" rate delay ", make_back_to_back},
	[PLAN_DUMBBELL] = {" hosts rate delay core_rate core_delay ", make_dumbbell},
	[PLAN_STAR] = {" hosts rate delay ", make_star},
	[PLAN_TWO_PATHS] = {" hosts rate delay core_rate core_delay rate2 delay2 ", make_two_paths},
	[PLAN_LEAF_SPINE] = {" leaves spines hosts_per_leaf parallel rate delay core_rate "
                             "core_delay ",
                             make_leaf_spine},
	[PLAN_FAT_TREE] = {" k rate delay core_rate core_delay ", make_fat_tree},
	[PLAN_RLFT] = {" k levels rate delay core_rate core_delay ", make_rlft},
};

bool
plan_kind_uses(enum plan_kind kind, const char *key)
{
	char word[32];

	snprintf(word, sizeof(word), " %s ", key);
	return strstr(kinds[kind].keys, word) != NULL;
}

/** Rates between 0 and the least would pass the table, which has to allow 0. */
static int
check_rates(enum plan_kind kind, const struct plan_params *p, const struct mistake *m)
{
	const struct {
		const char *key;
		uint64_t bps;
	} rates[] = {{"core_rate", p->core_rate_bps}, {"rate2", p->rate2_bps}};

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		if (plan_kind_uses(kind, rates[i].key) && rates[i].bps > 0 &&
		    rates[i].bps < (uint64_t)RATE_MIN)
			return refuse(m, rates[i].key,
			              "%" PRIu64 " bit/s are too few; at least 1M, or 0 = as the "
			              "links before",
			              rates[i].bps);
	}
	return 0;
}

int
plan_create(struct plan *plan, enum plan_kind kind, const struct plan_params *params,
            const char **key, char *why, size_t size)
{
	struct mistake m = {key, why, size};
	int rc;

	*plan = (struct plan){.kind = kind};
	*key = NULL;
	rc = check_rates(kind, params, &m);
	if (rc == 0)
		rc = kinds[kind].make(plan, params, &m);
	if (rc == -ENOMEM)
		snprintf(why, size, "no memory for a %s", plan_kind_names[kind]);
	if (rc < 0)
		return rc;
	plan->rtt_ns = (plan_rtt_ps(plan, 0, plan->nb_hosts - 1, PLAN_DATA_BYTES, PLAN_ACK_BYTES) +
	                PS_PER_NS - 1) /
	               PS_PER_NS;
	return 0;
}

void
plan_free(struct plan *plan)
{
	free(plan->switches);
	free(plan->links);
	plan->switches = NULL;
	plan->links = NULL;
}

const char *
plan_node_name(const struct plan *plan, uint32_t node, char buf[PLAN_NAME_LEN])
{
	if (node < plan->nb_hosts) {
		snprintf(buf, PLAN_NAME_LEN, "h%u", node);
	} else {
		assert(node - plan->nb_hosts < plan->nb_switches);
		snprintf(buf, PLAN_NAME_LEN, "%s", plan->switches[node - plan->nb_hosts].name);
	}
	return buf;
}

uint32_t
plan_find(const struct plan *plan, const char *name)
{
	uint32_t nb_nodes = plan->nb_hosts + plan->nb_switches;
	char buf[PLAN_NAME_LEN];

	for (uint32_t node = 0; node < nb_nodes; node++) {
		if (!strcmp(plan_node_name(plan, node, buf), name))
			return node;
	}
	return UINT32_MAX;
}
