/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_ORDERS_H
#define WEFT_ORDERS_H

#include "console.h"

/*
 * Between orders.c (what only reads, and the table of all) and the orders that change something:
 * orders_act.c, orders_capture.c.
 */

/** A text argument; NULL if it was not given. */
const char *order_text(const struct console *con, const char *name);

/**
 * The NIC that the argument "nic" names.
 *
 * @param[out] nic  NULL if it was not given.
 * @return          false if there is none of that name, with the reason in why.
 */
bool order_nic(const struct console *con, const struct nic **nic, char *why, size_t size);

/** The NIC or switch of a name; NULL if there is none, with the reason in why. */
const struct node *order_node(const struct console *con, const char *name, char *why, size_t size);
/** The same of "weft0", "sw0" or "sw0/1". @param[out] port  -1 = none is named. */
const struct node *order_node_port(const struct console *con, const char *text, int *port,
                                   char *why, size_t size);

extern const struct order order_set, order_drain, order_resume, order_capture;

#endif
