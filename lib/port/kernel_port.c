/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernel_port.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire.h"

/* ---- one daemon per interface ---- */

/*
 * An abstract name: it belongs to the network namespace, as the interface does, and goes with the
 * process that has it, however that ends.
 */
static socklen_t
claim_address(const struct kernel_if *kif, struct sockaddr_un *addr)
{
	int len;

	*addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	len = snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1, "weft-interface-%u",
	               kif->index);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

/* Who asks for the holder before it looks again. Source: our choice. */
#define CLAIM_BACKLOG 16

/* Who asked knows the holder by now; a full queue would answer nobody any more. */
static void
claim_answer(int fd)
{
	for (int i = 0; i < CLAIM_BACKLOG; i++) {
		int asker = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (asker < 0)
			return;
		close(asker);
	}
}

pid_t
kernel_port_holder(const struct kernel_if *kif)
{
	struct sockaddr_un addr;
	socklen_t addr_len = claim_address(kif, &addr);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred cred = {0};
	socklen_t len = sizeof(cred);

	if (fd < 0)
		return 0;
	if (connect(fd, (const struct sockaddr *)&addr, addr_len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		cred.pid = 0;
	close(fd);
	return cred.pid;
}

static void
tell_holder(const struct kernel_port *kp, pid_t pid, char *why, size_t why_size)
{
	char whose[64] = "another weftd or weft-perf";

	if (pid == getpid())
		snprintf(whose, sizeof(whose), "another port of this process");
	else if (pid)
		snprintf(whose, sizeof(whose), "a port of process %d", (int)pid);
	snprintf(why, why_size, "%s is in use by %s: one port per interface", kp->kif.name, whose);
}

static int
claim(struct kernel_port *kp, char *why, size_t why_size)
{
	struct sockaddr_un addr;
	socklen_t len = claim_address(&kp->kif, &addr);
	int err;

	kp->claim_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (kp->claim_fd >= 0 && bind(kp->claim_fd, (struct sockaddr *)&addr, len) == 0 &&
	    listen(kp->claim_fd, CLAIM_BACKLOG) == 0)
		return 0;
	err = errno;
	if (err == EADDRINUSE)
		tell_holder(kp, kernel_port_holder(&kp->kif), why, why_size);
	else
		snprintf(why, why_size, "%s: cannot claim it: %s", kp->kif.name, strerror(err));
	return err == EADDRINUSE ? -EBUSY : -err;
}

/* ---- no port unreachable ---- */

/* What arrives is ours and was taken from the interface: here it ends. */
static int
drop_all(int fd)
{
	static struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
	static const struct sock_fprog drop = {.len = 1, .filter = code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &drop, sizeof(drop));
}

/* @return a descriptor, -1 = this kernel lacks the family, or another negative errno. */
static int
quiet_socket(int family, uint16_t udp_port)
{
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(udp_port)};
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(udp_port)};
	const struct sockaddr *addr =
		family == AF_INET6 ? (const struct sockaddr *)&v6 : (const struct sockaddr *)&v4;
	socklen_t len = family == AF_INET6 ? sizeof(v6) : sizeof(v4);
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1, err;

	static_assert(EPERM == 1, "-1 is no errno that bind or socket give here");
	if (fd < 0)
		return errno == EAFNOSUPPORT ? -1 : -errno;
	/* Shared with processes of the same user only; with SO_REUSEADDR anybody could listen. */
	if ((family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0) ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0 || drop_all(fd) < 0 ||
	    bind(fd, addr, len) < 0) {
		err = errno == EADDRNOTAVAIL ? -1 : -errno;
		close(fd);
		return err;
	}
	return fd;
}

static int
keep_quiet(struct kernel_port *kp, char *why, size_t why_size)
{
	static const struct {
		int family;
		uint16_t udp_port;
	} rows[] = {
		{AF_INET, UDP_PORT_ROCE},
		{AF_INET, UDP_PORT_HELLO},
		{AF_INET6, UDP_PORT_ROCE},
		{AF_INET6, UDP_PORT_HELLO},
	};

	static_assert(sizeof(rows) / sizeof(rows[0]) ==
	                      sizeof(kp->quiet_fds) / sizeof(kp->quiet_fds[0]),
	              "a socket for each");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = quiet_socket(rows[i].family, rows[i].udp_port);

		if (fd < -1) {
			snprintf(why, why_size, "UDP port %u cannot be kept from the kernel: %s%s",
			         rows[i].udp_port, strerror(-fd),
			         fd == -EADDRINUSE
			                 ? "; 'ss -ulpn' names the process that has it, or it is "
			                   "the kernel's own RoCE: 'rdma link', 'modprobe -r "
			                   "rdma_rxe'"
			                 : "");
			return fd == -EADDRINUSE ? -EBUSY : fd;
		}
		kp->quiet_fds[i] = fd;
	}
	return 0;
}

