/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "netmsg.h"
#include "prng.h"
#include "rtmsg.h"

static const uint8_t mac[6] = {2, 0, 0, 0, 0, 7};

static struct ip_addr
ip(const char *text)
{
	struct ip_addr a;

	cr_assert(ip_addr_parse(text, &a));
	return a;
}

Test(rtmsg, a_link_has_its_name_mac_mtu_and_state)
{
	static const struct {
		unsigned int flags;
		bool is_up;
	} rows[] = {
		{IFF_UP | IFF_RUNNING | IFF_LOWER_UP, true},
		{IFF_UP, false},                /* no carrier */
		{IFF_UP | IFF_LOWER_UP, false}, /* dormant */
		{IFF_RUNNING | IFF_LOWER_UP, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct netmsg m;
		struct rt_link link;

		netmsg_link(&m, RTM_NEWLINK, 3, "eth0", mac, rows[i].flags);
		mnl_attr_put_u32(m.msg, IFLA_MTU, 9000);
		cr_assert(rtmsg_link(m.msg, &link));
		cr_expect(link.ifindex == 3 && link.mtu_bytes == 9000 && link.is_ethernet);
		cr_expect_str_eq(link.name, "eth0");
		cr_expect_arr_eq(link.mac, mac, 6);
		cr_expect_eq(link.is_up, rows[i].is_up, "row %zu", i);
		cr_expect(link.vlan == 0 && link.parent == 0);
	}
}

Test(rtmsg, a_vlan_has_its_id_and_parent_unless_that_is_elsewhere)
{
	static const struct {
		const char *kind;
		uint16_t protocol;
		bool is_foreign;
		uint16_t vlan;
		uint32_t parent;
	} rows[] = {
		{"vlan", ETH_P_8021Q, false, 100, 3},
		{"vlan", ETH_P_8021AD, false, 0, 3}, /* provider bridging */
		{"macvlan", ETH_P_8021Q, false, 0, 3},
		{"vlan", ETH_P_8021Q, true, 100, 0}, /* index 3 of another namespace */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct netmsg m;
		struct rt_link link;

		netmsg_link(&m, RTM_NEWLINK, 9, "eth0.100", mac, IFF_UP);
		netmsg_vlan(&m, 3, 100, rows[i].kind, rows[i].protocol);
		if (rows[i].is_foreign)
			mnl_attr_put_u32(m.msg, IFLA_LINK_NETNSID, 0);
		cr_assert(rtmsg_link(m.msg, &link));
		cr_expect_eq(link.vlan, rows[i].vlan, "row %zu", i);
		cr_expect_eq(link.parent, rows[i].parent, "row %zu", i);
	}
}

Test(rtmsg, what_is_no_link_of_ours_is_passed_over)
{
	struct netmsg m;
	struct rt_link link;

	netmsg_link(&m, RTM_NEWLINK, 3, "eth0", mac, IFF_UP);
	((struct ifinfomsg *)mnl_nlmsg_get_payload(m.msg))->ifi_family = AF_BRIDGE;
	cr_expect_not(rtmsg_link(m.msg, &link), "a bridge's words about its port");
	netmsg_link(&m, RTM_NEWLINK, 0, "eth0", mac, IFF_UP);
	cr_expect_not(rtmsg_link(m.msg, &link), "no index");
	netmsg_link(&m, RTM_NEWLINK, 3, "a_name_of_sixteen", mac, IFF_UP);
	cr_expect_not(rtmsg_link(m.msg, &link), "a name that is too long");
	netmsg_link(&m, RTM_NEWADDR, 3, "eth0", mac, IFF_UP);
	cr_expect_not(rtmsg_link(m.msg, &link));
	netmsg_link(&m, RTM_NEWLINK, 1, "lo", mac, IFF_UP);
	((struct ifinfomsg *)mnl_nlmsg_get_payload(m.msg))->ifi_type = ARPHRD_LOOPBACK;
	cr_assert(rtmsg_link(m.msg, &link));
	cr_expect_not(link.is_ethernet);
}

Test(rtmsg, an_address_is_the_own_one_and_usable_when_it_is_not_tentative)
{
	static const struct {
		const char *local, *address, *want;
		uint32_t flags;
		bool is_usable;
	} rows[] = {
		{"10.0.0.1", "10.0.0.1", "10.0.0.1", IFA_F_PERMANENT, true},
		{"10.0.0.1", "10.0.0.9", "10.0.0.1", 0, true}, /* the other end of a pair */
		{NULL, "fd00::1", "fd00::1", IFA_F_PERMANENT, true},
		{NULL, "fd00::1", "fd00::1", IFA_F_TENTATIVE, false},
		{NULL, "fd00::1", "fd00::1", IFA_F_TENTATIVE | IFA_F_OPTIMISTIC, true},
		{NULL, "fd00::1", "fd00::1", IFA_F_TENTATIVE | IFA_F_DADFAILED, false},
		{NULL, "fd00::1", "fd00::1", IFA_F_DEPRECATED | IFA_F_MANAGETEMPADDR, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int order = 0; order < 2; order++) {
			struct ip_addr want = ip(rows[i].want);
			struct netmsg m;
			struct rt_addr addr;

			netmsg_addr(&m, RTM_NEWADDR, 3, &want);
			for (int k = 0; k < 2; k++) {
				struct ip_addr a;

				if ((k ^ order) && rows[i].local) {
					a = ip(rows[i].local);
					netmsg_ip(&m, IFA_LOCAL, &a);
				} else if (!(k ^ order)) {
					a = ip(rows[i].address);
					netmsg_ip(&m, IFA_ADDRESS, &a);
				}
			}
			mnl_attr_put_u32(m.msg, IFA_FLAGS, rows[i].flags);
			cr_assert(rtmsg_addr(m.msg, &addr), "row %zu", i);
			cr_expect_arr_eq(addr.ip.b, want.b, 16, "row %zu", i);
			cr_expect_eq(addr.is_usable, rows[i].is_usable, "row %zu", i);
			cr_expect_eq(addr.ifindex, 3);
		}
}

Test(rtmsg, neighbours_and_routes_are_read)
{
	struct ip_addr a = ip("10.0.0.7"), gateway = ip("fe80::1");
	struct rt_neigh neigh;
	struct rt_route route;
	struct netmsg m;
	uint8_t via[18] = {0};
	uint16_t family = AF_INET6;

	netmsg_neigh(&m, RTM_NEWNEIGH, 3, &a, NUD_STALE, mac);
	cr_assert(rtmsg_neigh(m.msg, &neigh));
	cr_expect(neigh.ifindex == 3 && neigh.state == NUD_STALE && neigh.has_mac);
	cr_expect_arr_eq(neigh.ip.b, a.b, 16);
	cr_expect_arr_eq(neigh.mac, mac, 6);
	netmsg_neigh(&m, RTM_NEWNEIGH, 3, &a, NUD_FAILED, NULL);
	cr_assert(rtmsg_neigh(m.msg, &neigh));
	cr_expect_not(neigh.has_mac);

	netmsg_route(&m, AF_INET, RTN_UNICAST, 3);
	cr_assert(rtmsg_route(m.msg, &route));
	cr_expect(route.ifindex == 3 && route.type == RTN_UNICAST && !route.has_gateway);
	memcpy(via, &family, sizeof(family));
	memcpy(via + 2, gateway.b, 16);
	mnl_attr_put(m.msg, RTA_VIA, sizeof(via), via);
	cr_assert(rtmsg_route(m.msg, &route));
	cr_expect(route.has_gateway);
	cr_expect_arr_eq(route.gateway.b, gateway.b, 16, "IPv4 by way of an IPv6 router");
	netmsg_route(&m, AF_INET, RTN_UNICAST, 3);
	netmsg_ip(&m, RTA_GATEWAY, &a);
	cr_assert(rtmsg_route(m.msg, &route));
	cr_expect_arr_eq(route.gateway.b, a.b, 16);
}

Test(rtmsg, requests_fit_and_read_back)
{
	struct ip_addr a = ip("10.0.0.7"), b = ip("fd00::7");
	uint8_t buf[RTMSG_MAX];
	struct nlmsghdr *msg;
	struct rt_neigh neigh;

	for (int i = 0; i < 2; i++) {
		const struct ip_addr *to = i ? &b : &a;

		msg = rtmsg_put_use_neigh(buf, to, 5);
		cr_assert_leq(msg->nlmsg_len, RTMSG_MAX);
		cr_expect(rtmsg_neigh(msg, &neigh));
		cr_expect_eq(neigh.ifindex, 5);
		cr_expect_arr_eq(neigh.ip.b, to->b, 16);
		cr_expect(msg->nlmsg_flags & NLM_F_CREATE && !(msg->nlmsg_flags & NLM_F_REPLACE));
		cr_assert_leq(rtmsg_put_get_route(buf, to, 5)->nlmsg_len, RTMSG_MAX);
		cr_assert_leq(rtmsg_put_get_neigh(buf, to, 5)->nlmsg_len, RTMSG_MAX);
	}
	cr_expect_eq(rtmsg_put_dump(buf, RTM_GETLINK)->nlmsg_flags & NLM_F_DUMP, NLM_F_DUMP);
}

/* Memory of exactly the message's length: a sanitizer sees what is read behind it. */
static void
read_all(const struct nlmsghdr *msg, uint32_t len)
{
	struct nlmsghdr *copy = malloc(len);
	struct rt_neigh neigh;
	struct rt_route route;
	struct rt_link link;
	struct rt_addr addr;

	cr_assert(copy);
	memcpy(copy, msg, len);
	copy->nlmsg_len = len;
	if (rtmsg_link(copy, &link))
		cr_assert_lt(strnlen(link.name, sizeof(link.name)), sizeof(link.name));
	rtmsg_addr(copy, &addr);
	rtmsg_neigh(copy, &neigh);
	rtmsg_route(copy, &route);
	free(copy);
}

Test(rtmsg, nothing_is_read_behind_the_end_of_what_is_cut_or_broken)
{
	static const uint16_t types[] = {RTM_NEWLINK, RTM_NEWADDR, RTM_NEWNEIGH, RTM_NEWROUTE};
	struct ip_addr a = ip("fd00::7");
	struct prng r;

	prng_seed(&r, 20261130);
	for (uint32_t round = 0; round < 20000; round++) {
		struct netmsg m;
		uint32_t len;

		switch (round % 4) {
		case 0:
			netmsg_link(&m, RTM_NEWLINK, 9, "eth0.100", mac, IFF_UP);
			netmsg_vlan(&m, 3, 100, "vlan", ETH_P_8021Q);
			break;
		case 1:
			netmsg_addr(&m, RTM_NEWADDR, 3, &a);
			netmsg_ip(&m, IFA_ADDRESS, &a);
			break;
		case 2:
			netmsg_neigh(&m, RTM_NEWNEIGH, 3, &a, NUD_STALE, mac);
			break;
		case 3:
			netmsg_route(&m, AF_INET6, RTN_UNICAST, 3);
			netmsg_ip(&m, RTA_GATEWAY, &a);
			break;
		}
		len = m.msg->nlmsg_len;
		for (uint32_t flips = prng_below(&r, 4); flips > 0; flips--)
			m.buf[sizeof(struct nlmsghdr) +
			      prng_below(&r, len - (uint32_t)sizeof(struct nlmsghdr))] =
				(uint8_t)prng_next(&r);
		m.msg->nlmsg_type = types[prng_below(&r, 16) ? round % 4 : prng_below(&r, 4)];
		if (prng_below(&r, 2))
			len = (uint32_t)sizeof(struct nlmsghdr) +
			      prng_below(&r, len - (uint32_t)sizeof(struct nlmsghdr) + 1);
		read_all(m.msg, len);
	}
}
