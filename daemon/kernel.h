/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_KERNEL_H
#define WEFT_KERNEL_H

#include "nic.h"
#include "worker.h"

/**
 * @file
 * NICs that stand on interfaces of the kernel: what it says of the interface is brought to the NIC,
 * and what the NIC asks about neighbours is brought to the kernel. All on one thread, which waits
 * for kernel_fd and then calls kernel_turn; only a NIC's questions come from its worker.
 */

struct kernel;
struct kernel_nic;

/** Hear of interfaces. @return 0 or a negative errno; what went wrong is logged. */
int kernel_open(struct kernel **kernel);
/** The workers have stopped, or their NICs do not ask any more. NULL does nothing. */
void kernel_close(struct kernel *kernel);

/**
 * A NIC that will stand on an interface.
 *
 * @param name           of the NIC, for messages; stays the caller's.
 * @param ifname         of the interface.
 * @param ip_mtu_max     it uses no larger packets, whatever the interface's MTU.
 * @return               0 or a negative errno, which is logged.
 */
int kernel_add(struct kernel *kernel, const char *name, const char *ifname, uint32_t ip_mtu_max,
               struct kernel_nic **kn);
/** What it begins with; both live as long as the kernel. */
const struct nic_iface *kernel_iface(const struct kernel_nic *kn);
const struct neigh_resolver *kernel_resolver(const struct kernel_nic *kn);
/** It is there, and its worker runs: from now on changes are brought to it. */
void kernel_attach(struct kernel_nic *kn, struct nic *nic, struct worker *worker);

/** Readable when there is something to do. */
int kernel_fd(const struct kernel *kernel);
void kernel_turn(struct kernel *kernel);

/** For programs without a thread that could wait: one that does nothing else. */
int kernel_thread_start(struct kernel *kernel);
void kernel_thread_stop(struct kernel *kernel);

#endif
