/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "terms.h"

Test(terms, a_test_arrives_as_it_was_sent)
{
	static const struct perf_test tests[] = {
		{.op = PERF_WRITE, .size = 65536, .nb_qps = 4, .depth = 128, .iters = 1000},
		{.op = PERF_READ, .size = 1, .nb_qps = 1, .depth = 1, .seconds = 3},
		{.op = PERF_SEND, .size = 64, .nb_qps = 1, .depth = 1, .iters = 9, .is_lat = true},
		{.op = PERF_ATOMIC,
	         .size = 8,
	         .nb_qps = PERF_MAX_QPS,
	         .depth = PERF_MAX_DEPTH,
	         .iters = PERF_MAX_ITERS,
	         .is_checked = true},
	};

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		json_t *j = terms_test(&tests[i]);
		struct perf_test got = {0};

		cr_assert(terms_take_test(j, &got), "row %zu", i);
		cr_expect_eq(memcmp(&got, &tests[i], sizeof(got)), 0, "row %zu", i);
		json_decref(j);
	}
}

Test(terms, what_is_no_test_is_refused)
{
	static const struct {
		const char *name, *value; /* in place of what a good test says; NULL = left out */
	} rows[] = {
		{"weft-perf", "2"},
		{"weft-perf", NULL},
		{"op", "\"tape\""},
		{"op", "7"},
		{"op", NULL},
		{"size", "0"},
		{"size", "1073741825"},
		{"size", "-5"},
		{"size", "8.5"},
		{"size", "\"8\""},
		{"qps", "16385"},
		{"depth", "0"},
		{"iters", "0"},
		{"seconds", "1"},
		{"iters", "1000000001"},
		{"check", "true"},
		{"op", "\"atomic\""},
	};
	static const char good[] = "{\"weft-perf\": 1, \"op\": \"write\", \"size\": 64, \"qps\": "
				   "1, \"depth\": 1, \"iters\": 9, \"seconds\": 0, \"lat\": true}";
	struct perf_test test;
	json_t *j = json_loads(good, 0, NULL);

	cr_assert(terms_take_test(j, &test));
	json_decref(j);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		j = json_loads(good, 0, NULL);
		if (rows[i].value)
			json_object_set_new(j, rows[i].name,
			                    json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
		else
			json_object_del(j, rows[i].name);
		cr_expect_not(terms_take_test(j, &test), "row %zu", i);
		json_decref(j);
	}
}

static json_t *
some_end(uint32_t mtu)
{
	struct perf_end end = {.mtu = mtu, .addr = 0x7f0012345678, .rkey = 0xfedcba98};
	json_t *qps = json_array();

	ip_addr_from_ipv4(&end.gid, (const uint8_t[4]){10, 0, 0, 1});
	json_array_append_new(qps, terms_qp(0xffffff, 0));
	json_array_append_new(qps, terms_qp(2, 0xffffff));
	return terms_end(&end, qps);
}

Test(terms, an_end_arrives_as_it_was_sent)
{
	json_t *j = some_end(4096);
	struct perf_end got = {0};
	const json_t *qps = terms_take_end(j, 2, &got);
	char text[IP_ADDR_TEXT];
	uint32_t qpn, psn;

	cr_assert_not_null(qps);
	cr_expect_eq(got.mtu, 4096);
	cr_expect_eq(got.addr, 0x7f0012345678);
	cr_expect_eq(got.rkey, 0xfedcba98);
	cr_expect_str_eq(ip_addr_text(&got.gid, text), "10.0.0.1");
	cr_assert(terms_take_qp(qps, 1, &qpn, &psn));
	cr_expect_eq(qpn, 2);
	cr_expect_eq(psn, 0xffffff);
	cr_expect_not(terms_take_qp(qps, 2, &qpn, &psn), "there are two");
	json_decref(j);
}

Test(terms, what_is_no_end_is_refused)
{
	static const struct {
		const char *name, *value;
	} rows[] = {
		{"gid", "\"10.0.0\""}, {"gid", "7"},  {"mtu", "128"},         {"mtu", "8192"},
		{"addr", "-1"},        {"qps", "[]"}, {"rkey", "4294967296"}, {"qps", "{}"},
	};
	struct perf_end end;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *j = some_end(1024);

		json_object_set_new(j, rows[i].name,
		                    json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
		cr_expect_null(terms_take_end(j, 2, &end), "row %zu", i);
		json_decref(j);
	}
}
