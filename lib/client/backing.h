/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_BACKING_H
#define WEFT_BACKING_H

/*
 * Memory objects that this process and daemons both map. All calls are made with backing_lock held.
 */

#include <stdbool.h>
#include <stdint.h>

#include "maps.h"

struct range;
struct weft;

/** Remapped memory that is not registered any more is kept ready up to this; bytes, our choice. */
#define BACKING_IDLE_MAX (UINT64_C(64) << 20)

enum backing_origin {
	BACKING_REMAPPED,  /**< took the place of private memory */
	BACKING_ALLOCATED, /**< by memkind_alloc */
	BACKING_FOREIGN,   /**< the application's own object */
};

/** A daemon connection's name for an object. */
struct backing_share {
	struct weft *weft;
	uint32_t handle;
	uint32_t nb_uses; /**< registrations */
	struct backing *backing;
	struct backing_share *next;
};

/** One object. */
struct backing {
	enum backing_origin origin;
	int fd; /**< -1: orphan: still mapped here, but no daemon knows it any more */
	uint32_t dev_major, dev_minor;
	uint64_t ino;        /**< what /proc/self/maps shows of it */
	uint64_t va;         /**< where it was mapped at first; 0 = foreign */
	uint64_t length;     /**< bytes */
	struct range *range; /**< what interposers know of it; NULL = nothing */
	uint32_t nb_uses;    /**< sum of the shares' */
	bool idle;           /**< remapped, without uses, kept for the next registration */
	bool mapped;         /**< scratch of backing_sweep */
	struct backing_share *shares;
	struct backing *next;
};

void backing_lock(void);
void backing_unlock(void);

/** Make an object of the daemon's. @return 0 or a negative errno. */
int backing_create(struct weft *weft, enum backing_origin origin, uint64_t length,
                   struct backing **backing);
/** Note where it is mapped, so that interposers find it. @return -ENOSPC: too many. */
int backing_place(struct backing *backing, uint64_t va);
/** Let no daemon reach it any more; it lives as long as it is mapped here. */
void backing_orphan(struct backing *backing);
/** Undo backing_create; it must not be mapped or used. */
void backing_destroy(struct backing *backing);

/** The object behind a mapping; NULL if it is none of ours. */
struct backing *backing_find(const struct maps_entry *entry);
/** The one that was allocated at this address; NULL if there is none that this daemon knows. */
struct backing *backing_find_allocated(const struct weft *weft, uint64_t va);
/**
 * The application's object behind a shared mapping, if it can be handed to a daemon: a descriptor
 * of it can be had, and it is on tmpfs and sealed against shrinking.
 */
struct backing *backing_adopt(const struct maps_entry *entry);

/** Count one use by this connection, introducing the object to its daemon if need be; NULL:
 * refused. */
struct backing_share *backing_use(struct backing *backing, struct weft *weft);
/** The use has ended. */
void backing_unuse(struct backing_share *share);
/** Forget what was named to a connection that is being closed; its uses must have ended. */
void backing_forget(struct weft *weft);
/** Forget objects without uses that are mapped no more. */
void backing_sweep(void);

/** Whether there is any object. */
bool backing_any(void);
/** Forget all of them, without a word to a daemon: this is a forked child. */
void backing_reset(void);

#endif
