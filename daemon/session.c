/* SPDX-License-Identifier: BSD-3-Clause */
#include "session.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "event.h"
#include "lazy.h"
#include "log.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

/* Descriptors that a request may carry before the kernel cuts them off; one is used. */
#define MAX_IN_FDS 8

/* ---- requests ---- */

void
request_give_fd(struct request *req, int fd, bool close)
{
	assert(req->nb_out_fds < sizeof(req->out_fds) / sizeof(req->out_fds[0]));
	req->out_fds[req->nb_out_fds] = fd;
	req->out_close[req->nb_out_fds++] = close;
}

/* A request and what answers it have exactly these sizes. */
static const struct {
	uint16_t size;
	uint16_t answer_size;
	bool before_open;
	int (*handle)(struct request *req); /* NULL: an object ends */
	enum obj_kind kind;                 /* which */
} ops[] = {
	[CTL_LIST] = {sizeof(struct ctl_hdr), sizeof(struct ctl_list), true, handle_list},
#define OP(op, request, answer, fn)                                                                \
	[op] = {sizeof(struct request), sizeof(struct answer), (op) == CTL_OPEN, fn}
#define END(op, kind) [op] = {sizeof(struct ctl_handle), sizeof(struct ctl_hdr), false, NULL, kind}
	OP(CTL_OPEN, ctl_open, ctl_opened, handle_open),
	OP(CTL_QUERY_PORT, ctl_hdr, ctl_port, handle_query_port),
	OP(CTL_QUERY_GID, ctl_gid, ctl_gid, handle_query_gid),
	OP(CTL_ALLOC_PD, ctl_hdr, ctl_handle, handle_alloc_pd),
	END(CTL_DEALLOC_PD, OBJ_PD),
	OP(CTL_NEW_BACKING, ctl_backing, ctl_backing, handle_new_backing),
	OP(CTL_ADD_BACKING, ctl_backing, ctl_backing, handle_add_backing),
	END(CTL_FREE_BACKING, OBJ_BACKING),
	OP(CTL_REG_MR, ctl_mr, ctl_mr, handle_reg_mr),
	OP(CTL_DEREG_MR, ctl_handle, ctl_hdr, handle_dereg_mr),
	OP(CTL_ALLOC_MW, ctl_mw, ctl_mw, handle_alloc_mw),
	OP(CTL_DEALLOC_MW, ctl_handle, ctl_hdr, handle_dealloc_mw),
	OP(CTL_NEW_CHANNEL, ctl_hdr, ctl_handle, handle_new_channel),
	END(CTL_FREE_CHANNEL, OBJ_CHANNEL),
	OP(CTL_CREATE_CQ, ctl_cq, ctl_cq, handle_create_cq),
	OP(CTL_RESIZE_CQ, ctl_cq, ctl_cq, handle_resize_cq),
	END(CTL_DESTROY_CQ, OBJ_CQ),
	OP(CTL_CREATE_SRQ, ctl_srq, ctl_srq, handle_create_srq),
	OP(CTL_MODIFY_SRQ, ctl_srq, ctl_srq, handle_modify_srq),
	OP(CTL_QUERY_SRQ, ctl_srq, ctl_srq, handle_query_srq),
	END(CTL_DESTROY_SRQ, OBJ_SRQ),
	OP(CTL_CREATE_QP, ctl_qp, ctl_qp, handle_create_qp),
	OP(CTL_MODIFY_QP, ctl_qp_attr, ctl_qp_attr, handle_modify_qp),
	OP(CTL_QUERY_QP, ctl_qp_attr, ctl_qp_attr, handle_query_qp),
	END(CTL_DESTROY_QP, OBJ_QP),
#undef OP
#undef END
};
static_assert(sizeof(ops) / sizeof(ops[0]) == CTL_NB, "one row per operation");

