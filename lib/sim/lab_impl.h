/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SIM_LAB_IMPL_H
#define WEFT_SIM_LAB_IMPL_H

#include "host.h"
#include "lab.h"
#include "list.h"
#include "local.h"
#include "net.h"
#include "switch_node.h"
#include "topo.h"

/*
 * Between the files of a run: lab.c (set-up, loop, result), lab_end.c (how it ends), lab_host.c
 * (NICs, and what they and their applications do in a turn), lab_switch.c (switches and routes),
 * conn.c (connections and their QPs), conn_work.c (their work requests and completions), flows.c
 * (workloads, and flows on connections), watch.c and watch_end.c (what is seen from outside),
 * probe.c (series).
 */

/* What a watcher remembers of a connection. */
#define HISTORY_EVENTS 128 /* a power of two; 100 are told */

struct history_event {
	uint64_t at_ps : 56;
	uint64_t kind : 8; /* enum history_kind */
	uint32_t psn;      /* of a frame; else the work request's number */
	uint8_t opcode;
	uint8_t detail; /* AETH syndrome, status */
	uint16_t host;
};

/* A work request of a connection, from posting to completion. */
struct conn_msg {
	uint32_t flow;
	uint32_t bytes;
	uint32_t placed_bytes; /* for the first time */
	bool is_last;          /* of its flow */
	bool is_delivered;
	uint64_t *placed; /* bit per path MTU of bytes; NULL: few_placed */
	uint64_t few_placed;
};

struct conn;

/* A QP and the memory of one end. */
struct conn_end {
	struct conn *conn;
	uint32_t host;
	struct local_qp qp;
	struct mem mem;
	struct mem_seg seg;
	struct mr *mr;
	struct list to_poll; /* in its host's: completions have come */
	uint64_t nb_recvs_posted, nb_recvs_done;
};

/*
 * Two QPs between which data go one way, from end[0] to end[1]. Message i, counted from the start,
 * has bytes CONN_BASE + i x CONN_STRIDE on of both ends' memory for its own: nothing is ever placed
 * where another message's bytes belong.
 */
#define CONN_BASE (UINT64_C(1) << 40)
#define CONN_STRIDE (UINT64_C(1) << 30)
#define CONN_LEN (UINT64_C(1) << 62)

/* What is seen of the PSNs of one end of a connection. */
struct conn_stream {
	uint64_t next_psn;  /* one beyond the highest sent */
	uint64_t una_psn;   /* all below were acknowledged */
	uint64_t nb_unsent; /* unsent_pkts of its host when the last was seen */
};

struct conn {
	struct lab *lab;
	struct conn *next_of_key; /* in its bucket */
	struct list idle;         /* in its bucket's: no flow uses it, and it has not failed */
	struct conn *next;        /* of all */
	uint32_t idx;
	uint32_t workload, qp;
	uint8_t verb;
	bool has_failed;
	uint8_t why; /* enum qp_reason */
	struct conn_end end[2];

	/* flows in order; the first is being posted, or all of it is */
	uint32_t first_flow, last_flow; /* FLOW_NONE */
	uint32_t posting_flow;          /* FLOW_NONE = all are posted */
	uint64_t posted_bytes;          /* of posting_flow */
	/* messages: completed <= posted, all free running */
	struct conn_msg *msgs; /* slot = number & msg_mask */
	uint32_t msg_mask;
	uint64_t nb_posted, nb_completed;
	uint64_t nb_good; /* completed with success; after those nothing is, once one has failed */

	/* seen from outside; PSNs are unwrapped from PSN_BIAS + first on */
	struct conn_stream stream[2]; /* by the end that sends; plain: the requester's only */
	uint64_t data_next_psn;       /* one beyond the highest data packet sent */
	uint64_t rx_next_psn;         /* one beyond the highest data packet that arrived */
	uint64_t *arrived; /* bit per PSN of the last arrived_mask + 1 below rx_next_psn */
	uint32_t arrived_mask;
	struct history_event *history; /* slot = number & (HISTORY_EVENTS - 1) */
	uint32_t nb_history;
};

