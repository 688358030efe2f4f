/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "fib.h"

#define AGE_NS UINT64_C(300000000000)

/* A unicast address with this number at its end. */
static uint64_t
mac(uint32_t number)
{
	uint8_t bytes[8] = {0x02,
	                    0,
	                    (uint8_t)(number >> 24),
	                    (uint8_t)(number >> 16),
	                    (uint8_t)(number >> 8),
	                    (uint8_t)number};

	return fib_mac(bytes);
}

Test(fib, a_mac_is_its_six_bytes_and_no_more)
{
	static const uint8_t a[8] = {2, 0, 0, 0, 0, 1, 0xaa, 0xbb}, b[8] = {2, 0, 0, 0, 0, 1};
	static const uint8_t c[8] = {2, 0, 0, 0, 0, 2};

	cr_expect_eq(fib_mac(a), fib_mac(b));
	cr_expect_neq(fib_mac(a), fib_mac(c));
}

Test(fib, finds_what_it_learned_and_nothing_else)
{
	struct fib *fib = fib_create(1024, AGE_NS);

	cr_expect_eq(fib_find(fib, mac(1), 0), FIB_NO_PORT);
	cr_expect(fib_learn(fib, mac(1), 0, 0));
	cr_expect(fib_learn(fib, mac(2), 65534, 0));
	cr_expect_eq(fib_find(fib, mac(1), 0), 0);
	cr_expect_eq(fib_find(fib, mac(2), 0), 65534);
	cr_expect_eq(fib_find(fib, mac(3), 0), FIB_NO_PORT);
	fib_destroy(fib);
}

Test(fib, says_when_its_answer_changes)
{
	struct fib *fib = fib_create(16, AGE_NS);

	cr_expect(fib_learn(fib, mac(1), 3, 0), "new");
	cr_expect_not(fib_learn(fib, mac(1), 3, 10), "known");
	cr_expect(fib_learn(fib, mac(1), 4, 20), "moved");
	cr_expect_eq(fib_find(fib, mac(1), 20), 4);
	cr_expect(fib_learn(fib, mac(1), 4, 20 + AGE_NS), "forgotten in between");
	fib_destroy(fib);
}

Test(fib, forgets_after_silence)
{
	struct fib *fib = fib_create(16, AGE_NS);

	fib_learn(fib, mac(1), 3, 1000);
	fib_learn(fib, mac(2), 4, 1000);
	fib_learn(fib, mac(2), 4, 2000);
	cr_expect_eq(fib_find(fib, mac(1), 999 + AGE_NS), 3);
	cr_expect_eq(fib_find(fib, mac(1), 1000 + AGE_NS), FIB_NO_PORT);
	cr_expect_eq(fib_find(fib, mac(2), 1000 + AGE_NS), 4, "a frame makes it young");
	cr_expect_eq(fib_find(fib, mac(2), 2000 + AGE_NS), FIB_NO_PORT);
	fib_destroy(fib);
}

Test(fib, learns_no_group_and_no_zero_address)
{
	static const uint8_t rows[][8] = {
		{0x01, 0x00, 0x5e, 0, 0, 1},
		{0x33, 0x33, 0, 0, 0, 1},
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		{0, 0, 0, 0, 0, 0},
	};
	struct fib *fib = fib_create(16, AGE_NS);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_not(fib_learn(fib, fib_mac(rows[i]), 3, 0), "row %zu", i);
		cr_expect_eq(fib_find(fib, fib_mac(rows[i]), 0), FIB_NO_PORT, "row %zu", i);
	}
	fib_destroy(fib);
}

/* Random lines would have 2 of 4 entries in use on average and lose 3.6 %. */
Test(fib, holds_most_of_as_many_addresses_as_it_was_made_for)
{
	static const uint32_t strides[] = {1, 2, 16, 256, 4096, 65536};

	for (size_t row = 0; row < sizeof(strides) / sizeof(strides[0]); row++) {
		struct fib *fib = fib_create(4096, AGE_NS);
		uint32_t nb_lost = 0;

		for (uint32_t i = 0; i < 4096; i++)
			fib_learn(fib, mac(i * strides[row]), (uint16_t)(i % 100), i);
		for (uint32_t i = 0; i < 4096; i++)
			nb_lost += fib_find(fib, mac(i * strides[row]), 4096) != i % 100;
		cr_expect_lt(nb_lost, 4096 * 6 / 100, "stride %u: %u lost", strides[row], nb_lost);
		fib_destroy(fib);
	}
}

Test(fib, a_flood_of_invented_addresses_spares_who_keeps_talking)
{
	struct fib *fib = fib_create(64, AGE_NS);
	uint32_t nb_forgotten = 0;
	uint64_t now_ns = 0;

	for (uint32_t i = 0; i < 100000; i++) {
		fib_learn(fib, mac(1), 7, now_ns);
		fib_learn(fib, mac(1000 + i), 8, now_ns);
		now_ns += 100;
		nb_forgotten += fib_find(fib, mac(1), now_ns) != 7;
	}
	cr_expect_eq(nb_forgotten, 0);
	fib_destroy(fib);
}

Test(fib, the_smallest_table_works)
{
	struct fib *fib = fib_create(1, AGE_NS);

	for (uint32_t i = 0; i < 100; i++) {
		fib_learn(fib, mac(i), (uint16_t)i, i);
		cr_expect_eq(fib_find(fib, mac(i), i), i);
	}
	fib_destroy(fib);
}
