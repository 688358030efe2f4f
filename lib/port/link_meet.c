/* SPDX-License-Identifier: BSD-3-Clause */
#include "link_meet.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "claim.h"
#include "link_hello.h"
#include "log.h"

/* Between two attempts, while there is nobody to listen to nor a place to listen at. */
#define RETRY_MS 50
/* While we listen to nobody: whether a caller would still find our socket. Our choice. */
#define LOOK_MS 500
/* The thread needs little; ASan's frames are the largest. */
#define STACK_BYTES (256u << 10)

/* What the log was last told, so that it is told once. */
enum told { TOLD_NOTHING, TOLD_FULL, TOLD_ERROR };

struct link_meet {
	char path[LINK_PATH_MAX + 1];
	char dir[LINK_PATH_MAX + 1];
	char lock[LINK_PATH_MAX + 8]; /* name of the lock in dir */
	pthread_t thread;
	atomic_bool stop;
	int nudge_fd; /* to the thread: look at stop and done */

	/* the thread's */
	struct claim claim; /* while we listen */
	int listen_fd;      /* -1: we do not */
	dev_t dev;          /* of our socket's file */
	ino_t ino;
	struct link_conn *conn; /* at most one, lent to the owner from ready to done */
	enum told told;
	int told_err;

	/* between thread and owner */
	_Atomic(struct link_conn *) ready;
	atomic_bool done;
	int news_fd; /* to the owner: look at ready and is_gone */
	int wait_fd; /* epoll: news_fd, and the socket of the link that was taken */
};

static void
signal_fd(int fd)
{
	static const uint64_t one = 1;

	(void)!write(fd, &one, sizeof(one));
}

static void
clear_fd(int fd)
{
	uint64_t count;

	(void)!read(fd, &count, sizeof(count));
}

/* ---- the thread ---- */

static void
tell_error(struct link_meet *m, int err)
{
	if (m->told == TOLD_ERROR && m->told_err == err)
		return;
	m->told = TOLD_ERROR;
	m->told_err = err;
	log_error("link %s: %s", m->path, link_hello_strerror(err));
}

static void
tell_full(struct link_meet *m, const struct link_pids *holders)
{
	if (m->told == TOLD_FULL)
		return;
	m->told = TOLD_FULL;
	log_error("link %s has both its ends already, processes %d and %d: this one waits until "
	          "one of them ends",
	          m->path, (int)holders->listener, (int)holders->caller);
}

static void
hand_over(struct link_meet *m, struct link_conn *conn, pid_t peer)
{
	m->conn = conn;
	m->told = TOLD_NOTHING;
	log_info("link %s: up, with process %d", m->path, (int)peer);
	atomic_store_explicit(&m->ready, conn, memory_order_release);
	signal_fd(m->news_fd);
}

static bool
hung_up(const struct link_conn *conn)
{
	struct pollfd p = {.fd = conn->fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) == 1;
}

/* Somebody calls. */
static void
answer(struct link_meet *m)
{
	struct link_conn *conn;
	struct link_pids pids;
	int fd = accept4(m->listen_fd, NULL, NULL, SOCK_CLOEXEC), err;

	if (fd < 0)
		return;
	if (m->conn && !hung_up(m->conn)) {
		link_hello_refuse(fd, m->conn);
		return;
	}
	if (m->conn) {
		/* Whoever comes after a peer that died calls again. */
		close(fd);
		return;
	}
	err = link_hello_answer(fd, &conn, &pids);
	if (!err)
		hand_over(m, conn, pids.caller);
	else if (err != -EAGAIN)
		tell_error(m, err);
}

