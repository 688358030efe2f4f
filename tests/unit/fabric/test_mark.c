/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "be.h"
#include "mark.h"

Test(mark, chances_are_those_of_dcqcn)
{
	static const struct {
		struct {
			uint64_t kmin, kmax;
			double pmax;
		} mark;
		uint64_t queue;
		double want;
	} rows[] = {
		{{5000, 200000, 0.01}, 5000, 0},
		{{5000, 200000, 0.01}, 102500, 0.005},
		{{5000, 200000, 0.01}, 200000, 0.01},
		{{5000, 200000, 0.01}, 201000, 1},
		{{400000, 1600000, 0.2}, 1000000, 0.1},
		{{400000, 1600000, 0.2}, 1601000, 1},
		{{30000, 30000, 1}, 30000, 0},
		{{30000, 30000, 1}, 30001, 1},
		{{0, 0, 1}, 1000000, 0},
		{{0, 1, 0}, 2, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mark m;
		double got;

		mark_init(&m, rows[i].mark.kmin, rows[i].mark.kmax, rows[i].mark.pmax);
		got = mark_chance(&m, rows[i].queue);

		cr_expect_float_eq(got, rows[i].want, 1e-12, "row %zu: %f", i, got);
	}
}

Test(mark, hits_as_often_as_the_chance_says_and_by_seed)
{
	struct mark m;
	struct prng dice;
	uint32_t nb[2] = {0};

	mark_init(&m, 0, 1000, 0.3);

	for (int run = 0; run < 2; run++) {
		prng_seed(&dice, 5);
		for (int i = 0; i < 100000; i++)
			nb[run] += mark_hit(&m, 500, &dice);
	}
	cr_expect_eq(nb[0], nb[1]);
	cr_expect_gt(nb[0], 14500, "%u", nb[0]);
	cr_expect_lt(nb[0], 15500, "%u", nb[0]);
}

static uint16_t
checksum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += get_be16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)(sum + (sum >> 16));
}

Test(mark, sets_ce_only_where_the_sender_allows_it_and_keeps_the_checksum)
{
	for (uint32_t tos = 0; tos < 256; tos++)
		for (uint32_t id = 0; id < 0x10000; id += 257) {
			uint8_t ip[20] = {0x45,
			                  (uint8_t)tos,
			                  0,
			                  100,
			                  (uint8_t)(id >> 8),
			                  (uint8_t)id,
			                  0x40,
			                  0,
			                  64,
			                  17,
			                  0,
			                  0,
			                  10,
			                  0,
			                  0,
			                  1,
			                  10,
			                  0,
			                  0,
			                  2};
			bool may = (tos & 3) == 1 || (tos & 3) == 2;

			put_be16(ip + 10, (uint16_t)~checksum(ip));
			cr_assert_eq(checksum(ip), 0xffff);
			cr_assert_eq(mark_ce(ip), may);
			cr_assert_eq(ip[1], may ? (tos | 3) : tos);
			cr_assert_eq(checksum(ip), 0xffff, "tos %u id %u", tos, id);
		}
}

Test(mark, knows_where_ipv6_has_the_bits)
{
	uint8_t ip[40] = {0x6a, 0xbc, 0xde, 0xf0};

	cr_expect_not(mark_ce(ip), "traffic class 0xab: CE already");
	ip[1] = 0xac;
	cr_expect(mark_ce(ip));
	cr_expect_eq(ip[0], 0x6a);
	cr_expect_eq(ip[1], 0xbc, "the flow label stays");
	ip[1] = 0x8c;
	cr_expect_not(mark_ce(ip), "not ECT");
}
