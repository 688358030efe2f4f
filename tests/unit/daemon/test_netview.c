/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "netmsg.h"
#include "netview.h"

#define UP (IFF_UP | IFF_RUNNING | IFF_LOWER_UP)

static const uint8_t mac[6] = {2, 0, 0, 0, 0, 7};
static const uint8_t other_mac[6] = {2, 0, 0, 0, 0, 8};

static void
tell_link(struct netview *v, uint16_t type, int ifindex, const char *name, unsigned int flags)
{
	struct netmsg m;

	netmsg_link(&m, type, ifindex, name, mac, flags);
	mnl_attr_put_u32(m.msg, IFLA_MTU, 1500);
	netview_take(v, m.msg);
}

static void
tell_vlan(struct netview *v, int ifindex, const char *name, uint16_t id, const uint8_t its_mac[6])
{
	struct netmsg m;

	netmsg_link(&m, RTM_NEWLINK, ifindex, name, its_mac, UP);
	netmsg_vlan(&m, 3, id, "vlan", ETH_P_8021Q);
	netview_take(v, m.msg);
}

static struct ip_addr
ip(const char *text)
{
	struct ip_addr a;

	cr_assert(ip_addr_parse(text, &a));
	return a;
}

static void
tell_addr(struct netview *v, uint16_t type, uint32_t ifindex, const char *text, uint32_t flags)
{
	struct ip_addr a = ip(text);
	struct netmsg m;

	netmsg_addr(&m, type, ifindex, &a);
	netmsg_ip(&m, ip_addr_is_ipv4(&a) ? IFA_LOCAL : IFA_ADDRESS, &a);
	mnl_attr_put_u32(m.msg, IFA_FLAGS, flags);
	netview_take(v, m.msg);
}

/* "fe80::1 10.0.0.1 10.1.0.1@5": the addresses of interface 3, in order. */
static void
expect_gids(const struct netview *v, const char *want)
{
	struct gid gids[NETVIEW_MAX_GIDS];
	struct nic_iface iface = {0};
	char text[1024] = "";

	netview_nic(v, 3, &iface, gids);
	for (uint32_t i = 0; i < iface.nb_gids; i++) {
		const struct gid *gid = &iface.gids[i];
		char one[IP_ADDR_TEXT];
		size_t len = strlen(text);

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i ? " " : "",
		                        ip_addr_text(&gid->ip, one));
		if (gid->vlan)
			snprintf(text + len, sizeof(text) - len, "@%u", gid->vlan);
		cr_expect_eq(gid->ifindex, gid->vlan ? gid->vlan : 3);
	}
	cr_expect_str_eq(text, want);
}

Test(netview, gids_come_as_rdma_users_expect_them)
{
	struct netview v = {0};

	tell_addr(&v, RTM_NEWADDR, 3, "fd00::1", 0); /* in any order */
	tell_addr(&v, RTM_NEWADDR, 100, "fe80::7", 0);
	tell_addr(&v, RTM_NEWADDR, 100, "fd00:100::1", 0);
	tell_addr(&v, RTM_NEWADDR, 100, "10.100.0.1", 0);
	tell_addr(&v, RTM_NEWADDR, 3, "10.0.0.1", 0);
	tell_addr(&v, RTM_NEWADDR, 3, "10.0.0.2", 0);
	tell_addr(&v, RTM_NEWADDR, 3, "fe80::7", 0);
	tell_addr(&v, RTM_NEWADDR, 1, "127.0.0.1", 0);
	tell_vlan(&v, 100, "eth0.100", 100, mac);
	tell_link(&v, RTM_NEWLINK, 1, "lo", UP);
	tell_link(&v, RTM_NEWLINK, 3, "eth0", UP);
	expect_gids(&v, "fe80::7 10.0.0.1 10.0.0.2 fd00::1 fe80::7@100 10.100.0.1@100 "
	                "fd00:100::1@100");
	cr_expect_eq(netview_vlan(&v, 3, 0), 3);
	cr_expect_eq(netview_vlan(&v, 3, 100), 100);
	cr_expect_eq(netview_vlan(&v, 3, 101), 0);
	netview_fini(&v);
}

Test(netview, without_a_link_local_address_gid_0_is_the_macs)
{
	struct netview v = {0};

	tell_link(&v, RTM_NEWLINK, 3, "eth0", UP);
	expect_gids(&v, "fe80::ff:fe00:7");
	tell_addr(&v, RTM_NEWADDR, 3, "10.0.0.1", 0);
	tell_addr(&v, RTM_NEWADDR, 3, "fe80::1234", IFA_F_TENTATIVE);
	expect_gids(&v, "fe80::ff:fe00:7 10.0.0.1");
	tell_addr(&v, RTM_NEWADDR, 3, "fe80::1234", IFA_F_PERMANENT);
	expect_gids(&v, "fe80::1234 10.0.0.1");
	tell_addr(&v, RTM_DELADDR, 3, "fe80::1234", 0);
	expect_gids(&v, "fe80::ff:fe00:7 10.0.0.1");
	netview_fini(&v);
}

