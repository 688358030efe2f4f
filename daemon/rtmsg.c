/* SPDX-License-Identifier: BSD-3-Clause */
#include "rtmsg.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "be.h"

/* ---- from the kernel ---- */

/*
 * The fixed part of a message of one of two types; NULL if it is another, or cut short. The kernel
 * pads its attributes, and libmnl walks over them up to the next multiple of 4.
 */
static const void *
fixed_part(const struct nlmsghdr *msg, uint16_t type, uint16_t other, size_t size)
{
	if (msg->nlmsg_type != type && msg->nlmsg_type != other)
		return NULL;
	if (msg->nlmsg_len % MNL_ALIGNTO)
		return NULL;
	return mnl_nlmsg_get_payload_len(msg) >= size ? mnl_nlmsg_get_payload(msg) : NULL;
}

static bool
get_u32(const struct nlattr *attr, uint32_t *value)
{
	if (mnl_attr_get_payload_len(attr) < sizeof(*value))
		return false;
	*value = mnl_attr_get_u32(attr);
	return true;
}

static bool
get_mac(const struct nlattr *attr, uint8_t mac[6])
{
	if (mnl_attr_get_payload_len(attr) != 6)
		return false;
	memcpy(mac, mnl_attr_get_payload(attr), 6);
	return true;
}

static bool
get_ip_bytes(uint8_t family, const void *bytes, size_t len, struct ip_addr *ip)
{
	if (family == AF_INET && len == 4)
		ip_addr_from_ipv4(ip, bytes);
	else if (family == AF_INET6 && len == 16)
		memcpy(ip->b, bytes, 16);
	else
		return false;
	return true;
}

static bool
get_ip(uint8_t family, const struct nlattr *attr, struct ip_addr *ip)
{
	return get_ip_bytes(family, mnl_attr_get_payload(attr), mnl_attr_get_payload_len(attr), ip);
}

static void
get_vlan_data(const struct nlattr *data, struct rt_link *link)
{
	const struct nlattr *attr;
	uint16_t id = 0, protocol = ETH_P_8021Q;

	mnl_attr_for_each_nested(attr, data)
	{
		if (mnl_attr_get_payload_len(attr) < sizeof(uint16_t))
			continue;
		if (mnl_attr_get_type(attr) == IFLA_VLAN_ID)
			id = mnl_attr_get_u16(attr);
		if (mnl_attr_get_type(attr) == IFLA_VLAN_PROTOCOL)
			protocol = ntohs(mnl_attr_get_u16(attr));
	}
	if (protocol == ETH_P_8021Q && id < 4095)
		link->vlan = id;
}

static void
get_link_info(const struct nlattr *info, struct rt_link *link)
{
	const struct nlattr *attr, *data = NULL;
	bool is_vlan = false;

	mnl_attr_for_each_nested(attr, info)
	{
		if (mnl_attr_get_type(attr) == IFLA_INFO_KIND)
			is_vlan = mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0 &&
			          strcmp(mnl_attr_get_str(attr), "vlan") == 0;
		if (mnl_attr_get_type(attr) == IFLA_INFO_DATA)
			data = attr;
	}
	if (is_vlan && data)
		get_vlan_data(data, link);
}

bool
rtmsg_link(const struct nlmsghdr *msg, struct rt_link *link)
{
	const unsigned int usable = IFF_UP | IFF_RUNNING | IFF_LOWER_UP;
	const struct ifinfomsg *fixed =
		fixed_part(msg, RTM_NEWLINK, RTM_DELLINK, sizeof(struct ifinfomsg));
	const struct nlattr *attr;
	bool is_foreign = false;

	/* Bridges tell of their ports in messages of their own family. */
	if (!fixed || fixed->ifi_family != AF_UNSPEC || fixed->ifi_index <= 0)
		return false;
	*link = (struct rt_link){.ifindex = (uint32_t)fixed->ifi_index,
	                         .is_up = (fixed->ifi_flags & usable) == usable};
	mnl_attr_for_each(attr, msg, sizeof(*fixed))
	{
		switch (mnl_attr_get_type(attr)) {
		case IFLA_IFNAME:
			if (mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) < 0 ||
			    mnl_attr_get_payload_len(attr) > sizeof(link->name))
				return false;
			strcpy(link->name, mnl_attr_get_str(attr));
			break;
		case IFLA_ADDRESS:
			link->is_ethernet =
				fixed->ifi_type == ARPHRD_ETHER && get_mac(attr, link->mac);
			break;
		case IFLA_MTU:
			get_u32(attr, &link->mtu_bytes);
			break;
		case IFLA_LINK:
			get_u32(attr, &link->parent);
			break;
		case IFLA_LINK_NETNSID: /* the parent's index is that of another namespace */
			is_foreign = true;
			break;
		case IFLA_LINKINFO:
			get_link_info(attr, link);
			break;
		}
	}
	if (is_foreign)
		link->parent = 0;
	return true;
}

bool
rtmsg_addr(const struct nlmsghdr *msg, struct rt_addr *addr)
{
	const struct ifaddrmsg *fixed =
		fixed_part(msg, RTM_NEWADDR, RTM_DELADDR, sizeof(struct ifaddrmsg));
	const struct nlattr *attr;
	bool has_ip = false, is_own = false;
	uint32_t flags;

	if (!fixed || (fixed->ifa_family != AF_INET && fixed->ifa_family != AF_INET6))
		return false;
	*addr = (struct rt_addr){.ifindex = fixed->ifa_index, .prefix_bits = fixed->ifa_prefixlen};
	flags = fixed->ifa_flags;
	mnl_attr_for_each(attr, msg, sizeof(*fixed))
	{
		switch (mnl_attr_get_type(attr)) {
		case IFA_LOCAL: /* IFA_ADDRESS is the other end's then, if there is one */
			has_ip = is_own = get_ip(fixed->ifa_family, attr, &addr->ip);
			break;
		case IFA_ADDRESS:
			if (!is_own)
				has_ip = get_ip(fixed->ifa_family, attr, &addr->ip);
			break;
		case IFA_FLAGS: /* those above have 8 bits */
			get_u32(attr, &flags);
			break;
		}
	}
	addr->is_usable = !(flags & IFA_F_DADFAILED) &&
	                  (!(flags & IFA_F_TENTATIVE) || (flags & IFA_F_OPTIMISTIC));
	return has_ip && !ip_addr_is_unspecified(&addr->ip);
}

