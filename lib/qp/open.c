/* SPDX-License-Identifier: BSD-3-Clause */
#include "open.h"

#include <string.h>

#include "comp.h"
#include "engines.h"
#include "fail.h"
#include "framing.h"
#include "gid.h"
#include "open_impl.h"
#include "wr.h"

/* A QP from RTR on: it finds out about its peer, and is weft, plain, or fails. */

/** With work posted it is waited for so long at least that a peer is found to be there or not: as
 * long as a neighbour that is wanted is asked for. Our choice. */
#define ASK_PEER_NS NEIGH_WANTED_NS

static bool
may_be_plain(const struct qp *qp)
{
	return nic_bind_of(qp->nic, &qp->peer_ip)->framing == FRAMING_WISH_AUTO;
}

/* ---- decisions ---- */

void
open_settle(struct qp *qp)
{
	list_del(&qp->open.link);
	qp->open.due_ns = NEVER_NS;
	if (qp->open.peer && qp->framing == QP_WEFT)
		list_add_tail(&qp->open.peer->open, &qp->open.link);
}

void
open_refuse(struct qp *qp, enum qp_reason why)
{
	open_settle(qp);
	qp_fail_open(qp, why);
}

void
open_go_plain(struct qp *qp, enum qp_reason why_not, uint64_t now_ns)
{
	if (!may_be_plain(qp)) {
		open_refuse(qp, why_not);
		return;
	}
	open_settle(qp);
	qp_engines_fall_back(qp);
	framing_plain(qp, now_ns);
}

void
open_go_weft(struct qp *qp, const struct weft_terms *terms, uint64_t now_ns)
{
	framing_weft(qp, terms, now_ns);
	open_settle(qp);
}

/* ---- a QP's side ---- */

void
open_pair(struct qp *qp, struct qp *peer, uint64_t now_ns)
{
	struct hello_terms a, b;
	struct weft_terms terms;

	a = open_terms_of(qp);
	b = open_terms_of(peer);
	open_terms_judge(qp, &b, &a);
	if (open_terms_refused(&a)) {
		open_refuse(qp, open_terms_reason(&a));
		if (peer != qp)
			open_refuse(peer, open_terms_reason(&a));
		return;
	}
	if (peer != qp) {
		terms = open_terms_agree(peer, &b, &a);
		open_go_weft(peer, &terms, now_ns);
	}
	terms = open_terms_agree(qp, &a, &b);
	open_go_weft(qp, &terms, now_ns);
}

/* To a QP of the same NIC: no message is needed, both are here. */
static void
open_to_self(struct qp *qp, uint64_t now_ns)
{
	struct qp *peer = qp_find(qp->nic, qp->attr.dest_qpn);

	if (!peer || peer->framing != QP_PENDING || !open_is_there(peer) ||
	    peer->attr.dest_qpn != qp->qpn ||
	    memcmp(&peer->peer_ip, &qp->own_ip, sizeof(qp->own_ip)) ||
	    memcmp(&peer->own_ip, &qp->peer_ip, sizeof(qp->peer_ip)))
		return; /* it will find this one */
	open_pair(qp, peer, now_ns);
}

void
open_begin(struct qp *qp, uint64_t now_ns)
{
	struct nic *nic = qp->nic;

	list_init(&qp->open.link);
	qp->open.due_ns = NEVER_NS;
	qp->progress_ns = 0;
	if (gid_find(&nic->gids, &qp->peer_ip, qp->own_vlan)) {
		open_to_self(qp, now_ns);
		return;
	}
	if (!nic->peers)
		return;
	qp->open.peer = peers_get(nic->peers, &qp->own_ip, &qp->peer_ip, qp->own_vlan, now_ns);
	if (!qp->open.peer) {
		open_go_plain(qp, QP_REASON_NO_WEFT, now_ns);
		return;
	}
	list_add_tail(&qp->open.peer->asking, &qp->open.link);
	open_ask_at(qp, now_ns);
}

void
open_end(struct qp *qp)
{
	list_del(&qp->open.link);
	if (qp->open.peer)
		peers_put(qp->nic->peers, qp->open.peer, qp->nic->now_ns);
	memset(&qp->open, 0, sizeof(qp->open));
	qp->open_asked = 0;
	qp->open_answered = false;
	list_init(&qp->open.link);
}

void
open_heard(struct qp *qp, bool is_weft, uint64_t now_ns)
{
	if (!is_weft)
		open_go_plain(qp, QP_REASON_OPEN_PLAIN, now_ns);
	else if (qp->open_answered)
		open_go_weft(qp, &qp->terms, now_ns);
}

void
open_probe(struct qp *qp, uint64_t now_ns)
{
	struct peer *p = qp->open.peer;

	if (qp->framing != QP_WEFT || !p || !peers_may_probe(qp->nic->peers, p, now_ns))
		return;
	list_del(&qp->open.link);
	list_add_tail(&p->asking, &qp->open.link);
	open_ask_at(qp, now_ns);
}

/* With work posted, retries run as for data. */
void
open_posted(struct qp *qp, uint64_t now_ns)
{
	if (qp->progress_ns || !wq_posted(&qp->sq, qp->sq.head))
		return;
	qp->progress_ns = now_ns;
	comp_arm(qp);
}

uint64_t
open_gives_up_ns(const struct qp *qp)
{
	const struct peer *p = qp->open.peer;
	uint64_t wait_ns = (qp->attr.retry_cnt + 1u) * qp->rel_qp.ack_timeout_ns;
	uint64_t from_ns = qp->progress_ns;

	if (!from_ns || !wait_ns)
		return NEVER_NS;
	/* Who the peer is takes a while to find out, and where it is. */
	if (p && p->state != PEER_WEFT && wait_ns < ASK_PEER_NS)
		wait_ns = ASK_PEER_NS;
	if (p && p->state == PEER_WEFT && p->since_ns > from_ns)
		from_ns = p->since_ns;
	return from_ns + wait_ns;
}

void
open_give_up(struct qp *qp)
{
	enum qp_reason why = QP_REASON_NEVER_READY;

	if (!qp->nic->is_up && qp->open.peer)
		why = QP_REASON_LINK;
	else if (!qp->neigh->valid)
		why = QP_REASON_NO_NEIGH;
	open_settle(qp);
	qp_fail(qp, why, SHM_WC_RETRY_EXC_ERR, 0);
}
