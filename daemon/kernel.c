/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "caps.h"
#include "kernel_impl.h"
#include "kernel_log.h"
#include "log.h"

static void
hear(void *arg, const struct nlmsghdr *msg)
{
	struct kernel *k = arg;
	struct rt_neigh neigh;
	struct rt_link link;

	if (!rtmsg_neigh(msg, &neigh)) {
		netview_take(&k->view, msg);
		if (msg->nlmsg_type == RTM_DELLINK && rtmsg_link(msg, &link))
			kernel_on_link_deleted(k, link.ifindex);
	} else if (msg->nlmsg_type == RTM_NEWNEIGH) {
		kernel_on_neigh(k, &neigh);
	} else {
		kernel_on_neigh_deleted(k, &neigh);
	}
}

void
kernel_turn(struct kernel *k)
{
	int more = netlink_hear(&k->hear, hear, k);

	if (more < 0)
		k->is_stale = true;
	if (more <= 0) {
		if (k->is_stale)
			kernel_dump(k);
		/* Half of a dump is no news. */
		if (!k->is_stale)
			kernel_bring_news(k);
		kernel_look_again(k);
	}
	kernel_take_asks(k);
	kernel_bring_answers(k);
}

/* ---- birth and death ---- */

static int
wait_for(struct kernel *k, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(k->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int
open_all(struct kernel *k)
{
	static const int groups[] = {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
	                             RTNLGRP_NEIGH, 0};
	static const int none[] = {0};
	int err = netlink_open(&k->hear, groups);

	if (!err)
		err = netlink_open(&k->ask, none);
	if (err)
		return err;
	k->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	k->ask_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (k->epoll_fd < 0 || k->ask_fd < 0)
		return -errno;
	err = wait_for(k, netlink_fd(&k->hear));
	return err ? err : wait_for(k, k->ask_fd);
}

int
kernel_open(struct kernel **kernel)
{
	struct kernel *k = calloc(1, sizeof(*k));
	int err;

	if (!k)
		return -ENOMEM;
	list_init(&k->nics);
	list_init(&k->again);
	hops_init(&k->hops);
	k->epoll_fd = k->ask_fd = k->stop_fd = -1;
	err = open_all(k);
	if (err)
		log_error("netlink: %s", strerror(-err));
	else
		err = kernel_dump(k);
	if (err) {
		kernel_close(k);
		return err;
	}
	*kernel = k;
	return 0;
}

void
kernel_close(struct kernel *k)
{
	struct list *l;

	if (!k)
		return;
	kernel_thread_stop(k);
	while ((l = list_pop(&k->nics)))
		free(container_of(l, struct kernel_nic, link));
	hops_fini(&k->hops);
	netview_fini(&k->view);
	netlink_close(&k->hear);
	netlink_close(&k->ask);
	if (k->epoll_fd >= 0)
		close(k->epoll_fd);
	if (k->ask_fd >= 0)
		close(k->ask_fd);
	free(k);
}

int
kernel_add(struct kernel *k, const char *name, const char *ifname, uint32_t ip_mtu_max,
           struct kernel_nic **out)
{
	const struct rt_link *link = netview_find(&k->view, ifname);
	struct kernel_nic *kn;

	if (!link || !link->is_ethernet) {
		log_error("%s: %s", ifname,
		          link ? "not an Ethernet interface" : "no such interface");
		return -ENODEV;
	}
	kn = aligned_alloc(64, (sizeof(*kn) + 63) & ~(size_t)63);
	if (!kn)
		return -ENOMEM;
	memset(kn, 0, sizeof(*kn));
	kn->kernel = k;
	kn->name = name;
	kn->ifindex = link->ifindex;
	kn->ip_mtu_max = ip_mtu_max;
	kn->resolver = (struct neigh_resolver){.ask = kernel_put_ask, .arg = kn};
	strcpy(kn->ifname, link->name);
	list_add_tail(&k->nics, &kn->link);
	kernel_read_view(kn, &kn->iface, kn->gids);
	*out = kn;
	return 0;
}

const struct nic_iface *
kernel_iface(const struct kernel_nic *kn)
{
	return &kn->iface;
}

const struct neigh_resolver *
kernel_resolver(const struct kernel_nic *kn)
{
	return &kn->resolver;
}

void
kernel_attach(struct kernel_nic *kn, struct nic *nic, struct worker *worker)
{
	static const struct gid_table none;

	kn->nic = nic;
	kn->worker = worker;
	kernel_log_gids(kn->name, &none, &nic->gids);
	if (!caps_have(CAP_NET_ADMIN))
		kernel_tell_silent(kn->kernel);
	if (kn->iface.nb_gids == 1)
		log_warn("%s: %s has only a link-local address; programs want another as a rule: "
		         "'ip addr add ADDRESS/LENGTH dev %s', at any time",
		         kn->name, kn->ifname, kn->ifname);
	if (kn->iface.nb_gids > nic->gids.nb_used)
		log_warn("%s: %u addresses of %s find no room in a GID table of %u", kn->name,
		         kn->iface.nb_gids - nic->gids.nb_used, kn->ifname, nic->gids.len);
}

int
kernel_fd(const struct kernel *k)
{
	return k->epoll_fd;
}

/* ---- a thread for it ---- */

static void *
thread_main(void *arg)
{
	struct kernel *k = arg;
	struct pollfd fds[] = {{.fd = k->epoll_fd, .events = POLLIN},
	                       {.fd = k->stop_fd, .events = POLLIN}};

	while (!(fds[1].revents & POLLIN)) {
		if (poll(fds, 2, -1) > 0 && (fds[0].revents & POLLIN))
			kernel_turn(k);
	}
	return NULL;
}

int
kernel_thread_start(struct kernel *k)
{
	int err;

	assert(k->stop_fd < 0);
	k->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (k->stop_fd < 0)
		return -errno;
	err = pthread_create(&k->thread, NULL, thread_main, k);
	if (err) {
		close(k->stop_fd);
		k->stop_fd = -1;
	}
	return -err;
}

void
kernel_thread_stop(struct kernel *k)
{
	static const uint64_t one = 1;

	if (k->stop_fd < 0)
		return;
	(void)!write(k->stop_fd, &one, sizeof(one));
	pthread_join(k->thread, NULL);
	close(k->stop_fd);
	k->stop_fd = -1;
}