/* Under the lock nobody listens at path: what lies there was left behind. */
static int
bind_here(struct link_meet *m)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct stat st;
	int err;

	if (lstat(m->path, &st) == 0) {
		if (!S_ISSOCK(st.st_mode))
			return -ENOTSOCK;
		if (unlink(m->path) < 0)
			return -errno;
	}
	memcpy(addr.sun_path, m->path, strlen(m->path) + 1);
	m->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	/* The mode of the socket becomes that of its file: never open to others, not for a moment.
	 */
	if (m->listen_fd >= 0 && fchmod(m->listen_fd, 0600) == 0 &&
	    bind(m->listen_fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 &&
	    listen(m->listen_fd, 4) == 0 && lstat(m->path, &st) == 0) {
		m->dev = st.st_dev;
		m->ino = st.st_ino;
		return 0;
	}
	err = -errno;
	if (m->listen_fd >= 0)
		close(m->listen_fd);
	m->listen_fd = -1;
	return err;
}

/* Whether our socket's file is still there; a clean-up may have taken it. */
static bool
is_found(const struct link_meet *m)
{
	struct stat st;

	return lstat(m->path, &st) == 0 && st.st_dev == m->dev && st.st_ino == m->ino;
}

static void
stop_listening(struct link_meet *m)
{
	if (m->listen_fd >= 0) {
		if (is_found(m))
			unlink(m->path);
		close(m->listen_fd);
		m->listen_fd = -1;
	}
	claim_drop(&m->claim);
}

static int
listen_here(struct link_meet *m)
{
	char text[32], holder[64];
	int err;

	snprintf(text, sizeof(text), "process %d", (int)getpid());
	err = claim_take(&m->claim, m->dir, m->lock, text, holder, sizeof(holder));
	if (err)
		return err;
	err = bind_here(m);
	if (err)
		stop_listening(m);
	return err;
}

/* One attempt to find a peer, or to be found. */
static void
seek(struct link_meet *m)
{
	struct link_conn *conn;
	struct link_pids pids;
	int err = link_hello_call(m->path, &conn, &pids);

	if (!err) {
		hand_over(m, conn, pids.listener);
		return;
	}
	if (err == -EUSERS) {
		tell_full(m, &pids);
		return;
	}
	if (err == -ENOENT || err == -ECONNREFUSED)
		err = listen_here(m);
	/* Somebody is about to listen, or was stopped as it listened: call again. */
	if (err && err != -EBUSY && err != -EAGAIN)
		tell_error(m, err);
}

static void
mark_gone(struct link_meet *m)
{
	/* The owner may have seen it first. */
	if (!atomic_exchange(&m->conn->is_gone, true))
		signal_fd(m->news_fd);
}

static void
take_back(struct link_meet *m)
{
	if (m->conn->is_broken)
		log_warn("link %s: reset, the peer wrote nonsense into the ring", m->path);
	else
		log_warn("link %s: down, the peer has gone", m->path);
	link_conn_free(m->conn);
	m->conn = NULL;
}

static void
serve(struct link_meet *m)
{
	bool told_gone = m->conn && atomic_load(&m->conn->is_gone);
	struct pollfd fds[] = {
		{.fd = m->nudge_fd, .events = POLLIN},
		/* No events but the end, which needs no asking; the messages are the owner's. */
		{.fd = m->conn && !told_gone ? m->conn->fd : -1, .events = POLLRDHUP},
		/* Who calls while we get rid of the last peer waits. */
		{.fd = told_gone ? -1 : m->listen_fd, .events = POLLIN},
	};

	poll(fds, 3, m->conn ? -1 : m->listen_fd >= 0 ? LOOK_MS : RETRY_MS);
	if (fds[0].revents)
		clear_fd(m->nudge_fd);
	if (atomic_exchange(&m->done, false))
		take_back(m);
	else if (fds[1].revents)
		mark_gone(m);
	else if (fds[2].revents)
		answer(m);
}

static void *
thread_main(void *arg)
{
	struct link_meet *m = arg;

	pthread_setname_np(pthread_self(), "weft-link");
	while (!atomic_load(&m->stop)) {
		if (!m->conn && m->listen_fd >= 0 && !is_found(m)) {
			log_warn("link %s: somebody has removed the socket, it is made again",
			         m->path);
			stop_listening(m);
		}
		if (!m->conn && m->listen_fd < 0)
			seek(m);
		serve(m);
	}
	return NULL;
}

