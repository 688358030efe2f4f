/* SPDX-License-Identifier: BSD-3-Clause */
#include "fail.h"

#include <stdio.h>
#include <string.h>

#include "batch.h"
#include "event.h"
#include "lease.h"
#include "peers.h"
#include "psn.h"
#include "resp.h"
#include "weft_stream.h"
#include "wr.h"

static const char *const reason_text[QP_REASON_NB] = {
	[QP_REASON_NONE] = "",
	[QP_REASON_USER] = "set to the error state by the application",
	[QP_REASON_RETRY] = "retry count exceeded: no answer in time",
	[QP_REASON_NO_NEIGH] = "retry count exceeded: no neighbour answers for the peer's address",
	[QP_REASON_RNR_RETRY] = "RNR retry count exceeded: the peer posts no receives",
	[QP_REASON_NAK_INVALID] = "the peer refused a request as invalid",
	[QP_REASON_NAK_ACCESS] = "the peer refused access to its memory",
	[QP_REASON_NAK_OPERATION] = "the peer could not carry out a request",
	[QP_REASON_BAD_RESPONSE] = "the peer's response does not fit the request",
	[QP_REASON_LOCAL_WQE] = "malformed work request or queue",
	[QP_REASON_LOCAL_LENGTH] = "message longer than the QP or the receive buffer allows",
	[QP_REASON_LOCAL_PROT] = "lkey, bounds or access of a local buffer",
	[QP_REASON_LOCAL_MEMORY] = "registered memory is gone from the application",
	[QP_REASON_BIND] = "memory window bind or invalidation refused",
	[QP_REASON_REQ_SEQUENCE] = "as responder: opcode out of order",
	[QP_REASON_REQ_LENGTH] = "as responder: length of a packet or message is wrong",
	[QP_REASON_REQ_ACCESS] = "as responder: rkey, bounds or access rights",
	[QP_REASON_REQ_ATOMIC] = "as responder: misaligned, or too many READs and atomics",
	[QP_REASON_CQ_OVERRUN] = "completion queue overrun",
	[QP_REASON_ADDRESS] = "its address left the interface",
	[QP_REASON_LINK] = "retry count exceeded: the NIC's own link is down",
	[QP_REASON_NO_WEFT] = "framing = weft, and the peer speaks RoCEv2 only",
	[QP_REASON_OPEN_PLAIN] = "framing = weft, and the peer's QP is plain RoCEv2",
	[QP_REASON_OPEN_ENGINES] = "the two ends ask for different reliability engines",
	[QP_REASON_OPEN_PMTU] = "the two ends have different path MTUs",
	[QP_REASON_OPEN_LINK_MTU] = "the longest packet of the other end does not fit the link",
	[QP_REASON_OPEN_TERMS] = "one end asks for what the other cannot do",
	[QP_REASON_NEVER_READY] = "retry count exceeded: the peer's QP never became ready",
	[QP_REASON_RESTARTED] = "the peer was started anew",
};

/** What can be done about it; NULL = the reason says all. */
static const char *const remedy_text[QP_REASON_NB] = {
	[QP_REASON_RETRY] =
		"is its program alive, its QP connected to this one, and no MTU there smaller?",
	[QP_REASON_NO_NEIGH] = "is the address right, its host up, and in the same link and VLAN?",
	[QP_REASON_RNR_RETRY] = "post receives sooner, or raise rnr_retry (7 = for ever)",
	[QP_REASON_NAK_ACCESS] = "check rkey, range and access flags of its registration",
	[QP_REASON_LOCAL_LENGTH] = "check the sizes of receives",
	[QP_REASON_LOCAL_PROT] = "check lkey, range and access flags of the registration",
	[QP_REASON_LOCAL_MEMORY] = "keep it mapped until it is deregistered",
	[QP_REASON_REQ_ACCESS] = "check rkey, range and access flags of the registration",
	[QP_REASON_LINK] = "bring the interface up, or the process at the other end of the link",
	[QP_REASON_NO_WEFT] = "say framing = auto or rocev2 for it, or start a weftd there",
	[QP_REASON_OPEN_PLAIN] = "give both ends the same framing",
	[QP_REASON_OPEN_ENGINES] =
		"name the same engine in both conf files, if need be in a [peer]",
	[QP_REASON_OPEN_PMTU] = "modify both to the same path MTU",
	[QP_REASON_OPEN_LINK_MTU] = "use a smaller path MTU, or raise the link's",
	[QP_REASON_NEVER_READY] = "is its program alive, and its QP connected to this one?",
	[QP_REASON_RESTARTED] = "connect anew",
	[QP_REASON_CQ_OVERRUN] = "make it larger, or poll it more often",
};

