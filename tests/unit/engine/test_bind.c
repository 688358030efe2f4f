/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "bind.h"

#include <errno.h>

/* ---- engines that only have needs ---- */

static size_t
size_7(const void *params, const struct engine_env *env)
{
	(void)params;
	(void)env;
	return 7;
}

static size_t
size_64(const void *params, const struct engine_env *env)
{
	(void)params;
	(void)env;
	return 64;
}

/** As many bytes as its parameter says, times the window: both must arrive. */
static size_t
size_by_param(const void *params, const struct engine_env *env)
{
	return *(const uint32_t *)params * env->window_pkts;
}

static const struct reliability_ops rel_plain = {.info = {.name = "gbn"}, .state_size = size_7};
static const struct reliability_ops rel_weft = {
	.info = {.name = "irn", .needs = TRAIT_WEFT},
	.state_size = size_by_param,
};
static const struct reliability_ops rel_trim = {
	.info = {.name = "dcp", .needs = TRAIT_WEFT | TRAIT_TRIM, .wire = WIRE_TRIM | WIRE_COUNT},
};
static const struct reliability_ops rel_lanes = {
	.info =
		{
			.name = "psn-path",
			.needs = TRAIT_WEFT | TRAIT_FLOW_ECMP | TRAIT_LANES,
			.wire = WIRE_PATH | WIRE_SACK,
		},
};
static const struct reliability_ops rel_wire = {.info = {.name = "odd", .wire = WIRE_SACK}};
static const struct cc_ops cc_plain = {.info = {.name = "fixed"}, .state_size = size_64};
static const struct cc_ops cc_ecn = {
	.info = {.name = "dcqcn", .needs = TRAIT_ECN, .wire = WIRE_ECT},
};
static const struct cc_ops cc_int = {
	.info = {.name = "hpcc", .needs = TRAIT_INT, .wire = WIRE_INT},
};
static const struct lb_ops lb_plain = {.info = {.name = "fixed"}, .state_size = size_7};
static const struct lb_ops lb_lanes = {
	.info =
		{
			.name = "lanes",
			.needs = TRAIT_FLOW_ECMP,
			.offers = TRAIT_LANES,
			.wire = WIRE_PATH,
		},
};
static const struct lb_ops lb_switch = {.info = {.name = "ecmp"}, .where = LB_SWITCH};

