/* SPDX-License-Identifier: BSD-3-Clause */
#include "ports.h"

#include <string.h>

#include "af_packet.h"
#include "dpdk.h"
#include "log.h"

static int
open_ring(const struct conf_port *conf, enum kernel_take take, struct pkt_pool *pool,
          struct port **port)
{
	int err = port_ring_open(conf->arg, PORT_RING_DEPTH_PKTS, port);

	(void)take;
	(void)pool;
	if (err)
		log_error("ring %s: %s", conf->arg, strerror(-err));
	return err;
}

/* A link that is down is no reason to stop: it may come up any time. */
static void
tell_down(const struct conf_port *conf, const struct port *port)
{
	if (port->is_down)
		log_warn("%s is down: 'ip link set %s up', or look at its carrier", conf->arg,
		         conf->arg);
}

static int
open_af_packet(const struct conf_port *conf, enum kernel_take take, struct pkt_pool *pool,
               struct port **port)
{
	char why[LOG_LINE_MAX];
	int err = port_af_packet_open(conf->arg, take, pool, port, why, sizeof(why));

	if (err)
		log_error("%s", why);
	else
		tell_down(conf, *port);
	return err;
}

/* Each tells in the log what it can't open. */
static int (*const openers[])(const struct conf_port *conf, enum kernel_take take,
                              struct pkt_pool *pool, struct port **port) = {
	[PORT_RING] = open_ring,
	[PORT_AF_PACKET] = open_af_packet,
};

int
port_open(const struct conf_port *conf, enum kernel_take take, const struct fault_params *fault,
          struct pkt_pool *pool, struct port **port)
{
	struct port *inner;
	int err = openers[conf->kind](conf, take, pool, port);

	if (err || !fault)
		return err;
	inner = *port;
	err = port_fault_wrap(inner, fault, pool, port);
	if (err) {
		log_error("fault layer: %s", strerror(-err));
		port_close(inner);
		*port = NULL;
	}
	return err;
}

void
port_close(struct port *port)
{
	if (port)
		port->ops->close(port);
}
