/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PKT_H
#define WEFT_PKT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct pkt_pool;

/**
 * A pool's data begins this many bytes behind a multiple of 64: what follows Ethernet, IPv4, UDP
 * and BTH (54 bytes) then begins at one, and wide loads and stores of payload cross no cache line.
 */
#define PKT_DATA_SHIFT 10

/** One Ethernet frame on its way between port, node and queue. Exactly one of them owns it. */
struct pkt {
	struct pkt *next;      /**< of the queue that holds it */
	struct pkt_pool *pool; /**< where it is freed to */
	uint8_t *data;         /**< first byte of the destination MAC; the buffer's, never moved */
	uint32_t len;          /**< bytes of the frame, without FCS */
	uint32_t room;         /**< bytes that fit at data */
	/** For queues that delay (fault layer, links), in their unit; else not defined. */
	union {
		uint64_t due_ns;
		uint64_t due_ps; /**< lib/sim */
	};
	/**
	 * The last so many bytes of len are counted, and not there: payload, padding and ICRC of a
	 * NIC whose conf says so (laboratory). 0 = all are.
	 */
	uint32_t absent;
	bool is_damaged;  /**< if absent: a bit of the frame is wrong, as its ICRC would tell */
	uint16_t in_port; /**< of the node that received it */
	/** What a switch knows of a frame that it holds; else not defined. */
	struct {
		uint8_t class;    /**< priority, 0 to 7 */
		bool is_lossless; /**< counted by where it came from, not by where it goes */
		uint16_t l3_off;  /**< of the IP header; 0 = has none */
		uint16_t bth_off; /**< of a weft packet; 0 = is none, or nobody asked */
		uint8_t tag;      /**< of a weft packet: enum dcp_tag */
		uint16_t bth_len; /**< from there to the end of the UDP datagram */
	} sw;
};

/** Where packets come from. One thread uses a pool at a time. */
struct pkt_pool {
	/** Take n packets, all or none; returns n or 0. data, room and pool are set; len is 0, and
	 * nothing absent or damaged. */
	uint32_t (*alloc)(struct pkt_pool *pool, struct pkt **pkts, uint32_t n);
	/** Give n packets of this pool back. */
	void (*free)(struct pkt_pool *pool, struct pkt **pkts, uint32_t n);
	uint32_t room_bytes; /**< of each packet */
};

/** Bytes of a frame that are there. */
static inline uint32_t
pkt_held(const struct pkt *p)
{
	return p->len - p->absent;
}

/** Make a copy of a frame; there is room. What a queue or switch knows of it is not copied. */
static inline void
pkt_copy(struct pkt *copy, const struct pkt *p)
{
	memcpy(copy->data, p->data, pkt_held(p));
	copy->len = p->len;
	copy->absent = p->absent;
	copy->is_damaged = p->is_damaged;
	copy->in_port = p->in_port;
}

/** Give n packets back, each to its own pool: one call for each run of one pool. */
static inline void
pkt_free(struct pkt **pkts, uint32_t n)
{
	for (uint32_t i = 0, run; i < n; i += run) {
		struct pkt_pool *pool = pkts[i]->pool;

		for (run = 1; i + run < n && pkts[i + run]->pool == pool; run++)
			;
		pool->free(pool, &pkts[i], run);
	}
}

/** A FIFO of packets through their next links. All zero is empty. */
struct pkt_queue {
	struct pkt *head, *tail;
	uint32_t nb_pkts;
	uint64_t nb_bytes;
};

static inline void
pkt_queue_push(struct pkt_queue *q, struct pkt *p)
{
	p->next = NULL;
	if (q->tail)
		q->tail->next = p;
	else
		q->head = p;
	q->tail = p;
	q->nb_pkts++;
	q->nb_bytes += p->len;
}

/** The oldest packet, now the caller's; NULL if empty. */
static inline struct pkt *
pkt_queue_pop(struct pkt_queue *q)
{
	struct pkt *p = q->head;

	if (!p)
		return NULL;
	q->head = p->next;
	__builtin_prefetch(q->head);
	if (!q->head)
		q->tail = NULL;
	q->nb_pkts--;
	q->nb_bytes -= p->len;
	return p;
}

#endif
