/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_REPORT_H
#define WEFT_REPORT_H

#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "conf.h"
#include "nodes.h"

/**
 * @file
 * What a daemon is and does, as JSON: for operators and for DPDK telemetry. Fields are explained in
 * weftctl(1).
 *
 * From any thread but the worker; the worker runs. It copies, in slices that a packet does not
 * notice; the caller's thread makes JSON of the copies. All results are new references; NULL
 * without memory.
 */

/** QPs that the worker copies at once, about 1 us each. Source: our choice. */
#define REPORT_SLICE_QPS 32

/** What a program has, by one of its connections. */
struct client_view {
	uint64_t number; /**< of the connection, counts from 1 */
	pid_t pid;
	uid_t uid;
	const char *nic; /**< NULL: it has opened none yet */
	uint32_t nb_qps, nb_mrs, nb_mws, nb_cqs, nb_srqs, nb_pds, nb_channels, nb_mappings;
	uint64_t memory_bytes; /**< that it shares with the daemon: mappings and rings */
};

/** What there is to report of; the caller's, unchanged while reports are made. */
struct report {
	const struct nodes *nodes;
	const struct conf *conf;
	/** On the worker: which process has a QP, by its owner in qp_init. Optional. */
	void (*whose)(const void *qp_owner, pid_t *pid, uid_t *uid);
	/** From any thread: whether a NIC takes no programs, by its owner in nic_conf. Optional. */
	bool (*is_drained)(const void *nic_owner);
	/** From any thread: up to max connections, the oldest behind this number. Optional. */
	uint32_t (*clients)(void *arg, uint64_t after, struct client_view *views, uint32_t max);
	void *clients_arg;
};

/** Array of nodes, in the order of the conf: NICs, then switches. */
json_t *report_nodes(const struct report *report);

/**
 * Object of owners (node, switch/port), each an object of counters.
 *
 * @param owner  one of them, or a switch for all its ports; NULL = all.
 */
json_t *report_counters(const struct report *report, const char *owner);

/** One QP. null if there is no such QP. */
json_t *report_qp(const struct report *report, const struct nic *nic, uint32_t qpn);

/** Connections of one line. Source: our choice. */
#define REPORT_CLIENTS 64
/**
 * Array of connections of programs, the oldest behind *after, which moves on to the last one that
 * was looked at.
 *
 * @param nic  only those that have this NIC open; NULL = all.
 * @param[out] more  whether there may be others.
 */
json_t *report_clients(const struct report *report, const struct nic *nic, uint64_t *after,
                       bool *more);
/** One connection. null if there is none of this number. */
json_t *report_client(const struct report *report, uint64_t number);

/** The NIC of a name; NULL if there is none. */
const struct nic *report_nic(const struct report *report, const char *name);

/** The NIC or switch of a name; NULL if there is none. */
const struct node *report_node(const struct report *report, const char *name);

/** Whether it is a node, "worker" or "control". */
bool report_has_counters(const struct report *report, const char *name);

/** A walk over QPs, slice by slice; QPs that come or go meanwhile may be in it or not. */
struct report_walk {
	const struct report *report;
	uint32_t nic_idx, nic_end;
	uint32_t *qpns; /**< of nic_idx; NULL = not begun */
	uint32_t nb_qpns, next;
};

/** @param nic  NULL = all. Ended by report_walk_end. */
void report_walk_begin(struct report_walk *walk, const struct report *report,
                       const struct nic *nic);
/** Whether there may be more. */
bool report_walk_more(const struct report_walk *walk);
/** Array of the next slice, up to REPORT_SLICE_QPS; may be empty. */
json_t *report_walk_next(struct report_walk *walk);
void report_walk_end(struct report_walk *walk);

#endif
