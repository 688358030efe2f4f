/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "stat.h"

struct state {
	uint32_t other;
	uint64_t rewinds;
	uint64_t naks;
};

static const struct stat_desc descs[] = {
	{"rewinds", offsetof(struct state, rewinds)},
	{"naks", offsetof(struct state, naks)},
	{0},
};

Test(stat, counters_are_walked_by_name_and_summed)
{
	const struct state a = {1, 20, 300}, b = {4, 50, 600};
	uint64_t sums[3] = {0, 0, 77};
	int nb = 0;

	STAT_FOREACH (d, descs) {
		cr_expect_eq(stat_read(d, &a), nb == 0 ? 20 : 300);
		nb++;
	}
	cr_expect_eq(nb, 2);
	stat_add(descs, &a, sums);
	stat_add(descs, &b, sums);
	cr_expect_eq(sums[0], 70);
	cr_expect_eq(sums[1], 900);
	cr_expect_eq(sums[2], 77);
}

Test(stat, an_engine_without_counters_has_none)
{
	STAT_FOREACH (d, NULL)
		cr_assert_fail("%s", d->name);
	stat_add(NULL, NULL, NULL);
}
