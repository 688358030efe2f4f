/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "human.h"

Test(human, numbers_have_four_digits_and_a_unit_that_fits)
{
	static const struct {
		struct value value;
		const char *unit, *want;
	} rows[] = {
		{{VALUE_NONE, {0}}, "ns", "-"},
		{{VALUE_COUNT, {.count = 0}}, "ns", "0 ns"},
		{{VALUE_COUNT, {.count = 999}}, "ns", "999 ns"},
		{{VALUE_REAL, {.real = 1234}}, "ns", "1.234 us"},
		{{VALUE_REAL, {.real = 0.5}}, "ns", "0.500 ns"},
		{{VALUE_REAL, {.real = 99999.6}}, "ns", "100.0 us"},
		{{VALUE_REAL, {.real = 999999.7}}, "ns", "1.000 ms"},
		{{VALUE_REAL, {.real = 12345678}}, "ns", "12.35 ms"},
		{{VALUE_REAL, {.real = 3.6e12}}, "ns", "3600 s"},
		{{VALUE_REAL, {.real = 97.53e9}}, "bps", "97.53 Gb/s"},
		{{VALUE_COUNT, {.count = 100000000000}}, "bps", "100 Gb/s"},
		{{VALUE_COUNT, {.count = 2047}}, "B", "2.047 kB"},
		{{VALUE_COUNT, {.count = 123456}}, "B", "123.5 kB"},
		{{VALUE_COUNT, {.count = 999}}, "pkt", "999"},
		{{VALUE_COUNT, {.count = 1000}}, "pkt", "1,000"},
		{{VALUE_COUNT, {.count = 1234567}}, "1", "1,234,567"},
		{{VALUE_REAL, {.real = 0.98765}}, "1", "0.988"},
		{{VALUE_REAL, {.real = 1234.56}}, "1", "1234.6"},
		{{VALUE_WORD, {.word = "x"}}, "1", "x"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[HUMAN_TEXT_MAX];

		cr_expect_str_eq(human(rows[i].value, rows[i].unit, text), rows[i].want,
		                 "row %zu: %s", i, text);
	}
}

Test(human, a_short_one_has_three)
{
	static const struct {
		uint64_t bytes;
		const char *want;
	} rows[] = {{318, "318 B"},     {1045, "1.04 kB"}, {10689, "10.7 kB"},
	            {105012, "105 kB"}, {99960, "100 kB"}, {999600, "1.00 MB"},
	            {2000000, "2 MB"},  {9991, "9.99 kB"}, {9996, "10.0 kB"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[HUMAN_TEXT_MAX];

		cr_expect_str_eq(human_short(value_count(rows[i].bytes), "B", text), rows[i].want,
		                 "row %zu: %s", i, text);
	}
}

Test(human, a_share_is_in_percent)
{
	char text[HUMAN_TEXT_MAX];

	cr_expect_str_eq(human_share(value_real(0.0012345), text), "0.123 %");
	cr_expect_str_eq(human_share(value_real(0), text), "0 %");
	cr_expect_str_eq(human_share(value_none(), text), "-");
}