#define FLOW_NONE UINT32_MAX

struct conn_bucket {
	struct conn *first;
	struct list idle; /* those without a flow: of thousands most have one */
};

/* An end by its host and QPN; open addressing, at most half full. */
struct end_slot {
	uint64_t key; /* host << 24 | QPN; QPN 0 is nobody's: 0 = free */
	struct conn_end *end;
};

struct lab_host {
	struct host host;
	struct lab *lab;
	struct nic *nic;
	uint32_t idx;
	char name[PLAN_NAME_LEN];
	struct neigh_resolver resolver;
	struct ip_addr ip;
	uint8_t mac[6];
	struct list to_poll; /* conn_end.to_poll */
	uint32_t first_delivered,
		last_delivered;     /* flows to tell of: by flow_links.next_delivered */
	struct host_result *result; /* in lab.host_results */
	struct nic_engine_sums engine_sums;
};

struct lab_switch {
	struct switch_node node;
	struct fabric_switch *sw;
	const struct switch_port_stats **ports;
};

/* Beside each flow. */
struct flow_links {
	uint32_t next;           /* of its connection */
	uint32_t next_delivered; /* of those that its receiver's turn tells of */
};

/* What a workload's environment is called with. */
struct lab_workload {
	struct lab *lab;
	struct workload *workload;
	uint64_t last_end_ps; /* of its flows; within a window they do not end in order of time */
};

/* What a workload has asked to be told at a time. */
enum lab_timer_kind {
	LAB_TIMER_TELL,  /* on_time */
	LAB_TIMER_BEGIN, /* it begins */
	LAB_TIMER_FLOW,  /* a flow of its begins */
};

struct lab_timer {
	struct event event;
	struct list link; /* in lab.timers */
	const struct lab_workload *of;
	enum lab_timer_kind kind;
	uint64_t tag;
	struct flow_conf flow; /* LAB_TIMER_FLOW */
};

struct lab {
	struct lab_conf conf;
	struct net net;
	struct pkt_pool *pool;
	struct lab_host *hosts;
	struct lab_switch *switches;
	uint64_t base_rtt_ns;

	struct topo_map map;
	struct topo *topo;
	uint64_t *all_up; /* ports of each route of each switch when every link is up */

	struct conn_bucket *buckets; /* of connections by workload and hosts */
	uint32_t bucket_mask;
	struct conn *conns;
	uint32_t nb_conns;
	struct end_slot *ends;
	uint32_t ends_mask, nb_ends;

	struct flow *flows;
	struct flow_links *flow_links;
	uint32_t nb_flows, max_flows, nb_ended;
	struct lab_workload *workloads;
	struct workload_result *workload_results;
	struct list timers; /* armed */
	uint32_t nb_begun;  /* workloads */

	struct event sample, stop, stall;
	uint64_t stall_pkts; /* frames sent when it was last looked at */
	uint64_t end_ps;     /* when the run was over */
	uint32_t nb_samples;
	struct series *series;
	struct probe *probes;
	struct queue_histogram queues;
	uint32_t series_max;

	struct lab_tap tap;
	uint64_t data_pkts;
	bool is_over, is_short_of_memory;
	struct violation violation;
	struct host_result *host_results;
	struct switch_result *switch_results;
	struct link_result (*link_results)[2];
	struct result result;
};

/* Without memory a run is over; lab_run tells of it. */
static inline void
lab_out_of_memory(struct lab *lab)
{
	lab->is_short_of_memory = lab->is_over = true;
}

/* ---- lab_host.c ---- */
int lab_hosts_create(struct lab *lab);
void lab_hosts_destroy(struct lab *lab);

