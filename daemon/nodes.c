/* SPDX-License-Identifier: BSD-3-Clause */
#include "nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "dpdk.h"
#include "eal.h"
#include "log.h"
#include "logs.h"
#include "ports.h"

/* The interface of a NIC that stands on one; else *kn is NULL. */
static int
add_interface(struct nodes *nodes, const struct conf_nic *c, struct kernel_nic **kn)
{
	int err = 0;

	*kn = NULL;
	if (!c->on_interface)
		return 0;
	if (!nodes->kernel)
		err = kernel_open(&nodes->kernel);
	return err ? err : kernel_add(nodes->kernel, c->name, c->port.arg, c->num.mtu, kn);
}

/* How the NIC serves those peers that have sections. */
static int
add_peers(const struct conf *conf, const struct conf_nic *c, struct nic_bind **peers)
{
	*peers = NULL;
	if (conf->nb_peers == 0)
		return 0;
	*peers = calloc(conf->nb_peers, sizeof(**peers));
	if (!*peers)
		return -ENOMEM;
	for (uint32_t i = 0; i < conf->nb_peers; i++)
		(*peers)[i] = conf_nic_bind(conf, c, &conf->peers[i]);
	return 0;
}

static int
prepare_nic(struct nodes *nodes, const struct conf *conf, const struct conf_nic *c)
{
	int err = add_peers(conf, c, &nodes->peers[nodes->nb_nics]);

	return err ? err : add_interface(nodes, c, &nodes->kernel_nics[nodes->nb_nics]);
}

static int
open_nic(struct nodes *nodes, const struct conf *conf, const struct conf_nic *c,
         const struct nic_driver *driver)
{
	/* UC and UD send in order and never again, whatever RC does. */
	const struct reliability_ops *rel_dgram = reliability_find("none");
	uint32_t i = nodes->nb_nics;
	const struct engine_set plain = conf_plain_set();
	int err = prepare_nic(nodes, conf, c);
	const struct kernel_nic *kn = nodes->kernel_nics[i];
	const struct nic_conf nic_conf = {
		.name = c->name,
		.mac = {c->mac[0], c->mac[1], c->mac[2], c->mac[3], c->mac[4], c->mac[5]},
		.ips = c->ips,
		.nb_ips = c->nb_ips,
		.ip_mtu_bytes = c->num.mtu,
		.vlan = (uint16_t)c->num.vlan,
		.traffic_class = c->has_traffic_class ? (int)c->num.traffic_class : -1,
		.line_rate_bps = c->num.rate_bps,
		.obeys_pfc = c->pfc,
		.pfc_watchdog_ns = c->num.pfc_watchdog_ns,
		.base_rtt_ns = c->num.base_rtt_ns,
		.window_pkts = c->num.window_pkts,
		.seed = driver->random(),
		.bind = conf_nic_bind(conf, c, NULL),
		.peers = nodes->peers[i],
		.nb_peers = nodes->peers[i] ? conf->nb_peers : 0,
		.plain = plain,
		.plain_params = conf_set_params(conf->engines, conf->nb_engines, &plain),
		.rel_dgram = rel_dgram,
		.driver = driver,
		.iface = kn ? kernel_iface(kn) : NULL,
		.resolver = kn ? kernel_resolver(kn) : NULL,
		.pool = nodes->pool,
	};
	const struct port_use use = {.take = KERNEL_TAKE_ROCE,
	                             .mtu_bytes = c->num.mtu,
	                             .mac = c->mac,
	                             .pool = nodes->pool};

	if (err)
		return err;
	nodes->nics[i] = nic_create(&nic_conf, worker_clock_ns());
	if (!nodes->nics[i]) {
		err = -errno;
		log_error("nic %s: %s", c->name, strerror(errno));
		return err;
	}
	nodes->nb_nics++;
	err = port_open(&c->port, &use, c->has_fault ? &c->fault : NULL, &nodes->host_ports[i]);
	if (err)
		return err;
	host_init(&nodes->hosts[i], nodes->nics[i]);
	return worker_add_node(nodes->worker, &nodes->hosts[i].node, &nodes->host_ports[i]);
}

