/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "advice.h"
#include "client.h"

int
ctl_connect(const char *path, uint32_t timeout_ms)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct timeval wait = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
	int fd, err;

	/* An empty path would be an abstract address. */
	if (!*path || strlen(path) >= sizeof(addr.sun_path))
		return -EINVAL;
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* Also bounds connect() to a daemon that does not accept. */
	if (timeout_ms && (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0 ||
	                   setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0))
		goto failed;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		goto failed;
	return fd;

failed:
	err = -errno;
	close(fd);
	return err;
}

static int
send_request(int fd, const void *msg, size_t size, int passed)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {(void *)msg, size};
	struct msghdr hdr = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t sent;

	if (passed >= 0) {
		struct cmsghdr *cmsg;

		hdr.msg_control = control.buf;
		hdr.msg_controllen = sizeof(control.buf);
		cmsg = CMSG_FIRSTHDR(&hdr);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &passed, sizeof(int));
	}
	do
		sent = sendmsg(fd, &hdr, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent == (ssize_t)size)
		return 0;
	return sent < 0 ? -errno : -ENODEV;
}

/** The received descriptors, all of them: those that do not fit are closed. */
static uint32_t
take_fds(struct msghdr *hdr, struct ctl_fds *fds)
{
	uint32_t nb = 0;

	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(hdr); cmsg; cmsg = CMSG_NXTHDR(hdr, cmsg)) {
		uint32_t here;

		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		here = (uint32_t)((cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		for (uint32_t i = 0; i < here; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(int));
			if (fds && nb < fds->keep)
				fds->recv[nb++] = fd;
			else
				close(fd);
		}
	}
	return nb;
}

static void
drop_fds(struct ctl_fds *fds)
{
	for (uint32_t i = 0; fds && i < 4; i++) {
		if (fds->recv[i] >= 0)
			close(fds->recv[i]);
		fds->recv[i] = -1;
	}
}

static void
let_go(int *held, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		close(held[i]);
}

/**
 * Places for n descriptors that an answer brings. Without them the kernel drops what it brings,
 * and the daemon has made what nobody can use: that is seen before anything is asked.
 */
static int
hold_places(int fd, int *held, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		held[i] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (held[i] < 0) {
			int err = -errno;

			let_go(held, i);
			return err == -EBADF ? -ENODEV : err;
		}
	}
	return 0;
}

static bool
answers(const struct ctl_hdr *hdr, enum ctl_op op)
{
	return hdr->op == op || (hdr->op == CTL_REFUSAL && hdr->status > 0);
}

static void
take_why(const union ctl_msg *got, size_t len, char why[CTL_WHY_BYTES])
{
	if (len != sizeof(got->refusal))
		return;
	memcpy(why, got->refusal.why, CTL_WHY_BYTES);
	why[CTL_WHY_BYTES - 1] = '\0';
}

int
ctl_exchange(int fd, enum ctl_op op, void *msg, size_t request, size_t answer, struct ctl_fds *fds,
             uint32_t nb_fds, char why[CTL_WHY_BYTES])
{
	struct ctl_hdr *hdr = msg;
	union ctl_msg got;
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(8 * sizeof(int))];
	} control;
	struct iovec iov = {&got, sizeof(got)};
	struct msghdr in = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	uint32_t nb_got, nb_resets = 0;
	int held[4];
	ssize_t len;
	int err;

	*why = '\0';
	err = hold_places(fd, held, fds ? fds->keep : 0);
	if (err)
		return err;
	*hdr = (struct ctl_hdr){.op = op, .len = (uint16_t)request};
	if (fds)
		memset(fds->recv, 0xff, sizeof(fds->recv));
	err = send_request(fd, msg, request, fds ? fds->send : -1);
	let_go(held, fds ? fds->keep : 0);
	if (err && err != -EPIPE)
		return -ENODEV;
	/* A daemon that sent us away did not read our request, and that is told first. */
	do
		len = recvmsg(fd, &in, MSG_CMSG_CLOEXEC);
	while (len < 0 && (errno == EINTR || (errno == ECONNRESET && nb_resets++ == 0)));
	if (len <= 0)
		return -ENODEV;
	nb_got = take_fds(&in, fds);
	if (len < (ssize_t)sizeof(got.hdr) || got.hdr.len != len || !answers(&got.hdr, op) ||
	    got.hdr.status < 0 || (in.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		goto nonsense;
	if (got.hdr.status > 0) {
		drop_fds(fds);
		take_why(&got, (size_t)len, why);
		return -got.hdr.status;
	}
	if (nb_got < nb_fds || (answer && (size_t)len != answer))
		goto nonsense;
	memcpy(msg, &got, answer);
	return 0;

nonsense:
	drop_fds(fds);
	return -EPROTO;
}

int
ctl_call(struct weft *weft, enum ctl_op op, void *msg, size_t request, size_t answer,
         struct ctl_fds *fds, uint32_t nb_fds)
{
	char why[CTL_WHY_BYTES] = "";
	int err = -ENODEV;

	if (!atomic_load(&weft->dead)) {
		pthread_mutex_lock(&weft->ctl_lock);
		err = ctl_exchange(weft->ctl_fd, op, msg, request, answer, fds, nb_fds, why);
		pthread_mutex_unlock(&weft->ctl_lock);
	}
	if (*why)
		advice_refusal(weft->name, op, why);
	if (err == -ECONNABORTED) {
		atomic_store(&weft->drained, true);
		err = -ENODEV;
	}
	if (err == -EPROTO)
		client_log("%s: the daemon's answer to request %d makes no sense; giving it up",
		           weft->name, op);
	/* ENODEV can also be the daemon's own word for a device that went away: as final. */
	if (err == -EPROTO || err == -ENODEV) {
		client_die(weft);
		err = -ENODEV;
	}
	return err;
}

int
ctl_call_handle(struct weft *weft, enum ctl_op op, uint32_t handle)
{
	struct ctl_handle msg = {.handle = handle};

	return ctl_call(weft, op, &msg, sizeof(msg), 0, NULL, 0);
}