static int
run_request(struct request *req, size_t len)
{
	const struct ctl_hdr *hdr = &req->msg->hdr;

	if (len < sizeof(*hdr) || hdr->len != len)
		return EINVAL;
	if (hdr->op >= CTL_NB)
		return ENOSYS;
	if (len != ops[hdr->op].size || (!req->client->device && !ops[hdr->op].before_open))
		return EINVAL;
	if (!ops[hdr->op].handle)
		return obj_destroy_handle(req, ops[hdr->op].kind);
	return ops[hdr->op].handle(req);
}

/* The reason, if there is more to say than the errno. @return bytes of the answer. */
static uint16_t
refuse(struct request *req)
{
	struct ctl_refusal *refusal = &req->msg->refusal;
	const char *limit = req->client->account.why;

	if (!*req->why && !*limit)
		return sizeof(refusal->hdr);
	memset(refusal->why, 0, sizeof(refusal->why));
	if (*req->why)
		memcpy(refusal->why, req->why, sizeof(refusal->why));
	else
		snprintf(refusal->why, sizeof(refusal->why), "%s", limit);
	return sizeof(*refusal);
}

/* @return false if the application does not take its answer. */
static bool
answer(const struct request *req)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(req->out_fds))];
	} control;
	struct iovec iov = {.iov_base = req->msg, .iov_len = req->msg->hdr.len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (req->nb_out_fds > 0) {
		size_t bytes = req->nb_out_fds * sizeof(int);
		struct cmsghdr *cmsg;

		memset(&control, 0, sizeof(control));
		msg.msg_control = control.buf;
		msg.msg_controllen = CMSG_SPACE(bytes);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(bytes);
		memcpy(CMSG_DATA(cmsg), req->out_fds, bytes);
	}
	return sendmsg(req->client->socket.fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* The first descriptor that came; the others are not wanted. */
static int
take_fd(struct msghdr *msg, struct closer *closer)
{
	int first = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t nb;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		nb = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < nb; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (first < 0)
				first = fd;
			else
				closer_put(closer, fd);
		}
	}
	return first;
}

static void
socket_ready(struct watch *watch, uint32_t events)
{
	struct client *client = container_of(watch, struct client, socket);
	struct closer *closer = &client->control->closer;
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(MAX_IN_FDS * sizeof(int))];
	} control;
	union ctl_msg buf = {0};
	struct iovec iov = {.iov_base = &buf, .iov_len = sizeof(buf)};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
	};
	struct request req = {.client = client, .msg = &buf, .fd = -1};
	ssize_t len;
	int status;
	bool taken;

	(void)events;
	/* Without room for them the kernel drops the descriptors. */
	if (closer_has_room(closer, MAX_IN_FDS))
		msg.msg_controllen = sizeof(control.buf);
	len = recvmsg(watch->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* An empty message looks like the end, and may carry descriptors. */
	req.fd = len >= 0 ? take_fd(&msg, closer) : -1;
	if (len <= 0) {
		if (req.fd >= 0)
			closer_put(closer, req.fd);
		client_destroy(client);
		return;
	}
	client->account.why[0] = '\0';
	status = run_request(&req, (size_t)len);
	buf.hdr.status = status;
	buf.hdr.len = status == 0 ? ops[buf.hdr.op].answer_size : refuse(&req);
	if (req.fd >= 0)
		closer_put(closer, req.fd);
	taken = answer(&req);
	for (uint32_t i = 0; i < req.nb_out_fds; i++) {
		if (req.out_close[i])
			close(req.out_fds[i]);
	}
	if (!taken)
		client_destroy(client);
}

/* ---- birth and death ---- */

/* The process has ended; its children may hold the socket open. */
static void
process_ready(struct watch *watch, uint32_t events)
{
	(void)events;
	client_destroy(container_of(watch, struct client, process));
}

static int
process_fd(int socket, pid_t pid)
{
	socklen_t len = sizeof(int);
	int fd;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) == 0)
		return fd;
	return pidfd_open(pid, 0);
}

