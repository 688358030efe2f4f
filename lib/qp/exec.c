/* SPDX-License-Identifier: BSD-3-Clause */
#include "exec.h"

#include <string.h>

#include "batch.h"
#include "fail.h"
#include "piece.h"
#include "psn.h"
#include "resp.h"
#include "sge.h"

/*
 * The responder's side of each operation. Every check that fails names its NAK, the reason for
 * people, and the status of the receive in hand; for UC, which has no NAKs, the counter. Source:
 * IBA vol. 1, ch. 9 (responder behaviour).
 */
static const struct verdict fine;
static const struct verdict bad_sequence = {AETH_NAK_INVALID, QP_REASON_REQ_SEQUENCE, 0,
                                            DROP_SEQUENCE};
static const struct verdict bad_length = {AETH_NAK_INVALID, QP_REASON_REQ_LENGTH, 0, DROP_LENGTH};
const struct verdict exec_bad_rights = {AETH_NAK_INVALID, QP_REASON_REQ_ACCESS, 0, DROP_MEMORY};
const struct verdict exec_bad_access = {AETH_NAK_ACCESS, QP_REASON_REQ_ACCESS, 0, DROP_MEMORY};
const struct verdict exec_bad_atomic = {AETH_NAK_INVALID, QP_REASON_REQ_ATOMIC, 0, DROP_MEMORY};
const struct verdict exec_recv_short = {AETH_NAK_INVALID, QP_REASON_LOCAL_LENGTH,
                                        SHM_WC_LOC_LEN_ERR, DROP_LENGTH};
const struct verdict exec_recv_bad = {AETH_NAK_OPERATION, QP_REASON_LOCAL_WQE, SHM_WC_LOC_QP_OP_ERR,
                                      DROP_NO_RECV};
const struct verdict exec_recv_fault = {AETH_NAK_OPERATION, QP_REASON_LOCAL_PROT,
                                        SHM_WC_LOC_PROT_ERR, DROP_MEMORY};

bool
exec_in_order(const struct qp *qp, uint32_t flags)
{
	if (flags & (OPF_MIDDLE | OPF_LAST))
		return (flags & qp->rx_op) != 0;
	return !qp->rx_op;
}

/* FIRST and MIDDLE are full, LAST has something, ONLY may be empty. */
static bool
length_fits(const struct qp *qp, const struct wire_pkt *w)
{
	if (w->op->flags & (OPF_FIRST | OPF_MIDDLE))
		return w->payload_len == qp->mtu;
	return w->payload_len <= qp->mtu && (w->payload_len || (w->op->flags & OPF_ONLY));
}

static void
end_message(struct qp *qp)
{
	qp->rx_op = 0;
	qp->msn = (qp->msn + 1) & PSN_MASK;
}

static void
complete_recv(struct qp *qp, const struct wire_pkt *w, uint8_t op)
{
	uint32_t flags = w->op->flags;
	struct shm_cqe cqe = {
		.wr_id = qp->recv->wr_id,
		.ts_ns = qp->nic->now_ns,
		.byte_len = (uint32_t)qp->rx_length,
		.imm = flags & OPF_IMM    ? w->imm
	               : flags & OPF_IETH ? w->inv_rkey
	                                  : 0,
		.qpn = qp->qpn,
		.op = op,
		.flags = flags & OPF_IMM    ? SHM_WC_WITH_IMM
	                 : flags & OPF_IETH ? SHM_WC_WITH_INV
	                                    : 0,
	};

	resp_deliver(qp, &cqe, w->solicited);
}

