/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo.h"

#include <assert.h>
#include <stdlib.h>

#include "topo_parts.h"

/* ---- destinations ---- */

static int
order_routes(const void *a, const void *b)
{
	const struct prefix_dest *x = a, *y = b;
	int order = memcmp(x->prefix.ip.b, y->prefix.ip.b, sizeof(x->prefix.ip.b));

	if (order == 0)
		order = (int)x->prefix.bits - (int)y->prefix.bits;
	return order ? order : (x->dest > y->dest) - (x->dest < y->dest);
}

/* Attachments of each host, in the map's order, and room for those of shared prefixes. */
static bool
group_attachments(struct topo *t)
{
	const struct topo_map *m = t->map;
	size_t nb = 0;

	for (uint32_t i = 0; i < m->nb_attachments; i++)
		t->dests[m->attachments[i].host].nb++;
	for (uint32_t h = 0; h < m->nb_hosts; h++) {
		t->dests[h].first = (uint32_t)nb;
		nb += t->dests[h].nb;
	}
	for (uint32_t i = 0; i < m->nb_prefixes; i++)
		nb += t->dests[m->prefixes[i].host].nb;
	t->dest_atts = calloc(nb + 1, sizeof(*t->dest_atts));
	if (!t->dest_atts)
		return false;
	for (uint32_t h = 0; h < m->nb_hosts; h++)
		t->dests[h].nb = 0;
	for (uint32_t i = 0; i < m->nb_attachments; i++) {
		struct dest *d = &t->dests[m->attachments[i].host];

		t->dest_atts[d->first + d->nb++] = i;
	}
	t->nb_dests = m->nb_hosts;
	return true;
}

/* Routes in order; what several hosts have becomes one route to a destination of its own. */
static void
group_prefixes(struct topo *t)
{
	const struct topo_map *m = t->map;
	uint32_t nb_atts = m->nb_attachments;

	for (uint32_t i = 0; i < m->nb_prefixes; i++) {
		const struct topo_prefix *p = &m->prefixes[i];

		t->routes[i].prefix.ip = ip_addr_trim(&p->prefix.ip, p->prefix.bits);
		t->routes[i].prefix.bits = p->prefix.bits;
		t->routes[i].dest = p->host;
	}
	qsort(t->routes, m->nb_prefixes, sizeof(t->routes[0]), order_routes);
	for (uint32_t i = 0, end; i < m->nb_prefixes; i = end) {
		struct prefix_dest *r = &t->routes[t->nb_routes++];
		struct dest *d = &t->dests[t->nb_dests];
		uint32_t host = UINT32_MAX, nb_hosts = 0;

		*d = (struct dest){.first = nb_atts};
		for (end = i; end < m->nb_prefixes; end++) {
			const struct dest *of_host = &t->dests[t->routes[end].dest];

			if (!ip_prefix_is_same(&t->routes[i].prefix, &t->routes[end].prefix))
				break;
			if (t->routes[end].dest == host)
				continue;
			host = t->routes[end].dest;
			nb_hosts++;
			memcpy(&t->dest_atts[d->first + d->nb], &t->dest_atts[of_host->first],
			       of_host->nb * sizeof(t->dest_atts[0]));
			d->nb += of_host->nb;
		}
		*r = t->routes[i];
		if (nb_hosts > 1) {
			r->dest = t->nb_dests++;
			nb_atts += d->nb;
		}
	}
}

static bool
is_at_several_switches(const struct topo *t, const struct dest *d)
{
	const struct topo_attachment *atts = t->map->attachments;

	for (uint32_t i = 1; i < d->nb; i++) {
		if (atts[t->dest_atts[d->first + i]].sw != atts[t->dest_atts[d->first]].sw)
			return true;
	}
	return false;
}

/* Returns how many rows there are. */
static uint32_t
assign_rows(struct topo *t)
{
	const struct topo_map *m = t->map;
	uint32_t nb_rows = 0;

	for (uint32_t s = 0; s < m->nb_switches; s++)
		t->switch_row[s] = NO_ROW;
	for (uint32_t i = 0; i < m->nb_attachments; i++) {
		uint32_t *row = &t->switch_row[m->attachments[i].sw];

		if (*row == NO_ROW)
			*row = nb_rows++;
	}
	for (uint32_t i = 0; i < t->nb_dests; i++)
		t->dests[i].own_row = is_at_several_switches(t, &t->dests[i]) ? nb_rows++ : NO_ROW;
	return nb_rows;
}

/* ---- set-up ---- */