bool
rtmsg_neigh(const struct nlmsghdr *msg, struct rt_neigh *neigh)
{
	const struct ndmsg *fixed =
		fixed_part(msg, RTM_NEWNEIGH, RTM_DELNEIGH, sizeof(struct ndmsg));
	const struct nlattr *attr;
	bool has_ip = false;

	if (!fixed || (fixed->ndm_family != AF_INET && fixed->ndm_family != AF_INET6))
		return false;
	*neigh = (struct rt_neigh){.ifindex = (uint32_t)fixed->ndm_ifindex,
	                           .state = fixed->ndm_state};
	mnl_attr_for_each(attr, msg, sizeof(*fixed))
	{
		if (mnl_attr_get_type(attr) == NDA_DST)
			has_ip = get_ip(fixed->ndm_family, attr, &neigh->ip);
		if (mnl_attr_get_type(attr) == NDA_LLADDR)
			neigh->has_mac = get_mac(attr, neigh->mac);
	}
	return has_ip;
}

bool
rtmsg_route(const struct nlmsghdr *msg, struct rt_route *route)
{
	const struct rtmsg *fixed =
		fixed_part(msg, RTM_NEWROUTE, RTM_NEWROUTE, sizeof(struct rtmsg));
	const struct nlattr *attr;
	const struct rtvia *via;

	if (!fixed)
		return false;
	*route = (struct rt_route){.type = fixed->rtm_type};
	mnl_attr_for_each(attr, msg, sizeof(*fixed))
	{
		switch (mnl_attr_get_type(attr)) {
		case RTA_OIF:
			get_u32(attr, &route->ifindex);
			break;
		case RTA_GATEWAY:
			route->has_gateway = get_ip(fixed->rtm_family, attr, &route->gateway);
			break;
		case RTA_VIA:
			via = mnl_attr_get_payload(attr);
			if (mnl_attr_get_payload_len(attr) < sizeof(*via))
				return false;
			route->has_gateway = get_ip_bytes(
				(uint8_t)via->rtvia_family, via->rtvia_addr,
				mnl_attr_get_payload_len(attr) - sizeof(*via), &route->gateway);
			break;
		}
	}
	return route->ifindex != 0;
}

/* ---- to the kernel ---- */

static struct nlmsghdr *
begin(void *buf, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *msg = mnl_nlmsg_put_header(buf);

	msg->nlmsg_type = type;
	msg->nlmsg_flags = NLM_F_REQUEST | flags;
	return msg;
}

static uint8_t
family_of(const struct ip_addr *ip)
{
	return ip_addr_is_ipv4(ip) ? AF_INET : AF_INET6;
}

static void
put_ip(struct nlmsghdr *msg, uint16_t type, const struct ip_addr *ip)
{
	if (ip_addr_is_ipv4(ip))
		mnl_attr_put(msg, type, 4, ip->b + 12);
	else
		mnl_attr_put(msg, type, 16, ip->b);
}

struct nlmsghdr *
rtmsg_put_dump(void *buf, uint16_t type)
{
	struct nlmsghdr *msg = begin(buf, type, NLM_F_DUMP);

	/* The fixed parts of both kinds begin with the family, and the rest may be missing. */
	mnl_nlmsg_put_extra_header(msg, type == RTM_GETLINK ? sizeof(struct ifinfomsg)
	                                                    : sizeof(struct ifaddrmsg));
	return msg;
}

struct nlmsghdr *
rtmsg_put_get_route(void *buf, const struct ip_addr *ip, uint32_t ifindex)
{
	struct nlmsghdr *msg = begin(buf, RTM_GETROUTE, 0);
	struct rtmsg *fixed = mnl_nlmsg_put_extra_header(msg, sizeof(*fixed));

	fixed->rtm_family = family_of(ip);
	fixed->rtm_dst_len = ip_addr_is_ipv4(ip) ? 32 : 128;
	put_ip(msg, RTA_DST, ip);
	mnl_attr_put_u32(msg, RTA_OIF, ifindex);
	return msg;
}

static struct nlmsghdr *
put_neigh(void *buf, uint16_t type, uint16_t flags, uint8_t ntf, const struct ip_addr *ip,
          uint32_t ifindex)
{
	struct nlmsghdr *msg = begin(buf, type, flags);
	struct ndmsg *fixed = mnl_nlmsg_put_extra_header(msg, sizeof(*fixed));

	fixed->ndm_family = family_of(ip);
	fixed->ndm_ifindex = (int)ifindex;
	fixed->ndm_flags = ntf;
	put_ip(msg, NDA_DST, ip);
	return msg;
}

struct nlmsghdr *
rtmsg_put_get_neigh(void *buf, const struct ip_addr *ip, uint32_t ifindex)
{
	return put_neigh(buf, RTM_GETNEIGH, 0, 0, ip, ifindex);
}

struct nlmsghdr *
rtmsg_put_use_neigh(void *buf, const struct ip_addr *ip, uint32_t ifindex)
{
	return put_neigh(buf, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_ACK, NTF_USE, ip, ifindex);
}
