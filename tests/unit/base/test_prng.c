/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "prng.h"

Test(prng, splitmix_gives_the_published_numbers)
{
	/* First outputs of the authors' splitmix64.c from 0 and from 1234567. */
	uint64_t a = 0, b = 1234567;

	cr_expect_eq(prng_splitmix(&a), UINT64_C(0xe220a8397b1dcdaf));
	cr_expect_eq(prng_splitmix(&a), UINT64_C(0x6e789e6aa1b965f4));
	cr_expect_eq(prng_splitmix(&b), UINT64_C(6457827717110365317));
	cr_expect_eq(prng_splitmix(&b), UINT64_C(3203168211198807973));
}

Test(prng, xoshiro_gives_the_published_numbers)
{
	/* The authors' xoshiro256starstar.c from the state {1, 2, 3, 4}. */
	static const uint64_t want[] = {
		11520, 0, 1509978240, 1215971899390074240, 1216172134540287360, 607988272756665600,
	};
	struct prng p = {{1, 2, 3, 4}};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		cr_expect_eq(prng_next(&p), want[i], "output %zu", i);
}

Test(prng, same_seed_same_numbers_and_others_differ)
{
	struct prng a, b, c;
	int same = 0;

	prng_seed(&a, 7);
	prng_seed(&b, 7);
	prng_seed(&c, 8);
	for (int i = 0; i < 1000; i++) {
		uint64_t x = prng_next(&a);

		cr_assert_eq(x, prng_next(&b));
		same += x == prng_next(&c);
	}
	cr_expect_eq(same, 0);
}

Test(prng, below_is_even_over_its_range)
{
	static const uint32_t sizes[] = {1, 2, 3, 7, 10, 64};
	struct prng p;

	prng_seed(&p, 1);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t n = sizes[i], count[64] = {0};

		for (uint32_t k = 0; k < n * 10000; k++) {
			uint32_t x = prng_below(&p, n);

			cr_assert_lt(x, n);
			count[x]++;
		}
		for (uint32_t k = 0; k < n; k++) /* 5 standard deviations */
			cr_expect(count[k] > 9500 && count[k] < 10500, "%u of %u: %u", k, n,
			          count[k]);
	}
}

Test(prng, below_works_for_the_largest_ranges)
{
	struct prng p;
	bool high = false;

	prng_seed(&p, 2);
	for (int i = 0; i < 1000; i++) {
		uint32_t x = prng_below(&p, UINT32_MAX);

		cr_assert_lt(x, UINT32_MAX);
		high |= x > UINT32_MAX / 4 * 3;
		cr_assert_lt(prng_below(&p, 0x80000001), 0x80000001);
	}
	cr_expect(high);
}

Test(prng, unit_lies_in_zero_to_one_with_mean_a_half)
{
	struct prng p;
	double sum = 0;

	prng_seed(&p, 3);
	for (int i = 0; i < 100000; i++) {
		double x = prng_unit(&p);

		cr_assert(x >= 0 && x < 1);
		sum += x;
	}
	cr_expect(sum > 49500 && sum < 50500, "%f", sum);
}
