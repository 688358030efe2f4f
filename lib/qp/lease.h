/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LEASE_H
#define WEFT_LEASE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "qp.h"

/**
 * @file
 * Memory that a QP has only while it needs it, from slabs of its NIC: of ten thousand connected QPs
 * few work at a time. Taking and giving back are a few instructions; only a NIC whose QPs have
 * never worked so much at once asks the system for memory. If that has none, the lease fails, which
 * is counted, and the work waits: a request for a millisecond, a packet until it is sent again.
 */

/** Requests and messages that one QP has open at once. Our choice. */
#define LEASE_MAX_WRS 256
/** Memory was missing: the requester tries again after this. Source: our choice. */
#define LEASE_RETRY_NS 1000000
/** Unused memory goes back to the system in steps of this time. Source: our choice. */
#define LEASE_TRIM_NS 100000000

/** A QP of zeros with so many bytes of engines behind it; NULL without memory. Control time. */
struct qp *lease_qp(struct nic *nic, uint32_t engines_size);
void lease_qp_end(struct qp *qp);
/** Choose the slabs of a QP whose type and queues are set. False without memory. Control time. */
bool lease_begin(struct qp *qp);
/** Undo it; nothing is leased any more. */
void lease_finish(struct qp *qp);
/** Give back all but the QP itself. */
void lease_end_all(struct qp *qp);

/* ---- the parts ---- */

/** The other half of lease_take and lease_give. */
void *lease_take_cold(struct nic *nic, struct slab *s);
void lease_give_cold(struct nic *nic, struct slab *s, void *block);

/** A block of the slab of this index; NULL, and counted, without memory. */
static inline void *
lease_take(struct nic *nic, uint8_t slab)
{
	struct slab *s = nic->slabs.slabs[slab];

	return __builtin_expect(!s->hot, 0) ? lease_take_cold(nic, s) : slab_take(s);
}

static inline void
lease_give(struct nic *nic, uint8_t slab, void *block)
{
	struct slab *s = nic->slabs.slabs[slab];

	if (__builtin_expect(s->nb_hot >= s->max_hot, 0))
		lease_give_cold(nic, s, block);
	else
		slab_give(s, block);
}

/** Where the copies of nb opened sends lie in their block: behind nb messages, and rd_msn. */
static inline size_t
lease_wrs_offset(uint32_t nb)
{
	size_t off = nb * (sizeof(struct rel_msg) + sizeof(struct tx_msg)) +
	             WEFT_MAX_RD_ATOMIC * sizeof(uint64_t);

	return (off + 63) & ~(size_t)63;
}

/** Room for as many opened sends and messages as the send queue has slots, LEASE_MAX_WRS at most.
 */
static inline bool
lease_wrs(struct qp *qp)
{
	uint32_t nb = qp->wr_mask + 1;
	uint8_t *block = lease_take(qp->nic, qp->wrs_slab);

	if (!block)
		return false;
	if (qp->framing == QP_PLAIN) {
		qp->msgs = (struct rel_msg *)block;
		qp->rel_qp.tx_msgs = qp->msgs;
		qp->tx_msgs = (struct tx_msg *)(qp->msgs + nb);
		qp->rd_msn = (uint64_t *)(qp->tx_msgs + nb);
	}
	qp->wrs = block + lease_wrs_offset(nb);
	qp->wr_base = qp->sq_open; /* so that a lone request always lies at the front */
	return true;
}

/** No request is open any more; nothing happens if there is no lease. */
static inline void
lease_wrs_end(struct qp *qp)
{
	if (!qp->wrs)
		return;
	lease_give(qp->nic, qp->wrs_slab, qp->wrs - lease_wrs_offset(qp->wr_mask + 1));
	qp->wrs = NULL;
}

/** The receive in hand is done with. */
static inline void
lease_recv_end(struct qp *qp)
{
	if (!qp->recv)
		return;
	lease_give(qp->nic, qp->recv_slab, qp->recv);
	qp->recv = NULL;
}

/** Slots for the messages of the peer's stream, empty. */
static inline bool
lease_weft_rx(struct qp *qp)
{
	struct weft_rx *rx = lease_take(qp->nic, qp->nic->weft_rx_slab);

	qp->win.rx = rx;
	if (!rx)
		return false;
	memset(rx->msgs_used, 0, sizeof(rx->msgs_used));
	memset(rx->recvs_used, 0, sizeof(rx->recvs_used));
	qp->win.base_msn = (uint8_t)qp->win.emsn;
	qp->win.base_ssn = (uint8_t)qp->win.essn;
	return true;
}

static inline void
lease_weft_rx_end(struct qp *qp)
{
	lease_give(qp->nic, qp->nic->weft_rx_slab, qp->win.rx);
	qp->win.rx = NULL;
}

/** Slots for own messages: about as many as the send queue has. A power of two. */
static inline uint32_t
lease_weft_tx_msgs(const struct qp *qp)
{
	uint32_t nb = qp->wr_mask + 1;

	return nb > WEFT_TX_MSGS_MIN ? nb : WEFT_TX_MSGS_MIN;
}

static inline size_t
lease_weft_tx_bytes(const struct qp *qp)
{
	return sizeof(struct weft_tx) +
	       lease_weft_tx_msgs(qp) * (sizeof(struct weft_tx_msg) + sizeof(struct rel_msg));
}

/** Room for the messages of the own stream. */
static inline bool
lease_weft_tx(struct qp *qp)
{
	struct weft_tx *tx = lease_take(qp->nic, qp->weft_tx_slab);

	qp->wout.tx = tx;
	if (!tx)
		return false;
	qp->msgs = (struct rel_msg *)(tx->msgs + lease_weft_tx_msgs(qp));
	qp->rel_qp.tx_msgs = qp->msgs;
	return true;
}

static inline void
lease_weft_tx_end(struct qp *qp)
{
	lease_give(qp->nic, qp->weft_tx_slab, qp->wout.tx);
	qp->wout.tx = NULL;
}

/** The queue of responses. */
static inline bool
lease_fifo(struct qp *qp)
{
	qp->fifo = lease_take(qp->nic, qp->nic->fifo_slab);
	qp->fifo_head = qp->fifo_tail = 0;
	return qp->fifo != NULL;
}

static inline void
lease_fifo_end(struct qp *qp)
{
	if (!qp->fifo)
		return;
	lease_give(qp->nic, qp->nic->fifo_slab, qp->fifo);
	qp->fifo = NULL;
	qp->fifo_head = qp->fifo_tail = 0;
}

/** Room to remember attr.max_dest_rd_atomic READs and atomics. */
bool lease_res(struct qp *qp);
/**
 * max_dest_rd_atomic becomes nb: what is remembered stays.
 *
 * @return 0 or -ENOMEM.
 */
int lease_res_resize(struct qp *qp, uint32_t nb);

/** From stack_tick: give unused memory back if it is time. */
void lease_trim(struct nic *nic, uint64_t now_ns);

#endif
