/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "adopt.h"
#include "client.h"
#include "ranges.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct backing *backings;
static uint64_t idle_bytes; /**< sum of the lengths of idle objects */

void
backing_lock(void)
{
	pthread_mutex_lock(&lock);
}

void
backing_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/** An object of a descriptor, which it then owns. @return NULL: no memory, or nothing to stat. */
static struct backing *
new_backing(int fd, enum backing_origin origin, uint64_t length)
{
	struct backing *backing = calloc(1, sizeof(*backing));
	struct stat st;

	if (!backing || fstat(fd, &st) < 0 || (uint64_t)st.st_size < length) {
		free(backing);
		close(fd);
		return NULL;
	}
	backing->origin = origin;
	backing->fd = fd;
	backing->dev_major = major(st.st_dev);
	backing->dev_minor = minor(st.st_dev);
	backing->ino = st.st_ino;
	backing->length = length;
	backing->next = backings;
	backings = backing;
	return backing;
}

static struct backing_share *
new_share(struct backing *backing, struct weft *weft, uint32_t handle)
{
	struct backing_share *share = calloc(1, sizeof(*share));

	if (!share)
		return NULL;
	*share = (struct backing_share){
		.weft = weft, .handle = handle, .backing = backing, .next = backing->shares};
	backing->shares = share;
	return share;
}

int
backing_create(struct weft *weft, enum backing_origin origin, uint64_t length, struct backing **out)
{
	struct ctl_backing msg = {.length = length};
	struct ctl_fds fds = {.send = -1, .keep = 1};
	struct backing *backing;
	int err = ctl_call(weft, CTL_NEW_BACKING, &msg, sizeof(msg), sizeof(msg), &fds, 1);

	if (err)
		return err;
	backing = new_backing(fds.recv[0], origin, length);
	if (!backing || !new_share(backing, weft, msg.handle)) {
		if (backing)
			backing_destroy(backing);
		ctl_call_handle(weft, CTL_FREE_BACKING, msg.handle);
		return -ENOMEM;
	}
	*out = backing;
	return 0;
}

int
backing_place(struct backing *backing, uint64_t va)
{
	const struct maps_entry object = {
		.dev_major = backing->dev_major,
		.dev_minor = backing->dev_minor,
		.ino = backing->ino,
	};

	backing->va = va;
	backing->range = ranges_add(va, va + backing->length, &object);
	return backing->range ? 0 : -ENOSPC;
}

void
backing_orphan(struct backing *backing)
{
	while (backing->shares) {
		struct backing_share *share = backing->shares;

		backing->shares = share->next;
		if (share->weft)
			ctl_call_handle(share->weft, CTL_FREE_BACKING, share->handle);
		free(share);
	}
	if (backing->fd >= 0)
		close(backing->fd);
	backing->fd = -1;
}

static void
set_idle(struct backing *backing, bool idle)
{
	if (backing->idle == idle)
		return;
	backing->idle = idle;
	if (idle)
		idle_bytes += backing->length;
	else
		idle_bytes -= backing->length;
}

void
backing_destroy(struct backing *backing)
{
	set_idle(backing, false);
	backing_orphan(backing);
	if (backing->range)
		ranges_remove(backing->range);
	for (struct backing **link = &backings; *link; link = &(*link)->next) {
		if (*link == backing) {
			*link = backing->next;
			break;
		}
	}
	free(backing);
}

struct backing *
backing_find(const struct maps_entry *entry)
{
	for (struct backing *backing = backings; entry->shared && backing;
	     backing = backing->next) {
		if (backing->ino == entry->ino && backing->dev_major == entry->dev_major &&
		    backing->dev_minor == entry->dev_minor)
			return backing;
	}
	return NULL;
}

static struct backing_share *
share_of(const struct backing *backing, const struct weft *weft)
{
	struct backing_share *share = backing->shares;

	while (share && share->weft != weft)
		share = share->next;
	return share;
}

struct backing *
backing_find_allocated(const struct weft *weft, uint64_t va)
{
	for (struct backing *backing = backings; backing; backing = backing->next) {
		if (backing->origin == BACKING_ALLOCATED && backing->va == va)
			return share_of(backing, weft) ? backing : NULL;
	}
	return NULL;
}

struct backing_share *
backing_use(struct backing *backing, struct weft *weft)
{
	struct backing_share *share = share_of(backing, weft);

	if (!share) {
		struct ctl_backing msg = {0};
		struct ctl_fds fds = {.send = backing->fd};

		if (ctl_call(weft, CTL_ADD_BACKING, &msg, sizeof(msg), sizeof(msg), &fds, 0))
			return NULL;
		share = msg.length >= backing->length ? new_share(backing, weft, msg.handle) : NULL;
		if (!share) {
			ctl_call_handle(weft, CTL_FREE_BACKING, msg.handle);
			return NULL;
		}
	}
	set_idle(backing, false);
	share->nb_uses++;
	backing->nb_uses++;
	return share;
}

void
backing_unuse(struct backing_share *share)
{
	struct backing *backing = share->backing;

	share->nb_uses--;
	if (--backing->nb_uses)
		return;
	switch (backing->origin) {
	case BACKING_REMAPPED:
		/* It may be registered again; but what the application frees is freed. */
		if (idle_bytes + backing->length <= BACKING_IDLE_MAX)
			set_idle(backing, true);
		else
			backing_orphan(backing);
		break;
	case BACKING_ALLOCATED:
		break;
	case BACKING_FOREIGN:
		backing_destroy(backing);
		break;
	}
}

void
backing_forget(struct weft *weft)
{
	struct backing *next;

	for (struct backing *backing = backings; backing; backing = next) {
		struct backing_share **link = &backing->shares;

		next = backing->next;
		while (*link) {
			struct backing_share *share = *link;

			if (share->weft != weft) {
				link = &share->next;
				continue;
			}
			*link = share->next;
			free(share);
		}
		if (backing->shares || backing->fd < 0)
			continue;
		/* What is still mapped stays known, for fork and madvise. */
		if (backing->origin == BACKING_ALLOCATED)
			munmap((void *)(uintptr_t)backing->va, backing->length);
		if (backing->origin == BACKING_REMAPPED) {
			set_idle(backing, false);
			backing_orphan(backing);
		} else {
			backing_destroy(backing);
		}
	}
}

void
backing_sweep(void)
{
	struct backing *next;
	struct maps_entry entry;
	struct maps maps;
	bool any = false;

	for (struct backing *backing = backings; backing; backing = backing->next) {
		backing->mapped = backing->origin != BACKING_REMAPPED || backing->nb_uses;
		any |= !backing->mapped;
	}
	if (!any || maps_open(&maps))
		return;
	while (maps_next(&maps, &entry)) {
		struct backing *backing = backing_find(&entry);

		if (backing)
			backing->mapped = true;
	}
	maps_close(&maps);
	for (struct backing *backing = backings; backing; backing = next) {
		next = backing->next;
		if (!backing->mapped)
			backing_destroy(backing);
	}
}

struct backing *
backing_adopt(const struct maps_entry *entry)
{
	uint64_t length;
	int fd = adopt_fd(entry, &length);

	return fd < 0 ? NULL : new_backing(fd, BACKING_FOREIGN, length);
}

bool
backing_any(void)
{
	return backings;
}

void
backing_reset(void)
{
	backings = NULL;
	idle_bytes = 0;
	ranges_reset();
}
