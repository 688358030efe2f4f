/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_KERNEL_IF_H
#define WEFT_PORT_KERNEL_IF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes of an interface's name with its NUL. Source: the kernel's IFNAMSIZ. */
#define KERNEL_IF_NAME_LEN 16

/** A network interface of the kernel, in the network namespace of this process. */
struct kernel_if {
	char name[KERNEL_IF_NAME_LEN];
	uint32_t index;
	uint8_t mac[6];
	uint32_t mtu_bytes; /**< of an IP packet */
	bool is_ethernet;   /**< frames have Ethernet headers, and the interface a MAC */
	bool is_up;         /**< switched on, with a carrier */
};

/**
 * Ask the kernel about an interface. Needs no privilege.
 *
 * @return 0, -ENODEV (none has this name) or another negative errno.
 */
int kernel_if_find(const char *name, struct kernel_if *kif);

/** The same by index, which stays the interface's own when it is renamed. */
int kernel_if_look(uint32_t index, struct kernel_if *kif);

/** Queues that it spreads frames over, if its driver says so; else 1. */
uint32_t kernel_if_rx_queues(const struct kernel_if *kif);

/** "eth0, eth1": those that there are, for messages; "none" if there are none, cut to size. */
void kernel_if_names(char *text, size_t size);

#endif
