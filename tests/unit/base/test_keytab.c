/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "keytab.h"
#include "prng.h"

#include <errno.h>

#define NB 4096u

Test(keytab, an_empty_table_holds_nothing)
{
	struct keytab t = {0};
	uint32_t pos = 0;

	cr_expect_null(keytab_get(&t, 0));
	cr_expect_null(keytab_get(&t, UINT32_MAX));
	cr_expect_null(keytab_del(&t, 1));
	cr_expect_null(keytab_next(&t, &pos));
	keytab_fini(&t);
}

Test(keytab, finds_what_was_put_and_refuses_a_second)
{
	struct keytab t = {0};
	int a, b;

	cr_assert_eq(keytab_put(&t, 0, &a), 0);
	cr_assert_eq(keytab_put(&t, UINT32_MAX, &b), 0);
	cr_expect_eq(keytab_put(&t, 0, &b), -EEXIST);
	cr_expect_eq(keytab_get(&t, 0), &a);
	cr_expect_eq(keytab_get(&t, UINT32_MAX), &b);
	cr_expect_null(keytab_get(&t, 1));
	cr_expect_eq(t.nb_objs, 2);
	cr_expect_eq(keytab_del(&t, 0), &a);
	cr_expect_null(keytab_get(&t, 0));
	cr_expect_eq(t.nb_objs, 1);
	keytab_fini(&t);
	cr_expect_null(keytab_get(&t, UINT32_MAX));
}

Test(keytab, keys_in_a_row_stay_near_their_home)
{
	static int objs[NB];
	struct keytab t = {0};

	for (uint32_t i = 0; i < NB; i++)
		cr_assert_eq(keytab_put(&t, 16 + i, &objs[i]), 0);
	for (uint32_t i = 0; i < NB; i++) {
		uint32_t at = keytab_home(&t, 16 + i), steps = 0;

		for (; t.slots[at].obj != &objs[i]; at = (at + 1) & t.mask)
			steps++;
		cr_assert_leq(steps, 2, "key %u is %u steps away", 16 + i, steps);
	}
	keytab_fini(&t);
}

/* The model is an array over a small key space, so that keys collide and come back. */
Test(keytab, agrees_with_a_plain_array_through_random_changes)
{
	static int objs[NB];
	static int *model[NB];
	struct keytab t = {0};
	struct prng p;
	uint32_t nb = 0;

	prng_seed(&p, 42);
	for (int i = 0; i < 400000; i++) {
		uint32_t k = prng_below(&p, NB), key = k << 20 | k;
		bool filling = i / 100000 % 2 == 0;

		if (prng_below(&p, 8) < (filling ? 5 : 3)) {
			int want = model[k] ? -EEXIST : 0;

			cr_assert_eq(keytab_put(&t, key, &objs[k]), want);
			nb += !model[k];
			model[k] = &objs[k];
		} else {
			cr_assert_eq(keytab_del(&t, key), model[k]);
			nb -= !!model[k];
			model[k] = NULL;
		}
		k = prng_below(&p, NB);
		cr_assert_eq(keytab_get(&t, k << 20 | k), model[k]);
		cr_assert_eq(t.nb_objs, nb);
	}
	for (uint32_t k = 0; k < NB; k++)
		cr_assert_eq(keytab_get(&t, k << 20 | k), model[k]);
	keytab_fini(&t);
}

Test(keytab, the_walk_meets_each_object_once)
{
	static int objs[1000];
	struct keytab t = {0};
	uint32_t pos = 0, nb = 0;

	for (uint32_t i = 0; i < 1000; i++)
		cr_assert_eq(keytab_put(&t, i * 7919, &objs[i]), 0);
	for (int *o; (o = keytab_next(&t, &pos)); nb++)
		(*o)++;
	cr_expect_eq(nb, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		cr_expect_eq(objs[i], 1);
	keytab_fini(&t);
}