/* Nothing more will be answered but this. */
static void
say_end(int fd, int err)
{
	const struct ctl_hdr hdr = {.op = CTL_REFUSAL, .len = sizeof(hdr), .status = err};

	(void)!send(fd, &hdr, sizeof(hdr), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void
client_turn_away(int fd, int err)
{
	say_end(fd, err);
	close(fd);
}

void
client_create(struct control *control, int fd)
{
	struct client *client = lazy_zeros(sizeof(*client));
	struct ucred cred;
	socklen_t len = sizeof(cred);
	int err;

	if (!client || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		err = errno;
	else
		err = account_open(&client->account, &control->accounts, cred.pid, cred.uid);
	if (err) {
		if (err != EAGAIN) /* that was told */
			log_warn("an application was sent away: %s", strerror(err));
		lazy_free(client, sizeof(*client));
		client_turn_away(fd, err);
		return;
	}
	client->control = control;
	client->mem_fd = -1;
	client->socket = (struct watch){.fd = fd, .ready = socket_ready};
	client->process =
		(struct watch){.fd = process_fd(fd, client->account.pid), .ready = process_ready};
	list_init(&client->ended_link);
	client->number = ++control->nb_connections;
	pthread_mutex_lock(&control->clients_lock);
	list_add_tail(&control->clients, &client->link);
	pthread_mutex_unlock(&control->clients_lock);
	control->nb_clients++;
	if (control_watch(control, &client->socket, EPOLLIN) != 0 ||
	    (client->process.fd >= 0 && control_watch(control, &client->process, EPOLLIN) != 0))
		client_destroy(client);
}

void
client_look(struct client *client)
{
	if (client->too_fast)
		account_too_fast(&client->account, client->control->client_doorbells);
	client->too_fast = false;
}

/* It has given back all objects. */
static void
client_free(struct client *client)
{
	struct control *control = client->control;

	if (client->device) {
		event_tell(EVENT_CLIENT, client->device->name, "closed by pid %d",
		           (int)client->account.pid);
		device_close(client);
	}
	if (client->mem_fd >= 0)
		close(client->mem_fd);
	pthread_mutex_lock(&control->clients_lock);
	list_del(&client->link);
	pthread_mutex_unlock(&control->clients_lock);
	list_del(&client->ended_link);
	account_close(&client->account);
	control->nb_clients--;
	lazy_free(client, sizeof(*client));
	control_client_gone(control);
}

/* Objects that are given back before others get their turn, some milliseconds. Our choice. */
#define GIVE_BACK 128

/*
 * An application that lives takes its memory for its own again when it hears of its end: not while
 * one of its QPs may still write there.
 */
static void
let_hear(struct client *client)
{
	if (client->socket.fd < 0 || obj_count(client, OBJ_QP) > 0)
		return;
	if (client->end_err)
		say_end(client->socket.fd, client->end_err);
	close(client->socket.fd);
	client->socket.fd = -1;
}

static void
give_back(struct client *client)
{
	for (uint32_t nb = 0; nb < GIVE_BACK;) {
		uint32_t nb_more;

		let_hear(client);
		nb_more = obj_destroy_some(client);
		if (nb_more == 0) {
			client_free(client);
			return;
		}
		nb += nb_more;
	}
}

bool
clients_give_back(struct control *control)
{
	if (list_is_empty(&control->ended))
		return false;
	give_back(container_of(control->ended.next, struct client, ended_link));
	return true;
}

bool
client_has_ended(const struct client *client)
{
	return list_is_linked(&client->ended_link);
}

void
client_destroy(struct client *client)
{
	struct control *control = client->control;

	assert(!client_has_ended(client));
	control_unwatch(control, &client->socket);
	if (client->process.fd >= 0) {
		control_unwatch(control, &client->process);
		close(client->process.fd);
	}
	if (client->device)
		arena_leave(&client->arena);
	list_add_tail(&control->ended, &client->ended_link);
	give_back(client);
}

void
client_send_away(struct client *client, int err)
{
	client->end_err = err;
	client_destroy(client);
}
