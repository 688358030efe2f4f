/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORTS_H
#define WEFT_PORTS_H

#include "conf.h"
#include "kernel_port.h"
#include "port.h"

/**
 * Open what a conf's port names. EAL has been started.
 *
 * @param take   which frames, of those that also the kernel sees.
 * @param fault  of the fault layer around it; NULL = none.
 * @param pool   for packets that the port makes; must live as long as the port.
 * @return       0 or a negative errno; what went wrong is logged.
 */
int port_open(const struct conf_port *conf, enum kernel_take take, const struct fault_params *fault,
              struct pkt_pool *pool, struct port **port);

/** Close it; NULL does nothing. */
void port_close(struct port *port);

#endif
