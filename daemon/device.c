/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "event.h"
#include "session.h"

/* Devices: which there are, what each is, and what a client has once it opened one. */

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

int
device_refuse_drained(struct request *req, const struct device *device)
{
	if (req->client->control->ending)
		snprintf(req->why, sizeof(req->why), "is drained: its daemon ends");
	else
		snprintf(req->why, sizeof(req->why),
		         "is drained by an operator, until 'weftctl resume %s'", device->name);
	return ESHUTDOWN;
}

bool
device_is_drained(const void *device)
{
	return ((const struct device *)device)->is_drained;
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
	if (!op->err)
		list_add_tail(&op->client->device->clients, &op->client->device_link);
}

static void
del_from_worker(void *arg, uint64_t now_ns)
{
	struct client *client = arg;

	(void)now_ns;
	list_del(&client->device_link);
	worker_del_client(client->device->worker, &client->bells);
}

/* On the worker. The control thread tells it: that the events can be sent makes it look. */
static void
rings_too_fast(struct bell_client *bells)
{
	struct client *client = container_of(bells, struct client, bells);

	client->too_fast = true;
	control_rearm(client->control, &client->events.watch, EPOLLOUT);
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
	if (client->control->client_doorbells)
		client->bells.ns_per_ring = 1000000000 / client->control->client_doorbells;
	client->bells.too_fast = rings_too_fast;
	client->bells.wake_fd = eventfd(0, EFD_CLOEXEC);
	if (client->bells.wake_fd < 0) {
		err = errno;
		goto no_page;
	}
	nic_client_init(&client->turns);
	client->device = device;
	err = mailbox_open(&client->events, client, OUTBOX_EVENTS, events_fd);
	if (err)
		goto no_events;
	outbox_mark_init(&client->port_events, &client->events.box, 1);
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

void
device_close(struct client *client)
{
	worker_call(client->device->worker, del_from_worker, client);
	mailbox_close(&client->events);
	close(client->bells.wake_fd);
	arena_fini(&client->arena);
}

static uint32_t
most_of(const struct client *client, enum account_kind kind, uint32_t limit)
{
	uint64_t most = account_most(&client->account, kind);

	return most < limit ? (uint32_t)most : limit;
}

static void
tell_opened(const struct client *client, struct ctl_opened *opened)
{
	const struct device *device = client->device;

	memset(&opened->arena_bytes, 0, sizeof(*opened) - sizeof(opened->hdr));
	opened->arena_bytes = ARENA_BYTES;
	opened->guid = device->guid;
	memcpy(opened->mac, device->nic->self.mac, sizeof(opened->mac));
	opened->nb_gids = (uint16_t)device->nic->gids.len;
	opened->pid = (uint32_t)getpid();
	opened->max_mr_size = MR_MAX_BYTES;
	opened->max_qp = most_of(client, ACCOUNT_QPS, WEFT_MAX_QP);
	opened->max_mr = most_of(client, ACCOUNT_MRS, WEFT_MAX_MR);
	opened->max_cq = most_of(client, ACCOUNT_OBJECTS, WEFT_MAX_CQ);
	opened->max_srq = most_of(client, ACCOUNT_OBJECTS, WEFT_MAX_SRQ);
	opened->max_pd = most_of(client, ACCOUNT_OBJECTS, WEFT_MAX_PD);
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
	if (device->is_drained) {
		event_tell(EVENT_LIMIT, device->name, "pid %d is refused: drained",
		           (int)client->account.pid);
		return device_refuse_drained(req, device);
	}
	if (req->fd >= 0 && !is_memory_of(req->fd, client->account.pid))
		return EBADF;
	err = open_device(client, device, &events_fd);
	if (err)
		return err;
	client->mem_fd = req->fd;
	req->fd = -1;
	pthread_mutex_lock(&client->control->clients_lock);
	client->account.device = device->name;
	pthread_mutex_unlock(&client->control->clients_lock);
	event_tell(EVENT_CLIENT, device->name, "opened by pid %d, uid %u", (int)client->account.pid,
	           (unsigned int)client->account.user->uid);
	tell_opened(client, opened);
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

/* On the worker: it counts while it works. */
static void
read_violations(void *arg, uint64_t now_ns)
{
	struct request *req = arg;
	const uint64_t *drop = req->client->device->nic->stats.drop;

	(void)now_ns;
	req->msg->port.nb_qkey_violations = drop[DROP_QKEY];
	req->msg->port.nb_pkey_violations = drop[DROP_PKEY];
}

int
handle_query_port(struct request *req)
{
	const struct nic *nic = req->client->device->nic;
	struct ctl_port *port = &req->msg->port;

	memset(&port->state, 0, sizeof(*port) - sizeof(port->hdr));
	port->state = nic->is_up ? SHM_PORT_ACTIVE : SHM_PORT_DOWN;
	port->max_mtu = SHM_MTU_4096;
	port->active_mtu = nic->active_mtu;
	port->speed_mbps = (uint32_t)(nic->conf.line_rate_bps / 1000000);
	worker_call(req->client->device->worker, read_violations, req);
	return 0;
}

/* The table changes by calls of this thread only. */
int
handle_query_gid(struct request *req)
{
	const struct gid_table *gids = &req->client->device->nic->gids;
	struct ctl_gid *msg = &req->msg->gid;
	const struct gid *gid = gid_at(gids, msg->index);
	uint32_t index = msg->index;

	if (index >= gids->len)
		return EINVAL;
	memset(&msg->index, 0, sizeof(*msg) - sizeof(msg->hdr));
	msg->index = index;
	if (!gid)
		return 0;
	msg->valid = 1;
	msg->ifindex = gid->ifindex;
	memcpy(msg->gid, gid->ip.b, sizeof(msg->gid));
	return 0;
}