static int
open_switch(struct nodes *nodes, const struct conf *conf, const struct conf_switch *c)
{
	uint32_t i = nodes->nb_switches;
	struct switch_port_params ports[CONF_MAX_PORTS];
	struct switch_conf fabric = conf_switch_fabric(c, ports);
	struct fabric_switch *sw;
	const struct port_use use = {
		.take = KERNEL_TAKE_ALL, .mtu_bytes = c->num.mtu, .pool = nodes->pool};
	int err;

	fabric.lb_params = conf_params(conf, &fabric.lb->info);
	sw = switch_create(&fabric, nodes->pool);
	if (!sw) {
		log_error("switch %s: %s", c->name, strerror(ENOMEM));
		return -ENOMEM;
	}
	switch_node_init(&nodes->switches[i], sw);
	nodes->switches[i].node.name = c->name;
	nodes->nb_switches++;
	for (uint32_t p = 0; p < c->nb_ports; p++) {
		const struct conf_port_settings *s = &c->settings[p];

		err = port_open(&c->ports[p], &use, s->has_fault ? &s->fault : NULL,
		                &nodes->switch_ports[i][p]);
		if (err)
			return err;
	}
	return worker_add_node(nodes->worker, &nodes->switches[i].node, nodes->switch_ports[i]);
}

static int
start_thread(void)
{
	logs_of_worker();
	return eal_thread_start();
}

struct eal_conf
nodes_eal_conf(const struct conf *conf, bool verbose)
{
	struct eal_conf eal = {.memory_mb = conf_memory_mb(conf),
	                       .hugepages = conf->daemon.hugepages,
	                       .verbose = verbose};
	const struct conf_port *ports[EAL_DEVICES_MAX];

	eal.nb_devices = conf_ports_of(conf, PORT_PCI, ports, EAL_DEVICES_MAX);
	for (uint32_t i = 0; i < eal.nb_devices; i++)
		eal.devices[i] = ports[i]->arg;
	return eal;
}

int
nodes_open(struct nodes *nodes, const struct conf *conf, const struct nic_driver *driver)
{
	const struct worker_conf worker_conf = {
		.name = "weft-worker",
		.poll = conf->daemon.poll,
		.thread_start = start_thread,
		.thread_end = eal_thread_end,
	};
	int err;

	*nodes = (struct nodes){0};
	err = pkt_pool_dpdk_create("weft", conf->daemon.num.packets, conf_packet_bytes(conf),
	                           &nodes->pool);
	if (err) {
		log_error("%u packets: %s", conf->daemon.num.packets, strerror(-err));
		return err;
	}
	nodes->worker = worker_create(&worker_conf);
	if (!nodes->worker) {
		log_error("worker: %s", strerror(errno));
		return -errno;
	}
	/* NICs first: a switch then takes in the same turn what they have sent. */
	for (uint32_t i = 0; i < conf->nb_nics; i++) {
		err = open_nic(nodes, conf, &conf->nics[i], driver);
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < conf->nb_switches; i++) {
		err = open_switch(nodes, conf, &conf->switches[i]);
		if (err)
			return err;
	}
	err = reroute_create(conf, nodes->switches, &nodes->reroute);
	if (err)
		log_error("routes: %s", strerror(-err));
	return err;
}

int
nodes_start(struct nodes *nodes)
{
	int err = worker_start(nodes->worker);

	if (err) {
		log_error("worker: %s", strerror(-err));
		return err;
	}
	for (uint32_t i = 0; i < nodes->nb_nics; i++)
		if (nodes->kernel_nics[i])
			kernel_attach(nodes->kernel_nics[i], nodes->nics[i], nodes->worker);
	return 0;
}

void
nodes_stop(struct nodes *nodes)
{
	if (nodes->kernel)
		kernel_thread_stop(nodes->kernel);
	if (nodes->worker)
		worker_stop(nodes->worker);
}

void
nodes_free(struct nodes *nodes)
{
	for (uint32_t i = 0; i < nodes->nb_nics; i++)
		port_close(nodes->host_ports[i]);
	reroute_destroy(nodes->reroute);
	for (uint32_t i = 0; i < nodes->nb_switches; i++) {
		for (uint32_t p = 0; p < nodes->switches[i].node.nb_ports; p++)
			port_close(nodes->switch_ports[i][p]);
		switch_destroy(nodes->switches[i].sw);
	}
	for (uint32_t i = 0; i < nodes->nb_nics; i++)
		nic_destroy(nodes->nics[i]);
	for (uint32_t i = 0; i < CONF_MAX_NICS; i++)
		free(nodes->peers[i]);
	kernel_close(nodes->kernel);
	worker_destroy(nodes->worker);
	pkt_pool_dpdk_destroy(nodes->pool);
}
