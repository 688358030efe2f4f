/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>

#include "maps.h"

Test(maps, lines_are_read_field_by_field)
{
	static const struct {
		const char *line;
		struct maps_entry want;
	} rows[] = {
		{"7f00-7f10 rw-p 00000000 00:00 0 ",
	         {.lo = 0x7f00, .hi = 0x7f10, .read = true, .write = true}},
		{"55d0c0a00000-55d0c0a21000 rw-p 00000000 00:00 0                          [heap]",
	         {.lo = 0x55d0c0a00000,
	          .hi = 0x55d0c0a21000,
	          .read = true,
	          .write = true,
	          .name = "[heap]"}},
		{"1000-2000 r-xs 00003000 fe:1a 4294967296                   /tmp/a b (deleted)",
	         {.lo = 0x1000,
	          .hi = 0x2000,
	          .read = true,
	          .exec = true,
	          .shared = true,
	          .offset = 0x3000,
	          .dev_major = 0xfe,
	          .dev_minor = 0x1a,
	          .ino = 4294967296,
	          .name = "/tmp/a b (deleted)"}},
		{"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0        [vsyscall]",
	         {.lo = 0xffffffffff600000,
	          .hi = 0xffffffffff601000,
	          .exec = true,
	          .name = "[vsyscall]"}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct maps_entry got;

		cr_assert(maps_parse(rows[i].line, &got), "row %zu", i);
		cr_expect_eq(memcmp(&got, &rows[i].want, sizeof(got)), 0, "row %zu", i);
	}
}

Test(maps, what_is_no_line_is_refused)
{
	static const char *const lines[] = {
		"",
		"x",
		"1000",
		"1000-",
		"1000-2000",
		"1000-2000 rw-p",
		"1000-2000 rw-",
		"g-2 rw-p 0 0:0 0 ",
		"1000-2000 rw-p 0 0:0 f ",
		"1000-2000 rw-p  0:0 0 ",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct maps_entry got;

		cr_expect_not(maps_parse(lines[i], &got), "row %zu", i);
	}
}

Test(maps, long_names_are_cut_off)
{
	char line[1024] = "1000-2000 rw-p 0 0:0 1 /";
	struct maps_entry got;

	memset(line + strlen(line), 'x', 900);
	cr_assert(maps_parse(line, &got));
	cr_expect_eq(strlen(got.name), sizeof(got.name) - 1);
}

Test(maps, the_own_process_is_read_in_order_and_without_loss)
{
	struct maps maps;
	struct maps_entry entry;
	uint64_t last = 0, wanted[200];
	uint32_t found = 0;

	/* Many mappings, so that the buffer is filled several times. */
	for (int i = 0; i < 200; i++)
		wanted[i] = (uintptr_t)mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE,
		                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_eq(maps_open(&maps), 0);
	while (maps_next(&maps, &entry)) {
		cr_assert_geq(entry.lo, last);
		cr_assert_gt(entry.hi, entry.lo);
		last = entry.hi;
		for (int i = 0; i < 200; i++)
			found += entry.lo <= wanted[i] && wanted[i] < entry.hi &&
			         entry.read == (i % 2 == 1);
	}
	maps_close(&maps);
	cr_expect_eq(found, 200);
}
