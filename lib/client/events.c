/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <sys/socket.h>

#include "client.h"

/* ---- cookies ---- */

int
client_register(struct weft *weft, struct client_obj *obj, enum client_kind kind)
{
	uint32_t i;

	pthread_mutex_lock(&weft->obj_lock);
	i = weft->first_free;
	while (i < CLIENT_MAX_OBJS && atomic_load(&weft->slots[i].obj))
		i++;
	if (i < CLIENT_MAX_OBJS) {
		obj->kind = kind;
		/* Never 0: generations start at 1. */
		obj->cookie = (uint64_t)++weft->slots[i].generation << 32 | i;
		obj->nb_comp_events = obj->nb_async_events = 0;
		if (i >= weft->nb_slots)
			weft->nb_slots = i + 1;
		atomic_store(&weft->slots[i].obj, obj);
		weft->first_free = i + 1;
	}
	pthread_mutex_unlock(&weft->obj_lock);
	return i < CLIENT_MAX_OBJS ? 0 : -ENOMEM;
}

void
client_unregister(struct weft *weft, struct client_obj *obj)
{
	uint32_t i = (uint32_t)obj->cookie;

	pthread_mutex_lock(&weft->obj_lock);
	atomic_store(&weft->slots[i].obj, NULL);
	if (i < weft->first_free)
		weft->first_free = i;
	pthread_mutex_unlock(&weft->obj_lock);
}

/** The object of a cookie if it still lives and is of that kind. Called with obj_lock. */
static struct client_obj *
find(const struct weft *weft, uint64_t cookie, enum client_kind kind)
{
	uint32_t idx = (uint32_t)cookie;
	struct client_obj *obj = NULL;

	if (idx < CLIENT_MAX_OBJS)
		obj = atomic_load(&weft->slots[idx].obj);
	return obj && obj->cookie == cookie && obj->kind == kind ? obj : NULL;
}

/** One message of exactly this size. @return 0, -EAGAIN, -EINTR; -ENODEV at the end. */
static int
receive(int fd, void *buf, size_t size)
{
	for (;;) {
		ssize_t len = recv(fd, buf, size, 0);

		if (len == (ssize_t)size)
			return 0;
		if (len < 0 && (errno == EAGAIN || errno == EINTR))
			return -errno;
		if (len <= 0)
			return -ENODEV;
	}
}

/* ---- completion channels ---- */

int
client_channel_init(struct weft_channel *channel, struct weft *weft)
{
	union ctl_msg msg;
	struct ctl_fds fds = {.send = -1, .keep = 1};
	int err =
		ctl_call(weft, CTL_NEW_CHANNEL, &msg, sizeof(msg.hdr), sizeof(msg.handle), &fds, 1);

	if (err)
		return err;
	*channel =
		(struct weft_channel){.weft = weft, .fd = fds.recv[0], .handle = msg.handle.handle};
	pthread_mutex_lock(&weft->obj_lock);
	channel->next = weft->channels;
	weft->channels = channel;
	pthread_mutex_unlock(&weft->obj_lock);
	return 0;
}

int
client_channel_fini(struct weft_channel *channel)
{
	struct weft *weft = channel->weft;
	int err =
		channel->nb_cqs
			? -EBUSY
			: client_gone_ok(ctl_call_handle(weft, CTL_FREE_CHANNEL, channel->handle));

	if (err)
		return err;
	pthread_mutex_lock(&weft->obj_lock);
	for (struct weft_channel **link = &weft->channels; *link; link = &(*link)->next) {
		if (*link == channel) {
			*link = channel->next;
			break;
		}
	}
	pthread_mutex_unlock(&weft->obj_lock);
	close(channel->fd);
	return 0;
}

/**
 * A CQ of a channel whose daemon died and that still waits for its notification. One that is armed
 * again and again comes only as long as there is something to poll: who sleeps in a loop must come
 * to an end.
 */
static struct weft_cq *
next_armed(struct weft_channel *channel)
{
	struct weft *weft = channel->weft;

	for (uint32_t i = 0; i < weft->nb_slots; i++) {
		struct client_obj *obj = atomic_load(&weft->slots[i].obj);
		struct weft_cq *cq = (struct weft_cq *)obj;
		struct shm_cq *shm;

		if (!obj || obj->kind != CLIENT_CQ || cq->channel != channel || cq->told_dead)
			continue;
		shm = atomic_load(&cq->shared);
		if (shm && atomic_exchange(&shm->armed, SHM_ARM_NONE) != SHM_ARM_NONE) {
			cq->told_dead = true;
			return cq;
		}
	}
	return NULL;
}

int
client_channel_next(struct weft_channel *channel, struct weft_cq **out)
{
	struct weft *weft = channel->weft;
	struct client_obj *obj;
	uint64_t cookie;
	int err;

	do {
		err = receive(channel->fd, &cookie, sizeof(cookie));
		if (err && err != -ENODEV)
			return err;
		if (err)
			client_die(weft);
		pthread_mutex_lock(&weft->obj_lock);
		obj = err ? (struct client_obj *)next_armed(channel)
		          : find(weft, cookie, CLIENT_CQ);
		if (obj)
			obj->nb_comp_events++;
		pthread_mutex_unlock(&weft->obj_lock);
		/* Without an object the cookie was of a CQ that is gone since. */
	} while (!obj && !err);
	*out = (struct weft_cq *)obj;
	return obj ? 0 : err;
}

/* ---- asynchronous events ---- */

static enum client_kind
subject(uint32_t type)
{
	switch (type) {
	case SHM_EVENT_CQ_ERR:
		return CLIENT_CQ;
	case SHM_EVENT_QP_FATAL:
	case SHM_EVENT_QP_REQ_ERR:
	case SHM_EVENT_QP_ACCESS_ERR:
	case SHM_EVENT_COMM_EST:
	case SHM_EVENT_SQ_DRAINED:
	case SHM_EVENT_QP_LAST_WQE_REACHED:
		return CLIENT_QP;
	case SHM_EVENT_SRQ_ERR:
	case SHM_EVENT_SRQ_LIMIT_REACHED:
		return CLIENT_SRQ;
	}
	return CLIENT_NONE;
}

int
client_event_next(struct weft *weft, struct client_event *event)
{
	struct shm_event msg;
	enum client_kind kind;

	do {
		int err = receive(weft->events_fd, &msg, sizeof(msg));

		if (err && err != -ENODEV)
			return err;
		if (err) {
			client_die(weft);
			*event = (struct client_event){CLIENT_EVENT_FATAL, NULL};
			pthread_mutex_lock(&weft->obj_lock);
			err = weft->told_fatal ? -ENODEV : 0;
			weft->told_fatal = true;
			pthread_mutex_unlock(&weft->obj_lock);
			return err;
		}
		kind = subject(msg.type);
		*event = (struct client_event){msg.type, NULL};
		if (kind == CLIENT_NONE)
			return 0;
		pthread_mutex_lock(&weft->obj_lock);
		event->obj = find(weft, msg.cookie, kind);
		if (event->obj)
			event->obj->nb_async_events++;
		pthread_mutex_unlock(&weft->obj_lock);
	} while (!event->obj);
	return 0;
}
