/* SPDX-License-Identifier: BSD-3-Clause */
#include "console.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "listen.h"
#include "log.h"
#include "sockdir.h"

/* Lines of an answer before others get their turn. Source: our choice. */
#define LINES_AT_ONCE 4

static void
set_clock(struct consoles *cons)
{
	const struct itimerspec off = {0}, each_second = {{1, 0}, {1, 0}};

	timerfd_settime(cons->clock.fd, 0, cons->nb ? &each_second : &off, NULL);
}

static void
end_order(struct console *con)
{
	if (con->order && con->order->end)
		con->order->end(con);
	con->order = NULL;
	json_decref(con->state.args);
	memset(&con->state, 0, sizeof(con->state));
	con->waits = con->stopping = false;
}

static void
console_destroy(struct console *con)
{
	struct consoles *cons = con->all;

	end_order(con);
	control_unwatch(cons->control, &con->watch);
	close(con->watch.fd);
	if (con->pass_fd >= 0)
		close(con->pass_fd);
	list_del(&con->link);
	cons->nb--;
	set_clock(cons);
	free(con->out);
	free(con);
}

/* ---- lines out ---- */

/* Takes the line. Without memory there is no answer, and who waits for one must see an end. */
static void
say(struct console *con, json_t *line, bool more)
{
	char *text;

	if (line && more)
		json_object_set_new(line, "more", json_true());
	text = line ? json_dumps(line, JSON_COMPACT) : NULL;
	json_decref(line);
	if (!text) {
		log_error("an answer to an operator: %s", strerror(ENOMEM));
		con->closing = true;
		return;
	}
	con->out = text;
	con->out_len = strlen(text) + 1;
	text[con->out_len - 1] = '\n';
	con->out_sent = 0;
	con->moved_ns = worker_clock_ns();
}

static void
say_error(struct console *con, const char *why)
{
	json_t *text = json_string(why);

	/* What is quoted of the request may be cut within a letter. */
	if (!text)
		text = json_string("not a JSON object");
	say(con, json_pack("{s:o}", "error", text), false);
}

/* As much of the line as goes; with its first byte a descriptor, if one is to go. */
static ssize_t
send_some(struct console *con)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {con->out + con->out_sent, con->out_len - con->out_sent};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (con->pass_fd >= 0) {
		struct cmsghdr *cmsg;

		memset(&control, 0, sizeof(control));
		msg.msg_control = control.buf;
		msg.msg_controllen = sizeof(control.buf);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &con->pass_fd, sizeof(int));
	}
	return sendmsg(con->watch.fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* @return false if the operator does not read just now, or never will. */
static bool
flush(struct console *con)
{
	while (con->out) {
		ssize_t n = send_some(con);

		if (n < 0)
			return false;
		if (con->pass_fd >= 0)
			close(con->pass_fd);
		con->pass_fd = -1;
		con->out_sent += (size_t)n;
		con->moved_ns = worker_clock_ns();
		if (con->out_sent < con->out_len)
			continue;
		free(con->out);
		con->out = NULL;
	}
	return true;
}

/* ---- lines in ---- */

static void
begin(struct console *con, const char *line, size_t len)
{
	json_error_t error;
	json_t *request = json_loadb(line, len, JSON_REJECT_DUPLICATES, &error);
	const struct order *order;
	char why[ORDER_WHY_MAX];

	if (!json_is_object(request)) {
		snprintf(why, sizeof(why), "not a JSON object: %s",
		         request ? "something else" : error.text);
		json_decref(request);
		say_error(con, why);
		return;
	}
	order = order_find(request, why, sizeof(why));
	con->state.args = request;
	if (!order || (order->begin && !order->begin(con, why, sizeof(why)))) {
		end_order(con);
		say_error(con, why);
		return;
	}
	con->order = order;
}

/* @return whether there was a whole line. */
static bool
take_line(struct console *con)
{
	char *end = memchr(con->in, '\n', con->in_len);
	uint32_t len;

	if (!end) {
		if (con->in_len < sizeof(con->in))
			return false;
		say_error(con, "a request of more than 4095 bytes");
		con->closing = true;
		con->in_len = 0;
		return true;
	}
	len = (uint32_t)(end - con->in);
	begin(con, con->in, len);
	con->in_len -= len + 1;
	memmove(con->in, end + 1, con->in_len);
	return true;
}

/* ---- the way of an order ---- */

/* What can be done now. @return what to wait for, events of epoll; 0 = the end. */
static uint32_t
pump(struct console *con)
{
	for (uint32_t nb_lines = 0; nb_lines < LINES_AT_ONCE; nb_lines++) {
		json_t *line = NULL;
		enum order_said said;

		if (!flush(con))
			return errno == EAGAIN ? EPOLLOUT : 0;
		if (con->closing)
			return 0;
		if (!con->order) {
			if (!take_line(con))
				return con->in_ended ? 0 : EPOLLIN;
			continue;
		}
		said = con->order->next(con, &line);
		con->waits = said == ORDER_WAIT;
		if (con->waits)
			return con->stopping ? EPOLLERR : EPOLLRDHUP;
		say(con, line, said == ORDER_MORE);
		if (said == ORDER_LAST)
			end_order(con);
	}
	return EPOLLOUT;
}

void
console_kick(struct console *con)
{
	uint32_t events = pump(con);

	if (events)
		control_rearm(con->all->control, &con->watch, events);
	else
		console_destroy(con);
}

void
consoles_kick(struct consoles *cons)
{
	struct list *link = cons->list.next;

	while (link != &cons->list) {
		struct console *con = container_of(link, struct console, link);

		link = link->next;
		if (con->waits)
			console_kick(con);
	}
}

static void
console_ready(struct watch *watch, uint32_t events)
{
	struct console *con = container_of(watch, struct console, watch);
	ssize_t n;

	if ((events & EPOLLIN) && con->in_len < sizeof(con->in)) {
		n = recv(watch->fd, con->in + con->in_len, sizeof(con->in) - con->in_len,
		         MSG_DONTWAIT);
		if (n > 0)
			con->in_len += (uint32_t)n;
		else if (n == 0 || errno != EAGAIN)
			con->in_ended = true;
	}
	/* Who waits for something and hangs up, if only his half, does not want it any more. */
	if (con->waits && (events & EPOLLRDHUP) && con->order->stop && !con->stopping) {
		con->stopping = true;
		con->order->stop(con);
	} else if ((events & (EPOLLERR | EPOLLHUP)) || (con->waits && (events & EPOLLRDHUP))) {
		console_destroy(con);
		return;
	}
	console_kick(con);
}

/* ---- who comes and who goes ---- */

static void
send_away(int fd, const char *why)
{
	char line[128];
	int len = snprintf(line, sizeof(line), "{\"error\":\"%s\"}\n", why);

	(void)!send(fd, line, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL);
	close(fd);
}

static void
console_create(struct consoles *cons, int fd)
{
	struct console *con = calloc(1, sizeof(*con));
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (!con || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0) {
		free(con);
		send_away(fd, "the daemon is short of memory");
		return;
	}
	con->all = cons;
	con->pass_fd = -1;
	con->pid = cred.pid;
	con->uid = cred.uid;
	con->watch = (struct watch){.fd = fd, .ready = console_ready};
	list_add_tail(&cons->list, &con->link);
	cons->nb++;
	set_clock(cons);
	if (control_watch(cons->control, &con->watch, EPOLLIN | EPOLLONESHOT) != 0)
		console_destroy(con);
}

static void
events_ready(struct watch *watch, uint32_t events)
{
	struct consoles *cons = container_of(watch, struct consoles, events_watch);

	(void)events;
	if (events_take(cons->events) > 0)
		consoles_kick(cons);
}

static void
listener_ready(struct watch *watch, uint32_t events)
{
	struct consoles *cons = container_of(watch, struct consoles, listener);
	int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd < 0)
		return;
	if (cons->nb >= CONSOLES_MAX)
		send_away(fd, "too many operators are connected");
	else
		console_create(cons, fd);
}

