/* SPDX-License-Identifier: BSD-3-Clause */
#include "session.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "log.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

/* Descriptors that a request may carry before the kernel cuts them off; one is used. */
#define MAX_IN_FDS 8

/* ---- handles ---- */

void *
obj_find(struct client *client, enum obj_kind kind, uint32_t handle)
{
	return keytab_get(&client->objs[kind], handle);
}

uint32_t
obj_count(const struct client *client, enum obj_kind kind)
{
	return client->objs[kind].nb_objs;
}

int
obj_add(struct client *client, struct obj *obj, enum obj_kind kind, uint32_t handle)
{
	int err;

	obj->client = client;
	obj->kind = kind;
	do {
		obj->handle = handle ? handle : ++client->control->next_handle;
		err = obj->handle ? keytab_put(&client->objs[kind], obj->handle, obj) : -EEXIST;
	} while (err == -EEXIST && !handle);
	assert(err != -EEXIST);
	return -err;
}

static const struct obj_ops *const obj_ops[OBJ_NB] = {
	[OBJ_QP] = &qp_ops,           [OBJ_SRQ] = &srq_ops, [OBJ_MW] = &mr_ops,
	[OBJ_MR] = &mr_ops,           [OBJ_CQ] = &cq_ops,   [OBJ_CHANNEL] = &channel_ops,
	[OBJ_BACKING] = &backing_ops, [OBJ_PD] = &pd_ops,
};

/* Objects of one kind that end together: one call of the worker for all of them. */
#define END_BATCH 64

struct end {
	struct obj *objs[END_BATCH];
	uint32_t nb_objs;
	int err; /* of the last that was refused */
};

static void
detach(void *arg, uint64_t now_ns)
{
	struct end *end = arg;

	(void)now_ns;
	for (uint32_t i = 0; i < end->nb_objs; i++) {
		int err = obj_ops[end->objs[i]->kind]->detach(end->objs[i]);

		if (err)
			end->err = err;
	}
}

/* Objects of one kind that nothing uses. If one is refused, it is the only one. */
static int
end_objs(struct client *client, struct end *end)
{
	const struct obj_ops *ops = obj_ops[end->objs[0]->kind];

	end->err = 0;
	if (ops->detach)
		worker_call(client->device->worker, detach, end);
	if (end->err) {
		assert(end->nb_objs == 1);
		return end->err;
	}
	for (uint32_t i = 0; i < end->nb_objs; i++) {
		struct obj *obj = end->objs[i];

		assert(obj->nb_refs == 0);
		keytab_del(&client->objs[obj->kind], obj->handle);
		ops->release(obj);
	}
	return 0;
}

int
obj_destroy(struct obj *obj)
{
	struct end end = {.objs = {obj}, .nb_objs = 1};

	return obj->nb_refs ? EBUSY : end_objs(obj->client, &end);
}

int
obj_destroy_handle(struct request *req, enum obj_kind kind)
{
	struct obj *obj = obj_find(req->client, kind, req->msg->handle.handle);

	return obj ? obj_destroy(obj) : EINVAL;
}

static void
destroy_all(struct client *client, enum obj_kind kind)
{
	const struct keytab *table = &client->objs[kind];

	while (table->nb_objs > 0) {
		struct end end = {0};
		uint32_t pos = 0;
		int err;

		while (end.nb_objs < END_BATCH &&
		       (end.objs[end.nb_objs] = keytab_next(table, &pos)))
			end.nb_objs++;
		err = end_objs(client, &end);
		assert(err == 0);
	}
	keytab_fini(&client->objs[kind]);
}

/* ---- mailboxes ---- */

static void
flush_mailbox(void *arg, uint64_t now_ns)
{
	struct mailbox *mailbox = arg;

	(void)now_ns;
	if (!outbox_flush(&mailbox->box))
		control_rearm(mailbox->client->control, &mailbox->watch, EPOLLOUT);
}

/* There is room again, or nobody reads any more: then the messages fall into nowhere. */
static void
mailbox_ready(struct watch *watch, uint32_t events)
{
	struct mailbox *mailbox = container_of(watch, struct mailbox, watch);

	(void)events;
	worker_call(mailbox->client->device->worker, flush_mailbox, mailbox);
}

