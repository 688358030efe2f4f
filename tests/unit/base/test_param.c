/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "param.h"

#include <errno.h>
#include <string.h>

struct params {
	uint64_t before;
	uint64_t timer_ns;
	uint64_t rate_bps;
	uint32_t bytes;
	uint32_t pkts;
	double gain;
	double delay_ns;
	bool is_on;
	struct param_pattern pattern;
	uint64_t after;
};

static const struct param_desc descs[] = {
	{"timer", PARAM_U64, offsetof(struct params, timer_ns), 55e3, 1e3, 1e9, "ns", "test"},
	{"rate", PARAM_U64, offsetof(struct params, rate_bps), 0, 0, 1e13, "bps", "test"},
	{"bytes", PARAM_U32, offsetof(struct params, bytes), 4096, 0, 4294967295, "B", "test"},
	{"window", PARAM_U32, offsetof(struct params, pkts), 128, 1, 65536, "pkt", "test"},
	{"gain", PARAM_F64, offsetof(struct params, gain), 0.00390625, 0, 1, "1", "test"},
	{"delay", PARAM_F64, offsetof(struct params, delay_ns), 1500, 0, 1e9, "ns", "test"},
	{"on", PARAM_YES_NO, offsetof(struct params, is_on), 1, 0, 1, "1", "test"},
	{"pattern", PARAM_PATTERN, offsetof(struct params, pattern), 0, 0, 1, "1", "test"},
	{0},
};

static struct params p = {.before = 0x5555, .after = 0x7777};

static void
expect_untouched_around(void)
{
	cr_expect_eq(p.before, 0x5555);
	cr_expect_eq(p.after, 0x7777);
}

Test(param, defaults_fill_what_is_described)
{
	param_defaults(descs, &p);
	cr_expect_eq(p.timer_ns, 55000);
	cr_expect_eq(p.rate_bps, 0);
	cr_expect_eq(p.bytes, 4096);
	cr_expect_eq(p.pkts, 128);
	cr_expect_eq(p.gain, 0.00390625);
	cr_expect_eq(p.delay_ns, 1500);
	cr_expect(p.is_on);
	cr_expect_eq(p.pattern.nb_bits, 0);
	expect_untouched_around();
	param_defaults(NULL, NULL); /* an engine without parameters */
}

Test(param, text_sets_the_member_in_its_unit)
{
	char why[100];

	param_defaults(descs, &p);
	cr_expect_eq(param_set(descs, &p, "timer", "1.5ms", why, sizeof(why)), 0);
	cr_expect_eq(p.timer_ns, 1500000);
	cr_expect_eq(param_set(descs, &p, "rate", "100G", why, sizeof(why)), 0);
	cr_expect_eq(p.rate_bps, 100000000000);
	cr_expect_eq(param_set(descs, &p, "bytes", "64K", why, sizeof(why)), 0);
	cr_expect_eq(p.bytes, 65536);
	cr_expect_eq(param_set(descs, &p, "window", "65536", why, sizeof(why)), 0);
	cr_expect_eq(p.pkts, 65536);
	cr_expect_eq(param_set(descs, &p, "gain", "1%", why, sizeof(why)), 0);
	cr_expect_eq(p.gain, 0.01);
	cr_expect_eq(param_set(descs, &p, "delay", "2us", why, sizeof(why)), 0);
	cr_expect_eq(p.delay_ns, 2000);
	expect_untouched_around();
}

Test(param, errors_say_what_is_wrong_and_change_nothing)
{
	static const struct {
		const char *name, *text;
		int err;
		const char *why;
	} rows[] = {
		{"timr", "55us", -ENOENT, "unknown key 'timr' (nearest: 'timer')"},
		{"colour", "red", -ENOENT, "unknown key 'colour'"},
		{"timer", "55", -EINVAL, "timer = 55: needs a unit of time (ns, us, ms, s, min)"},
		{"timer", "999ns", -ERANGE, "timer = 999ns: out of range (1us to 1s)"},
		{"timer", "1001ms", -ERANGE, "timer = 1001ms: out of range (1us to 1s)"},
		{"rate", "11T", -ERANGE, "rate = 11T: out of range (0 to 10T)"},
		{"bytes", "4G", -ERANGE, "bytes = 4G: out of range (0 to 4294967295)"},
		{"window", "0", -ERANGE, "window = 0: out of range (1 to 65536)"},
		{"gain", "101%", -ERANGE, "gain = 101%: out of range (0 to 1)"},
		{"gain", "much", -EINVAL, "gain = much: not a number"},
		{"delay", "0.5", -EINVAL, "delay = 0.5: needs a unit of time (ns, us, ms, s, min)"},
	};
	struct params before;

	param_defaults(descs, &p);
	before = p;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char why[100];
		int err = param_set(descs, &p, rows[i].name, rows[i].text, why, sizeof(why));

		cr_expect_eq(err, rows[i].err, "row %zu: %d", i, err);
		cr_expect_str_eq(why, rows[i].why, "row %zu: %s", i, why);
		cr_expect_eq(memcmp(&p, &before, sizeof(p)), 0, "row %zu", i);
	}
}

