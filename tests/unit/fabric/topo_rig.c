/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo_rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>

struct builder *
builder(uint32_t nb_switches)
{
	struct builder *b = calloc(1, sizeof(*b));

	cr_assert(b);
	b->map = (struct topo_map){
		.nb_switches = nb_switches,
		.links = b->links,
		.attachments = b->atts,
		.prefixes = b->prefixes,
	};
	return b;
}

struct topo_link *
join(struct builder *b, uint16_t x, uint16_t y)
{
	struct topo_link *l = &b->links[b->map.nb_links++];

	*l = (struct topo_link){{x, y}, {b->next_port[x]++, b->next_port[y]++}, true};
	return l;
}

struct topo_attachment *
attach(struct builder *b, uint32_t host, uint16_t sw)
{
	struct topo_attachment *a = &b->atts[b->map.nb_attachments++];

	*a = (struct topo_attachment){host, sw, b->next_port[sw]++, true};
	if (host >= b->map.nb_hosts)
		b->map.nb_hosts = host + 1;
	return a;
}

void
give(struct builder *b, uint32_t host, uint8_t b0, uint8_t b1, uint8_t b2, uint8_t b3, uint8_t bits)
{
	struct topo_prefix *p = &b->prefixes[b->map.nb_prefixes++];
	const uint8_t ipv4[] = {b0, b1, b2, b3};

	ip_addr_from_ipv4(&p->prefix.ip, ipv4);
	p->prefix.bits = (uint8_t)(96 + bits);
	p->host = host;
}

/* ---- oracles ---- */

static uint32_t
peer_of(const struct topo_map *m, uint32_t sw, uint32_t port, uint32_t *peer_port)
{
	for (uint32_t i = 0; i < m->nb_links; i++) {
		const struct topo_link *l = &m->links[i];

		for (int end = 0; end < 2; end++) {
			if (l->sw[end] != sw || l->port[end] != port)
				continue;
			cr_assert(l->up, "port %u of switch %u leads over a link that is down",
			          port, sw);
			*peer_port = l->port[!end];
			return l->sw[!end];
		}
	}
	return UINT32_MAX;
}

static uint32_t
host_at(const struct topo_map *m, uint32_t sw, uint32_t port)
{
	for (uint32_t i = 0; i < m->nb_attachments; i++) {
		const struct topo_attachment *a = &m->attachments[i];

		if (a->sw == sw && a->port == port && a->up)
			return a->host;
	}
	return UINT32_MAX;
}

/* Hops from every switch to a host, by relaxing all links until nothing changes. */
static void
distances(const struct topo_map *m, uint32_t host, uint32_t *hops)
{
	bool changed = true;

	for (uint32_t s = 0; s < m->nb_switches; s++)
		hops[s] = UINT32_MAX;
	for (uint32_t i = 0; i < m->nb_attachments; i++) {
		if (m->attachments[i].host == host && m->attachments[i].up)
			hops[m->attachments[i].sw] = 1;
	}
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < m->nb_links; i++) {
			for (int end = 0; end < 2 && m->links[i].up; end++) {
				uint32_t near = hops[m->links[i].sw[end]];
				uint32_t *far = &hops[m->links[i].sw[!end]];

				if (near == UINT32_MAX || *far <= near + 1)
					continue;
				*far = near + 1;
				changed = true;
			}
		}
	}
}

/* From each switch, whatever the choices, and all that are as short as the shortest. */
static void
expect_shortest_paths(const struct topo *t, const struct topo_map *m)
{
	uint32_t hops[TOPO_RIG_MAX];

	for (uint32_t host = 0; host < m->nb_hosts; host++) {
		distances(m, host, hops);
		for (uint32_t s = 0; s < m->nb_switches; s++) {
			uint64_t ports = topo_ports_to(t, s, host), want = 0;

			for (uint32_t port = 0; port < TOPO_PORTS_MAX; port++) {
				uint32_t near = UINT32_MAX;

				if (host_at(m, s, port) == host)
					near = 0;
				for (uint32_t i = 0; i < m->nb_links; i++) {
					const struct topo_link *l = &m->links[i];

					for (int end = 0; end < 2 && l->up; end++) {
						if (l->sw[end] == s && l->port[end] == port)
							near = hops[l->sw[!end]];
					}
				}
				if (hops[s] != UINT32_MAX && near != UINT32_MAX &&
				    near + 1 == hops[s])
					want |= BIT(port);
			}
			cr_assert_eq(ports, want, "switch %u to host %u: %lx instead of %lx", s,
			             host, (unsigned long)ports, (unsigned long)want);
		}
	}
}

/* A flood from a port of a switch, copied as switches do. Counts what hosts get. */
static void
flood(const struct topo *t, const struct topo_map *m, uint32_t sw, uint32_t in_port, uint32_t *got,
      uint32_t depth)
{
	cr_assert_lt(depth, m->nb_switches, "a flood goes in circles");
	for (uint32_t port = 0; port < TOPO_PORTS_MAX; port++) {
		uint32_t peer, peer_port = 0, host;

		if (port == in_port || !(topo_flood_ports(t, sw) & BIT(port)))
			continue;
		peer = peer_of(m, sw, port, &peer_port);
		host = host_at(m, sw, port);
		cr_assert((peer == UINT32_MAX) != (host == UINT32_MAX),
		          "port %u of switch %u leads nowhere", port, sw);
		if (host != UINT32_MAX)
			got[host]++;
		else
			flood(t, m, peer, peer_port, got, depth + 1);
	}
}

/* Every host gets a flood once if it is connected to where it began, else not at all. */
static void
expect_one_copy_each(const struct topo *t, const struct topo_map *m)
{
	for (uint32_t s = 0; s < m->nb_switches; s++) {
		uint32_t got[TOPO_RIG_MAX] = {0};
		uint32_t hops[TOPO_RIG_MAX];

		flood(t, m, s, UINT32_MAX, got, 0);
		for (uint32_t h = 0; h < m->nb_hosts; h++) {
			distances(m, h, hops);
			cr_assert_eq(got[h], hops[s] != UINT32_MAX,
			             "from switch %u, host %u gets %u", s, h, got[h]);
		}
	}
}

void
expect_sound(const struct topo *t, const struct topo_map *m)
{
	expect_shortest_paths(t, m);
	expect_one_copy_each(t, m);
}
