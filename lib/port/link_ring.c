/* SPDX-License-Identifier: BSD-3-Clause */
#include "link_ring.h"

#include <assert.h>
#include <errno.h>

static_assert(LINK_RING_BYTES % 64 == 0 && (LINK_RING_BYTES & (LINK_RING_BYTES - 1)) == 0,
              "positions wrap");
static_assert((LINK_RING_FRAMES & (LINK_RING_FRAMES - 1)) == 0, "counts wrap");

void
link_writer_init(struct link_writer *w, struct link_ring_shm *shm, uint8_t *data)
{
	*w = (struct link_writer){.shm = shm, .data = data, .free_bytes = LINK_RING_BYTES};
}

void
link_reader_init(struct link_reader *r, struct link_ring_shm *shm, const uint8_t *data)
{
	*r = (struct link_reader){.shm = shm, .data = data};
}

int
link_writer_look(struct link_writer *w)
{
	uint32_t head = atomic_load_explicit(&w->shm->head, memory_order_acquire);

	if (head - w->head > w->tail - w->head)
		return -EPROTO;
	for (; w->head != head; w->head++)
		w->free_bytes += w->units[w->head % LINK_RING_FRAMES] * 64u;
	assert(w->free_bytes <= LINK_RING_BYTES);
	return 0;
}

void
link_put(struct link_writer *w, const uint8_t *frame, uint32_t len)
{
	uint32_t space = link_frame_space(len), slot = w->tail % LINK_RING_FRAMES;

	assert(len >= 1 && len <= LINK_FRAME_BYTES_MAX);
	assert(space <= w->free_bytes && w->tail - w->head < LINK_RING_FRAMES);
	memcpy(w->data + w->pos + PKT_DATA_SHIFT, frame, len);
	atomic_store_explicit(&w->shm->lens[slot], len, memory_order_relaxed);
	w->units[slot] = (uint16_t)(space / 64);
	w->free_bytes -= space;
	w->pos = (w->pos + space) % LINK_RING_BYTES;
	w->tail++;
}

/*
 * Who sleeps first says so, then looks once more; who has news first publishes it, then looks
 * whether somebody sleeps: with a full fence between the two on both sides, one sees the other.
 */
static bool
must_ring(_Atomic uint32_t *wants)
{
	return atomic_load_explicit(wants, memory_order_relaxed) != 0 &&
	       atomic_exchange_explicit(wants, 0, memory_order_relaxed) != 0;
}

bool
link_writer_publish(struct link_writer *w)
{
	atomic_store_explicit(&w->shm->tail, w->tail, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst);
	return must_ring(&w->shm->wants_frames);
}

bool
link_reader_publish(struct link_reader *r)
{
	uint32_t room_at;

	atomic_store_explicit(&r->shm->head, r->head, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst);
	/* It was set after room_at. */
	if (atomic_load_explicit(&r->shm->wants_room, memory_order_acquire) == 0)
		return false;
	room_at = atomic_load_explicit(&r->shm->room_at, memory_order_relaxed);
	return (int32_t)(r->head - room_at) >= 0 && must_ring(&r->shm->wants_room);
}

void
link_writer_want(struct link_writer *w, bool wanting)
{
	uint32_t half = (w->tail - w->head + 1) / 2;

	if (wanting)
		atomic_store_explicit(&w->shm->room_at, w->head + half, memory_order_relaxed);
	atomic_store_explicit(&w->shm->wants_room, wanting, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst);
}

int
link_reader_look(struct link_reader *r)
{
	r->tail = atomic_load_explicit(&r->shm->tail, memory_order_acquire);
	if (r->tail - r->head > LINK_RING_FRAMES)
		return -EPROTO;
	return (int)(r->tail - r->head);
}

void
link_reader_want(struct link_reader *r, bool wanting)
{
	atomic_store_explicit(&r->shm->wants_frames, wanting, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}
