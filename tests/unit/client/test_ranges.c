/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "maps.h"
#include "ranges.h"

static struct maps_entry
object(uint32_t dev_minor, uint64_t ino)
{
	return (struct maps_entry){.shared = true, .dev_minor = dev_minor, .ino = ino};
}

Test(ranges, touching_is_by_address_and_holding_by_device_and_inode)
{
	const struct maps_entry noted = object(1, 100), device = object(2, 100),
				inode = object(1, 101);
	struct maps_entry private = noted, major = noted;
	static const struct {
		uint64_t lo, hi;
		bool want;
	} rows[] = {
		{0x1000, 0x3000, true},  {0, 0x1000, false},    {0x3000, 0x4000, false},
		{0x2fff, 0x4000, true},  {0, 0x1001, true},     {0x1800, 0x1801, true},
		{0x5000, 0x6000, false}, {0, UINT64_MAX, true},
	};
	struct range *range;

	private.shared = false;
	major.dev_major = 1;
	cr_expect_not(ranges_touch(0, UINT64_MAX), "nothing yet");
	range = ranges_add(0x1000, 0x3000, &noted);
	cr_assert_not_null(range);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(ranges_touch(rows[i].lo, rows[i].hi), rows[i].want, "row %zu", i);
	cr_expect(ranges_hold(&noted));
	cr_expect_not(ranges_hold(&device) || ranges_hold(&inode) || ranges_hold(&major));
	cr_expect_not(ranges_hold(&private), "a private copy is the application's own");
	ranges_remove(range);
	cr_expect_not(ranges_touch(0, UINT64_MAX) || ranges_hold(&noted));
}

Test(ranges, one_of_two_objects_of_the_same_inode_goes_and_the_other_stays)
{
	const struct maps_entry first = object(1, 100), second = object(2, 100);
	struct range *range = ranges_add(0x1000, 0x2000, &first);

	cr_assert_not_null(ranges_add(0x5000, 0x6000, &second));
	ranges_remove(range);
	cr_expect_not(ranges_touch(0x1000, 0x2000) || ranges_hold(&first));
	cr_expect(ranges_touch(0x5000, 0x6000) && ranges_hold(&second));
}

Test(ranges, there_is_an_end_and_places_are_used_again)
{
	const struct maps_entry any = object(1, 1);
	struct range *first = ranges_add(0, 0x1000, &any);

	for (uint64_t i = 1; i < RANGES_MAX; i++)
		cr_assert_not_null(ranges_add(i << 12, (i + 1) << 12, &any));
	cr_expect_null(ranges_add(UINT64_C(1) << 40, UINT64_C(2) << 40, &any));
	ranges_remove(first);
	cr_expect_not(ranges_touch(0, 0x1000));
	cr_expect_eq(ranges_add(UINT64_C(1) << 40, UINT64_C(2) << 40, &any), first);
	cr_expect(ranges_touch(UINT64_C(1) << 40, (UINT64_C(1) << 40) + 1));
	ranges_reset();
	cr_expect_not(ranges_touch(0, UINT64_MAX) || ranges_hold(&any));
}
