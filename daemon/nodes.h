/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_NODES_H
#define WEFT_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "conf.h"
#include "eal.h"
#include "host.h"
#include "kernel.h"
#include "reroute.h"
#include "switch_node.h"
#include "worker.h"

/**
 * @file
 * What a conf file describes, built: packets, ports, NICs, switches, and the worker that drives
 * them.
 */

struct nodes {
	struct pkt_pool *pool;
	struct worker *worker;
	struct nic *nics[CONF_MAX_NICS];
	struct nic_bind *peers[CONF_MAX_NICS]; /**< nic_conf.peers; NULL = there are none */
	struct host hosts[CONF_MAX_NICS];
	struct port *host_ports[CONF_MAX_NICS];
	struct kernel *kernel; /**< NULL = no NIC stands on an interface of it */
	struct kernel_nic *kernel_nics[CONF_MAX_NICS]; /**< NULL = that NIC does not */
	uint32_t nb_nics;
	struct switch_node switches[CONF_MAX_SWITCHES];
	struct port *switch_ports[CONF_MAX_SWITCHES][CONF_MAX_PORTS];
	uint32_t nb_switches;
	struct reroute *reroute; /**< NULL = nothing changes with links */
	/** Of who drives them: what its applications were refused. NULL = there are none. */
	const struct account_stats *refused;
};

/** What DPDK must be started with for this conf; points into it. */
struct eal_conf nodes_eal_conf(const struct conf *conf, bool verbose);

/**
 * Build everything. EAL has been started.
 *
 * @param driver  of the NICs; must have random.
 * @return        0 or a negative errno; what went wrong is logged, and nodes_free is due.
 */
int nodes_open(struct nodes *nodes, const struct conf *conf, const struct nic_driver *driver);

/**
 * Start the worker. If there is a kernel, the caller sees to kernel_turn from now on.
 *
 * @return 0 or a negative errno, which is logged.
 */
int nodes_start(struct nodes *nodes);

/** Stop the worker. Applications are gone. */
void nodes_stop(struct nodes *nodes);

/** Free everything; also after nodes_open or nodes_start failed. */
void nodes_free(struct nodes *nodes);

#endif
