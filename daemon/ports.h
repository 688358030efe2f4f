/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORTS_H
#define WEFT_PORTS_H

#include "conf.h"
#include "kernel_port.h"
#include "port.h"

/** What a port is for. */
struct port_use {
	enum kernel_take take; /**< which frames, of those that also the kernel sees */
	uint32_t mtu_bytes;    /**< largest IP packet that it is to carry */
	const uint8_t *mac;    /**< of the node; NULL = a switch, which takes all */
	struct pkt_pool *pool; /**< for frames that arrive; must live as long as the port */
};

/**
 * Open what a conf's port names. EAL has been started.
 *
 * @param fault  of the fault layer around it; NULL = none.
 * @return       0 or a negative errno; what went wrong is logged.
 */
int port_open(const struct conf_port *conf, const struct port_use *use,
              const struct fault_params *fault, struct port **port);

/** Close it; NULL does nothing. */
void port_close(struct port *port);

#endif
