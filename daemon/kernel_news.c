/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "kernel_impl.h"
#include "kernel_log.h"
#include "log.h"

/* What is new at interfaces. */

/* A dump that is overtaken by changes is begun again so often. */
#define DUMPS_MAX 10

static void
take(void *arg, const struct nlmsghdr *msg)
{
	netview_take(arg, msg);
}

int
kernel_dump(struct kernel *k)
{
	static const uint16_t types[] = {RTM_GETLINK, RTM_GETADDR};
	uint8_t buf[RTMSG_MAX];
	int err = -EINTR;

	for (int i = 0; i < DUMPS_MAX && err == -EINTR; i++) {
		netview_clear(&k->view);
		err = 0;
		for (int t = 0; t < 2 && !err; t++)
			err = netlink_ask(&k->ask, rtmsg_put_dump(buf, types[t]), take, &k->view);
	}
	if (err)
		log_error("what the kernel says of its interfaces: %s", strerror(-err));
	else if (k->view.is_cut)
		log_warn("the kernel has more interfaces and addresses than can be followed");
	k->is_stale = err != 0;
	return err;
}

struct follow {
	struct kernel_nic *kn;
	struct gid_changes changes;
};

static void
follow_on_worker(void *arg, uint64_t now_ns)
{
	struct follow *f = arg;

	f->changes = nic_follow(f->kn->nic, &f->kn->iface, now_ns);
}

static bool
same_gids(const struct nic_iface *a, const struct nic_iface *b)
{
	if (a->nb_gids != b->nb_gids)
		return false;
	for (uint32_t i = 0; i < a->nb_gids; i++) {
		if (!gid_is_same(&a->gids[i], &b->gids[i]) ||
		    a->gids[i].ifindex != b->gids[i].ifindex)
			return false;
	}
	return true;
}

static bool
is_same(const struct nic_iface *a, const struct nic_iface *b)
{
	return a->is_up == b->is_up && a->ip_mtu_bytes == b->ip_mtu_bytes &&
	       memcmp(a->mac, b->mac, sizeof(a->mac)) == 0 && same_gids(a, b);
}

/* No port would hear of an interface that comes later, whatever its name and index. */
static void
leave(struct kernel_nic *kn)
{
	log_warn("%s: interface %s is gone, the link is down until weftd is started again",
	         kn->name, kn->ifname);
	kn->ifindex = 0;
}

void
kernel_on_link_deleted(struct kernel *k, uint32_t ifindex)
{
	LIST_FOREACH (l, &k->nics) {
		struct kernel_nic *kn = container_of(l, struct kernel_nic, link);

		if (kn->ifindex == ifindex)
			leave(kn);
	}
}

/* What the view says of it, in the form of a NIC. */
void
kernel_read_view(struct kernel_nic *kn, struct nic_iface *iface, struct gid *gids)
{
	bool is_there = netview_nic(&kn->kernel->view, kn->ifindex, iface, gids);

	if (iface->ip_mtu_bytes > kn->ip_mtu_max)
		iface->ip_mtu_bytes = kn->ip_mtu_max;
	if (is_there) {
		const struct rt_link *link = netview_link(&kn->kernel->view, kn->ifindex);

		if (strcmp(kn->ifname, link->name) != 0)
			log_info("%s: interface %s is called %s now", kn->name, kn->ifname,
			         link->name);
		strcpy(kn->ifname, link->name);
	} else if (kn->ifindex) {
		leave(kn);
	}
}

static void
bring_news(struct kernel_nic *kn)
{
	struct nic_iface iface = kn->iface;
	struct gid gids[NETVIEW_MAX_GIDS];
	struct follow f = {.kn = kn};
	struct gid_table before;

	kernel_read_view(kn, &iface, gids);
	if (is_same(&iface, &kn->iface))
		return;
	before = kn->nic->gids;
	kernel_log_iface(kn->nic, kn->ifname, &kn->iface, &iface);
	memcpy(kn->gids, gids, sizeof(gids));
	kn->iface = iface;
	kn->iface.gids = kn->gids;
	worker_call(kn->worker, follow_on_worker, &f);
	kernel_log_gids(kn->name, &before, &kn->nic->gids);
	if (f.changes.nb_left_out)
		log_warn("%s: %u addresses of %s find no room in a GID table of %u", kn->name,
		         f.changes.nb_left_out, kn->ifname, kn->nic->gids.len);
}

void
kernel_bring_news(struct kernel *k)
{
	LIST_FOREACH (l, &k->nics) {
		struct kernel_nic *kn = container_of(l, struct kernel_nic, link);

		if (kn->nic)
			bring_news(kn);
	}
}
