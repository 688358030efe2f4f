/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_KERNEL_LOG_H
#define WEFT_KERNEL_LOG_H

#include "nic.h"

/** Tell what is different at an interface, a line each. */
void kernel_log_iface(const struct nic *nic, const char *ifname, const struct nic_iface *before,
                      const struct nic_iface *now);

/** Tell which addresses came and left. */
void kernel_log_gids(const char *name, const struct gid_table *before, const struct gid_table *now);

#endif
