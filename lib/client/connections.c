/* SPDX-License-Identifier: BSD-3-Clause */
#include "connections.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "client.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct weft *open_ones;

void
connections_add(struct weft *weft)
{
	pthread_mutex_lock(&lock);
	weft->next = open_ones;
	open_ones = weft;
	pthread_mutex_unlock(&lock);
}

void
connections_remove(struct weft *weft)
{
	pthread_mutex_lock(&lock);
	for (struct weft **link = &open_ones; *link; link = &(*link)->next) {
		if (*link == weft) {
			*link = weft->next;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
}

void
connections_lock(void)
{
	pthread_mutex_lock(&lock);
	for (struct weft *weft = open_ones; weft; weft = weft->next)
		pthread_mutex_lock(&weft->obj_lock);
}

void
connections_unlock(void)
{
	for (struct weft *weft = open_ones; weft; weft = weft->next)
		pthread_mutex_unlock(&weft->obj_lock);
	pthread_mutex_unlock(&lock);
}

/* A thread that the child has not may have held any lock of a ring. */

static void
empty_wq(struct ring_wq *wq)
{
	atomic_store(&wq->tail, 0);
	atomic_store(&wq->done, 0);
	ring_unlock(&wq->lock);
}

static void
empty_queues(struct client_obj *obj)
{
	struct weft_qp *qp = (struct weft_qp *)obj;
	struct weft_cq *cq = (struct weft_cq *)obj;

	switch (obj->kind) {
	case CLIENT_NONE:
		break;
	case CLIENT_CQ:
		cq->ring.head = cq->ring.given = cq->ring.tail = 0;
		ring_unlock(&cq->lock);
		break;
	case CLIENT_SRQ:
		empty_wq(&((struct weft_srq *)obj)->rq);
		break;
	case CLIENT_QP:
		empty_wq(&qp->sq);
		empty_wq(&qp->rq);
		break;
	}
}

/** Let a descriptor lead nowhere. Without null, for want of a free one, it stays as it is. */
static void
blind(int fd, int null)
{
	if (fd >= 0 && null >= 0)
		dup3(null, fd, O_CLOEXEC);
}

static void
cut(struct weft *weft, int null)
{
	atomic_store(&weft->dead, true);
	blind(weft->ctl_fd, null);
	blind(weft->bell_fd, null);
	blind(weft->events_fd, null);
	for (struct weft_channel *channel = weft->channels; channel; channel = channel->next)
		blind(channel->fd, null);
	/* Zeros in place of the arena: empty rings. */
	if (mmap(weft->arena, weft->info.arena_bytes, PROT_READ | PROT_WRITE,
	         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
		munmap(weft->arena, weft->info.arena_bytes);
		weft->arena = MAP_FAILED;
		return;
	}
	for (uint32_t i = 0; i < weft->nb_slots; i++) {
		struct client_obj *obj = atomic_load(&weft->slots[i].obj);

		if (obj)
			empty_queues(obj);
	}
}

void
connections_cut(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (struct weft *weft = open_ones; weft; weft = weft->next)
		cut(weft, null);
	if (null >= 0)
		close(null);
}
