/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_KERNEL_IMPL_H
#define WEFT_KERNEL_IMPL_H

#include <pthread.h>

#include "asks.h"
#include "hops.h"
#include "kernel.h"
#include "netlink.h"
#include "netview.h"

/**
 * @file
 * The kernel's side of NICs from inside: kernel_news.c brings what is new at interfaces,
 * kernel_neigh.c finds neighbours. Everyone else calls kernel.h.
 */

/** Answers that are brought to a NIC at once. */
#define ANSWERS_MAX 64

struct answer {
	struct ip_addr ip;
	uint16_t vlan;
	bool is_known;
	uint8_t mac[6];
};

/** A NIC and the interface that it stands on. */
struct kernel_nic {
	struct kernel *kernel;
	struct list link;
	const char *name;
	char ifname[RTMSG_NAME_LEN]; /**< as it was called last */
	uint32_t ifindex;            /**< its own for as long as it exists; 0 = it is gone */
	uint32_t ip_mtu_max;
	struct nic *nic; /**< NULL before kernel_attach */
	struct worker *worker;
	struct nic_iface iface; /**< as the NIC has it */
	struct gid gids[NETVIEW_MAX_GIDS];
	struct neigh_resolver resolver;
	struct asks asks;
	struct answer answers[ANSWERS_MAX];
	uint32_t nb_answers;
};

struct kernel {
	struct list nics;
	struct netlink hear, ask;
	struct netview view;
	struct hops hops;
	struct list again; /**< hops that the kernel has forgotten */
	bool is_stale;     /**< the view: something was lost */
	bool is_silent;    /**< it was told that the kernel does not look for neighbours */
	int epoll_fd;
	int ask_fd; /**< rung by workers */
	_Atomic bool rung;
	pthread_t thread;
	int stop_fd;
};

/** Have everything told again. @return 0 or a negative errno, which is logged. */
int kernel_dump(struct kernel *k);
/** What the view says of an interface, in the form of a NIC. */
void kernel_read_view(struct kernel_nic *kn, struct nic_iface *iface, struct gid *gids);
/** An interface is gone; what comes with its index is another one. */
void kernel_on_link_deleted(struct kernel *k, uint32_t ifindex);
/** Bring to all NICs what is new of their interfaces. */
void kernel_bring_news(struct kernel *k);

/** For a resolver: a NIC asks, on its worker. */
bool kernel_put_ask(void *arg, const struct ip_addr *ip, uint16_t vlan);
/** Tell, once, that the kernel may not be asked to look for neighbours. */
void kernel_tell_silent(struct kernel *k);
/** Look up what NICs have asked. */
void kernel_take_asks(struct kernel *k);
/** The kernel tells of a neighbour. */
void kernel_on_neigh(struct kernel *k, const struct rt_neigh *neigh);
/**
 * It has forgotten one, because nobody seemed to use it or because our own MAC changed. What it
 * told remains true until it finds another.
 */
void kernel_on_neigh_deleted(struct kernel *k, const struct rt_neigh *neigh);
/** Have it look again for those that a NIC uses, on links that are up. */
void kernel_look_again(struct kernel *k);
/** Bring to all NICs what they asked and was found. */
void kernel_bring_answers(struct kernel *k);

#endif
