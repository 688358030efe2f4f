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

/* What a node counts at a port: frames out and in. */
struct node_counts {
	uint64_t out, in;
};

static struct node_counts
counts_of(const struct lab *lab, const struct net_node *node, uint16_t port)
{
	const struct switch_port_stats *s;

	if (node->is_host) {
		const struct nic_stats *nic = &lab->hosts[node->idx].nic->stats;

		return (struct node_counts){nic->tx_packets, nic->rx_packets};
	}
	s = lab->switches[node->idx - lab->net.nb_hosts].ports[port];
	return (struct node_counts){s->tx_packets, s->rx_packets};
}

/* One way of a link: what it got is what its one end counts, and it is there, lost, or with the
 * other end, which counts it. */
static void
check_link(struct lab *lab, uint32_t i, int w, struct census *census)
{
	const struct net_way *way = &lab->net.links[i][w];
	const struct link_result *r = &lab->link_results[i][w];
	uint64_t in = r->pkts + r->doubled_pkts, inside = sim_link_nb_inside(&way->link);
	uint64_t out = way->nb_delivered + r->lost_pkts + inside;
	uint64_t sent = counts_of(lab, way->from, way->from_port).out;
	uint64_t got = counts_of(lab, way->to, way->to_port).in;
	char from[PLAN_NAME_LEN], to[PLAN_NAME_LEN];

	census->on_links += inside;
	if (in == out && r->pkts == sent && way->nb_delivered == got)
		return;
	watch_violated(lab, NULL, "in = out + drops",
	               "link %s to %s: %lu frames in (its sender counts %lu), %lu doubled; %lu out "
	               "(its receiver counts %lu), %lu lost, %lu on their way",
	               plan_node_name(lab->conf.plan, way->from->idx, from),
	               plan_node_name(lab->conf.plan, way->to->idx, to), (unsigned long)r->pkts,
	               (unsigned long)sent, (unsigned long)r->doubled_pkts,
	               (unsigned long)way->nb_delivered, (unsigned long)got,
	               (unsigned long)r->lost_pkts, (unsigned long)inside);
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

/* It ended because nothing happens any more, and nobody is left who has a timeout. */
static void
check_flows(struct lab *lab)
{
	const struct lab_conf *conf = &lab->conf;

	if (conf->host.timeout == 0 ||
	    (conf->duration_ns != 0 && lab->end_ps >= conf->duration_ns * PS_PER_NS))
		return;
	for (uint32_t i = 0; i < lab->nb_flows; i++) {
		const struct flow *f = &lab->flows[i];

		if (f->status != FLOW_RUNS)
			continue;
		watch_violated(
			lab, NULL, "nobody waits for ever",
			"flow %u, h%u to h%u, has %lu of %lu bytes, and nothing more happens", i,
			f->conf.src, f->conf.dst, (unsigned long)f->delivered_bytes,
			(unsigned long)f->conf.bytes);
		return;
	}
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
		census.in_hosts +=
			lab->hosts[i].nic->batch->nb_spare + lab->hosts[i].nic->loop.nb_pkts;
	check_pool(lab, &census);
	check_flows(lab);
}