/* ---- the owner ---- */

struct link_conn *
link_meet_take(struct link_meet *m)
{
	struct link_conn *conn = atomic_load_explicit(&m->ready, memory_order_relaxed);
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP};

	if (!conn)
		return NULL;
	conn = atomic_exchange_explicit(&m->ready, NULL, memory_order_acquire);
	/* A failure, out of memory, costs wake-ups: the peer's doorbells. */
	(void)epoll_ctl(m->wait_fd, EPOLL_CTL_ADD, conn->fd, &event);
	return conn;
}

bool
link_meet_has_news(const struct link_meet *m)
{
	return atomic_load_explicit(&m->ready, memory_order_relaxed) != NULL;
}

void
link_meet_give(struct link_meet *m, struct link_conn *conn)
{
	(void)epoll_ctl(m->wait_fd, EPOLL_CTL_DEL, conn->fd, NULL);
	assert(!atomic_load(&m->done));
	atomic_store(&m->done, true);
	signal_fd(m->nudge_fd);
}

int
link_meet_wait_fd(const struct link_meet *m)
{
	return m->wait_fd;
}

void
link_meet_heard(struct link_meet *m, struct link_conn *conn)
{
	struct epoll_event events[2];
	int n = epoll_wait(m->wait_fd, events, 2, 0);
	char c;

	if (n <= 0)
		return;
	clear_fd(m->news_fd);
	/* A peer that rings without end keeps us awake, but not here. */
	for (int i = 0; conn && i < 16; i++) {
		ssize_t len = recv(conn->fd, &c, 1, MSG_DONTWAIT);

		if (len < 0)
			break;
		if (len == 0) {
			atomic_store(&conn->is_gone, true);
			break;
		}
	}
}

/* ---- both ---- */

static void
meet_free(struct link_meet *m)
{
	stop_listening(m);
	link_conn_free(m->conn);
	for (int *fd = (int[]){m->nudge_fd, m->news_fd, m->wait_fd, -2}; *fd != -2; fd++)
		if (*fd >= 0)
			close(*fd);
	free(m);
}

static int
start_thread(struct link_meet *m)
{
	pthread_attr_t attr;
	int err = pthread_attr_init(&attr);

	if (err)
		return -err;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	err = pthread_create(&m->thread, &attr, thread_main, m);
	pthread_attr_destroy(&attr);
	return -err;
}

int
link_meet_start(const char *path, struct link_meet **meet)
{
	struct link_meet *m = calloc(1, sizeof(*m));
	struct epoll_event event = {.events = EPOLLIN};
	const char *slash = strrchr(path, '/');
	int err;

	assert(path[0] == '/' && strlen(path) <= LINK_PATH_MAX);
	if (!m)
		return -ENOMEM;
	strcpy(m->path, path);
	memcpy(m->dir, path, (size_t)(slash - path));
	snprintf(m->lock, sizeof(m->lock), "%s.lock", slash + 1);
	m->claim.fd = -1;
	m->listen_fd = -1;
	m->nudge_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	m->news_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	m->wait_fd = epoll_create1(EPOLL_CLOEXEC);
	if (m->nudge_fd < 0 || m->news_fd < 0 || m->wait_fd < 0 ||
	    epoll_ctl(m->wait_fd, EPOLL_CTL_ADD, m->news_fd, &event) < 0)
		err = -errno;
	else
		err = start_thread(m);
	if (err) {
		meet_free(m);
		return err;
	}
	*meet = m;
	return 0;
}

void
link_meet_stop(struct link_meet *m)
{
	atomic_store(&m->stop, true);
	signal_fd(m->nudge_fd);
	pthread_join(m->thread, NULL);
	meet_free(m);
}
