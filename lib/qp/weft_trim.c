/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "comp.h"
#include "psn.h"
#include "trim.h"
#include "weft_stream.h"

/*
 * Packets that a switch has cut behind their MSN. The receiver sends the header back, if its engine
 * wants that; to the sender it tells at once which packet was lost. They have no ICRC: nothing but
 * a retransmission follows from one that is forged.
 */

/** Headers that may wait to be sent back: as many as come in two bursts. Our choice. */
#define BOUNCES_MAX 64

/* The frame goes back the way that it came. */
static void
bounce(struct qp *qp, const struct wire_pkt *w, const struct pkt *p)
{
	struct nic *nic = qp->nic;
	struct pkt *copy;

	if (nic->bounces.nb_pkts >= BOUNCES_MAX ||
	    !nic->conf.pool->alloc(nic->conf.pool, &copy, 1)) {
		nic_drop(nic, DROP_BUSY);
		return;
	}
	pkt_copy(copy, p);
	copy->len = wire_bounce(copy->data, w, qp->attr.dest_qpn);
	pkt_queue_push(&nic->bounces, copy);
}

static void
on_trimmed(struct qp *qp, const struct wire_pkt *w, const struct pkt *p, uint64_t now_ns)
{
	const struct weft_in *in = &qp->win;
	struct rel_rx_out out = {0};
	struct rel_rx rx = {
		.psn = psn_unwrap(qp->rel->rx_cum, w->psn),
		.msn = psn_unwrap(in->emsn, w->msn),
		.nb_psns = 1,
		.retry = w->weft.retry,
	};

	if (rx.psn - qp->rel_qp.rx_first_psn >= UINT64_C(1) << 63 ||
	    rx.psn >= qp->rel->rx_cum + qp->rel_qp.window_pkts ||
	    rx.msn - in->emsn >= qp->terms.max_msgs || rx.msn >= in->fault_msn) {
		nic_drop(qp->nic, DROP_MESSAGE);
		return;
	}
	rx.msg = weft_msg_of(qp, rx.msn);
	qp->nic->stats.rx_trimmed++;
	qp->rel_ops->on_trimmed(qp->rel, &rx, now_ns, &out);
	if (out.resp == REL_RESP_BOUNCE)
		bounce(qp, w, p);
	else
		weft_answer(qp, w, &rx, &out, now_ns);
}

static void
on_bounce(struct qp *qp, const struct wire_pkt *w, uint64_t now_ns)
{
	const struct rel_qp *rq = &qp->rel_qp;
	struct rel_ack ack = {
		.kind = REL_TRIMMED,
		.cum = qp->rel->tx_una,
		.psn = psn_unwrap(qp->rel->tx_una, w->psn),
		.msn = psn_unwrap(rq->tx_first_msn, w->msn),
		.retry = w->weft.retry,
	};
	const struct rel_msg *m;

	if (ack.psn < qp->rel->tx_una || ack.psn >= qp->tx_nxt_psn ||
	    ack.msn - rq->tx_first_msn >= rq->tx_end_msn - rq->tx_first_msn) {
		nic_drop(qp->nic, DROP_STALE);
		return;
	}
	m = &qp->msgs[ack.msn & rq->msg_mask];
	if (ack.psn - m->first_psn >= m->nb_psns) {
		nic_drop(qp->nic, DROP_STALE);
		return;
	}
	comp_answer(qp, &ack, NULL, now_ns);
}

void
weft_header_rx(struct qp *qp, const struct wire_pkt *w, const struct pkt *p, uint64_t now_ns)
{
	if (!qp->rel_ops->on_trimmed)
		nic_drop(qp->nic, DROP_PARTS);
	else if (w->op->flags & OPF_BOUNCE)
		on_bounce(qp, w, now_ns);
	else
		on_trimmed(qp, w, p, now_ns);
}
