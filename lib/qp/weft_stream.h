/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_WEFT_STREAM_H
#define WEFT_WEFT_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "exec.h"
#include "qp.h"

/**
 * @file
 * A QP in the weft framing (QP_WEFT). Receiver: weft_in.c judges packets and does what is done,
 * weft_recv.c has receives by SSN, weft_rd.c READs and atomics. Sender: weft_out.c opens messages
 * and fills packets, weft_rd_out.c has own READs and atomics, weft_rnr.c what follows a refusal.
 * weft_ack.c says what came, weft_ack_rx.c hears
 * it.
 */

/** Packets, and PSNs, of a message of so many bytes. */
static inline uint32_t
weft_pkts_of(uint32_t mtu, uint64_t length)
{
	return length <= mtu ? 1 : (uint32_t)((length + mtu - 1) >> __builtin_ctz(mtu));
}

/* ---- receiver ---- */

/** A stream packet, its ICRC and addresses checked. */
void weft_rx(struct qp *qp, const struct wire_pkt *w, uint64_t now_ns);

/** A packet that was cut to its header, in p; its addresses are checked. */
void weft_header_rx(struct qp *qp, const struct wire_pkt *w, const struct pkt *p, uint64_t now_ns);
/** What is known of a message of the peer's stream; NULL if nothing of it is here. */
const struct rel_msg *weft_msg_of(const struct qp *qp, uint64_t msn);

/** What becomes of a packet that needs a receive. */
enum weft_take {
	WEFT_TAKE_PLACE,  /**< there is one */
	WEFT_TAKE_SKIP,   /**< its message is here already */
	WEFT_TAKE_REFUSE, /**< there is none */
};

/** Whether an SSN is near enough to have a slot. */
bool weft_ssn_fits(const struct qp *qp, uint64_t ssn);
/** Bind receives up to this SSN; what becomes of the packet of this message. */
enum weft_take weft_take_recv(struct qp *qp, uint64_t ssn, uint64_t msn);
/** The receive bound to an SSN that weft_take_recv gave. */
struct recv_wr *weft_recv_of(const struct qp *qp, uint64_t ssn);
/** A message that used a receive is done, and was not refused. */
void weft_recv_done(struct qp *qp, const struct weft_rx_msg *m, uint64_t ssn);
/** Deliver what is due, and run READs and atomics, in their order. */
void weft_deliver(struct qp *qp);
/** The first refused SSN. There is one. */
const struct weft_recv *weft_first_refused(const struct qp *qp, uint64_t *ssn);
/**
 * The QP has failed: complete bound receives, as far as there is room for completions.
 *
 * @return false if some are left.
 */
bool weft_flush_recvs(struct qp *qp);

/** The QP is reset or ends: receives that were bound are gone, reserved ones of a shared queue not.
 */
void weft_drop_recvs(struct qp *qp);

/** A READ or atomic of the peer is done: from now on it waits for its turn. */
void weft_rd_done(struct qp *qp, const struct weft_rx_msg *m);
/** Whether the oldest that waits may run. */
bool weft_rd_is_due(const struct qp *qp);
/** Run it. */
void weft_rd_run(struct qp *qp);

/** Message msn cannot be carried out; psn is of the packet at fault. The lowest of several counts.
 */
void weft_fault(struct qp *qp, uint64_t msn, uint64_t psn, const struct verdict *v);
/** When a fault waits no longer for responses to be acknowledged; NEVER_NS = nothing waits. */
uint64_t weft_fault_due_ns(const struct qp *qp);
/** Tell the peer of a fault if all that goes before has gone. The QP fails then. */
void weft_settle_fault(struct qp *qp);
/** A packet for a QP that failed: the NAK again, if it is time. */
void weft_repeat_fault(struct qp *qp, uint64_t now_ns);
/** Memory is gone that message msn (24 bits) needs: the peer is told at once; the caller fails the
 * QP. */
void weft_fault_now(struct qp *qp, uint32_t msn, uint8_t syndrome);

/** Give the block back if nothing is in it. */
void weft_in_rest(struct qp *qp);

/* ---- sender ---- */

/** Open the next message: a response, a request again, or a new one. False if there is none. */
bool weft_open(struct qp *qp, uint64_t now_ns);
/** Whether weft_open has something to do. */
bool weft_wants_open(const struct qp *qp);
/** Give a request its next message, again if it was refused. The QP may open one. */
void weft_post(struct qp *qp, struct send_wr *wr, uint32_t wr_idx, uint64_t now_ns);
/** Whether there is memory and room for one more message. */
bool weft_has_slot(struct qp *qp, uint64_t now_ns);
/** Whether the oldest open message is a response. */
bool weft_is_answering(const struct qp *qp);
/** Messages below tx_una are acknowledged: their slots are free. */
void weft_retire(struct qp *qp);
/** Whether the request at this SQ index is complete. All before it are. */
bool weft_is_complete(struct qp *qp, uint32_t idx);
/** Whether a request uses a receive of the peer. */
bool weft_uses_recv(const struct send_wr *wr);
/** Sends are complete as far as they can be: go on with what waited, give back what is empty. */
void weft_rest(struct qp *qp);
/** Give all back; the QP is reset or ends. */
void weft_end(struct qp *qp);

