/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>

#include "conf_rig.h"

/* Engines of all kinds of needs, in the place of this build's. */
extern const struct reliability_ops gbn_ops, none_ops;
extern const struct cc_ops fixed_ops;
extern const struct lb_ops host_fixed_ops, sw_ecmp_ops;
static const struct reliability_ops places = {.info = {.name = "places", .needs = TRAIT_WEFT}};
static const struct reliability_ops strides = {
	.info = {.name = "strides", .needs = TRAIT_WEFT | TRAIT_LANES, .wire = WIRE_PATH}};
static const struct cc_ops hops = {.info = {.name = "hops", .needs = TRAIT_INT, .wire = WIRE_INT},
                                   .nic_state_size = 8};
static const struct cc_ops marks = {.info = {.name = "marks", .needs = TRAIT_ECN, .wire = WIRE_ECT},
                                    .nic_state_size = 8};
static const struct lb_ops lanes = {
	.info = {.name = "lanes", .offers = TRAIT_LANES, .wire = WIRE_PATH}, .where = LB_HOST};
const struct reliability_ops *const reliability_engines[] = {&gbn_ops, &none_ops, &places, &strides,
                                                             NULL};
const struct cc_ops *const cc_engines[] = {&fixed_ops, &hops, &marks, NULL};
const struct lb_ops *const lb_engines[] = {&host_fixed_ops, &sw_ecmp_ops, &lanes, NULL};

#define AUTO_TOO                                                                                   \
	", and framing auto also serves peers that speak rocev2 only: say framing = weft, or "     \
	"other engines here and these in a [peer PREFIX] with framing = weft\n"

static const struct {
	const char *nic, *peer;
	const char *want; /* NULL = good */
} rows[] = {
	{"", "", NULL},
	{"framing = weft\nreliability = places\n", "", NULL},
	{"framing = auto\nreliability = places\n", "", NULL},
	{"framing = rocev2\nreliability = places\n", "",
         "t.conf:10: [nic n1]: reliability places needs framing weft, not rocev2\n"},
	{"framing = weft\nreliability = strides\nlb = lanes\n", "", NULL},
	{"framing = weft\nreliability = strides\n", "",
         "t.conf:10: [nic n1]: reliability strides needs trait lanes, which none of reliability "
         "strides, cc fixed and lb fixed offers\n"},
	{"framing = auto\nreliability = strides\nlb = lanes\n", "",
         "t.conf:11: [nic n1]: lb lanes wants path in packets, which framing rocev2 cannot "
         "carry" AUTO_TOO},
	{"framing = weft\ncc = hops\n", "", NULL},
	{"framing = rocev2\ncc = hops\n", "",
         "t.conf:10: [nic n1]: cc hops wants int in packets, which framing rocev2 cannot carry\n"},
	{"framing = auto\ncc = hops\n", "",
         "t.conf:10: [nic n1]: cc hops wants int in packets, which framing rocev2 cannot "
         "carry" AUTO_TOO},
	{"framing = auto\ncc = marks\n", "", NULL},
	{"framing = auto\ncc = marks\nfabric = int\n", "",
         "t.conf:11: [nic n1]: cc marks needs trait ecn, which the fabric does not have\n"},
	/* What the remedy says. */
	{"framing = auto\n", "framing = weft\ncc = hops\n", NULL},
	/* A [peer] differs in what it says, and is checked with what its NICs say. */
	{"", "framing = weft\nreliability = places\n", NULL},
	{"", "framing = rocev2\nreliability = places\n",
         "t.conf:11: [peer] for [nic n0]: reliability places needs framing weft, not rocev2\n"},
	{"framing = weft\nreliability = places\n", "framing = rocev2\n",
         "t.conf:12: [peer] for [nic n1]: reliability places needs framing weft, not rocev2\n"},
	{"framing = weft\nreliability = places\n", "framing = rocev2\nreliability = gbn\n", NULL},
	{"", "reliability = none\n",
         "t.conf:10: [peer] for [nic n0]: reliability none is that of UC and UD; RC needs "
         "another\n"},
	{"framing = weft\n", "fabric = ecn\ncc = hops\nframing = weft\n",
         "t.conf:13: [peer] for [nic n0]: cc hops needs trait int, which the fabric does not "
         "have\n"},
	/* Of congestion controls with a state per NIC there is room for one. */
	{"cc = marks\n", "framing = weft\ncc = hops\n",
         "t.conf:12: [peer] for [nic n1]: cc hops and cc marks both keep a state per NIC, and a "
         "NIC has room for one: the same cc, or one that keeps none\n"},
	{"framing = weft\ncc = hops\n", "cc = fixed\n", NULL},
};