/* ---- lab_switch.c ---- */
int lab_switches_create(struct lab *lab);
void lab_switches_destroy(struct lab *lab);
/* A link of the plan went down or came up: routes of all switches. */
void lab_reroute(struct lab *lab, uint32_t link, bool is_up);

/* ---- conn.c ---- */
static inline uint32_t
conn_end_home(const struct lab *lab, uint64_t key)
{
	return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & lab->ends_mask;
}
/* The connection that a flow may use; NULL if there is none. */
struct conn *conn_find(const struct lab *lab, const struct flow_conf *flow);
/* It has its first flow, or has none any more. */
void conn_set_busy(struct conn *conn);
void conn_set_idle(struct conn *conn);
/* Make one, between windows; NULL without memory. */
struct conn *conn_make(struct lab *lab, const struct flow_conf *flow);
void conns_destroy(struct lab *lab);

/* ---- conn_work.c ---- */
/* One more receive of a connection of SENDs. */
void conn_post_recv(struct conn_end *end);
/* Post what fits, and wake the host. */
void conn_pump(struct conn *conn);
/* Completions of one end. */
void conn_poll(struct conn_end *end, uint64_t now_ps);
/* The end that has this QPN on a host; NULL if there is none. */
static inline struct conn_end *
conn_end_of(const struct lab *lab, uint32_t host, uint32_t qpn)
{
	uint64_t key = (uint64_t)host << 24 | qpn;

	if (!lab->ends)
		return NULL;
	for (uint32_t i = conn_end_home(lab, key);; i = (i + 1) & lab->ends_mask) {
		if (lab->ends[i].key == key || lab->ends[i].key == 0)
			return lab->ends[i].end;
	}
}
static inline struct conn_end *
conn_requester(struct conn *conn)
{
	return &conn->end[conn->verb == FLOW_READ];
}
static inline struct conn_msg *
conn_msg_at(const struct conn *conn, uint64_t number)
{
	return &conn->msgs[number & conn->msg_mask];
}

/* ---- flows.c ---- */
int flows_begin(struct lab *lab);
void flows_end(struct lab *lab);
/* The last byte of a flow was placed; told in the receiver's next turn. */
void flow_delivered(struct lab *lab, struct lab_host *host, uint32_t flow, uint64_t now_ps);
void flows_tell_delivered(struct lab_host *host, uint64_t now_ps);
/* Completed, or failed. */
void flow_ended(struct lab *lab, uint32_t flow, enum flow_status status, uint8_t why,
                uint64_t now_ps);
/* Whether every workload is finite, and done. */
bool flows_are_done(const struct lab *lab);

/* ---- watch.c ---- */
enum history_kind {
	HISTORY_TX, /* a frame left a host */
	HISTORY_RX, /* a frame came to a host */
	HISTORY_POST,
	HISTORY_COMPLETE,
	HISTORY_RECV,
	HISTORY_NB,
};
void watch_tx(struct lab_host *host, const struct pkt *p, uint64_t now_ps);
void watch_rx(struct lab_host *host, const struct pkt *p, uint64_t now_ps);
void watch_note(struct conn *conn, enum history_kind kind, uint32_t host, uint32_t number,
                uint8_t detail, uint64_t now_ps);
extern const struct mem_ops watch_mem_ops; /* mem.owner is a conn_end */
/* A rule is broken: the run is over. conn may be NULL. */
__attribute__((format(printf, 4, 5))) void watch_violated(struct lab *lab, struct conn *conn,
                                                          const char *rule, const char *fmt, ...);
/* Sums, when the run is over; what is on its way first arrives if all work is done. */
void watch_end(struct lab *lab);

/* ---- lab_end.c ---- */
/* A run without a duration is over, too, when nothing happens any more. */
void lab_arm_stall(struct lab *lab);
/* All work is done: let what is on its way arrive. */
void lab_drain(struct lab *lab);

/* ---- probe.c ---- */
int probes_begin(struct lab *lab);
void probes_end(struct lab *lab);

#endif