/** When it wants a turn: a late acknowledgement, the end of a hold, a response that does not come.
 */
uint64_t weft_due_ns(const struct qp *qp);
/** Its timer came up. */
void weft_timer(struct qp *qp, uint64_t now_ns);
/** Whether a READ or atomic that the peer has is not answered for too long. */
bool weft_is_stalled(const struct qp *qp, uint64_t now_ns);

/** What a packet of the own stream is made of. */
struct weft_fill {
	const struct send_wr *wr; /**< NULL: a response */
	uint32_t wr_idx;
	uint64_t off;  /**< of the payload in the request, bytes */
	uint64_t va;   /**< READ response: of the payload */
	uint32_t rkey; /**< READ response */
	uint32_t req_msn;
};
/** The headers of a packet of message m, but for A. */
void weft_fill(struct qp *qp, const struct rel_msg *m, const struct rel_tx *tx, struct wire_pkt *w,
               struct weft_fill *f, uint64_t now_ns);

/** A READ or atomic is asked for: it waits for its response. */
void weft_rd_asked(struct qp *qp, const struct weft_rd_out *rd, uint64_t now_ns);
/** A response comes on, or what it waits behind. */
void weft_rd_note(struct qp *qp, uint64_t now_ns);
/** Whether a response is missing, if not to the request at this SQ index then to one before it. */
bool weft_rd_is_missing(const struct qp *qp, uint32_t idx);
/** When something is to be done as the oldest waits so long; NEVER_NS = none waits. */
uint64_t weft_rd_due_ns(const struct qp *qp);
/** Its time has come, perhaps. */
void weft_rd_timer(struct qp *qp, uint64_t now_ns);
/** A response packet: place it. The QP fails if nothing like it was asked for. */
void weft_place_response(struct qp *qp, const struct wire_pkt *w);
/** A response is done. */
void weft_response_done(struct qp *qp, const struct weft_rx_msg *m);
/** The request that a response names, if it waits for one; NULL. */
struct weft_rd_out *weft_rd_of(const struct qp *qp, uint32_t req_msn);

/* ---- refusal ---- */

/** The peer refuses SSN ssn, as it came in message msn (24 bits each). */
void weft_refused(struct qp *qp, uint32_t ssn, uint32_t msn, uint8_t code, uint64_t now_ns);
/** The hold is over: what was refused is opened again. */
void weft_end_hold(struct qp *qp, uint64_t now_ns);
/** Whether something is to be sent again. */
bool weft_wants_again(const struct qp *qp);
/** Open the next message that is sent again; false if there is none. */
bool weft_open_again(struct qp *qp, uint64_t now_ns);

/* ---- acknowledgements ---- */

/** Syndromes beside those of AETH. docs/wire.md, "Acknowledgements". */
enum weft_syndrome {
	ACK_COUNT = 0x40,   /**< value: packets accepted */
	NAK_MISSING = 0x65, /**< value: a PSN that is missing */
	NAK_RESTART = 0x66, /**< value: MSN of a message to be sent again */
};

/** Block X of an acknowledgement to which the engine has said nothing: zeros. */
extern const uint8_t weft_no_ext[REL_EXT_MAX];

/** Whether a syndrome ends the QP. */
static inline bool
weft_ack_is_fatal(uint8_t syndrome)
{
	return syndrome > AETH_NAK_PSN && syndrome <= AETH_NAK_OPERATION;
}

/** An acknowledgement, its ICRC and addresses checked. */
void weft_ack_rx(struct qp *qp, const struct wire_pkt *w, uint64_t now_ns);
/** What the engine made of a packet, and the packet itself, want to be said. */
void weft_answer(struct qp *qp, const struct wire_pkt *w, const struct rel_rx *rx,
                 const struct rel_rx_out *out, uint64_t now_ns);
/** Acknowledge as soon as possible. */
void weft_ack_now(struct qp *qp);
/** From now on nothing is said but a fatal NAK: it would include what is at fault. */
void weft_mute(struct qp *qp);
/** Whether one waits to leave. */
bool weft_ack_waits(const struct qp *qp);
/** Plan it. */
void weft_ack_tx(struct qp *qp);

#endif
