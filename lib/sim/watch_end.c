/* SPDX-License-Identifier: BSD-3-Clause */
#include "batch.h"
#include "lab_impl.h"
#include "pool.h"

/*
 * Sums that must hold whenever a run is over: what went in came out, was dropped and counted, or is
 * still there; and when all work is done, nothing is.
 */

/* Frames that are in a network now. */
struct census {
	uint64_t on_links, in_switches, in_hosts;
};

static void
check_link(struct lab *lab, uint32_t i, int w, struct census *census)
{
	const struct net_way *way = &lab->net.links[i][w];
	const struct link_result *r = &lab->link_results[i][w];
	uint64_t in = r->pkts + r->doubled_pkts, inside = sim_link_nb_inside(&way->link);
	uint64_t out = way->nb_delivered + r->lost_pkts + inside;
	char from[PLAN_NAME_LEN], to[PLAN_NAME_LEN];

	census->on_links += inside;
	if (in != out)
		watch_violated(lab, NULL, "in = out + drops",
		               "link %s to %s: %lu frames sent, %lu doubled; %lu arrived, %lu "
		               "lost, %lu on their way",
		               plan_node_name(lab->conf.plan, way->from->idx, from),
		               plan_node_name(lab->conf.plan, way->to->idx, to),
		               (unsigned long)r->pkts, (unsigned long)r->doubled_pkts,
		               (unsigned long)way->nb_delivered, (unsigned long)r->lost_pkts,
		               (unsigned long)inside);
}

static void
check_switch(struct lab *lab, uint32_t i, struct census *census)
{
	const struct plan_switch *plan = &lab->conf.plan->switches[i];
	uint64_t in = 0, out = 0, inside = 0;

	for (uint16_t p = 0; p < plan->nb_ports; p++) {
		const struct switch_port_stats *s = lab->switches[i].ports[p];

		in += s->rx_packets + s->tx_pause_frames + s->rx_copies;
		out += s->tx_packets + s->rx_filtered + s->rx_control + s->rx_bad + s->rx_off_tree +
		       s->tx_no_buffer + s->tx_full_pkts + s->tx_link_down;
		for (int q = 0; q < QUEUES_NB; q++)
			out += s->q[q].full + s->q[q].headroom;
	}
	inside = switch_nb_held(lab->switches[i].sw);
	census->in_switches += inside;
	if (in != out + inside)
		watch_violated(lab, NULL, "in = out + drops",
		               "switch %s: %lu frames came in, %lu went out or were dropped, %lu "
		               "are in it",
		               plan->name, (unsigned long)in, (unsigned long)out,
		               (unsigned long)inside);
	switch_check(lab->switches[i].sw);
}

static void
check_host(struct lab *lab, uint32_t i, struct census *census)
{
	const struct lab_host *h = &lab->hosts[i];
	uint32_t link = (uint32_t)(plan_host_link(lab->conf.plan, i) - lab->conf.plan->links);
	int way = lab->net.nodes[i].out[0]->link.way; /* of two back to back one has the other */
	uint64_t sent = lab->link_results[link][way].pkts;
	uint64_t got = lab->net.links[link][!way].nb_delivered;

	census->in_hosts += h->nic->batch->nb_spare + h->nic->loop.nb_pkts;
	if (h->nic->stats.tx_packets != sent || h->nic->stats.rx_packets != got)
		watch_violated(lab, NULL, "in = out + drops",
		               "host h%u: its NIC counts %lu frames out and %lu in, its link %lu "
		               "and %lu",
		               i, (unsigned long)h->nic->stats.tx_packets,
		               (unsigned long)h->nic->stats.rx_packets, (unsigned long)sent,
		               (unsigned long)got);
}

/* Every packet of the pool is somewhere. */
static void
check_pool(struct lab *lab, const struct census *census)
{
	uint64_t out = sim_pool_nb_out(lab->pool);
	uint64_t known = census->on_links + census->in_switches + census->in_hosts;

	if (out != known)
		watch_violated(lab, NULL, "buffers are empty at the end",
		               "%lu packets are out: %lu on links, %lu in switches, %lu in NICs",
		               (unsigned long)out, (unsigned long)census->on_links,
		               (unsigned long)census->in_switches, (unsigned long)census->in_hosts);
}

void
watch_end(struct lab *lab)
{
	struct census census = {0};

	lab_result(lab);
	for (uint32_t i = 0; i < lab->net.nb_links; i++) {
		check_link(lab, i, 0, &census);
		check_link(lab, i, 1, &census);
	}
	for (uint32_t i = 0; i < lab->conf.plan->nb_switches; i++)
		check_switch(lab, i, &census);
	for (uint32_t i = 0; i < lab->net.nb_hosts; i++)
		check_host(lab, i, &census);
	check_pool(lab, &census);
}