Test(conf_bind, engines_are_checked_in_every_framing_that_they_may_run_in)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[512], want[1024] = "";

		/* Keys of the second NIC stand from line 9 on, those of the section behind. */
		snprintf(text, sizeof(text),
		         "[nic n0]\nport = ring:a\nip = 10.0.0.1\nmtu = 9000\n"
		         "[nic n1]\nport = ring:a\nip = 10.0.0.2\nmtu = 9000\n%s%s%s",
		         rows[i].nic, rows[i].peer[0] ? "[peer 10.1.0.0/16]\n" : "", rows[i].peer);
		if (rows[i].want)
			snprintf(want, sizeof(want), "dir/%s", rows[i].want);
		expect_report(text, rows[i].want == NULL, want, i);
	}
}

Test(conf_bind, headers_that_halve_the_path_mtu_are_told_with_the_mtu_that_they_take)
{
	static const struct {
		const char *keys;
		uint32_t line;
		const char *want; /* after the NIC's name; NULL = nothing */
	} lines[] = {
		{"mtu = 4185\nframing = rocev2\n", 0, NULL},
		{"framing = weft\n", 0, NULL},
		{"mtu = 4185\nframing = weft\n", 5,
	         "mtu = 4185 has room for path MTU 2048; mtu = 4188 has for 4096\n"},
		{"framing = weft\ncc = hops\n", 5,
	         "mtu = 4200 has room for path MTU 2048; mtu = 4232 has for 4096\n"},
		{"[peer fd00::/16]\nframing = weft\ncc = hops\n", 1,
	         "mtu = 4200 has room for path MTU 2048; mtu = 4232 has for 4096\n"},
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char text[256], want[256] = "";

		snprintf(text, sizeof(text), "[nic n0]\nport = link:a\nip = 10.0.0.1\n%s",
		         lines[i].keys);
		if (lines[i].want)
			snprintf(want, sizeof(want),
			         "dir/t.conf:%u: warning: [nic n0]: with what framing and engines "
			         "put into packets, %s",
			         lines[i].keys[0] == '[' ? 1
			         : i == 2 || i == 3      ? 5
			                                 : 4,
			         lines[i].want);
		expect_report(text, true, want, i);
	}
}

Test(conf_bind, a_nic_has_what_a_peers_section_does_not_say)
{
	struct conf *conf = read_good("[engine fixed]\nrate = 10G\n"
	                              "[nic n0]\nport = ring:a\nip = 10.0.0.1\nframing = weft\n"
	                              "reliability = places\nfabric = ecn\n"
	                              "[nic n1]\nport = ring:a\nip = 10.0.0.2\ncc = marks\n"
	                              "[peer 10.1.0.0/16]\ncc = fixed\nframing = auto\n");
	struct nic_bind bind = conf_nic_bind(conf, &conf->nics[0], &conf->peers[0]);

	cr_expect_eq(bind.peers.bits, 96 + 16);
	cr_expect_eq(bind.framing, FRAMING_WISH_AUTO);
	cr_expect_eq(bind.set.rel, &places);
	cr_expect_eq(bind.set.cc, &fixed_ops);
	cr_expect_eq(bind.params.cc, conf_params(conf, &fixed_ops.info));
	cr_expect_eq(conf_bind_of(&conf->nics[0], &conf->peers[0]).fabric, TRAIT_ECN);

	bind = conf_nic_bind(conf, &conf->nics[1], &conf->peers[0]);
	cr_expect_eq(bind.set.rel, &gbn_ops);
	cr_expect_eq(bind.set.cc, &fixed_ops);

	bind = conf_nic_bind(conf, &conf->nics[1], NULL);
	cr_expect_eq(bind.peers.bits, 0);
	cr_expect_eq(bind.framing, FRAMING_WISH_DEFAULT);
	cr_expect_eq(bind.set.cc, &marks);
	conf_free(conf);
}