static void
check_map(const struct topo_map *m)
{
	assert(m->nb_switches <= TOPO_SWITCHES_MAX);
	for (uint32_t i = 0; i < m->nb_links; i++) {
		const struct topo_link *l = &m->links[i];

		assert(l->sw[0] != l->sw[1]);
		assert(l->sw[0] < m->nb_switches && l->sw[1] < m->nb_switches);
		assert(l->port[0] < TOPO_PORTS_MAX && l->port[1] < TOPO_PORTS_MAX);
	}
	for (uint32_t i = 0; i < m->nb_attachments; i++) {
		const struct topo_attachment *a = &m->attachments[i];

		assert(a->host < m->nb_hosts && a->sw < m->nb_switches);
		assert(a->port < TOPO_PORTS_MAX);
	}
	for (uint32_t i = 0; i < m->nb_prefixes; i++)
		assert(m->prefixes[i].host < m->nb_hosts);
}

static void
join_peers(struct topo *t)
{
	const struct topo_map *m = t->map;

	for (uint32_t i = 0; i < m->nb_links; i++) {
		const struct topo_link *l = &m->links[i];

		for (int end = 0; end < 2; end++)
			t->peers[l->sw[end]][l->port[end]] =
				(struct peer){l->sw[!end], l->port[!end], l->off_tree};
	}
}

/* One more of each, so that none is empty. */
static bool
make_room(struct topo *t)
{
	const struct topo_map *m = t->map;
	size_t nb_switches = m->nb_switches + (size_t)1;

	t->peers = calloc(nb_switches, sizeof(*t->peers));
	t->dests = calloc((size_t)m->nb_hosts + m->nb_prefixes + 1, sizeof(*t->dests));
	t->routes = calloc((size_t)m->nb_prefixes + 1, sizeof(*t->routes));
	t->switch_row = calloc(nb_switches, sizeof(*t->switch_row));
	t->linked = calloc(nb_switches, sizeof(*t->linked));
	t->flood = calloc(nb_switches, sizeof(*t->flood));
	t->part = calloc(nb_switches, sizeof(*t->part));
	t->hops = calloc(nb_switches, sizeof(*t->hops));
	t->queue = calloc(nb_switches, sizeof(*t->queue));
	return t->peers && t->dests && t->routes && t->switch_row && t->linked && t->flood &&
	       t->part && t->hops && t->queue;
}

static bool
make_rows(struct topo *t, uint32_t nb_rows)
{
	t->nb_rows = nb_rows;
	t->is_done = calloc((size_t)nb_rows + 1, sizeof(*t->is_done));
	t->rows = calloc((size_t)nb_rows * t->map->nb_switches + 1, sizeof(*t->rows));
	return t->is_done && t->rows;
}

struct topo *
topo_create(const struct topo_map *map)
{
	struct topo *t = calloc(1, sizeof(*t));

	check_map(map);
	if (!t)
		return NULL;
	t->map = map;
	if (!make_room(t) || !group_attachments(t))
		goto fail;
	group_prefixes(t);
	if (!make_rows(t, assign_rows(t)))
		goto fail;
	join_peers(t);
	topo_compute(t);
	return t;
fail:
	topo_destroy(t);
	return NULL;
}

void
topo_destroy(struct topo *t)
{
	if (!t)
		return;
	free(t->peers);
	free(t->dests);
	free(t->dest_atts);
	free(t->routes);
	free(t->switch_row);
	free(t->linked);
	free(t->flood);
	free(t->part);
	free(t->hops);
	free(t->queue);
	free(t->is_done);
	free(t->rows);
	free(t);
}

/* ---- answers ---- */

static uint64_t
ports_to(const struct topo *t, uint32_t sw, const struct dest *d)
{
	uint64_t own = 0;

	assert(sw < t->map->nb_switches);
	if (d->row == NO_ROW)
		return 0;
	for (uint32_t i = 0; i < d->nb; i++) {
		const struct topo_attachment *a = &t->map->attachments[t->dest_atts[d->first + i]];

		if (a->up && a->sw == sw)
			own |= UINT64_C(1) << a->port;
	}
	return own ? own : t->rows[(size_t)d->row * t->map->nb_switches + sw];
}

uint64_t
topo_ports_to(const struct topo *t, uint32_t sw, uint32_t host)
{
	assert(host < t->map->nb_hosts);
	return ports_to(t, sw, &t->dests[host]);
}

uint32_t
topo_nb_routes(const struct topo *t)
{
	return t->nb_routes;
}

uint64_t
topo_route(const struct topo *t, uint32_t sw, uint32_t i, struct ip_prefix *prefix)
{
	assert(i < t->nb_routes);
	*prefix = t->routes[i].prefix;
	return ports_to(t, sw, &t->dests[t->routes[i].dest]);
}

uint64_t
topo_flood_ports(const struct topo *t, uint32_t sw)
{
	assert(sw < t->map->nb_switches);
	return t->flood[sw];
}
