/* SPDX-License-Identifier: BSD-3-Clause */
#include "netview.h"

#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

/* Interfaces and addresses are few, and looked through. */

/* Room for one more of an array that doubles; NULL if there is none. */
static void *
grow(void *array, uint32_t nb, uint32_t *room, size_t size)
{
	uint32_t more = *room ? *room * 2 : 64;
	void *grown;

	if (nb < *room)
		return array;
	grown = more <= NETVIEW_MAX ? realloc(array, more * size) : NULL;
	if (grown)
		*room = more;
	return grown;
}

void
netview_fini(struct netview *v)
{
	free(v->links);
	free(v->addrs);
	*v = (struct netview){0};
}

void
netview_clear(struct netview *v)
{
	v->nb_links = v->nb_addrs = 0;
	v->is_cut = false;
}

/* ---- links ---- */

static struct rt_link *
find_link(const struct netview *v, uint32_t ifindex)
{
	for (uint32_t i = 0; i < v->nb_links; i++)
		if (v->links[i].ifindex == ifindex)
			return &v->links[i];
	return NULL;
}

static void
put_link(struct netview *v, const struct rt_link *link)
{
	struct rt_link *at = find_link(v, link->ifindex);
	struct rt_link *grown;

	if (at) {
		*at = *link;
		return;
	}
	grown = grow(v->links, v->nb_links, &v->room_links, sizeof(*grown));
	if (!grown) {
		v->is_cut = true;
		return;
	}
	v->links = grown;
	v->links[v->nb_links++] = *link;
}

static void
del_link(struct netview *v, uint32_t ifindex)
{
	struct rt_link *at = find_link(v, ifindex);
	uint32_t kept = 0;

	if (at)
		*at = v->links[--v->nb_links];
	/* Its addresses went before it; if that message was lost they go now. */
	for (uint32_t i = 0; i < v->nb_addrs; i++)
		if (v->addrs[i].ifindex != ifindex)
			v->addrs[kept++] = v->addrs[i];
	v->nb_addrs = kept;
}

/* ---- addresses ---- */

static bool
is_same(const struct rt_addr *a, const struct rt_addr *b)
{
	return a->ifindex == b->ifindex && a->prefix_bits == b->prefix_bits &&
	       memcmp(&a->ip, &b->ip, sizeof(a->ip)) == 0;
}

/* In the kernel's order: that of their coming. */
static void
del_addr(struct netview *v, const struct rt_addr *addr)
{
	for (uint32_t i = 0; i < v->nb_addrs; i++) {
		if (!is_same(&v->addrs[i], addr))
			continue;
		v->nb_addrs--;
		memmove(&v->addrs[i], &v->addrs[i + 1], (v->nb_addrs - i) * sizeof(*v->addrs));
		return;
	}
}

/* Told once more when it becomes usable. */
static void
put_addr(struct netview *v, const struct rt_addr *addr)
{
	struct rt_addr *grown;

	for (uint32_t i = 0; i < v->nb_addrs; i++) {
		if (is_same(&v->addrs[i], addr)) {
			v->addrs[i] = *addr;
			return;
		}
	}
	grown = grow(v->addrs, v->nb_addrs, &v->room_addrs, sizeof(*grown));
	if (!grown) {
		v->is_cut = true;
		return;
	}
	v->addrs = grown;
	v->addrs[v->nb_addrs++] = *addr;
}

void
netview_take(struct netview *v, const struct nlmsghdr *msg)
{
	struct rt_link link;
	struct rt_addr addr;

	if (rtmsg_link(msg, &link)) {
		if (msg->nlmsg_type == RTM_NEWLINK)
			put_link(v, &link);
		else
			del_link(v, link.ifindex);
	} else if (rtmsg_addr(msg, &addr)) {
		if (msg->nlmsg_type == RTM_NEWADDR)
			put_addr(v, &addr);
		else
			del_addr(v, &addr);
	}
}

/* ---- what it makes of a NIC ---- */

const struct rt_link *
netview_link(const struct netview *v, uint32_t ifindex)
{
	return find_link(v, ifindex);
}

