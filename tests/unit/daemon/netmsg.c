/* SPDX-License-Identifier: BSD-3-Clause */
#include "netmsg.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>

static void *
begin(struct netmsg *m, uint16_t type, size_t size)
{
	memset(m->buf, 0, sizeof(m->buf));
	m->msg = mnl_nlmsg_put_header(m->buf);
	m->msg->nlmsg_type = type;
	return mnl_nlmsg_put_extra_header(m->msg, size);
}

void
netmsg_link(struct netmsg *m, uint16_t type, int ifindex, const char *name, const uint8_t mac[6],
            unsigned int flags)
{
	struct ifinfomsg *fixed = begin(m, type, sizeof(*fixed));

	fixed->ifi_type = ARPHRD_ETHER;
	fixed->ifi_index = ifindex;
	fixed->ifi_flags = flags;
	mnl_attr_put_strz(m->msg, IFLA_IFNAME, name);
	mnl_attr_put(m->msg, IFLA_ADDRESS, 6, mac);
}

void
netmsg_vlan(struct netmsg *m, uint32_t parent, uint16_t id, const char *kind, uint16_t protocol)
{
	struct nlattr *info, *data;

	mnl_attr_put_u32(m->msg, IFLA_LINK, parent);
	info = mnl_attr_nest_start(m->msg, IFLA_LINKINFO);
	mnl_attr_put_strz(m->msg, IFLA_INFO_KIND, kind);
	data = mnl_attr_nest_start(m->msg, IFLA_INFO_DATA);
	mnl_attr_put_u16(m->msg, IFLA_VLAN_PROTOCOL, htons(protocol));
	mnl_attr_put_u16(m->msg, IFLA_VLAN_ID, id);
	mnl_attr_nest_end(m->msg, data);
	mnl_attr_nest_end(m->msg, info);
}

static uint8_t
family(const struct ip_addr *ip)
{
	return ip_addr_is_ipv4(ip) ? AF_INET : AF_INET6;
}

void
netmsg_ip(struct netmsg *m, uint16_t attr, const struct ip_addr *ip)
{
	if (ip_addr_is_ipv4(ip))
		mnl_attr_put(m->msg, attr, 4, ip->b + 12);
	else
		mnl_attr_put(m->msg, attr, 16, ip->b);
}

void
netmsg_addr(struct netmsg *m, uint16_t type, uint32_t ifindex, const struct ip_addr *family_of)
{
	struct ifaddrmsg *fixed = begin(m, type, sizeof(*fixed));

	fixed->ifa_family = family(family_of);
	fixed->ifa_index = ifindex;
}

void
netmsg_neigh(struct netmsg *m, uint16_t type, int ifindex, const struct ip_addr *ip, uint16_t state,
             const uint8_t *mac)
{
	struct ndmsg *fixed = begin(m, type, sizeof(*fixed));

	fixed->ndm_family = family(ip);
	fixed->ndm_ifindex = ifindex;
	fixed->ndm_state = state;
	netmsg_ip(m, NDA_DST, ip);
	if (mac)
		mnl_attr_put(m->msg, NDA_LLADDR, 6, mac);
}

void
netmsg_route(struct netmsg *m, uint8_t rtm_family, uint8_t type, uint32_t ifindex)
{
	struct rtmsg *fixed = begin(m, RTM_NEWROUTE, sizeof(*fixed));

	fixed->rtm_family = rtm_family;
	fixed->rtm_type = type;
	mnl_attr_put_u32(m->msg, RTA_OIF, ifindex);
}
