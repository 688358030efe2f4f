/* SPDX-License-Identifier: BSD-3-Clause */
#include "obj_rings.h"

#include <string.h>

uint32_t
slots_of(uint32_t entries)
{
	uint32_t slots = 1;

	while (slots < entries)
		slots *= 2;
	return slots;
}

int
new_ring(struct client *client, struct ring *ring, size_t header, uint32_t slots, uint32_t stride,
         struct shm_ring_loc *loc)
{
	uint64_t bytes = header + (uint64_t)slots * stride;
	int err;

	memset(loc, 0, sizeof(*loc));
	if (slots == 0)
		return 0;
	/* As the arena gives it. */
	bytes = (bytes + ARENA_UNIT - 1) / ARENA_UNIT * ARENA_UNIT;
	err = account_check(&client->account, ACCOUNT_MEMORY, bytes);
	if (err)
		return err;
	if (arena_alloc(&client->arena, bytes, &ring->offset) < 0)
		return account_refuse(&client->account, ACCOUNT_MEMORY,
		                      "its rings fill all the memory that there is for them");
	ring->bytes = bytes;
	account_add(&client->account, ACCOUNT_MEMORY, bytes);
	*loc = (struct shm_ring_loc){.offset = ring->offset, .nb_slots = slots, .stride = stride};
	return 0;
}

void
free_ring(struct client *client, const struct ring *ring)
{
	if (ring->bytes == 0)
		return;
	arena_free(&client->arena, ring->offset, ring->bytes);
	account_sub(&client->account, ACCOUNT_MEMORY, ring->bytes);
}

void *
ring_at(struct client *client, const struct ring *ring)
{
	return ring->bytes > 0 ? client->arena.base + ring->offset : NULL;
}