const struct rt_link *
netview_find(const struct netview *v, const char *name)
{
	for (uint32_t i = 0; i < v->nb_links; i++)
		if (strcmp(v->links[i].name, name) == 0)
			return &v->links[i];
	return NULL;
}

/* One with a MAC of its own would need frames of its own. */
static bool
is_vlan_of(const struct rt_link *link, const struct rt_link *parent)
{
	return link->vlan && link->parent == parent->ifindex && link->is_ethernet &&
	       memcmp(link->mac, parent->mac, sizeof(link->mac)) == 0;
}

uint32_t
netview_vlan(const struct netview *v, uint32_t ifindex, uint16_t vlan)
{
	const struct rt_link *parent = find_link(v, ifindex);

	if (!parent)
		return 0;
	if (!vlan)
		return ifindex;
	for (uint32_t i = 0; i < v->nb_links; i++)
		if (v->links[i].vlan == vlan && is_vlan_of(&v->links[i], parent))
			return v->links[i].ifindex;
	return 0;
}

enum addr_class { LINK_LOCAL, IPV4, IPV6 };

static enum addr_class
class_of(const struct ip_addr *ip)
{
	if (ip_addr_is_ipv4(ip))
		return IPV4;
	return ip->b[0] == 0xfe && (ip->b[1] & 0xc0) == 0x80 ? LINK_LOCAL : IPV6;
}

/* One with two prefixes is one GID. */
static bool
is_there(const struct gid *gids, uint32_t nb, const struct ip_addr *ip, uint16_t vlan)
{
	for (uint32_t i = 0; i < nb; i++)
		if (gids[i].vlan == vlan && memcmp(&gids[i].ip, ip, sizeof(*ip)) == 0)
			return true;
	return false;
}

static void
add_class(const struct netview *v, uint32_t ifindex, uint16_t vlan, enum addr_class class,
          struct gid *gids, uint32_t *nb)
{
	for (uint32_t i = 0; i < v->nb_addrs && *nb < NETVIEW_MAX_GIDS; i++) {
		const struct rt_addr *addr = &v->addrs[i];

		if (addr->ifindex == ifindex && addr->is_usable && class_of(&addr->ip) == class &&
		    !is_there(gids, *nb, &addr->ip, vlan))
			gids[(*nb)++] =
				(struct gid){.ip = addr->ip, .vlan = vlan, .ifindex = ifindex};
	}
}

/* GID 0 is never missing: without an address of the kernel it is the one that the MAC makes. */
static void
add_own(const struct netview *v, const struct rt_link *link, struct gid *gids, uint32_t *nb)
{
	add_class(v, link->ifindex, 0, LINK_LOCAL, gids, nb);
	if (*nb == 0) {
		gids[0] = gid_link_local(link->mac);
		gids[0].ifindex = link->ifindex;
		*nb = 1;
	}
	add_class(v, link->ifindex, 0, IPV4, gids, nb);
	add_class(v, link->ifindex, 0, IPV6, gids, nb);
}

bool
netview_nic(const struct netview *v, uint32_t ifindex, struct nic_iface *iface,
            struct gid gids[NETVIEW_MAX_GIDS])
{
	const struct rt_link *link = find_link(v, ifindex);

	iface->gids = gids;
	if (!link) {
		iface->is_up = false;
		gids[0] = gid_link_local(iface->mac);
		iface->nb_gids = 1;
		return false;
	}
	iface->is_up = link->is_up;
	iface->ip_mtu_bytes = link->mtu_bytes;
	memcpy(iface->mac, link->mac, sizeof(iface->mac));
	iface->nb_gids = 0;
	add_own(v, link, gids, &iface->nb_gids);
	for (uint32_t i = 0; i < v->nb_links; i++) {
		const struct rt_link *sub = &v->links[i];

		if (!is_vlan_of(sub, link))
			continue;
		for (uint32_t k = LINK_LOCAL; k <= IPV6; k++)
			add_class(v, sub->ifindex, sub->vlan, k, gids, &iface->nb_gids);
	}
	return true;
}
