/* SPDX-License-Identifier: BSD-3-Clause */
#include "keytab.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define KEYTAB_SLOTS_MIN 16u
#define KEYTAB_SLOTS_MAX (1u << 31)

static void
insert(struct keytab *t, uint32_t key, void *obj)
{
	uint32_t i = keytab_home(t, key);

	while (t->slots[i].obj)
		i = (i + 1) & t->mask;
	t->slots[i] = (struct keytab_slot){obj, key};
}

static int
grow(struct keytab *t)
{
	uint32_t nb_old = t->slots ? t->mask + 1 : 0;
	uint32_t nb_new = nb_old ? nb_old * 2 : KEYTAB_SLOTS_MIN;
	struct keytab_slot *old = t->slots;
	struct keytab_slot *slots;

	if (nb_old >= KEYTAB_SLOTS_MAX)
		return -ENOMEM;
	slots = calloc(nb_new, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	t->slots = slots;
	t->mask = nb_new - 1;
	for (uint32_t i = 0; i < nb_old; i++) {
		if (old[i].obj)
			insert(t, old[i].key, old[i].obj);
	}
	free(old);
	return 0;
}

int
keytab_put(struct keytab *t, uint32_t key, void *obj)
{
	assert(obj);
	if (keytab_get(t, key))
		return -EEXIST;
	if (!t->slots || t->nb_objs >= (t->mask + 1) / 2) {
		int err = grow(t);

		if (err)
			return err;
	}
	insert(t, key, obj);
	t->nb_objs++;
	return 0;
}

void *
keytab_del(struct keytab *t, uint32_t key)
{
	struct keytab_slot *s = t->slots;
	uint32_t hole;
	void *obj;

	if (!s)
		return NULL;
	for (hole = keytab_home(t, key); s[hole].obj && s[hole].key != key;)
		hole = (hole + 1) & t->mask;
	obj = s[hole].obj;
	if (!obj)
		return NULL;

	/* Pull back each follower that the hole would cut off from its home. */
	for (uint32_t i = (hole + 1) & t->mask; s[i].obj; i = (i + 1) & t->mask) {
		uint32_t home = keytab_home(t, s[i].key);

		if (((i - home) & t->mask) >= ((i - hole) & t->mask)) {
			s[hole] = s[i];
			hole = i;
		}
	}
	s[hole].obj = NULL;
	t->nb_objs--;
	return obj;
}

void *
keytab_next(const struct keytab *t, uint32_t *pos)
{
	while (t->slots && *pos <= t->mask) {
		void *obj = t->slots[(*pos)++].obj;

		if (obj)
			return obj;
	}
	return NULL;
}

void
keytab_fini(struct keytab *t)
{
	free(t->slots);
	*t = (struct keytab){0};
}
