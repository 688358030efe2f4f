/* SPDX-License-Identifier: BSD-3-Clause */
#include "ring_bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Before each record stand the bytes of its body. */

bool
ring_bytes_init(struct ring_bytes *ring, uint64_t size)
{
	assert(size > 0 && (size & (size - 1)) == 0);
	*ring = (struct ring_bytes){.size = size};
	ring->bytes = malloc(size);
	return ring->bytes != NULL;
}

void
ring_bytes_fini(struct ring_bytes *ring)
{
	free(ring->bytes);
	ring->bytes = NULL;
}

/* Bytes from at on, up to the ring's end and then from its begin. */
static uint64_t
copy_in(struct ring_bytes *ring, uint64_t at, const void *from, uint32_t len)
{
	uint64_t offset = at & (ring->size - 1), first = ring->size - offset;

	if (first > len)
		first = len;
	memcpy(ring->bytes + offset, from, first);
	memcpy(ring->bytes, (const uint8_t *)from + first, len - first);
	return at + len;
}

static uint64_t
copy_out(const struct ring_bytes *ring, uint64_t at, void *to, uint32_t len)
{
	uint64_t offset = at & (ring->size - 1), first = ring->size - offset;

	if (first > len)
		first = len;
	memcpy(to, ring->bytes + offset, first);
	memcpy((uint8_t *)to + first, ring->bytes, len - first);
	return at + len;
}

bool
ring_bytes_put(struct ring_bytes *ring, const void *head, uint32_t head_len, const void *body,
               uint32_t body_len)
{
	uint64_t need = sizeof(body_len) + (uint64_t)head_len + body_len;
	uint64_t at = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	if (at + need - ring->head_seen > ring->size) {
		ring->head_seen = atomic_load_explicit(&ring->head, memory_order_acquire);
		if (at + need - ring->head_seen > ring->size)
			return false;
	}
	at = copy_in(ring, at, &body_len, sizeof(body_len));
	at = copy_in(ring, at, head, head_len);
	at = copy_in(ring, at, body, body_len);
	atomic_store_explicit(&ring->tail, at, memory_order_release);
	return true;
}

bool
ring_bytes_get(struct ring_bytes *ring, void *head, uint32_t head_len, void *body, uint32_t size)
{
	uint64_t at = atomic_load_explicit(&ring->head, memory_order_relaxed);
	uint32_t body_len;

	if (at == atomic_load_explicit(&ring->tail, memory_order_acquire))
		return false;
	at = copy_out(ring, at, &body_len, sizeof(body_len));
	assert(body_len <= size);
	at = copy_out(ring, at, head, head_len);
	at = copy_out(ring, at, body, body_len);
	atomic_store_explicit(&ring->head, at, memory_order_release);
	return true;
}