static void
clock_ready(struct watch *watch, uint32_t events)
{
	struct consoles *cons = container_of(watch, struct consoles, clock);
	uint64_t nb_ticks, now_ns = worker_clock_ns();
	struct list *link = cons->list.next;

	(void)events;
	(void)!read(watch->fd, &nb_ticks, sizeof(nb_ticks));
	while (link != &cons->list) {
		struct console *con = container_of(link, struct console, link);

		link = link->next;
		if (con->out && now_ns - con->moved_ns > CONSOLE_SLOW_NS) {
			log_info("operator (pid %d) reads nothing: dropped", (int)con->pid);
			console_destroy(con);
		}
	}
}

int
consoles_open(struct consoles *cons, struct control *control, const struct consoles_conf *conf)
{
	mode_t mode = conf->gid == (gid_t)-1 ? 0600 : 0660;
	int err;

	*cons = (struct consoles){
		.control = control,
		.report = conf->report,
		.listener = {.fd = -1, .ready = listener_ready},
		.clock = {.fd = -1, .ready = clock_ready},
		.events = conf->events,
		.tune = conf->tune,
		.events_watch = {.fd = conf->events->fd, .ready = events_ready},
	};
	list_init(&cons->list);
	snprintf(cons->socket_path, sizeof(cons->socket_path), "%s/%s%s", control->dir, conf->name,
	         SOCKDIR_OPERATOR_SUFFIX);
	cons->listener.fd = listen_at(cons->socket_path, SOCK_STREAM, mode, conf->gid);
	if (cons->listener.fd < 0)
		return cons->listener.fd;
	cons->clock.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	err = cons->clock.fd < 0 ? -errno : control_watch(control, &cons->clock, EPOLLIN);
	if (!err)
		err = control_watch(control, &cons->listener, EPOLLIN);
	if (!err)
		err = control_watch(control, &cons->events_watch, EPOLLIN);
	if (err) {
		log_error("%s: %s", cons->socket_path, strerror(-err));
		consoles_close(cons);
	}
	return err;
}

void
consoles_close(struct consoles *cons)
{
	while (!list_is_empty(&cons->list))
		console_destroy(container_of(cons->list.next, struct console, link));
	if (cons->listener.fd >= 0) {
		unlink(cons->socket_path);
		control_unwatch(cons->control, &cons->listener);
		close(cons->listener.fd);
	}
	control_unwatch(cons->control, &cons->events_watch);
	if (cons->clock.fd >= 0) {
		control_unwatch(cons->control, &cons->clock);
		close(cons->clock.fd);
	}
}