/** What an AETH says, for people. */
static const char *
syndrome_text(uint8_t syndrome)
{
	switch (syndrome & AETH_TYPE_MASK) {
	case AETH_TYPE_ACK:
		return "ACK";
	case AETH_TYPE_RNR:
		return "RNR NAK";
	case AETH_TYPE_NAK:
		switch (syndrome) {
		case AETH_NAK_PSN:
			return "NAK sequence error";
		case AETH_NAK_INVALID:
			return "NAK invalid request";
		case AETH_NAK_ACCESS:
			return "NAK remote access error";
		case AETH_NAK_OPERATION:
			return "NAK remote operational error";
		}
		break;
	}
	return "an unknown syndrome";
}

/* "10.0.0.1", or "fd00::1 in VLAN 5". */
static void
address_text(const struct ip_addr *ip, uint16_t vlan, char *buf, size_t size)
{
	char text[IP_ADDR_TEXT];
	int len = snprintf(buf, size, "%s", ip_addr_text(ip, text));

	if (vlan)
		snprintf(buf + len, size - (size_t)len, " in VLAN %u", vlan);
}

/* The address that left is named: the interface has others. So is how long a link is down. */
static void
why_text(const struct qp *qp, char *buf, size_t size)
{
	char address[IP_ADDR_TEXT + 16];

	if (qp->error.why == QP_REASON_OPEN_ENGINES && qp->open.peer) {
		snprintf(buf, size, "%s: %s here, %s there", reason_text[qp->error.why],
		         qp->rel_ops->info.name, qp->open.peer->engine);
		return;
	}
	if (qp->error.why != QP_REASON_ADDRESS) {
		snprintf(buf, size, "%s", reason_text[qp->error.why]);
		if (qp->error.why == QP_REASON_LINK)
			snprintf(buf, size, "%s, for %u s now", reason_text[QP_REASON_LINK],
			         qp->error.down_s);
		return;
	}
	address_text(&qp->own_ip, qp->own_vlan, address, sizeof(address));
	snprintf(buf, size, "its address %s left the interface", address);
}

void
qp_explain(const struct qp *qp, char *buf, uint32_t size)
{
	uint64_t una = qp->rel ? qp->rel->tx_una : 0;
	char peer[96] = "the peer never answered";
	char why[112];

	if (qp->error.why == QP_REASON_NONE) {
		buf[0] = '\0';
		return;
	}
	if (qp->error.peer_spoke)
		snprintf(peer, sizeof(peer), "the peer's last word: %s for PSN %u",
		         syndrome_text(qp->error.peer_syndrome), qp->error.peer_psn);
	why_text(qp, why, sizeof(why));
	snprintf(buf, size,
	         "%s; PSN %u, oldest not acknowledged %u, next %u, READs and atomics missing %u, "
	         "timeouts %u, RNR NAKs %u; %s",
	         why, qp->error.psn, (uint32_t)una & PSN_MASK, (uint32_t)qp->tx_nxt_psn & PSN_MASK,
	         qp->nb_rd, qp->error.nb_timeouts, qp->nb_rnr, peer);
}

