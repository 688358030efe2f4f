/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_KEYTAB_H
#define WEFT_KEYTAB_H

#include <stddef.h>
#include <stdint.h>

/**
 * @file
 * A hash table from 32-bit numbers (QPN, rkey) to objects, made for look-ups on a packet's way.
 *
 * Open addressing with linear probing, at most half full, no tombstones. Only keytab_put allocates,
 * and objects are put at control time. One thread uses a table at a time.
 */

struct keytab_slot {
	void *obj; /**< NULL = empty */
	uint32_t key;
};

/** All zero is an empty table. */
struct keytab {
	struct keytab_slot *slots;
	uint32_t mask;    /**< slots - 1; a power of two less one, or 0 before the first put */
	uint32_t nb_objs; /**< in the table */
};

/** Where a key's search begins. Multiplication by 2^32 / golden ratio spreads runs of numbers. */
static inline uint32_t
keytab_home(const struct keytab *t, uint32_t key)
{
	return (uint32_t)(((uint64_t)(key * UINT32_C(0x9e3779b1)) * ((uint64_t)t->mask + 1)) >> 32);
}

/** Bring the place where a key's search begins nearer. */
static inline void
keytab_prefetch(const struct keytab *t, uint32_t key)
{
	if (t->slots)
		__builtin_prefetch(&t->slots[keytab_home(t, key)]);
}

/** The object under a key; NULL if there is none. */
static inline void *
keytab_get(const struct keytab *t, uint32_t key)
{
	if (!t->slots)
		return NULL;
	for (uint32_t i = keytab_home(t, key);; i = (i + 1) & t->mask) {
		const struct keytab_slot *s = &t->slots[i];

		if (!s->obj || s->key == key)
			return s->obj;
	}
}

/**
 * Put an object under a key that is not in use.
 *
 * @param obj  not NULL; stays the caller's.
 * @return     0, -EEXIST, or -ENOMEM; the table is unchanged on error.
 */
int keytab_put(struct keytab *t, uint32_t key, void *obj);

/** Take out what is under a key and return it; NULL if there was nothing. Moves other slots. */
void *keytab_del(struct keytab *t, uint32_t key);

/**
 * Walk over all objects in no particular order, from *pos = 0.
 *
 * @return  the next object, NULL at the end. The table must not change meanwhile.
 */
void *keytab_next(const struct keytab *t, uint32_t *pos);

/** Free the table's memory (not the objects); it is empty then. */
void keytab_fini(struct keytab *t);

#endif
