/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"

static struct arena arena;

static void
open_arena(void)
{
	cr_assert_eq(arena_init(&arena), 0);
}

static void
close_arena(void)
{
	arena_fini(&arena);
}

TestSuite(arena, .init = open_arena, .fini = close_arena);

static uint64_t
must_alloc(uint64_t bytes)
{
	uint64_t offset = UINT64_MAX;

	cr_assert_eq(arena_alloc(&arena, bytes, &offset), 0);
	return offset;
}

static uint64_t
resident_bytes(void)
{
	struct stat st;

	fstat(arena.fd, &st);
	return (uint64_t)st.st_blocks * 512;
}

Test(arena, gives_the_first_run_that_fits_and_joins_what_comes_back)
{
	uint64_t a = must_alloc(1), b = must_alloc(256), c = must_alloc(512 + 1);

	cr_expect_eq(a, 0);
	cr_expect_eq(b, 256);
	cr_expect_eq(c, 512);
	cr_expect_eq(arena.nb_used, 5);
	arena_free(&arena, a, 1);
	cr_expect_eq(must_alloc(512), 5 * 256, "one free unit is not enough");
	arena_free(&arena, b, 256);
	cr_expect_eq(must_alloc(512), 0, "two are");
	arena_free(&arena, 0, 512);
	arena_free(&arena, c, 513);
	arena_free(&arena, 5 * 256, 512);
	cr_expect_eq(arena.nb_used, 0);
}

/* Rings of all sizes come and go: none overlaps another, and at the end nothing is left. */
Test(arena, runs_do_not_overlap_in_any_order)
{
	enum { NB = 500 };
	static struct {
		uint64_t offset, bytes;
	} runs[NB];

	srand(1);
	for (uint32_t step = 0; step < 20000; step++) {
		uint32_t i = (uint32_t)rand() % NB;

		if (runs[i].bytes) {
			for (uint64_t k = 0; k < runs[i].bytes; k += 64)
				cr_assert_eq(arena.base[runs[i].offset + k], (uint8_t)i);
			arena_free(&arena, runs[i].offset, runs[i].bytes);
			runs[i].bytes = 0;
			continue;
		}
		runs[i].bytes = 1 + (uint64_t)rand() % (rand() % 8 ? 3000 : 100000);
		runs[i].offset = must_alloc(runs[i].bytes);
		for (uint64_t k = 0; k < runs[i].bytes; k++)
			cr_assert_eq(arena.base[runs[i].offset + k], 0);
		memset(arena.base + runs[i].offset, (int)i, runs[i].bytes);
	}
	for (uint32_t i = 0; i < NB; i++)
		if (runs[i].bytes)
			arena_free(&arena, runs[i].offset, runs[i].bytes);
	cr_expect_eq(arena.nb_used, 0);
	cr_expect_eq(resident_bytes(), 0);
}

Test(arena, memory_is_zero_whatever_the_application_wrote_before)
{
	uint64_t a = must_alloc(4096);

	memset(arena.base + a, 0xee, 8192);
	arena_free(&arena, a, 4096);
	memset(arena.base + a, 0xdd, 4096);
	a = must_alloc(8192);
	for (uint32_t i = 0; i < 8192; i++)
		cr_assert_eq(arena.base[a + i], 0, "byte %u", i);
}

Test(arena, freed_pages_go_back_to_the_system)
{
	uint64_t a = must_alloc(1 << 20);

	cr_expect_eq(resident_bytes(), 1 << 20);
	arena_free(&arena, a, 1 << 20);
	cr_expect_eq(resident_bytes(), 0);
}

Test(arena, a_page_stays_while_anything_lies_in_it)
{
	uint64_t a = must_alloc(4096 - 256), b = must_alloc(512), c = must_alloc(4096 - 256);

	arena.base[b] = arena.base[b + 511] = 7;
	cr_expect_eq(resident_bytes(), 8192);
	arena_free(&arena, a, 4096 - 256);
	arena_free(&arena, c, 4096 - 256);
	cr_expect_eq(resident_bytes(), 8192);
	cr_expect(arena.base[b] == 7 && arena.base[b + 511] == 7);
	arena_free(&arena, b, 512);
	cr_expect_eq(resident_bytes(), 0);
}

Test(arena, keeps_what_it_frees_once_the_daemon_leaves)
{
	uint64_t ring = must_alloc(4096);

	memset(arena.base + ring, 7, 4096);
	arena_leave(&arena);
	arena_free(&arena, ring, 4096);
	cr_expect(arena.base[ring] == 7 && arena.base[ring + 4095] == 7,
	          "the application looks here for what it has to flush");
}

Test(arena, is_full_when_all_of_it_is_used)
{
	uint64_t offset, all;

	cr_expect_eq(arena_alloc(&arena, ARENA_BYTES + 1, &offset), -ENOMEM);
	/* Not all of it is touched: the test's machine may be small. */
	memset(arena.used, 0xff, ARENA_UNITS / 8);
	arena.used[ARENA_UNITS / 64 - 1] = UINT64_MAX >> 2;
	cr_expect_eq(arena_alloc(&arena, 3 * 256, &offset), -ENOMEM);
	all = must_alloc(2 * 256);
	cr_expect_eq(all, ARENA_BYTES - 2 * 256);
	cr_expect_eq(arena_alloc(&arena, 1, &offset), -ENOMEM);
}

Test(arena, the_application_cannot_change_its_size)
{
	cr_expect_eq(ftruncate(arena.fd, 4096), -1);
	cr_expect_eq(ftruncate(arena.fd, ARENA_BYTES + 4096), -1);
	cr_expect_eq(fcntl(arena.fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
}
