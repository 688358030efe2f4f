/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TESTS_RIG_PEER_H
#define WEFT_TESTS_RIG_PEER_H

#include "pair.h"

/*
 * One QP whose peer is the test: requests and answers are built by hand, and what the stack sends
 * is read by hand. Only the MAC is found the usual way.
 */

#define PEER_QPN 0x123456
/** First PSN that the QP expects; some packets before the wrap. */
#define PEER_PSN 0xfffffe
/** First PSN that the QP sends. */
#define QP_PSN 0xfffffd
#define PEER_MAX 256
#define PEER_MTU 1024

/** A frame that the QP sent. */
struct peer_frame {
	struct wire_pkt w; /**< payload points into bytes */
	uint64_t at_ns;
	uint8_t bytes[4400];
};

struct peer {
	struct world w;
	struct app_qp qp;
	struct local_mr mr;
	uint8_t *buf; /**< PAIR_BUF bytes, a pattern */
	struct wire_path path;
	struct pkt *in[STACK_BURST]; /**< put, not yet given to the stack */
	uint32_t nb_in;
	struct peer_frame *out; /**< what the last peer_go brought */
	uint32_t nb_out;
	uint8_t end_state; /**< RTS, or RTR */
};

/** Open; the QP is in RTS. attr overrides app_attr's, apart from the peer's address and PSNs; of
 * its av only the traffic class counts. */
void peer_open(struct peer *p, const struct app_conf *ac, const struct shm_qp_attr *attr);

/** How a QP in the weft framing is made. All zero = gbn without optional parts. */
struct peer_weft {
	const struct reliability_ops *rel; /**< NULL = gbn */
	const struct app_conf *app;
	const struct shm_qp_attr *attr; /**< as of peer_open */
	struct weft_terms terms;        /**< window and max_msgs 0 = 256; tx_first_psn is QP_PSN */
	uint32_t first_msn;             /**< MSN and SSN of both ends */
	bool stays_rtr;                 /**< it goes no further than RTR */
};
/** Open; the QP is in RTS and in the weft framing. NULL = all zero. */
void peer_open_weft(struct peer *p, const struct peer_weft *pw);
/** The attributes that peer_open uses if it gets none. */
struct shm_qp_attr peer_attr(void);
void peer_close(struct peer *p);

/** A packet with the fields that all have in common. */
struct wire_pkt peer_pkt(const struct peer *p, uint8_t opcode, uint32_t psn);
/** Build a frame and keep it for the next burst. payload NULL = bytes 0, 1, 2 ... */
void peer_put(struct peer *p, const struct wire_pkt *w, const void *payload);
/** The same with addresses of its own. */
void peer_put_on(struct peer *p, struct wire_path *path, const struct wire_pkt *w,
                 const void *payload);
/** The same for the memory of the QP; len goes into the payload or, for a READ, the RETH. */
void peer_put_op(struct peer *p, uint8_t opcode, uint32_t psn, uint32_t len, bool ack_req);
/** An ACK or NAK. */
void peer_put_ack(struct peer *p, uint8_t syndrome, uint32_t psn, uint32_t msn);
/** Give the burst to the stack, and collect all that it sends now. */
void peer_go(struct peer *p);
/** Let time pass in steps of 1 us, collecting. */
void peer_wait(struct peer *p, uint64_t ns);

/** Frame i of what left is this one; syndrome and MSN count where it has them. */
void peer_expect_frame(const struct peer *p, uint32_t i, uint8_t opcode, uint32_t psn,
                       uint8_t syndrome, uint32_t msn);

/** Post at the QP. */
void peer_post(struct peer *p, uint8_t op, uint64_t wr_id, uint32_t len);
/** The next completion is this one. */
struct shm_cqe peer_expect(struct local_cq *cq, uint64_t wr_id, uint8_t status);

#endif