/* ---- the link ---- */

/* That are read at one look; others wait for the next. */
#define LINK_MESSAGES_MAX 64

int
kernel_port_wait_for(struct kernel_port *kp, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(kp->wait_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int
watch_link(struct kernel_port *kp)
{
	const struct sockaddr_nl addr = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
	int err;

	kp->wait_fd = epoll_create1(EPOLL_CLOEXEC);
	if (kp->wait_fd < 0)
		return -errno;
	kp->link_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (kp->link_fd < 0 || bind(kp->link_fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0)
		return -errno;
	err = kernel_port_wait_for(kp, kp->claim_fd);
	return err ? err : kernel_port_wait_for(kp, kp->link_fd);
}

/*
 * Read what is new. Of what the messages say only the end counts: everything else is asked for
 * instead, because some may have been lost.
 */
static bool
hear_link(struct kernel_port *kp)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg info;
	} msg;
	bool changed = false;

	for (int i = 0; i < LINK_MESSAGES_MAX; i++) {
		ssize_t len = recv(kp->link_fd, &msg, sizeof(msg), 0);

		if (len < 0 && errno != ENOBUFS)
			break;
		changed = true;
		/* Bridges tell of their ports in messages of their own family. */
		if (len == sizeof(msg) && msg.head.nlmsg_type == RTM_DELLINK &&
		    msg.info.ifi_family == AF_UNSPEC &&
		    (uint32_t)msg.info.ifi_index == kp->kif.index)
			kp->is_gone = true;
	}
	return changed;
}

bool
kernel_port_look(struct kernel_port *kp, struct port *port, uint64_t now_ns)
{
	struct kernel_if kif;

	if (!kp->woken && now_ns - kp->looked_ns < KERNEL_LOOK_NS)
		return false;
	kp->woken = false;
	kp->looked_ns = now_ns;
	claim_answer(kp->claim_fd);
	if (hear_link(kp) || kp->is_stale) {
		int err = kernel_if_look(kp->kif.index, &kif);

		kp->is_gone |= err == -ENODEV;
		/* Without a free descriptor, for instance. */
		kp->is_stale = err && !kp->is_gone;
		if (!kp->is_stale)
			kp->kif.is_up = !kp->is_gone && kif.is_up;
		port->is_down = !kp->kif.is_up;
	}
	return true;
}

/* ---- all together ---- */

static int
find(struct kernel_port *kp, const char *name, char *why, size_t why_size)
{
	int err = kernel_if_find(name, &kp->kif);
	char names[200];

	if (err == -ENODEV) {
		kernel_if_names(names, sizeof(names));
		snprintf(why, why_size, "no interface %s here; there are: %s", name, names);
	} else if (err) {
		snprintf(why, why_size, "%s: %s", name, strerror(-err));
	} else if (!kp->kif.is_ethernet) {
		snprintf(why, why_size, "%s is not an Ethernet interface", name);
		err = -ENOTSUP;
	}
	return err;
}

int
kernel_port_open(struct kernel_port *kp, const char *name, enum kernel_take take, char *why,
                 size_t why_size)
{
	int err;

	*kp = (struct kernel_port){
		.claim_fd = -1, .link_fd = -1, .wait_fd = -1, .quiet_fds = {-1, -1, -1, -1}};
	err = find(kp, name, why, why_size);
	if (!err)
		err = claim(kp, why, why_size);
	if (!err && take == KERNEL_TAKE_ROCE)
		err = keep_quiet(kp, why, why_size);
	if (err)
		return err;
	err = watch_link(kp);
	if (err)
		snprintf(why, why_size, "%s: its link cannot be watched: %s", name, strerror(-err));
	return err;
}

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void
kernel_port_close(struct kernel_port *kp)
{
	close_fd(&kp->wait_fd);
	close_fd(&kp->link_fd);
	for (size_t i = 0; i < sizeof(kp->quiet_fds) / sizeof(kp->quiet_fds[0]); i++)
		close_fd(&kp->quiet_fds[i]);
	close_fd(&kp->claim_fd);
}
