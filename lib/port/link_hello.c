/* SPDX-License-Identifier: BSD-3-Clause */
#include "link_hello.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* For an answer; a living peer needs some microseconds, or its turn on a busy machine. */
#define ANSWER_MS 500

#define MAGIC 0x7766746c /* "wftl" */
/* Of these messages and of the ring. */
#define VERSION 1

enum hello_kind {
	HELLO_OFFER = 1, /* listener: here is memory (SCM_RIGHTS) */
	HELLO_FULL,      /* listener: I have a peer */
	HELLO_READY,     /* caller: I have mapped it */
};

struct hello {
	uint32_t magic, version, kind;
	uint32_t ring_bytes, ring_frames;
	int32_t listener, caller; /* pids */
};

static int
last_error(void)
{
	/* A time-out, or a peer that died meanwhile. */
	return errno == EPIPE || errno == ECONNRESET ? -EAGAIN : -errno;
}

static int
set_timeouts(int fd)
{
	static const struct timeval limit = {.tv_usec = ANSWER_MS * 1000};

	return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
	                       setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0
	               ? -errno
	               : 0;
}

/* Only our own user's daemons and root's: a peer reads and writes all our frames. */
static int
check_peer(int fd, pid_t *pid)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	*pid = cred.pid;
	return cred.uid == 0 || cred.uid == geteuid() ? 0 : -EPERM;
}

static int
send_hello(int fd, enum hello_kind kind, const struct link_pids *pids, int memory_fd)
{
	struct hello hello = {
		.magic = MAGIC,
		.version = VERSION,
		.kind = kind,
		.ring_bytes = LINK_RING_BYTES,
		.ring_frames = LINK_RING_FRAMES,
		.listener = pids->listener,
		.caller = pids->caller,
	};
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {.iov_base = &hello, .iov_len = sizeof(hello)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (memory_fd >= 0) {
		struct cmsghdr *cmsg;

		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &memory_fd, sizeof(int));
	}
	return sendmsg(fd, &msg, MSG_NOSIGNAL) == sizeof(hello) ? 0 : last_error();
}

/* memory_fd: what came along, the caller's; -1 if nothing did. One fits, the kernel closes more. */
static int
recv_hello(int fd, struct hello *hello, int *memory_fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = hello, .iov_len = sizeof(*hello)};
	struct msghdr msg = {.msg_iov = &iov,
	                     .msg_iovlen = 1,
	                     .msg_control = &control,
	                     .msg_controllen = sizeof(control)};
	ssize_t len = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	struct cmsghdr *cmsg = len < 0 ? NULL : CMSG_FIRSTHDR(&msg);

	*memory_fd = -1;
	if (len < 0)
		return last_error();
	if (cmsg && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS &&
	    cmsg->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(memory_fd, CMSG_DATA(cmsg), sizeof(int));
	if (len == 0)
		return -EAGAIN;
	if (len != sizeof(*hello) || hello->magic != MAGIC || hello->version != VERSION ||
	    hello->ring_bytes != LINK_RING_BYTES || hello->ring_frames != LINK_RING_FRAMES)
		return -EPROTO;
	return 0;
}

/* The caller's part once it is connected. */
static int
call(int fd, struct link_conn **conn, struct link_pids *pids)
{
	struct hello hello;
	int memory_fd, err = recv_hello(fd, &hello, &memory_fd);

	if (!err && hello.kind == HELLO_FULL) {
		*pids = (struct link_pids){hello.listener, hello.caller};
		err = -EUSERS;
	} else if (!err && hello.kind != HELLO_OFFER) {
		err = -EPROTO;
	}
	if (!err)
		err = link_memory_check(memory_fd);
	if (!err)
		err = link_conn_create(fd, memory_fd, LINK_CALLER, conn);
	if (memory_fd >= 0)
		close(memory_fd);
	if (err)
		return err;
	err = send_hello(fd, HELLO_READY, pids, -1);
	if (err) {
		(*conn)->fd = -1;
		link_conn_free(*conn);
	}
	return err;
}

int
link_hello_call(const char *path, struct link_conn **conn, struct link_pids *pids)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	pids->caller = getpid();
	err = set_timeouts(fd);
	if (!err && connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		err = last_error();
	if (!err)
		err = check_peer(fd, &pids->listener);
	if (!err)
		err = call(fd, conn, pids);
	if (err)
		close(fd);
	return err;
}

/* The listener's part: memory for a caller that may have it. */
static int
answer(int fd, struct link_conn **conn, const struct link_pids *pids)
{
	struct hello hello;
	int memory_fd = link_memory_create(), foreign_fd, err;

	if (memory_fd < 0)
		return memory_fd;
	err = link_conn_create(fd, memory_fd, LINK_LISTENER, conn);
	if (err) {
		close(memory_fd);
		return err;
	}
	err = send_hello(fd, HELLO_OFFER, pids, memory_fd);
	close(memory_fd);
	if (!err) {
		err = recv_hello(fd, &hello, &foreign_fd);
		if (foreign_fd >= 0)
			close(foreign_fd);
		if (!err && hello.kind != HELLO_READY)
			err = -EPROTO;
	}
	if (err) {
		(*conn)->fd = -1;
		link_conn_free(*conn);
	}
	return err;
}

int
link_hello_answer(int fd, struct link_conn **conn, struct link_pids *pids)
{
	int err = check_peer(fd, &pids->caller);

	pids->listener = getpid();
	if (!err)
		err = set_timeouts(fd);
	if (!err)
		err = answer(fd, conn, pids);
	if (err)
		close(fd);
	return err;
}

void
link_hello_refuse(int fd, const struct link_conn *taken)
{
	struct link_pids pids = {.listener = getpid()};
	pid_t pid;

	(void)check_peer(taken->fd, &pids.caller);
	if (check_peer(fd, &pid) == 0 && set_timeouts(fd) == 0)
		(void)send_hello(fd, HELLO_FULL, &pids, -1);
	close(fd);
}

const char *
link_hello_strerror(int err)
{
	switch (-err) {
	case EPERM:
		return "the process at the other end belongs to another user, who is not root: run "
		       "both as one user";
	case EPROTO:
		return "the process at the other end speaks another version of weft's links: use "
		       "the same weft at both ends";
	case ENOTSOCK:
	case EPROTOTYPE: /* a socket of another kind */
		return "something else lies there: remove it or choose another name";
	case EACCES:
		return "no permission there: it belongs to another user, or the folder does";
	case ENOENT:
		return "there is no such folder: make it";
	default:
		return strerror(-err);
	}
}
