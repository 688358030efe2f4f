/* SPDX-License-Identifier: BSD-3-Clause */
#include "gid.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct gid
gid_link_local(const uint8_t mac[6])
{
	return (struct gid){.ip = {{0xfe, 0x80, 0, 0, 0, 0, 0, 0, mac[0] ^ 2, mac[1], mac[2], 0xff,
	                            0xfe, mac[3], mac[4], mac[5]}}};
}

const struct gid *
gid_find(const struct gid_table *t, const struct ip_addr *ip, uint16_t vlan)
{
	for (uint32_t i = 0; i < t->nb_used; i++)
		if (t->entry[i].vlan == vlan && memcmp(&t->entry[i].ip, ip, sizeof(*ip)) == 0)
			return &t->entry[i];
	return NULL;
}

bool
gid_has_ip(const struct gid_table *t, const struct ip_addr *ip)
{
	for (uint32_t i = 0; i < t->nb_used; i++)
		if (memcmp(&t->entry[i].ip, ip, sizeof(*ip)) == 0)
			return true;
	return false;
}

const char *
gid_indices_text(const struct gid_table *t, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < t->nb_used && len < size; i++)
		if (gid_at(t, i))
			len += (size_t)snprintf(text + len, size - len, "%s%u", len ? ", " : "", i);
	return text;
}

static bool
is_wanted(const struct gid *gid, const struct gid *wanted, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++)
		if (gid_is_same(gid, &wanted[i]))
			return true;
	return false;
}

static void
note_use(struct gid_table *t)
{
	t->nb_used = t->len;
	while (t->nb_used > 0 && gid_is_empty(&t->entry[t->nb_used - 1]))
		t->nb_used--;
}

/* The link-local address is replaced in its place, and stands nowhere else. */
static void
set_link_local(struct gid_table *t, const struct gid *wanted, struct gid_changes *changes)
{
	struct gid *own = &t->entry[GID_LINK_LOCAL];

	if (gid_is_same(own, wanted)) {
		own->ifindex = wanted->ifindex;
		return;
	}
	for (uint32_t i = GID_LINK_LOCAL + 1; i < t->len; i++)
		if (gid_is_same(&t->entry[i], wanted))
			t->entry[i] = (struct gid){0};
	changes->nb_removed += !gid_is_empty(own);
	changes->nb_added++;
	*own = *wanted;
}

static void
add(struct gid_table *t, const struct gid *wanted, struct gid_changes *changes)
{
	uint32_t i = 0, free;

	while (i < t->len && !gid_is_same(&t->entry[i], wanted))
		i++;
	if (i < t->len) {
		t->entry[i].ifindex = wanted->ifindex;
		return;
	}
	for (free = 0; free < t->len && !gid_is_empty(&t->entry[free]); free++)
		;
	if (free == t->len) {
		changes->nb_left_out++;
		return;
	}
	t->entry[free] = *wanted;
	changes->nb_added++;
}

struct gid_changes
gid_table_set(struct gid_table *t, const struct gid *wanted, uint32_t nb_wanted)
{
	struct gid_changes changes = {0};

	assert(nb_wanted >= 1 && t->len >= 1 && t->len <= GID_TABLE_MAX);
	for (uint32_t i = 0; i < nb_wanted; i++)
		assert(!gid_is_empty(&wanted[i]));
	set_link_local(t, &wanted[0], &changes);
	for (uint32_t i = GID_LINK_LOCAL + 1; i < t->len; i++) {
		struct gid *gid = &t->entry[i];

		if (gid_is_empty(gid) || is_wanted(gid, wanted, nb_wanted))
			continue;
		*gid = (struct gid){0};
		changes.nb_removed++;
	}
	for (uint32_t i = 1; i < nb_wanted; i++)
		add(t, &wanted[i], &changes);
	note_use(t);
	return changes;
}
