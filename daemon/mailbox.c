/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "session.h"

/* What the worker says to applications, and what waits until they read. */

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
	if (mailbox == &mailbox->client->events)
		client_look(mailbox->client);
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

/* ---- what a NIC calls ---- */

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

/* Of up and down only the last is of interest to one who has read neither. */
static void
port_event(void *owner, uint32_t type)
{
	struct device *device = owner;

	for (struct list *l = device->clients.next; l != &device->clients; l = l->next) {
		struct outbox_mark *mark =
			&container_of(l, struct client, device_link)->port_events;

		if (type == SHM_EVENT_PORT_ACTIVE)
			outbox_cancel(mark, SHM_EVENT_PORT_ERR);
		if (type == SHM_EVENT_PORT_ERR)
			outbox_cancel(mark, SHM_EVENT_PORT_ACTIVE);
		mailbox_send(mark, type);
	}
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
	.port_event = port_event,
	.random = unguessable,
};