int
mailbox_open(struct mailbox *mailbox, struct client *client, enum outbox_form form, int *peer_fd)
{
	int err = outbox_open(&mailbox->box, form, peer_fd);

	if (err)
		return -err;
	mailbox->client = client;
	mailbox->watch = (struct watch){.fd = mailbox->box.fd, .ready = mailbox_ready};
	err = control_watch(client->control, &mailbox->watch, EPOLLONESHOT);
	if (err) {
		outbox_close(&mailbox->box);
		close(*peer_fd);
	}
	return -err;
}

void
mailbox_close(struct mailbox *mailbox)
{
	control_unwatch(mailbox->client->control, &mailbox->watch);
	outbox_close(&mailbox->box);
}

void
mailbox_send(struct outbox_mark *mark, uint32_t type)
{
	struct mailbox *mailbox = container_of(mark->box, struct mailbox, box);
	bool was_waiting = !list_is_empty(&mark->box->waiting);

	if (!outbox_send(mark, type) && !was_waiting)
		control_rearm(mailbox->client->control, &mailbox->watch, EPOLLOUT);
}

/* ---- requests ---- */

void
request_give_fd(struct request *req, int fd, bool close)
{
	assert(req->nb_out_fds < sizeof(req->out_fds) / sizeof(req->out_fds[0]));
	req->out_fds[req->nb_out_fds] = fd;
	req->out_close[req->nb_out_fds++] = close;
}

int
handle_list(struct request *req)
{
	const struct control *control = req->client->control;
	struct ctl_list *list = &req->msg->list;

	memset(&list->nb_devices, 0, sizeof(*list) - sizeof(list->hdr));
	list->version = WEFT_ABI_VERSION;
	list->nb_devices = control->nb_devices;
	for (uint32_t i = 0; i < control->nb_devices; i++) {
		snprintf(list->device[i].name, WEFT_NAME_LEN, "%s", control->devices[i].name);
		list->device[i].guid = control->devices[i].guid;
	}
	return 0;
}

static struct device *
find_device(const struct control *control, const char name[WEFT_NAME_LEN])
{
	for (uint32_t i = 0; i < control->nb_devices; i++) {
		if (strncmp(control->devices[i].name, name, WEFT_NAME_LEN) == 0)
			return &control->devices[i];
	}
	return NULL;
}

