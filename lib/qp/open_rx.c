/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "open_impl.h"

/* What comes: an OPEN is answered, an ANSWER decides. */

/* It has failed because the two ends do not fit. */
static bool
was_refused(const struct qp *qp)
{
	return qp->state == SHM_QPS_ERR && qp->framing == QP_PENDING &&
	       (qp->error.why == QP_REASON_OPEN_ENGINES || qp->error.why == QP_REASON_OPEN_PMTU ||
	        qp->error.why == QP_REASON_OPEN_LINK_MTU || qp->error.why == QP_REASON_OPEN_TERMS);
}

/* The QP that an entry of a message is for, if the entry comes from its peer. */
static struct qp *
find(struct nic *nic, const struct peer *p, const struct hello_terms *t)
{
	struct qp *qp = qp_find(nic, t->peer_qpn);

	if (!qp || qp->type != SHM_QPT_RC || qp->attr.dest_qpn != t->own_qpn ||
	    !(open_is_there(qp) || was_refused(qp)) ||
	    memcmp(&qp->peer_ip, &p->ip, sizeof(p->ip)) ||
	    memcmp(&qp->own_ip, &p->own_ip, sizeof(p->own_ip)) || qp->own_vlan != p->vlan)
		return NULL;
	return qp;
}

/* For people: whose engine it is that ours does not match. */
static void
note_engine(struct qp *qp, const struct hello_terms *peer)
{
	if (qp->open.peer)
		memcpy(qp->open.peer->engine, peer->engine, sizeof(peer->engine));
}

/* ---- answers ---- */

/* What to say to a QP that asks. It may ask again: the answer is the same then. */
static struct hello_terms
answer_to(struct qp *qp, const struct hello_terms *asked, uint64_t now_ns)
{
	struct hello_terms own = open_terms_of(qp);
	struct weft_terms terms = open_terms_agree(qp, &own, asked);

	if (open_terms_are_foreign(&own, asked)) {
		own.status = HELLO_NOT_READY;
		return own;
	}
	if (qp->framing == QP_PLAIN) {
		own.status = HELLO_IS_ROCEV2;
		return own;
	}
	open_terms_judge(qp, asked, &own);
	if (qp->framing == QP_WEFT) {
		if (own.status != HELLO_AGREED || !open_terms_equal(&terms, &qp->terms)) {
			own.status = HELLO_NOT_READY; /* of another connection */
			own.reason = HELLO_REASON_NONE;
		}
		return own;
	}
	if (was_refused(qp)) { /* who asks again did not hear why */
		if (!open_terms_refused(&own))
			own.status = HELLO_NOT_READY;
		return own;
	}
	if (open_terms_refused(&own)) {
		note_engine(qp, asked);
		open_refuse(qp, open_terms_reason(&own));
		return own;
	}
	qp->terms = terms;
	qp->open_answered = true;
	open_ask_at(qp, now_ns);
	return own;
}

static void
on_open(struct nic *nic, struct peer *p, const struct hello_msg *msg, uint64_t now_ns)
{
	struct hello_msg answer = {.type = HELLO_ANSWER, .nb_qps = msg->nb_qps};

	for (uint8_t i = 0; i < msg->nb_qps; i++) {
		const struct hello_terms *t = &msg->qp[i];
		struct qp *qp = find(nic, p, t);

		if (qp) {
			answer.qp[i] = answer_to(qp, t, now_ns);
			continue;
		}
		answer.qp[i] = *t;
		answer.qp[i].own_qpn = t->peer_qpn;
		answer.qp[i].peer_qpn = t->own_qpn;
		answer.qp[i].status = HELLO_NOT_READY;
	}
	peers_answer(nic->peers, p, &answer, msg->nonce, now_ns);
}

/* ---- decisions of the peer ---- */

static void
on_answer(struct nic *nic, struct peer *p, const struct hello_terms *t, uint64_t now_ns)
{
	struct qp *qp = find(nic, p, t);
	struct hello_terms own;
	struct weft_terms terms;

	if (!qp || qp->framing != QP_PENDING || !open_is_there(qp))
		return;
	own = open_terms_of(qp);
	if (open_terms_are_foreign(&own, t)) /* it asks again */
		return;
	switch (t->status) {
	case HELLO_AGREED:
		open_terms_judge(qp, t, &own);
		if (open_terms_refused(&own)) {
			open_refuse(qp, open_terms_reason(&own));
			return;
		}
		terms = open_terms_agree(qp, &own, t);
		open_go_weft(qp, &terms, now_ns);
		return;
	case HELLO_ENGINES:
	case HELLO_UNFIT:
		note_engine(qp, t);
		open_refuse(qp, open_terms_reason(t));
		return;
	case HELLO_IS_ROCEV2:
		open_go_plain(qp, QP_REASON_OPEN_PLAIN, now_ns);
		return;
	default: /* not ready: it asks again */
		return;
	}
}

void
open_rx(void *arg, struct peer *p, const struct hello_msg *msg, uint64_t now_ns)
{
	struct nic *nic = arg;

	nic->now_ns = now_ns;
	if (msg->type == HELLO_OPEN)
		on_open(nic, p, msg, now_ns);
	for (uint8_t i = 0; msg->type == HELLO_ANSWER && i < msg->nb_qps; i++)
		on_answer(nic, p, &msg->qp[i], now_ns);
}
