/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
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
	uint64_t a = must_alloc(1), b = must_alloc(4096), c = must_alloc(8192 + 1);

	cr_expect_eq(a, 0);
	cr_expect_eq(b, 4096);
	cr_expect_eq(c, 8192);
	cr_expect_eq(arena.nb_used_pages, 5);
	arena_free(&arena, a, 1);
	cr_expect_eq(must_alloc(8192), 5 * 4096, "one free page is not enough");
	arena_free(&arena, b, 4096);
	cr_expect_eq(must_alloc(8192), 0, "two are");
	arena_free(&arena, 0, 8192);
	arena_free(&arena, c, 8193);
	arena_free(&arena, 5 * 4096, 8192);
	cr_expect_eq(arena.nb_used_pages, 0);
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

Test(arena, is_full_when_all_of_it_is_used)
{
	uint64_t offset, all;

	cr_expect_eq(arena_alloc(&arena, ARENA_BYTES + 1, &offset), -ENOMEM);
	/* Not all of it is touched: the test's machine may be small. */
	memset(arena.used, 0xff, sizeof(arena.used));
	arena.used[ARENA_PAGES / 64 - 1] = UINT64_MAX >> 2;
	cr_expect_eq(arena_alloc(&arena, 3 * 4096, &offset), -ENOMEM);
	all = must_alloc(2 * 4096);
	cr_expect_eq(all, ARENA_BYTES - 2 * 4096);
	cr_expect_eq(arena_alloc(&arena, 1, &offset), -ENOMEM);
}

Test(arena, the_application_cannot_change_its_size)
{
	cr_expect_eq(ftruncate(arena.fd, 4096), -1);
	cr_expect_eq(ftruncate(arena.fd, ARENA_BYTES + 4096), -1);
	cr_expect_eq(fcntl(arena.fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
}