Test(param, without_a_table_every_name_is_unknown)
{
	char why[100];

	cr_expect_eq(param_set(NULL, NULL, "timer", "1s", why, sizeof(why)), -ENOENT);
	cr_expect_str_eq(why, "unknown key 'timer'");
	cr_expect_null(param_find(NULL, "timer"));
}

Test(param, what_is_written_reads_back)
{
	static const double gains[] = {0, 1, 0.5, 0.1, 0.01, 0.00390625, 1 / 3.0, 0.95};
	char text[PARAM_TEXT_MAX], why[100];

	param_defaults(descs, &p);
	cr_expect_str_eq(param_format(&descs[0], &p, text), "55us");
	cr_expect_str_eq(param_format(&descs[1], &p, text), "0");
	cr_expect_str_eq(param_format(&descs[2], &p, text), "4K");
	cr_expect_str_eq(param_format(&descs[3], &p, text), "128");
	cr_expect_str_eq(param_format(&descs[4], &p, text), "0.00390625");
	cr_expect_str_eq(param_format(&descs[5], &p, text), "1500ns");
	for (size_t i = 0; i < sizeof(gains) / sizeof(gains[0]); i++) {
		p.gain = gains[i];
		param_format(&descs[4], &p, text);
		p.gain = -1;
		cr_expect_eq(param_set(descs, &p, "gain", text, why, sizeof(why)), 0, "%s", text);
		cr_expect_eq(p.gain, gains[i], "%s", text);
	}
}

Test(param, yes_and_no_and_patterns_are_no_numbers)
{
	static const struct {
		const char *name, *text;
		const char *why;    /* NULL = good */
		const char *format; /* as it is written then */
	} rows[] = {
		{"on", "no", NULL, "no"},
		{"on", "yes", NULL, "yes"},
		{"on", "1", "on = 1: neither yes nor no", NULL},
		{"pattern", "0", NULL, "0"},
		{"pattern", "0000", NULL, "0"},
		{"pattern", "1", NULL, "1"},
		{"pattern", "01100", NULL, "01100"},
		{"pattern", "1000000000000000000000000000000000000000000000000000000000000001",
	         NULL, "1000000000000000000000000000000000000000000000000000000000000001"},
		{"pattern", "00000000000000000000000000000000000000000000000000000000000000001",
	         "pattern = 00000000000000000000000000000000000000000000000000000000000000001: "
	         "1 to 64 digits 0 and 1, please",
	         NULL},
		{"pattern", "", "pattern = : 1 to 64 digits 0 and 1, please", NULL},
		{"pattern", "012", "pattern = 012: 1 to 64 digits 0 and 1, please", NULL},
	};
	char why[200], text[PARAM_TEXT_MAX];

	param_defaults(descs, &p);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct param_desc *d = param_find(descs, rows[i].name);
		int err = param_set(descs, &p, rows[i].name, rows[i].text, why, sizeof(why));

		cr_expect_eq(err, rows[i].why ? -EINVAL : 0, "row %zu", i);
		if (rows[i].why)
			cr_expect_str_eq(why, rows[i].why, "row %zu: %s", i, why);
		else
			cr_expect_str_eq(param_format(d, &p, text), rows[i].format, "row %zu: %s",
			                 i, text);
	}
	cr_expect_eq(param_set(descs, &p, "pattern", "011", why, sizeof(why)), 0);
	cr_expect_eq(p.pattern.bits, 6, "from the left");
	cr_expect_eq(p.pattern.nb_bits, 3);
	expect_untouched_around();
}

Test(param, one_member_is_copied_and_its_neighbours_are_not)
{
	struct params from = {.timer_ns = 1,
	                      .rate_bps = 2,
	                      .bytes = 3,
	                      .pkts = 4,
	                      .gain = 0.5,
	                      .delay_ns = 6,
	                      .is_on = true,
	                      .pattern = {.bits = 8, .nb_bits = 9}};

	for (size_t i = 0; descs[i].name; i++) {
		char want[PARAM_TEXT_MAX], got[PARAM_TEXT_MAX];
		struct params before;

		p.timer_ns = p.rate_bps = p.bytes = p.pkts = 0;
		p.gain = p.delay_ns = 0;
		p.is_on = false;
		p.pattern = (struct param_pattern){0};
		before = p;
		param_copy(&descs[i], &p, &from);
		cr_expect_str_eq(param_format(&descs[i], &p, got),
		                 param_format(&descs[i], &from, want), "%s", descs[i].name);
		for (size_t k = 0; descs[k].name; k++)
			if (k != i)
				cr_expect_str_eq(param_format(&descs[k], &p, got),
				                 param_format(&descs[k], &before, want), "%s by %s",
				                 descs[k].name, descs[i].name);
		expect_untouched_around();
	}
}
