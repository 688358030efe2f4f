/* SPDX-License-Identifier: BSD-3-Clause */
#include "ports.h"

#include <string.h>

#include "dpdk.h"
#include "log.h"

static int
open_ring(const struct conf_port *conf, struct pkt_pool *pool, struct port **port)
{
	int err = port_ring_open(conf->arg, PORT_RING_DEPTH_PKTS, port);

	(void)pool;
	if (err)
		log_error("ring %s: %s", conf->arg, strerror(-err));
	return err;
}

/* Each tells in the log what it can't open. */
static int (*const openers[])(const struct conf_port *conf, struct pkt_pool *pool,
                              struct port **port) = {
	[PORT_RING] = open_ring,
};

int
port_open(const struct conf_port *conf, const struct fault_params *fault, struct pkt_pool *pool,
          struct port **port)
{
	struct port *inner;
	int err = openers[conf->kind](conf, pool, port);

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
