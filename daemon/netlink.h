/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_NETLINK_H
#define WEFT_NETLINK_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/netlink.h>

/**
 * @file
 * Sockets of NETLINK_ROUTE: one to ask and be answered, one to be told of changes. One thread's.
 */

struct mnl_socket;

struct netlink {
	struct mnl_socket *socket;
	uint32_t seq;
	uint8_t *buf;
};

/** What a message is given to. */
typedef void netlink_fn(void *arg, const struct nlmsghdr *msg);

/**
 * @param groups  RTNLGRP_* that it hears of, ended by 0; none for one to ask.
 * @return        0 or a negative errno; netlink_close is due in any case.
 */
int netlink_open(struct netlink *nl, const int *groups);
void netlink_close(struct netlink *nl);

/**
 * Ask, and wait for the answer, which the kernel gives at once.
 *
 * @param fn  gets each message of the answer.
 * @return    0 or a negative errno: also the kernel's refusal; -EINTR if what was told changed
 *            meanwhile, so that some of it may be missing.
 */
int netlink_ask(struct netlink *nl, struct nlmsghdr *msg, netlink_fn *fn, void *arg);

/**
 * Take what has been told, without waiting.
 *
 * @return 0 if nothing more waits; 1 if something may; -ENOBUFS if some was lost.
 */
int netlink_hear(struct netlink *nl, netlink_fn *fn, void *arg);

int netlink_fd(const struct netlink *nl);

#endif
