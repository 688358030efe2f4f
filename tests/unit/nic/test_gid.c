/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "gid.h"
#include "prng.h"

static struct gid
ll(uint8_t n)
{
	return gid_link_local((const uint8_t[6]){2, 0, 0, 0, 0, n});
}

static struct gid
ipv4(uint8_t n, uint16_t vlan)
{
	return (struct gid){.ip = {{[10] = 0xff, 0xff, 10, 0, 0, n}}, .vlan = vlan};
}

static bool
is_at(const struct gid_table *t, uint32_t i, struct gid want)
{
	const struct gid *gid = gid_at(t, i);

	return gid && gid->vlan == want.vlan && !memcmp(&gid->ip, &want.ip, sizeof(want.ip));
}

Test(gid, the_link_local_address_is_the_macs)
{
	static const struct ip_addr want = {
		{0xfe, 0x80, [8] = 0x52, 0x54, 0x00, 0xff, 0xfe, 0x12, 0x34, 0x56}};
	struct gid gid = gid_link_local((const uint8_t[6]){0x50, 0x54, 0x00, 0x12, 0x34, 0x56});

	cr_expect_arr_eq(gid.ip.b, want.b, 16);
}

Test(gid, an_address_keeps_its_index_and_a_new_one_takes_the_first_free)
{
	struct gid_table t = {.len = 6};
	struct gid_changes c;

	c = gid_table_set(&t, (struct gid[]){ll(1), ipv4(1, 0), ipv4(2, 0), ipv4(1, 5)}, 4);
	cr_expect_eq(c.nb_added, 4);
	cr_expect_eq(t.nb_used, 4);
	c = gid_table_set(&t, (struct gid[]){ll(1), ipv4(1, 5), ipv4(2, 0)}, 3);
	cr_expect(c.nb_added == 0 && c.nb_removed == 1);
	cr_expect(is_at(&t, 2, ipv4(2, 0)) && is_at(&t, 3, ipv4(1, 5)));
	cr_expect_null(gid_at(&t, 1));
	c = gid_table_set(&t, (struct gid[]){ll(1), ipv4(9, 0), ipv4(1, 5), ipv4(2, 0)}, 4);
	cr_expect(c.nb_added == 1 && c.nb_removed == 0);
	cr_expect(is_at(&t, 1, ipv4(9, 0)));
	c = gid_table_set(&t, (struct gid[]){ll(1)}, 1);
	cr_expect_eq(c.nb_removed, 3);
	cr_expect_eq(t.nb_used, 1);
}

Test(gid, the_link_local_address_is_replaced_where_it_stands)
{
	struct gid_table t = {.len = 6};
	struct gid_changes c;

	gid_table_set(&t, (struct gid[]){ll(1), ipv4(1, 0), ll(2)}, 3);
	c = gid_table_set(&t, (struct gid[]){ll(2), ipv4(1, 0)}, 2);
	cr_expect(c.nb_added == 1 && c.nb_removed == 1);
	cr_expect(is_at(&t, GID_LINK_LOCAL, ll(2)) && is_at(&t, 1, ipv4(1, 0)));
	cr_expect_eq(t.nb_used, 2, "it stands there once");
}

Test(gid, what_comes_twice_counts_once_and_what_finds_no_room_is_told)
{
	struct gid_table t = {.len = 3};
	struct gid_changes c;

	c = gid_table_set(&t,
	                  (struct gid[]){ll(1), ipv4(1, 0), ipv4(1, 0), ll(1), ipv4(2, 0),
	                                 ipv4(3, 0), ipv4(4, 0)},
	                  7);
	cr_expect(c.nb_added == 3 && c.nb_left_out == 2);
	cr_expect_null(gid_at(&t, 3));
	c = gid_table_set(&t, (struct gid[]){ll(1), ipv4(1, 0), ipv4(4, 0)}, 3);
	cr_expect(c.nb_added == 1 && c.nb_removed == 1 && c.nb_left_out == 0);
}

Test(gid, the_kernels_index_follows_without_being_a_change)
{
	struct gid_table t = {.len = 3};
	struct gid wanted[2] = {ll(1), ipv4(1, 0)};
	struct gid_changes c;

	gid_table_set(&t, wanted, 2);
	wanted[0].ifindex = 7;
	wanted[1].ifindex = 8;
	c = gid_table_set(&t, wanted, 2);
	cr_expect(c.nb_added == 0 && c.nb_removed == 0);
	cr_expect(gid_at(&t, 0)->ifindex == 7 && gid_at(&t, 1)->ifindex == 8);
}

Test(gid, an_address_is_found_in_its_vlan_only)
{
	struct gid_table t = {.len = 4};
	struct gid own = ipv4(1, 5), other = ipv4(2, 0);

	gid_table_set(&t, (struct gid[]){ll(1), own}, 2);
	cr_expect_eq(gid_find(&t, &own.ip, 5), &t.entry[1]);
	cr_expect_null(gid_find(&t, &own.ip, 0));
	cr_expect(gid_has_ip(&t, &own.ip));
	cr_expect_not(gid_has_ip(&t, &other.ip));
	cr_expect_eq(vlan_id(0x6005), 5);
	cr_expect_eq(vlan_id(0xe000), 0, "a mere priority");
}

/* Whatever comes and goes: no index changes hands while its address stays, none is there twice. */
Test(gid, indices_are_stable_in_any_history)
{
	struct gid_table t = {.len = 12};
	struct prng r;

	prng_seed(&r, 20261130);
	for (int round = 0; round < 20000; round++) {
		struct gid wanted[16] = {ll((uint8_t)prng_below(&r, 2))};
		struct gid_table before = t;
		struct gid_changes c;
		uint32_t n = 1, nb = 0;

		for (uint8_t i = 0; i < 15; i++)
			if (prng_below(&r, 2))
				wanted[n++] = ipv4(i % 8, i / 8);
		c = gid_table_set(&t, wanted, n);
		for (uint32_t i = 1; i < n; i++) {
			const struct gid *old = gid_find(&before, &wanted[i].ip, wanted[i].vlan);
			const struct gid *now = gid_find(&t, &wanted[i].ip, wanted[i].vlan);

			cr_assert(!old || (now && now - t.entry == old - before.entry));
		}
		for (uint32_t i = 0; i < t.len; i++)
			nb += gid_at(&t, i) != NULL;
		cr_assert_eq(nb + c.nb_left_out, n);
		cr_assert(is_at(&t, GID_LINK_LOCAL, wanted[0]));
	}
}
