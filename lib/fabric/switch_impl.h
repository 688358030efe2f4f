/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SWITCH_IMPL_H
#define WEFT_SWITCH_IMPL_H

#include "buffer.h"
#include "engine.h"
#include "fib.h"
#include "frame.h"
#include "link_clock.h"
#include "mark.h"
#include "pause.h"
#include "prng.h"
#include "switch.h"

/*
 * Between the files of the pipeline: switch.c (set-up), forward.c (which ports), admit.c (whether,
 * into which queue), egress.c (when it leaves, and what is written to it), pfc.c (pauses).
 */

/* Our choice: some flows at a time on a link. */
#define LAST_ROUTES 4

/* What was looked up last: neighbouring frames of a port mostly go the same way. */
struct last_route {
	uint64_t version; /* of all routes then; 0 = nothing was */
	struct ip_addr ip;
	const struct route *route; /* NULL = none */
};

/* What each frame touches comes first, in few lines of the cache. */
struct switch_port {
	_Alignas(64) struct lb_hop *hop; /* what load balancers see of it, and what waits */
	uint64_t tx_link_bytes;          /* sent, with overhead */
	uint32_t overhead_bytes;         /* of params */
	uint16_t hop_id;
	uint8_t rate_code; /* of telemetry */
	bool is_up, floods;
	bool has_link;      /* frames take time */
	bool is_ready;      /* something could have left when it was last looked at */
	uint8_t asked;      /* classes that the peer was told to pause */
	uint8_t news;       /* classes whose state it was not told yet */
	struct pause pause; /* what the peer asks of us */

	struct last_route last_routes[LAST_ROUTES]; /* of frames that come in, by address */
	_Alignas(64) struct queues queues;
	struct buffer_egress egress[QUEUES_NB];
	struct buffer_ingress ingress[QUEUES_NB];
	struct switch_port_params params;

	/* the link that it stands for */
	struct link_clock clock; /* of it */
	struct pkt_queue wire;   /* frames on the link, by due_ns */
	struct prng dice;

	/* PFC */
	uint64_t news_ns;    /* when that can be told; 0 = at once */
	uint64_t refresh_ns; /* when it must be told again */

	struct switch_port_stats stats;
};

struct fabric_switch {
	struct switch_conf conf;
	struct pkt_pool *pool;
	struct fib *fib;
	struct routes *routes;
	bool has_new_tree; /* what was learned along the old one is to be forgotten */
	struct buffer buffer;
	struct mark marks[QUEUES_NB];
	uint64_t tbo_bytes;  /* telemetry is flagged above */
	uint64_t salt;       /* of the hash of flows */
	bool looks_at_weft;  /* some feature needs to know stream packets */
	struct lb_head *lb;  /* state of the load balancer */
	struct lb_hop *hops; /* what it may know of each port, kept as it changes */
	uint64_t now_ns;     /* of the last call */
	uint64_t *ready;     /* bit per port: may have something to send */
	struct switch_port ports[];
};

/* Frames on one link: the pool must not run dry on a long fast one. Our choice. */
#define WIRE_MAX_PKTS 4096

/* A port has something to send, or may have soon. */
static inline void
switch_wake(struct fabric_switch *sw, const struct switch_port *port)
{
	uint32_t i = (uint32_t)(port - sw->ports);

	sw->ready[i / 64] |= UINT64_C(1) << i % 64;
}

/* ---- admit.c ---- */

/* Decide about a frame that goes out on a port. It is the queue's then, or freed and counted. */
void switch_admit(struct fabric_switch *sw, uint16_t out_port, struct pkt *p);
/* The same with a copy; the frame itself stays. */
void switch_admit_copy(struct fabric_switch *sw, uint16_t out_port, const struct pkt *p);

/* ---- pfc.c ---- */

/* What a port holds of a class has changed: may its peer have to be told? */
void pfc_look(struct fabric_switch *sw, struct switch_port *in, uint8_t cls);
/* When the peer of a port must be told something: 0 = now. */
static inline uint64_t
pfc_next_ns(const struct switch_port *port)
{
	if (!(port->news | port->asked) || !port->is_up)
		return NEVER_NS;
	return port->news ? port->news_ns : port->refresh_ns;
}
/* The frame that tells it; NULL without memory. */
struct pkt *pfc_frame(struct fabric_switch *sw, struct switch_port *port, uint64_t now_ns);
/* A pause frame came in on a port. */
void pfc_receive(struct fabric_switch *sw, struct switch_port *port, const struct pkt *p,
                 uint64_t now_ns);

/* A frame has left its queue: the buffer has it back. */
static inline void
switch_release(struct fabric_switch *sw, struct switch_port *out, uint8_t queue,
               const struct pkt *p)
{
	struct switch_port *from = &sw->ports[p->in_port];
	struct buffer_ingress *in = &from->ingress[p->sw.class];

	out->hop->queue_bytes -= p->len;
	if (!p->sw.is_lossless) {
		buffer_give_lossy(&sw->buffer, in, &out->egress[queue], p->len);
		return;
	}
	buffer_give_lossless(&sw->buffer, in, p->len);
	pfc_look(sw, from, p->sw.class);
}

#endif