static void
flush_cqe(struct qp *qp, struct cq *cq, uint64_t wr_id, uint8_t status, uint8_t op)
{
	struct shm_cqe cqe = {
		.wr_id = wr_id,
		.ts_ns = qp->nic->now_ns,
		.qpn = qp->qpn,
		.wqe_idx = qp->sq.head, /* means nothing for a receive */
		.vendor_err = qp->error.why,
		.status = status ? status : SHM_WC_WR_FLUSH_ERR,
		.op = op,
	};
	struct nic_stats *st = &qp->nic->stats;

	if (op == SHM_WC_RECV)
		*(status ? &st->resp_cqe_error : &st->resp_cqe_flush_error) += 1;
	else
		*(status ? &st->req_cqe_error : &st->req_cqe_flush_error) += 1;
	batch_cqe(qp->nic, qp, cq, &cqe, true);
}

/*
 * Each that was refused by itself gets its own status, the rest are flushed. As many as there is
 * room for; wr_settle goes on.
 */
static void
flush_sends(struct qp *qp)
{
	uint32_t nb = wq_posted(&qp->sq, qp->sq.head);

	while (nb && batch_cqe_fits(qp->nic->batch)) {
		uint32_t idx = qp->sq.head;
		struct shm_send_wqe wqe;
		const struct shm_send_wqe *at = &wqe;
		uint8_t status = SHM_WC_SUCCESS;

		if (idx == qp->sq_open) {
			shm_copy(&wqe, wq_slot(&qp->sq, idx), sizeof(wqe));
			qp->sq_open++;
			status = qp->error.send_status;
			qp->error.send_status = 0;
		} else {
			at = &wr_at(qp, idx)->wqe;
			status = wr_at(qp, idx)->status;
		}
		flush_cqe(qp, qp->send_cq, at->wr_id, status, shm_wc_op_of(at->op));
		qp->sq.head++;
		nb--;
	}
	qp->is_spoilt = false;
	wq_give_back(&qp->sq);
	if (qp->sq.head == qp->sq_open)
		lease_wrs_end(qp);
	if (nb)
		wr_complete_later(qp);
}

void
qp_flush_recv(struct qp *qp, const struct recv_wr *wr)
{
	flush_cqe(qp, qp->recv_cq, wr->wr_id, wr->status, SHM_WC_RECV);
}

/* The receive in hand first: it has the status of what failed. */
static void
flush_recvs(struct qp *qp)
{
	uint32_t nb = qp->srq ? 0 : wq_posted(&qp->rq, qp->rq.head);
	const struct batch *batch = qp->nic->batch;
	struct shm_recv_wqe wqe;

	if (!weft_flush_recvs(qp)) {
		wr_complete_later(qp);
		return;
	}
	if (qp->recv && batch_cqe_fits(batch)) {
		qp_flush_recv(qp, qp->recv);
		lease_recv_end(qp);
	}
	while (nb && batch_cqe_fits(batch)) {
		shm_copy(&wqe, wq_slot(&qp->rq, qp->rq.head), sizeof(wqe));
		flush_cqe(qp, qp->recv_cq, wqe.wr_id, 0, SHM_WC_RECV);
		qp->rq.head++;
		nb--;
	}
	wq_give_back(&qp->rq);
	if (nb || qp->recv)
		wr_complete_later(qp);
}

/*
 * A failed QP's oldest send, if one was begun, and its receive in hand tell why. What was repeated
 * in vain can be a response, or a request that its own response has completed: then the oldest that
 * waits tells.
 */
static void
blame(struct qp *qp, uint8_t send_status, uint8_t recv_status)
{
	if (send_status && qp->sq.head != qp->sq_open)
		wr_at(qp, qp->sq.head)->status = send_status;
	else if (send_status == SHM_WC_RETRY_EXC_ERR && wq_posted(&qp->sq, qp->sq.head))
		qp->error.send_status = send_status;
	if (qp->recv)
		qp->recv->status = recv_status;
}

/* Posts from now on must ring: we set the flag, then look; the application posts, then looks. */
static void
want_bell(struct wq *wq)
{
	if (!wq->ring)
		return;
	atomic_store(&wq->ring->need_bell, 1);
	atomic_thread_fence(memory_order_seq_cst);
}

