/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_KERNEL_PORT_H
#define WEFT_PORT_KERNEL_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel_if.h"
#include "port.h"

/**
 * @file
 * What the ports on an interface of the kernel have in common: who may use it, how the kernel is
 * kept from answering frames that are ours, and how its link is watched. For these kinds only.
 */

/** Which frames of the interface a port takes. */
enum kernel_take {
	KERNEL_TAKE_ROCE, /**< those of a host stack that shares the interface with the kernel */
	KERNEL_TAKE_ALL,  /**< all, whoever they are for: a port of a switch */
};

struct kernel_port {
	struct kernel_if kif; /**< as it was when the port was opened; is_up is of now */
	int claim_fd;         /**< the interface is ours while it is open */
	int quiet_fds[4];     /**< UDP sockets that nobody reads */
	int link_fd;          /**< readable when some interface has changed */
	int wait_fd;          /**< readable when link_fd or what kernel_port_wait_for added is */
	uint64_t looked_ns;
	bool is_gone;  /**< the interface; what comes with its index is another one */
	bool is_stale; /**< kif.is_up could not be asked for */
	bool woken;    /**< the driver has slept: what woke it up may have been the link */
};

/**
 * Find the interface, claim it in its network namespace, keep the kernel quiet, watch its link.
 *
 * With KERNEL_TAKE_ROCE, UDP sockets are bound to the ports of RoCE and of HELLO, because the
 * kernel answers a datagram to a port that nobody has with "port unreachable", which a sender may
 * take for the end of its connection. They serve all interfaces of the namespace; several processes
 * of one user may have them, and nobody else can take the ports meanwhile.
 *
 * @param why  gets what is wrong and what to do about it, in one line.
 * @return     0, -ENODEV, -EBUSY (claimed, or the UDP ports are taken), -EPERM or another.
 */
int kernel_port_open(struct kernel_port *kp, const char *name, enum kernel_take take, char *why,
                     size_t why_size);

/** Process whose port has an interface; 0 = none, or it can't be told. */
pid_t kernel_port_holder(const struct kernel_if *kif);

/** Also after kernel_port_open failed. */
void kernel_port_close(struct kernel_port *kp);

/** Make wait_fd readable also when fd is. @return 0 or a negative errno. */
int kernel_port_wait_for(struct kernel_port *kp, int fd);

/**
 * Look whether the link has changed, if it is time to: after a sleep, and every
 * KERNEL_LOOK_NS. Keeps port->is_down.
 *
 * @return whether it was time to, so that the kind clears what may have woken it up too.
 */
bool kernel_port_look(struct kernel_port *kp, struct port *port, uint64_t now_ns);

/** How late a change of the link is noticed under load. Source: our choice. */
#define KERNEL_LOOK_NS UINT64_C(10000000)

#endif
