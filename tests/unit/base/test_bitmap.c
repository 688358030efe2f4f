/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "bitmap.h"
#include "prng.h"

Test(bitmap, length_is_the_power_of_two_that_holds_the_window)
{
	static const uint32_t rows[][2] = {
		{1, 64},    {63, 64},   {64, 64},     {65, 128},
		{128, 128}, {129, 256}, {1000, 1024}, {1u << 31, 1u << 31},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(bitmap_len(rows[i][0]), rows[i][1], "row %zu", i);
}

Test(bitmap, set_tells_what_was_before)
{
	uint64_t words[2] = {0};
	struct bitmap b = bitmap_of(words, 128);
	uint64_t n = (UINT64_C(1) << 40) + 127;

	cr_expect_not(bitmap_set(&b, n));
	cr_expect(bitmap_set(&b, n));
	cr_expect(bitmap_test(&b, n));
	cr_expect_not(bitmap_test(&b, n - 1));
	cr_expect_not(bitmap_test(&b, n + 1));
	bitmap_clear(&b, n);
	cr_expect_not(bitmap_set(&b, n));
}

/* A window that slides over a model of one byte per bit. */
Test(bitmap, agrees_with_a_plain_array_while_the_window_slides)
{
	enum { LEN = 256, END = 100000 };
	static bool model[END + LEN];
	uint64_t words[LEN / 64] = {0};
	struct bitmap b = bitmap_of(words, LEN);
	struct prng p;

	prng_seed(&p, 1);
	for (uint64_t base = 0; base < END;) {
		uint64_t first = base + prng_below(&p, LEN);
		uint64_t end = first + prng_below(&p, (uint32_t)(base + LEN - first) + 1);
		uint64_t next_set = end, next_clear = end, step;
		uint32_t count = 0;

		for (int i = 0; i < 8; i++) {
			uint64_t n = base + prng_below(&p, LEN);

			cr_assert_eq(bitmap_set(&b, n), model[n]);
			model[n] = true;
		}
		for (uint64_t n = end; n-- > first;) {
			count += model[n];
			next_set = model[n] ? n : next_set;
			next_clear = model[n] ? next_clear : n;
		}
		cr_assert_eq(bitmap_count(&b, first, end), count);
		cr_assert_eq(bitmap_next(&b, first, end, true), next_set);
		cr_assert_eq(bitmap_next(&b, first, end, false), next_clear);
		step = prng_below(&p, prng_below(&p, 20) ? 16 : LEN + 1);
		bitmap_clear_range(&b, base, base + step);
		base += step;
		for (uint64_t n = base; n < base + LEN && n < END + LEN; n++)
			cr_assert_eq(bitmap_test(&b, n), model[n], "%lu", n);
	}
}
