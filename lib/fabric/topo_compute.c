/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo_parts.h"

#define FAR UINT32_MAX

/* Lowest port of a set that is not empty. */
static uint32_t
lowest(uint64_t ports)
{
	return (uint32_t)__builtin_ctzll(ports);
}

static void
find_links(struct topo *t)
{
	const struct topo_map *m = t->map;

	memset(t->linked, 0, m->nb_switches * sizeof(*t->linked));
	for (uint32_t i = 0; i < m->nb_links; i++) {
		const struct topo_link *l = &m->links[i];

		for (int end = 0; end < 2 && l->up; end++)
			t->linked[l->sw[end]] |= UINT64_C(1) << l->port[end];
	}
}

/* All that floods of a switch reach, and the tree of links over which it was found. */
static void
grow_tree(struct topo *t, uint32_t root)
{
	uint32_t head = 0, tail = 0;

	t->part[root] = root;
	t->queue[tail++] = root;
	while (head < tail) {
		uint32_t s = t->queue[head++];

		for (uint64_t ports = t->linked[s]; ports; ports &= ports - 1) {
			uint32_t port = lowest(ports);
			struct peer peer = t->peers[s][port];

			if (t->part[peer.sw] != FAR || peer.off_tree)
				continue;
			t->part[peer.sw] = root;
			t->flood[s] |= UINT64_C(1) << port;
			t->flood[peer.sw] |= UINT64_C(1) << peer.port;
			t->queue[tail++] = peer.sw;
		}
	}
}

/* A host's first attachment in each part of the fabric. */
static void
flood_to_hosts(struct topo *t)
{
	const struct topo_attachment *atts = t->map->attachments;

	for (uint32_t h = 0; h < t->map->nb_hosts; h++) {
		const uint32_t *mine = &t->dest_atts[t->dests[h].first];

		for (uint32_t i = 0; i < t->dests[h].nb; i++) {
			const struct topo_attachment *a = &atts[mine[i]];
			bool is_first = a->up;

			for (uint32_t k = 0; k < i && is_first; k++)
				is_first = !atts[mine[k]].up ||
				           t->part[atts[mine[k]].sw] != t->part[a->sw];
			if (is_first)
				t->flood[a->sw] |= UINT64_C(1) << a->port;
		}
	}
}

static void
find_floods(struct topo *t)
{
	uint32_t nb_switches = t->map->nb_switches;

	memset(t->flood, 0, nb_switches * sizeof(*t->flood));
	for (uint32_t s = 0; s < nb_switches; s++)
		t->part[s] = FAR;
	for (uint32_t s = 0; s < nb_switches; s++) {
		if (t->part[s] == FAR)
			grow_tree(t, s);
	}
	flood_to_hosts(t);
}

/* Breadth first from the switches where a destination is attached. */
static void
find_paths(struct topo *t, const struct dest *d, uint64_t *row)
{
	const struct topo_map *m = t->map;
	uint32_t head = 0, tail = 0;

	memset(row, 0, m->nb_switches * sizeof(*row));
	memset(t->hops, 0xff, m->nb_switches * sizeof(*t->hops));
	for (uint32_t i = 0; i < d->nb; i++) {
		const struct topo_attachment *a = &m->attachments[t->dest_atts[d->first + i]];

		if (!a->up || t->hops[a->sw] == 0)
			continue;
		t->hops[a->sw] = 0;
		t->queue[tail++] = a->sw;
	}
	while (head < tail) {
		uint32_t s = t->queue[head++];

		for (uint64_t ports = t->linked[s]; ports; ports &= ports - 1) {
			struct peer peer = t->peers[s][lowest(ports)];

			if (t->hops[peer.sw] == FAR) {
				t->hops[peer.sw] = t->hops[s] + 1;
				t->queue[tail++] = peer.sw;
			}
			if (t->hops[peer.sw] == t->hops[s] + 1)
				row[peer.sw] |= UINT64_C(1) << peer.port;
		}
	}
}

/* Which row a destination needs now. */
static uint32_t
row_of(const struct topo *t, const struct dest *d)
{
	uint32_t row = NO_ROW;

	for (uint32_t i = 0; i < d->nb; i++) {
		const struct topo_attachment *a = &t->map->attachments[t->dest_atts[d->first + i]];

		if (!a->up)
			continue;
		if (row != NO_ROW && row != t->switch_row[a->sw])
			return d->own_row;
		row = t->switch_row[a->sw];
	}
	return row;
}

void
topo_compute(struct topo *t)
{
	find_links(t);
	find_floods(t);
	memset(t->is_done, 0, t->nb_rows * sizeof(*t->is_done));
	for (uint32_t i = 0; i < t->nb_dests; i++) {
		struct dest *d = &t->dests[i];

		d->row = row_of(t, d);
		if (d->row == NO_ROW || t->is_done[d->row])
			continue;
		t->is_done[d->row] = true;
		find_paths(t, d, &t->rows[(size_t)d->row * t->map->nb_switches]);
	}
}
