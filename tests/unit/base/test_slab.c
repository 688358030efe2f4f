/* SPDX-License-Identifier: BSD-3-Clause */
#include "slab.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/resource.h>

#define NB 3000

static struct slab slab;
static uint8_t *blocks[NB];

/* Fill a block with what only it has. */
static void
mark(uint32_t i)
{
	memset(blocks[i], (int)(i * 37 + 11), slab.block_bytes);
}

static bool
is_marked(uint32_t i)
{
	for (uint32_t k = 0; k < slab.block_bytes; k++)
		if (blocks[i][k] != (uint8_t)(i * 37 + 11))
			return false;
	return true;
}

static void
take(uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		blocks[i] = slab_take(&slab);
		cr_assert(blocks[i]);
		cr_assert_eq((uintptr_t)blocks[i] % SLAB_ALIGN, 0);
		mark(i);
	}
}

static void
give(uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		cr_assert(is_marked(i), "block %u", i);
		slab_give(&slab, blocks[i]);
	}
}

Test(slab, blocks_do_not_overlap)
{
	static const struct {
		uint32_t bytes, nb;
	} rows[] = {{1, NB},     {64, NB},    {65, NB},    {2048, 500},
	            {45000, 40}, {200000, 9}, {1 << 20, 5}};

	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		slab_init(&slab, rows[r].bytes);
		cr_assert_geq(slab.block_bytes, rows[r].bytes);
		take(0, rows[r].nb);
		cr_expect_eq(slab_used(&slab), rows[r].nb);
		/* Every other one comes back and goes out again. */
		for (uint32_t i = 0; i < rows[r].nb; i += 2)
			give(i, i + 1);
		for (uint32_t i = 0; i < rows[r].nb; i += 2)
			take(i, i + 1);
		give(0, rows[r].nb);
		cr_expect_eq(slab_used(&slab), 0);
		slab_fini(&slab);
		cr_expect_eq(slab_bytes(&slab), 0);
	}
}

Test(slab, the_block_given_last_is_taken_first)
{
	slab_init(&slab, 500);
	take(0, 10);
	give(3, 4);
	give(7, 8);
	cr_expect_eq(slab_take(&slab), blocks[7]);
	cr_expect_eq(slab_take(&slab), blocks[3]);
	for (uint32_t i = 0; i < 10; i++)
		slab_give(&slab, blocks[i]);
	slab_fini(&slab);
}

Test(slab, memory_that_was_not_needed_for_a_period_goes_back)
{
	uint64_t peak;

	slab_init(&slab, 4000);
	take(0, NB);
	peak = slab_bytes(&slab);
	cr_expect_geq(peak, (uint64_t)NB * slab.block_bytes);
	slab_trim(&slab);
	give(0, NB);
	cr_expect(slab_has_surplus(&slab));
	slab_trim(&slab);
	cr_expect_eq(slab_bytes(&slab), peak, "it was needed within this period");
	for (uint64_t n = 0; n <= peak / slab.chunk_bytes / SLAB_TRIM_MAX; n++)
		slab_trim(&slab);
	cr_expect_eq(slab_bytes(&slab), 0);
	cr_expect_not(slab_has_surplus(&slab));
	/* And it goes on from there. */
	take(0, 100);
	give(0, 100);
	slab_fini(&slab);
}

Test(slab, what_is_used_now_and_then_is_kept)
{
	uint64_t bytes;

	slab_init(&slab, 4000);
	take(0, NB);
	give(0, NB);
	bytes = slab_bytes(&slab);
	for (int n = 0; n < 100; n++) {
		slab_trim(&slab);
		take(0, NB);
		give(0, NB);
	}
	cr_expect_eq(slab_bytes(&slab), bytes);
	slab_fini(&slab);
}

Test(slab, one_chunk_stays_as_long_as_there_are_users)
{
	slab_init(&slab, 4000);
	slab.nb_users = 1;
	take(0, 1);
	give(0, 1);
	for (int n = 0; n < 5; n++)
		slab_trim(&slab);
	cr_expect_eq(slab.nb_chunks, 1);
	cr_expect_not(slab_has_surplus(&slab));
	slab.nb_users = 0;
	for (int n = 0; n < 2; n++) {
		cr_expect(slab_has_surplus(&slab));
		slab_trim(&slab);
	}
	cr_expect_eq(slab.nb_chunks, 0);
}

/* Not under a sanitizer, which needs address space of its own. */
#ifndef __SANITIZE_ADDRESS__
Test(slab, without_memory_it_says_so_and_works_on)
{
	struct rlimit limit, none = {0};
	uint32_t nb = 0;

	slab_init(&slab, 30000);
	cr_assert_eq(getrlimit(RLIMIT_AS, &limit), 0);
	none.rlim_max = limit.rlim_max;
	take(0, 1);
	cr_assert_eq(setrlimit(RLIMIT_AS, &none), 0);
	while (nb < NB - 1 && (blocks[nb + 1] = slab_take(&slab)))
		nb++;
	cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
	cr_expect_eq(nb, slab.nb_per_chunk - 1, "those of the first chunk");
	cr_expect_eq(slab.nb_failed, 1);
	slab_give(&slab, blocks[1]);
	cr_expect_eq(slab_take(&slab), blocks[1]);
	take(nb + 1, nb + 2);
	for (uint32_t i = 0; i < nb + 2; i++)
		slab_give(&slab, blocks[i]);
	slab_fini(&slab);
}
#endif

Test(slab, a_set_has_one_slab_per_size)
{
	struct slab_set set = {0};
	int a = slab_set_find(&set, 100);
	uint32_t n = 2;
	void *block;

	cr_assert_eq(a, 0);
	cr_expect_eq(slab_set_find(&set, 128), a, "both round to 128");
	cr_expect_eq(slab_set_find(&set, 129), 1);
	block = slab_take(set.slabs[a]);
	cr_expect_eq(slab_set_bytes(&set), set.slabs[a]->chunk_bytes);
	cr_expect_not(slab_set_trim(&set), "it is in use");
	slab_give(set.slabs[a], block);
	cr_expect(slab_set_trim(&set), "it was in use");
	cr_expect_not(slab_set_trim(&set), "it is gone");
	cr_expect_eq(slab_set_bytes(&set), 0);
	while (slab_set_find(&set, SLAB_ALIGN * (n + 2)) >= 0)
		n++;
	cr_expect_eq(n, SLAB_SET_MAX);
	slab_set_fini(&set);
}
