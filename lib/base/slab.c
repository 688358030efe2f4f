/* SPDX-License-Identifier: BSD-3-Clause */
#include "slab.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

/* A chunk has room for so many blocks, or for CHUNK_MIN bytes of them. Our choice. */
#define CHUNK_BLOCKS 4u
#define CHUNK_MIN (UINT32_C(1) << 16)
/* Room for struct slab_chunk before the first block. */
#define CHUNK_HEADER SLAB_ALIGN
static_assert(sizeof(struct slab_chunk) <= CHUNK_HEADER, "the header fits");

void
slab_init(struct slab *s, uint32_t bytes)
{
	assert(bytes > 0 && bytes <= 1u << 20);
	*s = (struct slab){.block_bytes = (bytes + SLAB_ALIGN - 1) & ~(SLAB_ALIGN - 1),
	                   .chunk_bytes = CHUNK_MIN};
	while (s->chunk_bytes < CHUNK_HEADER + CHUNK_BLOCKS * s->block_bytes)
		s->chunk_bytes *= 2;
	s->max_hot = SLAB_HOT_BYTES / s->block_bytes;
	if (s->max_hot > SLAB_HOT_MAX)
		s->max_hot = SLAB_HOT_MAX;
	s->nb_per_chunk = (s->chunk_bytes - CHUNK_HEADER) / s->block_bytes;
	list_init(&s->partial);
}

/* Pages of the system, aligned to their number of bytes: what lies around them is unmapped. */
static void *
map_aligned(size_t bytes)
{
	char *p = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	if (p == MAP_FAILED)
		return NULL;
	before = -(uintptr_t)p & (bytes - 1);
	if (before)
		munmap(p, before);
	munmap(p + before + bytes, bytes - before);
	return p + before;
}

static void
unmap(struct slab *s, struct slab_chunk *c)
{
	SLAB_UNPOISON(c, s->chunk_bytes);
	munmap(c, s->chunk_bytes);
	s->nb_chunks--;
}

static bool
grow(struct slab *s)
{
	struct slab_chunk *c = map_aligned(s->chunk_bytes);

	if (!c) {
		s->nb_failed++;
		return false;
	}
	list_add_tail(&s->partial, &c->link);
	s->nb_chunks++;
	s->nb_empty++;
	return true;
}

void *
slab_take_cold(struct slab *s)
{
	struct slab_chunk *c;
	void *block;

	if (list_is_empty(&s->partial) && !grow(s))
		return NULL;
	c = container_of(s->partial.next, struct slab_chunk, link);
	block = c->free;
	if (block) {
		SLAB_UNPOISON(block, s->block_bytes);
		c->free = *(void **)block;
	} else {
		block = (char *)c + CHUNK_HEADER + (size_t)c->nb_made++ * s->block_bytes;
	}
	if (c->nb_used++ == 0 && --s->nb_empty < s->nb_empty_min)
		s->nb_empty_min = s->nb_empty;
	if (c->nb_used == s->nb_per_chunk)
		list_del(&c->link);
	s->nb_out++;
	return block;
}

void
slab_give_cold(struct slab *s, void *block)
{
	struct slab_chunk *c =
		(struct slab_chunk *)((uintptr_t)block & ~(uintptr_t)(s->chunk_bytes - 1));

	assert(c->nb_used);
	*(void **)block = c->free;
	c->free = block;
	SLAB_POISON(block, s->block_bytes);
	if (c->nb_used == s->nb_per_chunk) /* to the front */
		list_add_tail(s->partial.next, &c->link);
	s->nb_out--;
	if (--c->nb_used)
		return;
	s->nb_empty++;
	list_del(&c->link);
	list_add_tail(&s->partial, &c->link);
}

/* Bring the blocks at hand back to their chunks. */
static void
cool(struct slab *s)
{
	while (s->hot) {
		void *block = slab_take(s);

		slab_give_cold(s, block);
	}
}

void
slab_trim(struct slab *s)
{
	uint32_t keep = s->nb_users ? 1 : 0;

	if (!s->nb_users)
		cool(s);
	for (uint32_t n = 0; n < SLAB_TRIM_MAX && s->nb_empty_min > keep; n++) {
		struct slab_chunk *c = container_of(s->partial.prev, struct slab_chunk, link);

		assert(c->nb_used == 0);
		list_del(&c->link);
		unmap(s, c);
		s->nb_empty--;
		s->nb_empty_min--;
	}
	s->nb_empty_min = s->nb_empty;
}

void
slab_fini(struct slab *s)
{
	cool(s);
	assert(s->nb_out == 0);
	for (struct list *l; (l = list_pop(&s->partial));)
		unmap(s, container_of(l, struct slab_chunk, link));
}

/* ---- sets ---- */

int
slab_set_find(struct slab_set *set, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < set->nb_slabs; i++) {
		const struct slab *s = set->slabs[i];

		if (s->block_bytes >= bytes && s->block_bytes - bytes < SLAB_ALIGN)
			return (int)i;
	}
	if (i == SLAB_SET_MAX || !(set->slabs[i] = malloc(sizeof(struct slab))))
		return -1;
	slab_init(set->slabs[i], bytes);
	set->nb_slabs++;
	return (int)i;
}

bool
slab_set_trim(struct slab_set *set)
{
	bool surplus = false;

	for (uint32_t i = 0; i < set->nb_slabs; i++) {
		slab_trim(set->slabs[i]);
		surplus = surplus || slab_has_surplus(set->slabs[i]);
	}
	return surplus;
}

uint64_t
slab_set_bytes(const struct slab_set *set)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < set->nb_slabs; i++)
		bytes += slab_bytes(set->slabs[i]);
	return bytes;
}

void
slab_set_fini(struct slab_set *set)
{
	while (set->nb_slabs) {
		slab_fini(set->slabs[--set->nb_slabs]);
		free(set->slabs[set->nb_slabs]);
	}
}
