/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SIM_NET_H
#define WEFT_SIM_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"
#include "link.h"
#include "node.h"

/**
 * @file
 * The driver of nodes in virtual time, what daemon/worker.c is in real time: it brings frames to
 * nodes when their last bit has arrived, asks nodes for a frame when a link is free, and gives them
 * a turn at their deadlines.
 *
 * Nobody hears of a node's doings before a link's delay has passed. So each node runs by itself
 * through a window of the shortest such time, one after the other: what it works on stays in the
 * cache, and the order among nodes makes no difference. What concerns all (workloads, samples,
 * links that go down) happens between windows, at its exact time. Source: the windows of
 * conservative parallel simulation, e.g. R. Fujimoto, CACM 33(10), 1990; docs/adr.
 */

struct net;

struct net_node;

/** One way of a link, and what it joins. */
struct net_way {
	struct sim_link link;
	/** It can take the next frame, which the sender has; of switches. */
	struct event free;
	uint16_t from_port, to_port;
	struct net_node *from, *to;
	uint64_t nb_delivered;
};

/** A node and what is at its ports. */
struct net_node {
	struct node *node;
	struct net *net;
	struct events events; /**< its own */
	struct event timer;   /**< its next turn without a frame */
	struct net_way **out; /**< per port */
	uint64_t waiting;     /**< bit per port: its free is armed */
	bool is_host;
	bool has_deadlines; /**< next_ns is worth asking: hosts; switches with pauses or timers */
	uint32_t idx;       /**< of the plan */
};

/** Whoever watches, and what applications do; called with each frame of a host. */
struct net_hooks {
	/** A frame is about to be received; it is the host's then. */
	void (*rx)(void *arg, struct net_node *host, const struct pkt *p, uint64_t now_ps);
	/** A frame leaves. */
	void (*tx)(void *arg, struct net_node *host, const struct pkt *p, uint64_t now_ps);
	/** A host had frames or a deadline: what do its applications do? */
	void (*turn)(void *arg, struct net_node *host, uint64_t now_ps);
	/** A frame at any port; NULL = nobody looks. */
	void (*tap)(void *arg, struct net_node *node, uint16_t port, bool is_out,
	            const struct pkt *p, uint64_t now_ps);
	void *arg;
};

struct net {
	struct events clock;      /**< of what concerns all */
	struct net_node *running; /**< whose events fire; NULL = of the clock */
	uint64_t window_end_ps;   /**< of the present window */
	uint64_t lookahead_ps;    /**< the shortest time from one node to another */
	uint64_t *soonest_ps;     /**< per node: when it wants to run */
	uint64_t nb_fired;        /**< events so far */
	bool stop;                /**< at once, in the middle of a window */
	struct net_node *nodes;   /**< hosts, then switches */
	uint32_t nb_hosts, nb_nodes;
	struct net_way (*links)[2]; /**< [0] from end[0] of the plan's */
	struct net_way **outs;      /**< memory of all nodes' out */
	uint32_t nb_links;
	struct net_hooks hooks;
};

struct plan;

/**
 * Links and places for nodes of a plan; nodes are then set by net_set_node.
 *
 * @return 0 or -ENOMEM; then too net_fini.
 */
int net_init(struct net *net, const struct plan *plan);
/** Frames on links are freed; nodes are the caller's. */
void net_fini(struct net *net);

void net_set_node(struct net *net, uint32_t idx, struct node *node, bool has_deadlines);

/** Time, of whoever runs. */
static inline uint64_t
net_now_ps(const struct net *net)
{
	return net->running ? net->running->events.now_ps : net->clock.now_ps;
}

/**
 * Go on: one event that concerns all, or one window.
 *
 * @return false if nothing is to come.
 */
bool net_step(struct net *net);

/** The running node has got work without a frame, or any if none runs: a turn now. */
void net_wake(struct net *net, uint32_t idx);

/** A link is down or up: tell the nodes at its ends. */
void net_set_link(struct net *net, uint32_t link, bool is_up);

#endif
