/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SIM_PLAN_H
#define WEFT_SIM_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "param.h"

/**
 * @file
 * A fabric to be: how many hosts and switches, and which links join them. Pure data, worked out
 * from a few numbers.
 *
 * Nodes are numbered: hosts from 0 on, then switches. A host has one port, 0.
 */

/** Ports of a switch at most: what topo.h computes routes for. */
#define PLAN_PORTS_MAX 64
/** Hosts at most. Our choice: an RLFT of 3,456 and some. */
#define PLAN_HOSTS_MAX 4096
/** Bytes of a node's name, with the 0. */
#define PLAN_NAME_LEN 16

enum plan_kind {
	PLAN_BACK_TO_BACK, /**< two hosts and a link */
	PLAN_DUMBBELL,     /**< hosts/2 at each of two switches, one link between these */
	PLAN_STAR,         /**< all hosts at one switch */
	PLAN_TWO_PATHS,    /**< hosts/2 at each of two switches, two links of unequal rate, delay */
	PLAN_LEAF_SPINE,   /**< each leaf joined to each spine */
	PLAN_FAT_TREE,     /**< k-ary, three levels, k^3/4 hosts. Source: Al-Fares, SIGCOMM 2008 */
	PLAN_RLFT,         /**< real-life fat tree of k-port switches, 2 or 3 levels. Source:
	                        Zahavi, "D-Mod-K routing", 2010: k^2/2 and k^3/4 hosts */
	PLAN_NB_KINDS,
};

/** Numbers of section [topology]; what a kind does not use (plan_kind_uses) is not looked at. */
struct plan_params {
	uint32_t hosts;                        /**< dumbbell, two paths, star */
	uint32_t leaves, spines;               /**< leaf-spine */
	uint32_t hosts_per_leaf;               /**< leaf-spine */
	uint32_t k;                            /**< fat tree, RLFT: ports of a switch */
	uint32_t levels;                       /**< RLFT: 2 or 3 */
	uint32_t parallel;                     /**< leaf-spine: links between each two */
	uint64_t rate_bps, delay_ns;           /**< links of hosts */
	uint64_t core_rate_bps, core_delay_ns; /**< links between switches; 0 = as of hosts */
	uint64_t rate2_bps, delay2_ns;         /**< two paths: the second; 0 = as the first */
};

/** Keys of [topology] but kind. */
extern const struct param_desc plan_param_descs[];

/** "fat-tree" and so on. */
extern const char *const plan_kind_names[PLAN_NB_KINDS];

/** Whether a kind looks at a key of plan_param_descs. */
bool plan_kind_uses(enum plan_kind kind, const char *key);

struct plan_end {
	uint32_t node;
	uint16_t port;
};

struct plan_link {
	struct plan_end end[2]; /**< a host's end is the first; between switches the lower stage */
	uint64_t rate_bps, delay_ns; /**< each way */
	bool is_core;                /**< between switches */
};

struct plan_switch {
	char name[PLAN_NAME_LEN];
	uint16_t nb_ports;
	uint8_t stage; /**< level in the tree: 0 = has hosts */
};

struct plan {
	enum plan_kind kind;
	uint32_t nb_hosts, nb_switches, nb_links;
	struct plan_switch *switches;
	struct plan_link *links; /**< those of hosts first, in order of hosts */
	uint32_t hosts_per_leaf; /**< consecutive hosts at one switch of stage 0 */
	uint32_t hosts_per_pod;  /**< consecutive hosts that have no core between them */
	/**
	 * Round trip of the longest path when empty: plan_rtt_ps of PLAN_DATA_BYTES and
	 * PLAN_ACK_BYTES, rounded up.
	 */
	uint64_t rtt_ns;
};

/**
 * What frames take of a link, with 24 bytes beside themselves (FCS 4, preamble 8, gap 12): a
 * RoCEv2 packet of 1,024 bytes of payload over IPv4, and an ACK.
 */
#define PLAN_DATA_BYTES (14 + 20 + 8 + 12 + 1024 + 4 + 24)
#define PLAN_ACK_BYTES (14 + 20 + 8 + 12 + 4 + 4 + 24)

/**
 * Work out a fabric.
 *
 * @param[out] plan  free it by plan_free.
 * @param[out] key   on error: the number that is wrong, as plan_param_descs names it; NULL = kind.
 * @param why, size  on error one line: what is wrong and what would do.
 * @return           0, -EINVAL or -ENOMEM (why is filled in too).
 */
int plan_create(struct plan *plan, enum plan_kind kind, const struct plan_params *params,
                const char **key, char *why, size_t size);
void plan_free(struct plan *plan);

/** "h3" or the switch's name. @return buf. */
const char *plan_node_name(const struct plan *plan, uint32_t node, char buf[PLAN_NAME_LEN]);
/** The node of this name, or UINT32_MAX. */
uint32_t plan_find(const struct plan *plan, const char *name);

/** A host's link; two that are back to back have one. */
static inline const struct plan_link *
plan_host_link(const struct plan *plan, uint32_t host)
{
	return &plan->links[plan->nb_switches ? host : 0];
}

/** Links of a shortest path between two hosts, not the same. */
uint32_t plan_nb_links(const struct plan *plan, uint32_t a, uint32_t b);

/**
 * Round trip of an empty path between two hosts: a frame of data_bytes there, one of ack_bytes
 * back, each stored and forwarded by every switch; bytes with what a frame takes of a link beside
 * itself. Of two paths the one that takes longer.
 *
 * @param a, b  hosts, not the same.
 * @return      rounded down, once.
 */
uint64_t plan_rtt_ps(const struct plan *plan, uint32_t a, uint32_t b, uint32_t data_bytes,
                     uint32_t ack_bytes);

/**
 * The same one way, of a message of nb_full full frames and a last one: when the last byte
 * arrives, over one path; of two the quicker.
 *
 * @param full_bytes  at least last_bytes; any if nb_full is 0.
 */
uint64_t plan_ideal_ps(const struct plan *plan, uint32_t a, uint32_t b, uint64_t nb_full,
                       uint32_t full_bytes, uint32_t last_bytes);

#endif