/* " to ADDRESS QP 0x000011"; nothing for a QP without a peer. */
static void
peer_text(const struct qp *qp, char *buf, size_t size)
{
	char ip[IP_ADDR_TEXT];

	buf[0] = '\0';
	if (qp->type == SHM_QPT_UD || !qp->has_path)
		return;
	snprintf(buf, size, " to %s QP 0x%06x", ip_addr_text(&qp->peer_ip, ip), qp->attr.dest_qpn);
}

/* Packets that fit when the QP was connected, and do not any more, are lost without a word. */
static const char *
remedy_of(const struct qp *qp, enum qp_reason why)
{
	if (why == QP_REASON_RETRY && qp->mtu > mtu_bytes(qp->nic->active_mtu))
		return "its path MTU is above the NIC's now: raise the interface's MTU, or connect "
		       "it anew";
	return remedy_text[why];
}

static void
explain_once(struct qp *qp, enum qp_reason why, uint64_t psn)
{
	char text[WEFT_REASON_LEN], peer[IP_ADDR_TEXT + 20];
	const char *remedy;

	if (qp->error.why == QP_REASON_NONE) {
		qp->error.why = why;
		qp->error.psn = (uint32_t)psn & PSN_MASK;
		qp->error.down_s = (uint32_t)((qp->nic->now_ns - qp->nic->link_ns) / 1000000000);
	}
	if (why == QP_REASON_USER)
		return;
	qp_explain(qp, text, sizeof(text));
	peer_text(qp, peer, sizeof(peer));
	remedy = remedy_of(qp, why);
	event_tell(EVENT_QP, qp->nic->conf.name, "QP 0x%06x%s failed: %s%s%s", qp->qpn, peer, text,
	           remedy ? "; " : "", remedy ? remedy : "");
}

/* What has a counter beside the log's line. */
static void
count_failure(struct nic_stats *stats, enum qp_reason why)
{
	static const size_t counters[QP_REASON_NB] = {
		[QP_REASON_NAK_INVALID] = offsetof(struct nic_stats, req_remote_invalid_request),
		[QP_REASON_NAK_ACCESS] = offsetof(struct nic_stats, req_remote_access_errors),
		[QP_REASON_REQ_ACCESS] = offsetof(struct nic_stats, resp_remote_access_errors),
		[QP_REASON_LOCAL_LENGTH] = offsetof(struct nic_stats, resp_local_length_error),
	};

	static_assert(offsetof(struct nic_stats, rx_packets) == 0, "0 is none of them");
	if (counters[why])
		++*(uint64_t *)(void *)((char *)stats + counters[why]);
}

static void
enter_error(struct qp *qp, enum qp_reason why, uint64_t psn)
{
	qp->state = qp->attr.state = SHM_QPS_ERR;
	explain_once(qp, why, psn);
	wheel_cancel(&qp->nic->wheel, &qp->timer);
	qp->hold_ns = 0;
	if (!qp->srq)
		want_bell(&qp->rq);
}

/* No event; else an enum shm_event_type. */
#define NO_EVENT UINT32_MAX

static void
fail_both(struct qp *qp, enum qp_reason why, uint8_t send_status, uint8_t recv_status, uint64_t psn,
          uint32_t event)
{
	const struct nic_driver *driver = qp->nic->conf.driver;

	if (qp->state == SHM_QPS_ERR || qp->state == SHM_QPS_RESET)
		return;
	enter_error(qp, why, psn);
	/* A send that is too long is no responder's matter. */
	if (why != QP_REASON_LOCAL_LENGTH || recv_status)
		count_failure(&qp->nic->stats, why);
	blame(qp, send_status, recv_status);
	flush_sends(qp);
	flush_recvs(qp);
	if (event != NO_EVENT)
		driver->event(qp->owner, event, qp->cookie);
	if (qp->srq)
		driver->event(qp->owner, SHM_EVENT_QP_LAST_WQE_REACHED, qp->cookie);
}

