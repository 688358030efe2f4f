/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "be.h"
#include "bind.h"
#include "lab_impl.h"

/* Hosts of a run: their NICs, and what happens beside their stacks in a turn. */

static void
notify(void *owner, uint32_t channel, uint64_t cookie)
{
	struct conn_end *e = (struct conn_end *)(uintptr_t)cookie;

	(void)owner;
	(void)channel;
	if (!list_is_linked(&e->to_poll))
		list_add_tail(&e->conn->lab->hosts[e->host].to_poll, &e->to_poll);
}

/* QPs that fail are known by their completions. */
static void
ignore_event(void *owner, uint32_t type, uint64_t cookie)
{
	(void)owner;
	(void)type;
	(void)cookie;
}

static const struct nic_driver driver = {.notify = notify, .event = ignore_event};

/*
 * 10.E.E.P: the host at port P - 1 of switch E, so that one prefix covers all hosts of a switch; of
 * two hosts back to back 10.0.0.1 and 2. A MAC is the host's number.
 */
static void
set_addresses(struct lab *lab, struct lab_host *h)
{
	const struct plan *plan = lab->conf.plan;
	const struct plan_end *at = &plan_host_link(plan, h->idx)->end[1];
	uint8_t ipv4[4] = {10};

	if (plan->nb_switches == 0) {
		ipv4[3] = (uint8_t)(1 + h->idx);
	} else {
		put_be16(ipv4 + 1, (uint16_t)(at->node - plan->nb_hosts));
		ipv4[3] = (uint8_t)(1 + at->port);
	}
	ip_addr_from_ipv4(&h->ip, ipv4);
	h->mac[0] = 2;
	put_be32(h->mac + 2, h->idx);
}

/* Everybody knows everybody: what a fabric's hosts would have learned. */
static bool
resolve(void *arg, const struct ip_addr *ip, uint16_t vlan)
{
	struct lab_host *h = arg;

	for (uint32_t i = 0; i < h->lab->net.nb_hosts; i++) {
		const struct lab_host *to = &h->lab->hosts[i];

		if (memcmp(&to->ip, ip, sizeof(*ip)) == 0)
			neigh_set(h->nic->neigh, ip, vlan, to->mac, h->nic->now_ns);
	}
	return true;
}

static int
create_host(struct lab *lab, uint32_t idx)
{
	const struct lab_host_params *params = &lab->conf.host;
	const struct lab_engines *engines = &lab->conf.engines;
	struct lab_host *h = &lab->hosts[idx];
	uint64_t seed = lab->conf.seed + idx;
	struct nic_conf conf = {
		.name = plan_node_name(lab->conf.plan, idx, h->name),
		.ips = &h->ip,
		.nb_ips = 1,
		.ip_mtu_bytes = params->ip_mtu_bytes,
		.traffic_class = (int)params->traffic_class,
		.line_rate_bps = plan_host_link(lab->conf.plan, idx)->rate_bps,
		.obeys_pfc = params->obeys_pfc,
		.pfc_watchdog_ns = params->pfc_watchdog_ns,
		.base_rtt_ns = lab->base_rtt_ns,
		.window_pkts = params->window_pkts,
		.payload_absent = !lab->conf.real_payload,
		.seed = prng_splitmix(&seed),
		.opens_pairs = true,
		.bind = {.framing = engines->framing,
	                 .set = engines->set,
	                 .params = engines->params},
		.plain = engines->plain,
		.plain_params = engines->plain_params,
		.rel_dgram = engines->rel_dgram,
		.driver = &driver,
		.resolver = &h->resolver,
		.pool = lab->pool,
	};

	h->lab = lab;
	h->idx = idx;
	h->result = &lab->host_results[idx];
	list_init(&h->to_poll);
	h->first_delivered = h->last_delivered = FLOW_NONE;
	h->resolver = (struct neigh_resolver){.ask = resolve, .arg = h};
	set_addresses(lab, h);
	memcpy(conf.mac, h->mac, sizeof(conf.mac));
	h->nic = nic_create(&conf, 0);
	if (!h->nic)
		return -ENOMEM;
	host_init(&h->host, h->nic);
	h->result->nic = &h->nic->stats;
	h->result->engines = &h->engine_sums;
	net_set_node(&lab->net, idx, &h->host.node, true);
	return 0;
}

/* ---- what net.c asks ---- */

static void
rx(void *arg, struct net_node *node, const struct pkt *p, uint64_t now_ps)
{
	struct lab *lab = arg;

	watch_rx(&lab->hosts[node->idx], p, now_ps);
}

static void
tx(void *arg, struct net_node *node, const struct pkt *p, uint64_t now_ps)
{
	struct lab *lab = arg;

	watch_tx(&lab->hosts[node->idx], p, now_ps);
}

/* Applications look at the queues that have something, and hear what has come. */
static void
turn(void *arg, struct net_node *node, uint64_t now_ps)
{
	struct lab *lab = arg;
	struct lab_host *h = &lab->hosts[node->idx];

	while (!list_is_empty(&h->to_poll)) {
		struct conn_end *e = container_of(h->to_poll.next, struct conn_end, to_poll);

		list_del(&e->to_poll);
		conn_poll(e, now_ps);
	}
	if (h->first_delivered != FLOW_NONE)
		flows_tell_delivered(h, now_ps);
}

int
lab_hosts_create(struct lab *lab)
{
	lab->hosts = calloc(lab->net.nb_hosts, sizeof(*lab->hosts));
	lab->host_results = calloc(lab->net.nb_hosts, sizeof(*lab->host_results));
	if (!lab->hosts || !lab->host_results)
		return -ENOMEM;
	lab->net.hooks.rx = rx;
	lab->net.hooks.tx = tx;
	lab->net.hooks.turn = turn;
	lab->net.hooks.arg = lab;
	for (uint32_t i = 0; i < lab->net.nb_hosts; i++) {
		if (create_host(lab, i) != 0)
			return -ENOMEM;
	}
	return 0;
}

void
lab_hosts_destroy(struct lab *lab)
{
	for (uint32_t i = 0; lab->hosts && i < lab->net.nb_hosts; i++) {
		if (lab->hosts[i].nic)
			nic_destroy(lab->hosts[i].nic);
	}
	free(lab->hosts);
	free(lab->host_results);
}
