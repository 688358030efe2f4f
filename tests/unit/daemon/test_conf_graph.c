/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "conf_rig.h"
#include "graph.h"

/* Two leaves and two spines: 20 lines. */
#define LEAF_SPINE                                                                                 \
	"[nic n0]\nport = ring:h0\nip = 10.0.0.1\n"                                                \
	"[nic n1]\nport = ring:h1\nip = 10.0.0.2, fd00::2\n"                                       \
	"[nic n2]\nport = ring:h2\nip = 10.0.0.3\n"                                                \
	"[switch spine0]\nports = ring:a0 ring:b0\n"                                               \
	"[switch spine1]\nports = ring:a1 ring:b1\n"                                               \
	"[switch leaf0]\nports = ring:h0 ring:h1 ring:a0 ring:a1\n# comment\n"                     \
	"[switch leaf1]\nports = ring:h2 ring:b0 ring:b1 link:out\n# comment\n# comment\n"

Test(conf_graph, what_is_no_fabric_is_told_with_line_and_names)
{
	static const struct {
		const char
			*text; /* behind LEAF_SPINE, from line 21 on, which is in [switch leaf1] */
		const char *want; /* NULL = none */
	} rows[] = {
		{"", NULL},
		{"[port link:out]\nhosts = 10.0.1.0/24, fd01::/16\n", NULL},
		{"[port link:out]\nhosts = 10.0.1.1/24\n",
	         ":22: '10.0.1.1/24': bits behind /24 are set; is 10.0.1.0/24 meant?\n"},
		{"[port ring:h2]\nhosts = 10.0.1.0/24\n",
	         ":22: [port ring:h2] leads to [nic n2], whose ip says what is there\n"},
		{"[port ring:b1]\nhosts = 10.0.1.0/24\n",
	         ":22: [port ring:b1] leads to another switch: hosts are known there\n"},
		{"[port link:out]\nhosts = 10.0.0.0/24, 10.0.0.2/32\n",
	         ":22: [port link:out] has a host with an ip of [nic n1] at line 6\n"},
		/* An island, with and without a bridge that we do not see. */
		{"[switch leaf2]\nports = ring:h3\n[nic n3]\nport = ring:h3\nip = 10.0.0.4\n",
	         ":1: [nic n0], at [switch leaf0], cannot be reached from [switch leaf2]: no link "
	         "leads there\n"
	         ":4: [nic n1], at [switch leaf0], cannot be reached from [switch leaf2]: no link "
	         "leads there\n"
	         ":7: [nic n2], at [switch leaf1], cannot be reached from [switch leaf2]: no link "
	         "leads there\n"
	         ":18: link:out, at [switch leaf1], cannot be reached from [switch leaf2]: no link "
	         "leads there\n"
	         ":23: [nic n3], at [switch leaf2], cannot be reached from [switch spine0]: no "
	         "link leads there\n"},
		{"[switch leaf2]\nports = ring:h3 link:up\n"
	         "[nic n3]\nport = ring:h3\nip = 10.0.0.4\n",
	         NULL},
		/* Routes by hand. */
		{"route = 10.0.0.0/24 ring:b0 ring:b1\nroute = 10.0.0.3 ring:h2\n", NULL},
		{"[switch leaf2]\nports = ring:c0\nroute = ::/0 ring:c0\n[switch spine2]\n"
	         "ports = ring:c0 link:up\nroute = ::/0 link:up\n",
	         NULL},
		{"[switch leaf2]\nports = ring:c0\nroute = ::/0 ring:c0\n[switch spine2]\n"
	         "ports = ring:c0 link:up\nroute = ::/0 link:up\nroute = 10.0.0.0/8 link:up "
	         "ring:c0\n",
	         ":27: this route runs in a circle: spine2, leaf2, spine2\n"},
		/* What is under the longer prefix goes on; what is beside it comes back. */
		{"[switch leaf2]\nports = ring:c0 link:p\nroute = 10.0.0.0/8 ring:c0\n"
	         "route = 10.0.0.0/24 link:p\n[switch spine2]\n"
	         "ports = ring:c0 link:up\nroute = 10.0.0.0/8 ring:c0\n",
	         ":23: this route runs in a circle: leaf2, spine2, leaf2\n"},
		/* What is worked out elsewhere leads back to the host's own switch. */
		{"route = 10.0.0.3 ring:b0\n",
	         ":21: this route runs in a circle: leaf1, spine0, leaf1\n"},
		/* A switch with routes has no others: also not to its own host. */
		{"route = 10.0.0.0/24 ring:b0 ring:b1\n",
	         ":21: this route runs in a circle: leaf1, spine0, leaf1\n"},
		{"[switch leaf2]\nports = ring:c0 ring:c1 ring:h3\nroute = 10.0.0.0/8 ring:c0\n"
	         "[switch spine2]\nports = ring:c0 ring:c1 link:up\n"
	         "[nic n3]\nport = ring:h3\nip = 10.0.1.1\n",
	         ":23: this route runs in a circle: leaf2, spine2, leaf2\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_lines(LEAF_SPINE, rows[i].text, rows[i].want == NULL, rows[i].want, i);
}

Test(conf_graph, switches_that_nothing_joins_are_networks_of_their_own)
{
	struct conf *conf = read_good(TWO_NICS "[switch t]\nports = ring:c\n"
	                                       "[nic n2]\nport = ring:c\nip = 10.0.0.3\n");
	struct graph *graph = graph_create(conf);

	cr_expect_not(graph->is_routed);
	cr_expect_eq(graph->map.nb_hosts, 3);
	graph_destroy(graph);
	conf_free(conf);
}

Test(conf_graph, the_map_has_links_once_and_every_host)
{
	struct conf *conf = read_good(LEAF_SPINE "[port link:out]\nhosts = 10.0.1.0/24\n");
	struct graph *graph = graph_create(conf);
	const struct topo_map *m = &graph->map;

	cr_expect(graph->is_routed);
	cr_expect_eq(m->nb_switches, 4);
	cr_expect_eq(m->nb_links, 4);
	cr_expect(m->links[0].sw[0] == 0 && m->links[0].sw[1] == 2 && m->links[0].port[0] == 0 &&
	          m->links[0].port[1] == 2);
	cr_expect_eq(m->nb_hosts, 4);
	cr_expect_str_eq(graph->hosts[0].nic->name, "n0");
	cr_expect_null(graph->hosts[3].nic);
	cr_expect_eq(m->attachments[3].sw, 3);
	cr_expect_eq(m->attachments[3].port, 3);
	cr_expect_eq(m->nb_prefixes, 5);
	cr_expect_eq(m->prefixes[4].prefix.bits, 120);
	cr_expect_eq(m->prefixes[4].host, 3);
	graph_destroy(graph);
	conf_free(conf);
}

Test(conf_graph, many_prefixes_of_hosts_are_too_many)
{
	size_t size;
	char *text, *errors;
	FILE *out = open_memstream(&text, &size);
	struct conf *conf;

	fputs(LEAF_SPINE "[port link:out]\n", out);
	for (int i = 0; i < CONF_MAX_REMOTES + 1; i++)
		fprintf(out, "hosts = 10.1.%d.%d\n", i / 256, i % 256);
	fclose(out);
	conf = read_text(text, &errors);
	cr_expect_null(conf);
	cr_expect_str_eq(errors, "dir/t.conf:1046: more than 1024 prefixes of hosts\n");
	free(errors);
	free(text);
}