void
qp_fail(struct qp *qp, enum qp_reason why, uint8_t status, uint64_t psn)
{
	fail_both(qp, why, status, 0, psn, NO_EVENT);
}

void
qp_fail_recv(struct qp *qp, enum qp_reason why, uint8_t status, uint64_t psn)
{
	uint32_t event =
		why == QP_REASON_REQ_ACCESS ? SHM_EVENT_QP_ACCESS_ERR : SHM_EVENT_QP_REQ_ERR;

	fail_both(qp, why, 0, status, psn, qp->type == SHM_QPT_RC ? event : NO_EVENT);
}

void
qp_fail_request(struct qp *qp, enum qp_reason why, uint8_t status, uint32_t wr_idx)
{
	/* It may be complete: by the same acknowledgement that brings the NAK. */
	if (qp->state != SHM_QPS_ERR && wr_idx - qp->sq.head < qp->sq_open - qp->sq.head)
		wr_at(qp, wr_idx)->status = status;
	fail_both(qp, why, 0, 0, qp->rel->tx_una, NO_EVENT);
}

/* A NAK in place of all answers that have not left: they may be for what was not done. */
static void
nak_memory(struct qp *qp, uint32_t psn)
{
	if (qp->type != SHM_QPT_RC)
		return;
	if (qp->framing == QP_WEFT) {
		weft_fault_now(qp, psn, AETH_NAK_OPERATION);
		return;
	}
	qp->fifo_head = qp->fifo_tail;
	resp_nak(qp, AETH_NAK_OPERATION, psn);
}

void
qp_fail_placing(struct qp *qp, uint32_t psn, bool told)
{
	uint8_t status = told ? 0 : SHM_WC_LOC_PROT_ERR;

	assert(qp->state != SHM_QPS_ERR);
	if (psn == BATCH_ANSWER) {
		fail_both(qp, QP_REASON_LOCAL_MEMORY, status, 0, qp->rel->tx_una,
		          SHM_EVENT_QP_FATAL);
	} else {
		nak_memory(qp, psn);
		fail_both(qp, QP_REASON_LOCAL_MEMORY, 0, status, psn, SHM_EVENT_QP_FATAL);
	}
}

void
qp_fail_reading(struct qp *qp, uint32_t psn)
{
	if (qp->state == SHM_QPS_ERR)
		return;
	nak_memory(qp, psn);
	fail_both(qp, QP_REASON_LOCAL_MEMORY, 0, 0, psn, SHM_EVENT_QP_FATAL);
}

void
qp_fail_ring(struct qp *qp)
{
	fail_both(qp, QP_REASON_LOCAL_WQE, 0, 0, 0, SHM_EVENT_QP_FATAL);
}

void
qp_fail_overrun(struct qp *qp)
{
	fail_both(qp, QP_REASON_CQ_OVERRUN, 0, 0, 0, SHM_EVENT_QP_FATAL);
}

void
qp_fail_address(struct qp *qp)
{
	fail_both(qp, QP_REASON_ADDRESS, SHM_WC_GENERAL_ERR, 0, qp->rel->tx_una,
	          SHM_EVENT_QP_FATAL);
}

void
qp_fail_open(struct qp *qp, enum qp_reason why)
{
	fail_both(qp, why, SHM_WC_GENERAL_ERR, 0, 0, SHM_EVENT_QP_FATAL);
}

void
qp_fail_sq(struct qp *qp, enum qp_reason why, uint8_t status)
{
	if (qp->state != SHM_QPS_RTS && qp->state != SHM_QPS_SQD)
		return;
	qp->state = qp->attr.state = SHM_QPS_SQE;
	explain_once(qp, why, qp->rel->tx_una);
	blame(qp, status, 0);
	flush_sends(qp);
}

void
qp_flush(struct qp *qp)
{
	if (qp->state == SHM_QPS_ERR || qp->state == SHM_QPS_SQE)
		flush_sends(qp);
	if (qp->state == SHM_QPS_ERR)
		flush_recvs(qp);
}