/* Whether fd is the memory of this process, for reading and writing. */
static bool
is_memory_of(int fd, pid_t pid)
{
	char link[32], path[256], want[32];
	struct statfs fs;
	ssize_t len;
	size_t want_len;

	if (fstatfs(fd, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)
		return false;
	if ((fcntl(fd, F_GETFL) & (O_ACCMODE | O_PATH)) != O_RDWR)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return false;
	path[len] = '\0';
	want_len = (size_t)snprintf(want, sizeof(want), "/%d/mem", (int)pid);
	return (size_t)len >= want_len && strcmp(path + (size_t)len - want_len, want) == 0;
}

struct add_client {
	struct client *client;
	int err;
};

static void
add_to_worker(void *arg, uint64_t now_ns)
{
	struct add_client *op = arg;

	op->client->bells.rung_ns = now_ns;
	op->err = -worker_add_client(op->client->device->worker, &op->client->bells);
}

static void
del_from_worker(void *arg, uint64_t now_ns)
{
	struct client *client = arg;

	(void)now_ns;
	worker_del_client(client->device->worker, &client->bells);
}

/* What an open client has, in order; undone by close_device in reverse. */
static int
open_device(struct client *client, struct device *device, int *events_fd)
{
	struct add_client op = {.client = client};
	uint64_t page;
	int err;

	err = -arena_init(&client->arena);
	if (err)
		return err;
	err = -arena_alloc(&client->arena, sizeof(struct shm_bell), &page);
	if (err)
		goto no_page;
	assert(page == 0);
	client->bells.page = (struct shm_bell *)(void *)client->arena.base;
	client->bells.wake_fd = eventfd(0, EFD_CLOEXEC);
	if (client->bells.wake_fd < 0) {
		err = errno;
		goto no_page;
	}
	client->device = device;
	err = mailbox_open(&client->events, client, OUTBOX_EVENTS, events_fd);
	if (err)
		goto no_events;
	worker_call(device->worker, add_to_worker, &op);
	err = op.err;
	if (!err)
		return 0;
	mailbox_close(&client->events);
	close(*events_fd);
no_events:
	client->device = NULL;
	close(client->bells.wake_fd);
no_page:
	arena_fini(&client->arena);
	return err;
}

static void
close_device(struct client *client)
{
	worker_call(client->device->worker, del_from_worker, client);
	mailbox_close(&client->events);
	close(client->bells.wake_fd);
	arena_fini(&client->arena);
}

int
handle_open(struct request *req)
{
	struct client *client = req->client;
	const struct ctl_open *open = &req->msg->open;
	struct ctl_opened *opened = &req->msg->opened;
	struct device *device;
	int events_fd, uffd, err;

	if (client->device)
		return EINVAL;
	if (open->version != WEFT_ABI_VERSION)
		return EPROTONOSUPPORT;
	device = find_device(client->control, open->device);
	if (!device)
		return ENODEV;
	if (req->fd >= 0 && !is_memory_of(req->fd, client->pid))
		return EBADF;
	err = open_device(client, device, &events_fd);
	if (err)
		return err;
	client->mem_fd = req->fd;
	req->fd = -1;
	log_debug("%s: opened by pid %d, uid %u", device->name, (int)client->pid,
	          (unsigned int)client->uid);

	memset(&opened->arena_bytes, 0, sizeof(*opened) - sizeof(opened->hdr));
	opened->arena_bytes = ARENA_BYTES;
	opened->guid = device->guid;
	memcpy(opened->mac, device->nic->conf.mac, sizeof(opened->mac));
	opened->nb_gids = (uint16_t)device->nic->nb_gids;
	opened->max_qp_total = CONTROL_MAX_QP_TOTAL;
	opened->max_mr_size = MR_MAX_BYTES;
	opened->pid = (uint32_t)getpid();
	request_give_fd(req, client->arena.fd, false);
	request_give_fd(req, client->bells.wake_fd, false);
	request_give_fd(req, events_fd, true);
	/* It lets an application stop the kernel at its pages: the operator decides who may. */
	uffd = client->control->userfaultfd
	               ? openat(AT_FDCWD, "/dev/userfaultfd", O_RDWR | O_CLOEXEC)
	               : -1;
	if (uffd >= 0)
		request_give_fd(req, uffd, true);
	return 0;
}

int
handle_query_port(struct request *req)
{
	const struct nic *nic = req->client->device->nic;
	struct ctl_port *port = &req->msg->port;

	memset(&port->state, 0, sizeof(*port) - sizeof(port->hdr));
	port->state = 4;
	port->max_mtu = 5;
	port->active_mtu = nic->active_mtu;
	port->speed_mbps = (uint32_t)(nic->conf.line_rate_bps / 1000000);
	port->nb_qkey_violations = nic->stats.drop[DROP_QKEY];
	port->nb_pkey_violations = nic->stats.drop[DROP_PKEY];
	return 0;
}

int
handle_query_gid(struct request *req)
{
	static const struct ip_addr empty;
	const struct nic *nic = req->client->device->nic;
	struct ctl_gid *gid = &req->msg->gid;
	uint32_t index = gid->index;

	if (index >= nic->nb_gids)
		return EINVAL;
	memcpy(gid->gid, nic->gids[index].b, sizeof(gid->gid));
	gid->valid = memcmp(&nic->gids[index], &empty, sizeof(empty)) != 0;
	return 0;
}

/* A request and what answers it have exactly these sizes. */
static const struct {
	uint16_t size;
	uint16_t answer_size;
	bool before_open;
	int (*handle)(struct request *req);
} ops[] = {
	[CTL_LIST] = {sizeof(struct ctl_hdr), sizeof(struct ctl_list), true, handle_list},
#define OP(op, request, answer, fn)                                                                \
	[op] = {sizeof(struct request), sizeof(struct answer), (op) == CTL_OPEN, fn}
	OP(CTL_OPEN, ctl_open, ctl_opened, handle_open),
	OP(CTL_QUERY_PORT, ctl_hdr, ctl_port, handle_query_port),
	OP(CTL_QUERY_GID, ctl_gid, ctl_gid, handle_query_gid),
	OP(CTL_ALLOC_PD, ctl_hdr, ctl_handle, handle_alloc_pd),
	OP(CTL_DEALLOC_PD, ctl_handle, ctl_hdr, handle_dealloc_pd),
	OP(CTL_NEW_BACKING, ctl_backing, ctl_backing, handle_new_backing),
	OP(CTL_ADD_BACKING, ctl_backing, ctl_backing, handle_add_backing),
	OP(CTL_FREE_BACKING, ctl_handle, ctl_hdr, handle_free_backing),
	OP(CTL_REG_MR, ctl_mr, ctl_mr, handle_reg_mr),
	OP(CTL_DEREG_MR, ctl_handle, ctl_hdr, handle_dereg_mr),
	OP(CTL_ALLOC_MW, ctl_mw, ctl_mw, handle_alloc_mw),
	OP(CTL_DEALLOC_MW, ctl_handle, ctl_hdr, handle_dealloc_mw),
	OP(CTL_NEW_CHANNEL, ctl_hdr, ctl_handle, handle_new_channel),
	OP(CTL_FREE_CHANNEL, ctl_handle, ctl_hdr, handle_free_channel),
	OP(CTL_CREATE_CQ, ctl_cq, ctl_cq, handle_create_cq),
	OP(CTL_RESIZE_CQ, ctl_cq, ctl_cq, handle_resize_cq),
	OP(CTL_DESTROY_CQ, ctl_handle, ctl_hdr, handle_destroy_cq),
	OP(CTL_CREATE_SRQ, ctl_srq, ctl_srq, handle_create_srq),
	OP(CTL_MODIFY_SRQ, ctl_srq, ctl_srq, handle_modify_srq),
	OP(CTL_QUERY_SRQ, ctl_srq, ctl_srq, handle_query_srq),
	OP(CTL_DESTROY_SRQ, ctl_handle, ctl_hdr, handle_destroy_srq),
	OP(CTL_CREATE_QP, ctl_qp, ctl_qp, handle_create_qp),
	OP(CTL_MODIFY_QP, ctl_qp_attr, ctl_qp_attr, handle_modify_qp),
	OP(CTL_QUERY_QP, ctl_qp_attr, ctl_qp_attr, handle_query_qp),
	OP(CTL_DESTROY_QP, ctl_handle, ctl_hdr, handle_destroy_qp),
#undef OP
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
	return ops[hdr->op].handle(req);
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
	status = run_request(&req, (size_t)len);
	buf.hdr.status = status;
	buf.hdr.len = status == 0 ? ops[buf.hdr.op].answer_size : sizeof(buf.hdr);
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

void
client_create(struct control *control, int fd)
{
	struct client *client = calloc(1, sizeof(*client));
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (!client || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0) {
		log_warn("an application was sent away: %s", strerror(errno));
		free(client);
		close(fd);
		return;
	}
	client->control = control;
	client->pid = cred.pid;
	client->uid = cred.uid;
	client->mem_fd = -1;
	client->socket = (struct watch){.fd = fd, .ready = socket_ready};
	client->process = (struct watch){.fd = process_fd(fd, cred.pid), .ready = process_ready};
	list_add_tail(&control->clients, &client->link);
	control->nb_clients++;
	if (control_watch(control, &client->socket, EPOLLIN) != 0 ||
	    (client->process.fd >= 0 && control_watch(control, &client->process, EPOLLIN) != 0))
		client_destroy(client);
}

void
client_destroy(struct client *client)
{
	struct control *control = client->control;

	control_unwatch(control, &client->socket);
	close(client->socket.fd);
	if (client->process.fd >= 0) {
		control_unwatch(control, &client->process);
		close(client->process.fd);
	}
	for (uint32_t kind = 0; kind < OBJ_NB; kind++)
		destroy_all(client, kind);
	if (client->device) {
		log_debug("%s: closed by pid %d", client->device->name, (int)client->pid);
		close_device(client);
	}
	if (client->mem_fd >= 0)
		close(client->mem_fd);
	list_del(&client->link);
	control->nb_clients--;
	free(client);
	control_client_gone(control);
}

/* ---- the worker's word to the application ---- */

static void
notify(void *owner, uint32_t channel, uint64_t cookie)
{
	(void)channel;
	(void)cookie;
	cq_obj_notify(owner);
}

static void
event(void *owner, uint32_t type, uint64_t cookie)
{
	(void)cookie;
	mailbox_send(owner, type);
}

static uint64_t
unguessable(void)
{
	uint64_t x;

	arc4random_buf(&x, sizeof(x));
	return x;
}

const struct nic_driver client_driver = {
	.notify = notify,
	.event = event,
	.random = unguessable,
};