Test(bind, allows_what_fits_and_names_what_is_missing)
{
	static const struct {
		struct engine_set set;
		enum framing framing;
		uint32_t fabric;
		const char *why; /* "" = allowed */
	} rows[] = {
		{{&rel_plain, &cc_plain, &lb_plain}, FRAMING_ROCEV2, 0, ""},
		{{&rel_plain, &cc_plain, &lb_plain}, FRAMING_WEFT, 0, ""},
		{{&rel_plain, &cc_ecn, &lb_plain}, FRAMING_ROCEV2, TRAITS_FABRIC, ""},
		{{&rel_weft, &cc_plain, &lb_plain}, FRAMING_WEFT, 0, ""},
		{{&rel_trim, &cc_int, &lb_plain}, FRAMING_WEFT, TRAITS_FABRIC, ""},
		{{&rel_lanes, &cc_ecn, &lb_lanes}, FRAMING_WEFT, TRAITS_FABRIC, ""},
		{{&rel_weft, &cc_plain, &lb_plain},
	         FRAMING_ROCEV2,
	         TRAITS_FABRIC,
	         "reliability irn needs framing weft, not rocev2"},
		{{&rel_plain, &cc_ecn, &lb_plain},
	         FRAMING_ROCEV2,
	         TRAITS_FABRIC & ~TRAIT_ECN,
	         "cc dcqcn needs trait ecn, which the fabric does not have"},
		{{&rel_plain, &cc_int, &lb_plain},
	         FRAMING_WEFT,
	         TRAIT_ECN,
	         "cc hpcc needs trait int, which the fabric does not have"},
		{{&rel_trim, &cc_plain, &lb_plain},
	         FRAMING_WEFT,
	         0,
	         "reliability dcp needs trait trim, which the fabric does not have"},
		{{&rel_lanes, &cc_plain, &lb_plain},
	         FRAMING_WEFT,
	         TRAITS_FABRIC,
	         "reliability psn-path needs trait lanes, which none of reliability psn-path, "
	         "cc fixed and lb fixed offers"},
		{{&rel_plain, &cc_plain, &lb_lanes},
	         FRAMING_WEFT,
	         0,
	         "lb lanes needs trait flow_ecmp, which the fabric does not have"},
		/* A fabric cannot lend the framing or a partner's trait. */
		{{&rel_weft, &cc_plain, &lb_plain},
	         FRAMING_ROCEV2,
	         UINT32_MAX,
	         "reliability irn needs framing weft, not rocev2"},
		{{&rel_plain, &cc_int, &lb_plain},
	         FRAMING_ROCEV2,
	         TRAITS_FABRIC,
	         "cc hpcc wants int in packets, which framing rocev2 cannot carry"},
		{{&rel_wire, &cc_ecn, &lb_plain},
	         FRAMING_ROCEV2,
	         TRAITS_FABRIC,
	         "reliability odd wants sack in packets, which framing rocev2 cannot carry"},
		{{&rel_plain, &cc_plain, &lb_switch},
	         FRAMING_ROCEV2,
	         TRAITS_FABRIC,
	         "lb ecmp runs in switches, not in a host"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char why[200] = "not written";
		int err = engine_set_check(&rows[i].set, rows[i].framing, rows[i].fabric, why,
		                           sizeof(why));

		cr_expect_eq(err, rows[i].why[0] ? -EINVAL : 0, "row %zu", i);
		cr_expect_str_eq(why, rows[i].why, "row %zu: %s", i, why);
	}
}

Test(bind, a_refusal_is_cut_to_the_room_it_has)
{
	struct engine_set set = {&rel_weft, &cc_plain, &lb_plain};
	char why[8];

	cr_expect_eq(engine_set_check(&set, FRAMING_ROCEV2, 0, why, sizeof(why)), -EINVAL);
	cr_expect_str_eq(why, "reliabi");
	cr_expect_eq(engine_set_check(&set, FRAMING_ROCEV2, 0, NULL, 0), -EINVAL);
	cr_expect_eq(engine_set_check(&set, FRAMING_WEFT, 0, NULL, 0), 0);
}

Test(bind, wishes_are_joined)
{
	struct engine_set set = {&rel_lanes, &cc_ecn, &lb_lanes};

	cr_expect_eq(engine_set_wire(&set), WIRE_PATH | WIRE_SACK | WIRE_ECT);
}

Test(bind, states_lie_one_behind_the_other_each_aligned)
{
	const uint32_t five = 5;
	struct engine_set set = {&rel_plain, &cc_plain, &lb_plain};
	struct engine_set_params params = {0};
	struct engine_env env = {.window_pkts = 100};
	struct engine_layout l;

	engine_set_layout(&set, &params, &env, &l);
	cr_expect_eq(l.rel_offset, 0);
	cr_expect_eq(l.cc_offset, 16);
	cr_expect_eq(l.lb_offset, 80);
	cr_expect_eq(l.size, 96);

	set.rel = &rel_weft;
	params.rel = &five;
	engine_set_layout(&set, &params, &env, &l);
	cr_expect_eq(l.cc_offset, 512); /* 500 bytes before it */
	cr_expect_eq(l.size, 592);
}

Test(bind, fabric_traits_are_read_from_a_list)
{
	static const struct {
		const char *text;
		int err;
		uint32_t traits;
		const char *why;
	} rows[] = {
		{"", 0, 0, ""},
		{" , ", 0, 0, ""},
		{"ecn", 0, TRAIT_ECN, ""},
		{"ecn,int,tbo,trim,flow_ecmp", 0, TRAITS_FABRIC, ""},
		{" trim ,\tint,", 0, TRAIT_TRIM | TRAIT_INT, ""},
		{"ecn ecn", 0, TRAIT_ECN, ""},
		{"ecm", -EINVAL, 0, "unknown fabric trait 'ecm' (nearest: 'ecn')"},
		{"ecn,flow-ecmp", -EINVAL, 0,
	         "unknown fabric trait 'flow-ecmp' (nearest: 'flow_ecmp')"},
		{"lanes", -EINVAL, 0, "unknown fabric trait 'lanes'"},
		{"weft", -EINVAL, 0, "unknown fabric trait 'weft'"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char why[100] = "";
		uint32_t traits = 0;

		cr_expect_eq(traits_parse(rows[i].text, &traits, why, sizeof(why)), rows[i].err,
		             "row %zu", i);
		if (!rows[i].err)
			cr_expect_eq(traits, rows[i].traits, "row %zu", i);
		cr_expect_str_eq(why, rows[i].why, "row %zu: %s", i, why);
	}
}

Test(bind, engines_are_found_by_name)
{
	cr_expect_str_eq(reliability_find("none")->info.name, "none");
	cr_expect_null(reliability_find("NONE"));
	cr_expect_null(reliability_find(""));
	cr_expect_str_eq(cc_find("fixed")->info.name, "fixed");
	cr_expect_null(cc_find("none"));
	cr_expect_eq(lb_find("fixed", LB_HOST)->where, LB_HOST);
	cr_expect_null(lb_find("fixed", LB_SWITCH));
	cr_expect_null(lb_find("spry", LB_HOST));
}