static struct verdict
exec_send(struct qp *qp, const struct wire_pkt *w)
{
	uint32_t flags = w->op->flags;

	assert(qp->recv); /* taken with the first packet: an engine takes none twice */
	if (flags & OPF_START)
		qp->rx_length = 0;
	if (qp->rx_length + w->payload_len > qp->recv->length)
		return exec_recv_short;
	if (!sge_place_recv(qp, qp->recv, qp->rx_length, w->payload, w->payload_len, w->psn))
		return exec_recv_fault;
	qp->rx_length += w->payload_len;
	qp->rx_op = OPF_SEND;
	if (!(flags & OPF_END))
		return fine;
	if ((flags & OPF_IETH) && !mr_invalidate(qp->nic, qp, w->inv_rkey))
		return exec_bad_access;
	complete_recv(qp, w, SHM_WC_RECV);
	end_message(qp);
	return fine;
}

/* RETH: a message of no bytes names no memory. */
static struct verdict
begin_write(struct qp *qp, const struct wire_pkt *w)
{
	bool one = w->op->flags & OPF_ONLY;

	if (w->dma_len > WEFT_MAX_MSG ||
	    (one ? w->dma_len != w->payload_len : w->dma_len <= qp->mtu))
		return bad_length;
	if (w->dma_len && !piece_remote(qp, w->rkey, w->va, w->dma_len, SHM_ACCESS_REMOTE_WRITE))
		return exec_bad_access;
	qp->rx_va = w->va;
	qp->rx_rkey = w->rkey;
	qp->rx_left = qp->rx_length = w->dma_len;
	return fine;
}

static struct verdict
exec_write(struct qp *qp, const struct wire_pkt *w)
{
	uint32_t flags = w->op->flags;
	struct verdict v;

	if (!(qp->attr.access & SHM_ACCESS_REMOTE_WRITE))
		return exec_bad_rights;
	if (flags & OPF_START) {
		v = begin_write(qp, w);
		if (v.syndrome)
			return v;
	}
	if (flags & OPF_END ? w->payload_len != qp->rx_left : w->payload_len >= qp->rx_left)
		return bad_length;
	if (w->payload_len &&
	    !piece_place_remote(qp, qp->rx_rkey, qp->rx_va, w->payload_len, w->payload, w->psn))
		return exec_bad_access;
	qp->rx_va += w->payload_len;
	qp->rx_left -= w->payload_len;
	qp->rx_op = OPF_WRITE;
	if (!(flags & OPF_END))
		return fine;
	qp->nic->stats.rx_write_requests++;
	if (flags & OPF_IMM)
		complete_recv(qp, w, SHM_WC_RECV_WRITE_IMM);
	end_message(qp);
	return fine;
}

/* READs and atomics accepted whose answers have not all left. */
static uint32_t
nb_rd_waiting(const struct qp *qp)
{
	uint32_t nb = 0;

	for (uint32_t i = qp->fifo_head; i != qp->fifo_tail; i++)
		nb += qp->fifo[i % RESP_FIFO_LEN].kind != RESP_ACK &&
		      !qp->fifo[i % RESP_FIFO_LEN].replay;
	return nb;
}

/* Keep it for duplicates, in the place of the oldest: max_rd_atomic makes that one answered. */
static void
remember(struct qp *qp, const struct rd_res *res)
{
	qp->res[qp->res_next] = *res;
	qp->res_next = (qp->res_next + 1) % qp->nb_res;
}

struct verdict
exec_judge_read(struct qp *qp, uint64_t va, uint32_t rkey, uint32_t len)
{
	if (!(qp->attr.access & SHM_ACCESS_REMOTE_READ))
		return exec_bad_rights;
	if (len > WEFT_MAX_MSG)
		return bad_length;
	if (len && !piece_remote(qp, rkey, va, len, SHM_ACCESS_REMOTE_READ))
		return exec_bad_access;
	qp->nic->stats.rx_read_requests++;
	return fine;
}

