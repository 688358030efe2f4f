/* SPDX-License-Identifier: BSD-3-Clause */
#include "netlink.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

/* Of the kernel's parts of a dump, and larger than any single message. Source: libmnl. */
#define BUF_BYTES 32768
/* What may wait to be heard; the kernel's own 200 KB are soon full on a host of containers. */
#define HEAR_BYTES (1 << 20)
/* Datagrams that are heard before others have their turn. Our choice. */
#define HEAR_MAX 64

int
netlink_open(struct netlink *nl, const int *groups)
{
	const struct timeval patience = {.tv_sec = 1};
	int bytes = HEAR_BYTES, fd;

	*nl = (struct netlink){.buf = malloc(BUF_BYTES)};
	if (!nl->buf)
		return -ENOMEM;
	nl->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!nl->socket || mnl_socket_bind(nl->socket, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	fd = mnl_socket_get_fd(nl->socket);
	/* It answers at once: what does not come is a message that was lost. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	for (; *groups; groups++) {
		int group = *groups;

		if (mnl_socket_setsockopt(nl->socket, NETLINK_ADD_MEMBERSHIP, &group,
		                          sizeof(group)) < 0)
			return -errno;
	}
	return 0;
}

void
netlink_close(struct netlink *nl)
{
	if (nl->socket)
		mnl_socket_close(nl->socket);
	free(nl->buf);
	*nl = (struct netlink){0};
}

int
netlink_fd(const struct netlink *nl)
{
	return mnl_socket_get_fd(nl->socket);
}

struct receiver {
	netlink_fn *fn;
	void *arg;
	int more; /* what comes behind a message: MNL_CB_OK = others, MNL_CB_STOP = nothing */
};

static int
receive(const struct nlmsghdr *msg, void *arg)
{
	const struct receiver *r = arg;

	r->fn(r->arg, msg);
	return r->more;
}

int
netlink_ask(struct netlink *nl, struct nlmsghdr *msg, netlink_fn *fn, void *arg)
{
	struct receiver r = {fn, arg,
	                     msg->nlmsg_flags & (NLM_F_DUMP | NLM_F_ACK) ? MNL_CB_OK : MNL_CB_STOP};
	unsigned int portid = mnl_socket_get_portid(nl->socket);
	int rc;

	msg->nlmsg_seq = ++nl->seq;
	if (mnl_socket_sendto(nl->socket, msg, msg->nlmsg_len) < 0)
		return -errno;
	do {
		ssize_t n = mnl_socket_recvfrom(nl->socket, nl->buf, BUF_BYTES);

		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		rc = mnl_cb_run(nl->buf, (size_t)n, nl->seq, portid, receive, &r);
		/* What is left of a question that was given up has another number. */
		if (rc < 0 && errno == ESRCH)
			rc = MNL_CB_OK;
	} while (rc > MNL_CB_STOP);
	return rc < 0 ? -errno : 0;
}

int
netlink_hear(struct netlink *nl, netlink_fn *fn, void *arg)
{
	struct receiver r = {fn, arg, MNL_CB_OK};

	for (int i = 0; i < HEAR_MAX; i++) {
		ssize_t n = recv(netlink_fd(nl), nl->buf, BUF_BYTES, MSG_DONTWAIT | MSG_TRUNC);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == ENOBUFS ? -ENOBUFS : 0;
		if (n > BUF_BYTES)
			return -ENOBUFS;
		mnl_cb_run(nl->buf, (size_t)n, 0, 0, receive, &r);
	}
	return 1;
}