Test(netview, a_vlan_with_a_mac_of_its_own_is_another_interface)
{
	struct netview v = {0};

	tell_link(&v, RTM_NEWLINK, 3, "eth0", UP);
	tell_vlan(&v, 5, "eth0.5", 5, mac);
	tell_vlan(&v, 6, "eth0.6", 6, other_mac);
	tell_addr(&v, RTM_NEWADDR, 5, "10.5.0.1", 0);
	tell_addr(&v, RTM_NEWADDR, 6, "10.6.0.1", 0);
	expect_gids(&v, "fe80::ff:fe00:7 10.5.0.1@5");
	cr_expect_eq(netview_vlan(&v, 3, 6), 0);
	netview_fini(&v);
}

Test(netview, what_goes_is_gone_and_what_is_told_twice_is_there_once)
{
	struct gid gids[NETVIEW_MAX_GIDS];
	struct nic_iface iface = {.is_up = true, .ip_mtu_bytes = 1400, .mac = {2, 9}};
	struct netview v = {0};

	for (int i = 0; i < 2; i++) {
		tell_link(&v, RTM_NEWLINK, 3, "eth0", UP);
		tell_addr(&v, RTM_NEWADDR, 3, "10.0.0.1", 0);
		tell_addr(&v, RTM_NEWADDR, 3, "10.0.0.2", 0);
	}
	cr_expect(v.nb_links == 1 && v.nb_addrs == 2);
	tell_addr(&v, RTM_DELADDR, 3, "10.0.0.1", 0);
	tell_addr(&v, RTM_DELADDR, 3, "10.0.0.9", 0);
	expect_gids(&v, "fe80::ff:fe00:7 10.0.0.2");
	tell_link(&v, RTM_NEWLINK, 3, "lan0", IFF_UP);
	cr_assert_not_null(netview_find(&v, "lan0"));
	cr_expect_null(netview_find(&v, "eth0"));
	cr_expect(netview_nic(&v, 3, &iface, gids));
	cr_expect(!iface.is_up && iface.ip_mtu_bytes == 1500);
	cr_expect_arr_eq(iface.mac, mac, 6);
	tell_link(&v, RTM_DELLINK, 3, "lan0", 0);
	cr_expect_null(netview_link(&v, 3));
	cr_expect_eq(v.nb_addrs, 0, "they go with it");
	iface.is_up = true;
	cr_expect_not(netview_nic(&v, 3, &iface, gids));
	cr_expect(!iface.is_up && iface.nb_gids == 1 && iface.ip_mtu_bytes == 1500);
	netview_fini(&v);
}

static void
tell_prefix(struct netview *v, uint16_t type, uint8_t bits)
{
	struct ip_addr a = ip("10.0.0.1");
	struct netmsg m;

	netmsg_addr(&m, type, 3, &a);
	((struct ifaddrmsg *)mnl_nlmsg_get_payload(m.msg))->ifa_prefixlen = bits;
	netmsg_ip(&m, IFA_LOCAL, &a);
	netview_take(v, m.msg);
}

Test(netview, an_address_with_two_prefixes_is_there_until_both_have_gone)
{
	struct netview v = {0};

	tell_link(&v, RTM_NEWLINK, 3, "eth0", UP);
	tell_prefix(&v, RTM_NEWADDR, 24);
	tell_prefix(&v, RTM_NEWADDR, 16);
	expect_gids(&v, "fe80::ff:fe00:7 10.0.0.1");
	tell_prefix(&v, RTM_DELADDR, 24);
	expect_gids(&v, "fe80::ff:fe00:7 10.0.0.1");
	tell_prefix(&v, RTM_DELADDR, 16);
	expect_gids(&v, "fe80::ff:fe00:7");
	netview_fini(&v);
}

Test(netview, many_interfaces_and_addresses_are_kept_and_only_so_many)
{
	struct netview v = {0};
	char name[16], text[32];

	tell_link(&v, RTM_NEWLINK, 3, "eth0", UP);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "veth%d", i);
		snprintf(text, sizeof(text), "10.1.%d.%d", i / 250, 1 + i % 250);
		tell_link(&v, RTM_NEWLINK, 10 + i, name, UP);
		tell_addr(&v, RTM_NEWADDR, 3, text, 0);
	}
	cr_expect(v.nb_links == 1001 && v.nb_addrs == 1000 && !v.is_cut);
	{
		struct gid gids[NETVIEW_MAX_GIDS];
		struct nic_iface iface = {0};

		netview_nic(&v, 3, &iface, gids);
		cr_expect_eq(iface.nb_gids, NETVIEW_MAX_GIDS);
	}
	netview_clear(&v);
	cr_expect_null(netview_link(&v, 3));
	netview_fini(&v);
}
