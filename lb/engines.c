/* SPDX-License-Identifier: BSD-3-Clause */
/* The load balancing engines of hosts and switches. A new one is a file here and two lines below.
 */
#include "bind.h"

extern const struct lb_ops host_fixed_ops;
extern const struct lb_ops sw_adaptive_ops;
extern const struct lb_ops sw_ecmp_ops;
extern const struct lb_ops sw_flowlet_ops;
extern const struct lb_ops sw_spray_ops;

const struct lb_ops *const lb_engines[] = {
	&host_fixed_ops, &sw_adaptive_ops, &sw_ecmp_ops, &sw_flowlet_ops, &sw_spray_ops, NULL,
};