static struct verdict
exec_read(struct qp *qp, const struct wire_pkt *w, uint64_t psn)
{
	struct verdict v;

	if (!qp->attr.max_dest_rd_atomic)
		return exec_bad_rights;
	if (nb_rd_waiting(qp) >= qp->attr.max_dest_rd_atomic)
		return exec_bad_atomic;
	v = exec_judge_read(qp, w->va, w->rkey, w->dma_len);
	if (v.syndrome)
		return v;
	end_message(qp);
	remember(qp, &(struct rd_res){.first_psn = psn,
	                              .nb_psns = (uint32_t)(qp->rel->rx_cum - psn),
	                              .va = w->va,
	                              .rkey = w->rkey,
	                              .length = w->dma_len,
	                              .msn = qp->msn});
	resp_push(qp, &(struct resp){.kind = RESP_READ,
	                             .syndrome = AETH_ACK,
	                             .msn = qp->msn,
	                             .psn = psn,
	                             .va = w->va,
	                             .rkey = w->rkey,
	                             .left = w->dma_len});
	return fine;
}

/* Atomic among all QPs of this NIC (IBV_ATOMIC_HCA): one thread executes them. */
static bool
run_atomic(const struct exec_atomic *a, const struct mr *mr, uint64_t *orig)
{
	uint64_t va = mr_va(mr, a->va), next;
	uint8_t *at = mem_reach(mr->mem, va, 8);

	if (at)
		memcpy(orig, at, 8);
	else if (!mr->mem->ops || !mr->mem->ops->read(mr->mem, va, orig, 8))
		return false;
	next = a->swap ? a->swap_add : *orig + a->swap_add;
	if (a->swap && *orig != a->compare)
		return true;
	if (at)
		memcpy(at, &next, 8);
	return at || mr->mem->ops->write(mr->mem, va, &next, 8);
}

struct verdict
exec_run_atomic(struct qp *qp, const struct exec_atomic *a, uint64_t *orig)
{
	const struct mr *mr;

	if (!(qp->attr.access & SHM_ACCESS_REMOTE_ATOMIC))
		return exec_bad_rights;
	if (a->va & 7)
		return exec_bad_atomic;
	mr = piece_remote(qp, a->rkey, a->va, 8, SHM_ACCESS_REMOTE_ATOMIC);
	if (!mr)
		return exec_bad_access;
	batch_flush_in(qp->nic); /* WRITEs before it are seen */
	if (qp->state == SHM_QPS_ERR || !run_atomic(a, mr, orig))
		return exec_recv_fault;
	qp->nic->stats.rx_atomic_requests++;
	return fine;
}

static struct verdict
exec_atomic(struct qp *qp, const struct wire_pkt *w, uint64_t psn)
{
	struct exec_atomic a = {.swap = w->opcode == OP_CMP_SWAP,
	                        .va = w->va,
	                        .rkey = w->rkey,
	                        .swap_add = w->swap_add,
	                        .compare = w->compare};
	struct verdict v;
	uint64_t orig;

	if (!qp->attr.max_dest_rd_atomic)
		return exec_bad_rights;
	if (nb_rd_waiting(qp) >= qp->attr.max_dest_rd_atomic)
		return exec_bad_atomic;
	v = exec_run_atomic(qp, &a, &orig);
	if (v.syndrome)
		return v;
	end_message(qp);
	remember(qp, &(struct rd_res){.first_psn = psn,
	                              .nb_psns = 1,
	                              .orig = orig,
	                              .msn = qp->msn,
	                              .atomic = true});
	resp_push(qp, &(struct resp){.kind = RESP_ATOMIC,
	                             .syndrome = AETH_ACK,
	                             .msn = qp->msn,
	                             .psn = psn,
	                             .orig = orig});
	return fine;
}

struct verdict
exec_packet(struct qp *qp, const struct wire_pkt *w, uint64_t psn)
{
	uint32_t flags = w->op->flags;

	if (!exec_in_order(qp, flags))
		return bad_sequence;
	if ((flags & OPF_PAYLOAD) && !length_fits(qp, w))
		return bad_length;
	if (qp->recv && qp->recv->is_bad)
		return exec_recv_bad;
	if (flags & OPF_SEND)
		return exec_send(qp, w);
	if (flags & OPF_WRITE)
		return exec_write(qp, w);
	if (flags & OPF_READ)
		return exec_read(qp, w, psn);
	return exec_atomic(qp, w, psn);
}
