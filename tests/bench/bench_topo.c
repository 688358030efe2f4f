/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ms to work out the paths of whole fat trees again, as when a link went down: the control path of
 * the largest fabrics that the laboratory builds. Source of the shape: Al-Fares et al., SIGCOMM'08.
 */
#include <assert.h>
#include <stdio.h>

#include "timing.h"
#include "topo.h"

struct tree {
	struct topo_map map;
	uint8_t *next_port;
};

static void
join(struct tree *t, uint32_t x, uint32_t y)
{
	t->map.links[t->map.nb_links++] = (struct topo_link){
		{(uint16_t)x, (uint16_t)y}, {t->next_port[x]++, t->next_port[y]++}, true};
}

/* Of radix k: k^2 / 2 edge switches, as many aggregations, k^2 / 4 cores, k^3 / 4 hosts. */
static void
make_tree(struct tree *t, uint32_t k)
{
	uint32_t nb_edges = k * k / 2, half = k / 2;

	t->map = (struct topo_map){
		.nb_switches = 2 * nb_edges + k * k / 4,
		.nb_hosts = nb_edges * half,
		.nb_prefixes = nb_edges * half,
		.links = calloc(2 * nb_edges * half, sizeof(*t->map.links)),
		.attachments = calloc(nb_edges * half, sizeof(*t->map.attachments)),
		.prefixes = calloc(nb_edges * half, sizeof(*t->map.prefixes)),
	};
	t->next_port = calloc(t->map.nb_switches, 1);
	assert(t->map.links && t->map.attachments && t->map.prefixes && t->next_port);
	for (uint32_t edge = 0; edge < nb_edges; edge++) {
		for (uint32_t i = 0; i < half; i++) {
			uint32_t host = edge * half + i;
			struct topo_prefix *p = &t->map.prefixes[host];

			t->map.attachments[t->map.nb_attachments++] = (struct topo_attachment){
				host, (uint16_t)edge, t->next_port[edge]++, true};
			*p = (struct topo_prefix){{.bits = 128}, host};
			memcpy(p->prefix.ip.b + 12, &host, sizeof(host));
			join(t, edge, nb_edges + edge / half * half + i);
			/* And the aggregation of this number to its cores. */
			join(t, nb_edges + edge, 2 * nb_edges + edge % half * half + i);
		}
	}
}

int
main(void)
{
	static const uint32_t radixes[] = {4, 8, 16, 24};

	printf("ms, median of %d runs\n\n%8s %10s %8s %10s %10s\n", TIMING_RUNS, "radix",
	       "switches", "hosts", "create", "compute");
	for (size_t i = 0; i < sizeof(radixes) / sizeof(radixes[0]); i++) {
		double create[TIMING_RUNS], compute[TIMING_RUNS];
		struct tree tree;

		make_tree(&tree, radixes[i]);
		for (uint32_t r = 0; r < TIMING_RUNS; r++) {
			uint64_t start = timing_now_ns(), made, done;
			struct topo *topo = topo_create(&tree.map);

			if (!topo || topo_ports_to(topo, 0, tree.map.nb_hosts - 1) == 0)
				return EXIT_FAILURE;
			made = timing_now_ns();
			tree.map.links[r].up = false;
			topo_compute(topo);
			done = timing_now_ns();
			tree.map.links[r].up = true;
			topo_destroy(topo);
			create[r] = (double)(made - start) / 1e6;
			compute[r] = (double)(done - made) / 1e6;
		}
		printf("%8u %10u %8u %10.2f %10.2f\n", radixes[i], tree.map.nb_switches,
		       tree.map.nb_hosts, timing_median(create), timing_median(compute));
		free(tree.map.links);
		free(tree.map.attachments);
		free(tree.map.prefixes);
		free(tree.next_port);
	}
	return EXIT_SUCCESS;
}
