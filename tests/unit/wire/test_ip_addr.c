/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "ip_addr.h"

Test(ip_addr, a_text_and_an_address_are_each_others)
{
	static const struct {
		const char *text;
		bool is_ipv4;
		struct ip_addr ip;
	} rows[] = {
		{"10.0.0.1", true, {{[10] = 0xff, 0xff, 10, 0, 0, 1}}},
		{"0.0.0.0", true, {{[10] = 0xff, 0xff}}},
		{"255.255.255.255", true, {{[10] = 0xff, 0xff, 255, 255, 255, 255}}},
		{"fd00::1", false, {{0xfd, [15] = 1}}},
		{"::", false, {{0}}},
		{"::1", false, {{[15] = 1}}},
		{"1111:2222:3333:4444:5555:6666:7777:8888",
	         false,
	         {{0x11, 0x11, 0x22, 0x22, 0x33, 0x33, 0x44, 0x44, 0x55, 0x55, 0x66, 0x66, 0x77,
	           0x77, 0x88, 0x88}}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[IP_ADDR_TEXT];
		struct ip_addr ip;

		cr_assert(ip_addr_parse(rows[i].text, &ip), "row %zu", i);
		cr_expect_eq(memcmp(&ip, &rows[i].ip, sizeof(ip)), 0, "row %zu", i);
		cr_expect_eq(ip_addr_is_ipv4(&ip), rows[i].is_ipv4, "row %zu", i);
		cr_expect_str_eq(ip_addr_text(&ip, text), rows[i].text);
	}
}

Test(ip_addr, a_mapped_address_is_an_ipv4_one)
{
	char text[IP_ADDR_TEXT];
	struct ip_addr ip;

	cr_assert(ip_addr_parse("::ffff:10.0.0.1", &ip));
	cr_expect(ip_addr_is_ipv4(&ip));
	cr_expect_str_eq(ip_addr_text(&ip, text), "10.0.0.1");
}

Test(ip_addr, what_is_no_address_is_refused)
{
	static const char *const rows[] = {"",       "10.0.0", "10.0.0.256", "10.0.0.1/24",
	                                   "fd00:1", "host",   " 10.0.0.1",  "fe80::1%eth0"};
	struct ip_addr ip;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_not(ip_addr_parse(rows[i], &ip), "row %zu", i);
}
