/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "psn.h"

Test(psn, diff_is_signed_across_the_wrap)
{
	static const struct {
		uint32_t a, b;
		int32_t want;
	} rows[] = {
		{5, 3, 2},
		{3, 5, -2},
		{0x000001, 0xffffff, 2},
		{0xffffff, 0x000000, -1},
		{0x7fffff, 0x000000, 0x7fffff},
		{0x800000, 0x000000, -0x800000}, /* the ambiguous half counts as older */
		{0x123456, 0x123456, 0},
		{0xff000001, 0xffffff, 2}, /* bits above 24 mean nothing */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(psn_diff(rows[i].a, rows[i].b), rows[i].want, "row %zu", i);
}

Test(psn, unwrap_gives_the_nearest_number)
{
	static const struct {
		uint64_t ref;
		uint32_t psn;
		uint64_t want;
	} rows[] = {
		{PSN_BIAS, 0, PSN_BIAS},
		{PSN_BIAS, 0xffffff, PSN_BIAS - 1},
		{PSN_BIAS + 0xffffff, 0, PSN_BIAS + 0x1000000},
		{PSN_BIAS + 0xffffff, 0xfffffe, PSN_BIAS + 0xfffffe},
		{PSN_BIAS * 7 + 5, 0x7fffff + 5, PSN_BIAS * 7 + 0x7fffff + 5},
		{PSN_BIAS * 7 + 5, 0x800000 + 5, PSN_BIAS * 7 + 5 - 0x800000},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(psn_unwrap(rows[i].ref, rows[i].psn), rows[i].want, "row %zu", i);
}
