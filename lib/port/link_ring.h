/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_LINK_RING_H
#define WEFT_PORT_LINK_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "pkt.h"

/**
 * @file
 * Frames from one process to another through memory that both have mapped: one direction, one
 * writer, one reader.
 *
 * What the two say to each other is counts of frames and the length of each; where a frame lies
 * follows from the lengths before it, and each end keeps its own account of these. So neither can
 * make the other touch anything outside the ring: a reader believes no more than a length, and a
 * writer no more than how many of its own frames were read. Each shared word is read once,
 * checked, and used from the copy. A peer that breaks a rule makes the function return -EPROTO;
 * the ring is then of no further use.
 *
 * Frames lie one behind the other, each at a multiple of 64 bytes and PKT_DATA_SHIFT, as in
 * packets. The ring's bytes are mapped twice in a row, so that none is cut at the end.
 */

/** Bytes of frames on their way; a power of 2. Source: docs/adr/0008-links-between-processes.md. */
#define LINK_RING_BYTES (1u << 18)
/** Frames on their way. A power of 2. */
#define LINK_RING_FRAMES 2048u
/** Bytes of the longest frame that a ring carries. */
#define LINK_FRAME_BYTES_MAX 16320u

/** The shared words of a ring. Each line of the cache has one writer, but for the two flags. */
struct link_ring_shm {
	alignas(64) _Atomic uint32_t tail; /**< frames written since the start, mod 2^32 */
	_Atomic uint32_t room_at;          /**< the head at which the writer wants to be woken */
	_Atomic uint32_t wants_room;       /**< the writer sleeps; whoever rings sets it to 0 */
	alignas(64) _Atomic uint32_t head; /**< frames read since the start, mod 2^32 */
	_Atomic uint32_t wants_frames;     /**< the reader sleeps; whoever rings sets it to 0 */
	alignas(64) _Atomic uint32_t lens[LINK_RING_FRAMES];
};

/** The writer's account. */
struct link_writer {
	struct link_ring_shm *shm;
	uint8_t *data;       /**< the ring's bytes, mapped twice */
	uint32_t tail, head; /**< ours, and the peer's as it was last seen */
	uint32_t pos;        /**< where the next frame goes */
	uint32_t free_bytes;
	uint16_t units[LINK_RING_FRAMES]; /**< of 64 bytes, taken by each frame on its way */
};

/** The reader's account. */
struct link_reader {
	struct link_ring_shm *shm;
	const uint8_t *data;
	uint32_t head, tail; /**< ours, and the peer's as it was last seen */
	uint32_t pos;        /**< where the oldest frame lies */
};

/** Both ends of a new ring begin at 0; whoever makes the memory has it zeroed. */
void link_writer_init(struct link_writer *w, struct link_ring_shm *shm, uint8_t *data);
void link_reader_init(struct link_reader *r, struct link_ring_shm *shm, const uint8_t *data);

/** Bytes of the ring that a frame takes. */
static inline uint32_t
link_frame_space(uint32_t len)
{
	return (PKT_DATA_SHIFT + len + 63) & ~63u;
}

/**
 * See how much the peer has read.
 *
 * @return 0, or -EPROTO: it read what was never written, or unread what it had.
 */
int link_writer_look(struct link_writer *w);

/** Frames of up to max_bytes that link_put takes now, at least; as of the last look. */
static inline uint32_t
link_writer_room(const struct link_writer *w, uint32_t max_bytes)
{
	uint32_t by_bytes = w->free_bytes / link_frame_space(max_bytes);
	uint32_t by_count = LINK_RING_FRAMES - (w->tail - w->head);

	return by_bytes < by_count ? by_bytes : by_count;
}

/** Write a frame of 1 to LINK_FRAME_BYTES_MAX bytes; there is room. The peer doesn't see it yet. */
void link_put(struct link_writer *w, const uint8_t *frame, uint32_t len);

/** Let the peer see what was put. @return whether it sleeps, and must be rung. */
bool link_writer_publish(struct link_writer *w);

/** We are about to sleep until half of what lies in the ring was read (or don't any more). */
void link_writer_want(struct link_writer *w, bool wanting);

/**
 * See what the peer has written.
 *
 * @return frames that can be taken, or -EPROTO: more than a ring holds.
 */
int link_reader_look(struct link_reader *r);

/**
 * The oldest frame; there is one. It stays where it is until link_reader_publish, and its bytes
 * may change as long: copy them, then judge.
 *
 * @param[out] len  1 to LINK_FRAME_BYTES_MAX.
 * @return          NULL if the peer says another length.
 */
static inline const uint8_t *
link_take(struct link_reader *r, uint32_t *len)
{
	const uint8_t *frame = r->data + r->pos + PKT_DATA_SHIFT;

	*len = atomic_load_explicit(&r->shm->lens[r->head % LINK_RING_FRAMES],
	                            memory_order_relaxed);
	if (*len - 1 >= LINK_FRAME_BYTES_MAX)
		return NULL;
	r->head++;
	r->pos = (r->pos + link_frame_space(*len)) % LINK_RING_BYTES;
	return frame;
}

/** Give the room of what was taken back. @return whether the peer waits for it, and must be rung.
 */
bool link_reader_publish(struct link_reader *r);

/** We are about to sleep until there are frames (or don't any more). */
void link_reader_want(struct link_reader *r, bool wanting);

#endif
