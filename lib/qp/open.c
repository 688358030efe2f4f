/* SPDX-License-Identifier: BSD-3-Clause */
#include "open.h"

#include <stdio.h>
#include <string.h>

#include "batch.h"
#include "comp.h"
#include "engines.h"
#include "fail.h"
#include "framing.h"
#include "gid.h"
#include "open_terms.h"
#include "wr.h"

/** QPs of one peer that a turn looks at: those of one client must not hold up others. Our choice.
 */
#define TURN_QPS 64
/** Those behind them wait so long, if none of them had anything to say. Our choice. */
#define NEXT_LOOK_NS 100000
/** With work posted it is waited for so long at least that a peer is found to be there or not: as
 * long as a neighbour that is wanted is asked for. Our choice. */
#define ASK_PEER_NS NEIGH_WANTED_NS
/** OPENs are repeated after four times as long each, and each second in the end. */
#define FIRST_REPEAT_NS 1000000
#define LAST_REPEAT_NS 1000000000

/** log2 of the most lanes that a path header can name. */
#define LANES_SHIFT_MAX 15

static struct qp *
qp_of(struct list *link)
{
	return container_of(link, struct qp, open.link);
}

/* In a state in which it may be asked, and ask. */
static bool
is_there(const struct qp *qp)
{
	return qp->state == SHM_QPS_RTR || qp->state == SHM_QPS_RTS || qp->state == SHM_QPS_SQD;
}

static bool
may_be_plain(const struct qp *qp)
{
	return nic_bind_of(qp->nic, &qp->peer_ip)->framing == FRAMING_WISH_AUTO;
}

/* ---- decisions ---- */

/* For people: whose engine it is that ours does not match. */
static void
note_engine(struct qp *qp, const struct hello_terms *peer)
{
	if (qp->open.peer)
		memcpy(qp->open.peer->engine, peer->engine, sizeof(peer->engine));
}

/* It asks no more. If its peer is started anew, it fails. */
static void
settle(struct qp *qp)
{
	list_del(&qp->open.link);
	qp->open.due_ns = NEVER_NS;
	if (qp->open.peer && qp->framing == QP_WEFT)
		list_add_tail(&qp->open.peer->open, &qp->open.link);
}

static void
refuse(struct qp *qp, enum qp_reason why)
{
	settle(qp);
	qp_fail_open(qp, why);
}

static void
go_plain(struct qp *qp, enum qp_reason why_not, uint64_t now_ns)
{
	if (!may_be_plain(qp)) {
		refuse(qp, why_not);
		return;
	}
	settle(qp);
	qp_engines_fall_back(qp);
	framing_plain(qp, now_ns);
}

static void
go_weft(struct qp *qp, const struct weft_terms *terms, uint64_t now_ns)
{
	framing_weft(qp, terms, now_ns);
	settle(qp);
}

static enum qp_reason
reason_of(uint8_t status, uint8_t reason)
{
	static const enum qp_reason unfit[HELLO_REASON_NB] = {
		[HELLO_REASON_NONE] = QP_REASON_OPEN_TERMS,
		[HELLO_REASON_PMTU] = QP_REASON_OPEN_PMTU,
		[HELLO_REASON_OPTIONS] = QP_REASON_OPEN_TERMS,
		[HELLO_REASON_LINK_MTU] = QP_REASON_OPEN_LINK_MTU,
	};

	return status == HELLO_ENGINES ? QP_REASON_OPEN_ENGINES : unfit[reason];
}

static bool
is_refusal(uint8_t status)
{
	return status == HELLO_ENGINES || status == HELLO_UNFIT;
}

/* ---- questions ---- */

/* The QP asks at that time. */
static void
ask_at(struct qp *qp, uint64_t at_ns)
{
	qp->open.due_ns = at_ns;
	peers_want_open(qp->nic->peers, qp->open.peer, at_ns);
}

static void
asked(struct qp *qp, uint64_t now_ns)
{
	uint64_t repeat_ns = FIRST_REPEAT_NS;

	for (uint8_t i = 0; i < qp->open_asked && repeat_ns < LAST_REPEAT_NS; i++)
		repeat_ns *= 4;
	if (qp->open_asked < UINT8_MAX)
		qp->open_asked++;
	ask_at(qp, now_ns + (repeat_ns < LAST_REPEAT_NS ? repeat_ns : LAST_REPEAT_NS));
}

/* A QP whose turn it is: it asks, or it learns that its peer is plain. Whether it is in msg now. */
static bool
look_at(struct qp *qp, const struct peer *p, struct hello_msg *msg, uint64_t now_ns)
{
	if (!is_there(qp)) { /* it has failed */
		settle(qp);
		return false;
	}
	if (p->state == PEER_PLAIN && qp->framing == QP_PENDING) {
		go_plain(qp, QP_REASON_NO_WEFT, now_ns);
		return false;
	}
	if (p->state != PEER_WEFT)
		return false;
	msg->qp[msg->nb_qps++] = open_terms_of(qp);
	if (qp->framing == QP_PENDING)
		asked(qp, now_ns);
	else
		settle(qp); /* a probe, once */
	return true;
}

static uint32_t
next_open(void *arg, struct peer *p, struct hello_msg *msg, uint64_t now_ns)
{
	struct nic *nic = arg;
	struct list *last = p->asking.prev, *link = NULL;
	uint32_t nb = 0;

	msg->nb_qps = 0;
	while (link != last && nb++ < TURN_QPS && msg->nb_qps < HELLO_ENTRIES_MAX &&
	       !list_is_empty(&p->asking)) {
		struct qp *qp = qp_of(p->asking.next);

		link = &qp->open.link;
		list_del(link);
		list_add_tail(&p->asking, link);
		if (qp->open.due_ns <= now_ns)
			look_at(qp, p, msg, now_ns);
		else
			peers_want_open(nic->peers, p, qp->open.due_ns);
	}
	if (link != last && !list_is_empty(&p->asking))
		peers_want_open(nic->peers, p, now_ns + (msg->nb_qps ? 0 : NEXT_LOOK_NS));
	return msg->nb_qps;
}

/* ---- answers ---- */

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
	    !(is_there(qp) || was_refused(qp)) || memcmp(&qp->peer_ip, &p->ip, sizeof(p->ip)) ||
	    memcmp(&qp->own_ip, &p->own_ip, sizeof(p->own_ip)) || qp->own_vlan != p->vlan)
		return NULL;
	return qp;
}

/* What to say to a QP that asks. It may ask again: the answer is the same then. */
static struct hello_terms
answer_to(struct qp *qp, const struct hello_terms *asked, uint64_t now_ns)
{
	struct hello_terms own = open_terms_of(qp);
	struct weft_terms terms = open_terms_agree(qp, &own, asked);

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
		if (!is_refusal(own.status))
			own.status = HELLO_NOT_READY;
		return own;
	}
	if (is_refusal(own.status)) {
		note_engine(qp, asked);
		refuse(qp, reason_of(own.status, own.reason));
		return own;
	}
	qp->terms = terms;
	qp->open_answered = true;
	ask_at(qp, now_ns);
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

static void
on_answer(struct nic *nic, struct peer *p, const struct hello_terms *t, uint64_t now_ns)
{
	struct qp *qp = find(nic, p, t);
	struct hello_terms own;
	struct weft_terms terms;

	if (!qp || qp->framing != QP_PENDING || !is_there(qp))
		return;
	switch (t->status) {
	case HELLO_AGREED:
		own = open_terms_of(qp);
		open_terms_judge(qp, t, &own);
		if (is_refusal(own.status)) {
			refuse(qp, reason_of(own.status, own.reason));
			return;
		}
		terms = open_terms_agree(qp, &own, t);
		go_weft(qp, &terms, now_ns);
		return;
	case HELLO_ENGINES:
	case HELLO_UNFIT:
		note_engine(qp, t);
		refuse(qp, reason_of(t->status, t->reason));
		return;
	case HELLO_IS_ROCEV2:
		go_plain(qp, QP_REASON_OPEN_PLAIN, now_ns);
		return;
	default: /* not ready: it asks again */
		return;
	}
}

static void
opened(void *arg, struct peer *p, const struct hello_msg *msg, uint64_t now_ns)
{
	struct nic *nic = arg;

	nic->now_ns = now_ns;
	if (msg->type == HELLO_OPEN)
		on_open(nic, p, msg, now_ns);
	for (uint8_t i = 0; msg->type == HELLO_ANSWER && i < msg->nb_qps; i++)
		on_answer(nic, p, &msg->qp[i], now_ns);
}

/* ---- what becomes known of a peer ---- */

static void
decided(void *arg, struct peer *p, uint64_t now_ns)
{
	struct nic *nic = arg;

	LIST_FOREACH (l, &p->asking) {
		qp_of(l)->open.due_ns = now_ns;
		comp_arm(qp_of(l)); /* it may give up from now on */
	}
	peers_want_open(nic->peers, p, now_ns);
}

/* The QPs at the other end are gone. Those that ask for the new ones go on. */
static void
restarted(void *arg, struct peer *p, uint64_t now_ns)
{
	struct nic *nic = arg;

	nic->now_ns = now_ns;
	for (uint32_t nb = 0; nb < TURN_QPS && !list_is_empty(&p->dead); nb++) {
		struct qp *qp = qp_of(p->dead.next);

		list_del(&qp->open.link);
		if (!batch_cqe_fits(nic->batch))
			batch_flush_in(nic);
		qp_fail(qp, QP_REASON_RESTARTED, SHM_WC_RETRY_EXC_ERR, qp->rel->tx_una);
	}
}

/* What a NIC says of itself to a peer: what its conf has for it. */
static bool
offer(void *arg, const struct ip_addr *peer, struct hello_who *who)
{
	const struct nic_bind *bind = nic_bind_of(arg, peer);

	if (bind->framing == FRAMING_WISH_ROCEV2)
		return false;
	snprintf(who->engine, sizeof(who->engine), "%s", bind->set.rel->info.name);
	who->nb_slots = INT_SLOTS_MAX;
	who->lanes_shift = LANES_SHIFT_MAX;
	who->features = HELLO_INT | HELLO_TS | HELLO_CE_ECHO | HELLO_SACK | HELLO_TRIM;
	return true;
}

static uint64_t
random_of(void *arg)
{
	return nic_random(arg);
}

struct peers *
open_peers(struct nic *nic)
{
	static const struct peers_ops ops = {
		.decided = decided,
		.restarted = restarted,
		.opened = opened,
		.next_open = next_open,
	};
	struct peers_conf conf = {
		.self = &nic->self,
		.neigh = nic->neigh,
		.pool = nic->conf.pool,
		.ops = &ops,
		.offer = offer,
		.random = random_of,
		.arg = nic,
	};

	return peers_create(&conf);
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
	if (is_refusal(a.status)) {
		refuse(qp, reason_of(a.status, a.reason));
		if (peer != qp)
			refuse(peer, reason_of(a.status, a.reason));
		return;
	}
	if (peer != qp) {
		terms = open_terms_agree(peer, &b, &a);
		go_weft(peer, &terms, now_ns);
	}
	terms = open_terms_agree(qp, &a, &b);
	go_weft(qp, &terms, now_ns);
}

/* To a QP of the same NIC: no message is needed, both are here. */
static void
open_to_self(struct qp *qp, uint64_t now_ns)
{
	struct qp *peer = qp_find(qp->nic, qp->attr.dest_qpn);

	if (!peer || peer->framing != QP_PENDING || !is_there(peer) ||
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
		go_plain(qp, QP_REASON_NO_WEFT, now_ns);
		return;
	}
	list_add_tail(&qp->open.peer->asking, &qp->open.link);
	ask_at(qp, now_ns);
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
		go_plain(qp, QP_REASON_OPEN_PLAIN, now_ns);
	else if (qp->open_answered)
		go_weft(qp, &qp->terms, now_ns);
}

void
open_probe(struct qp *qp, uint64_t now_ns)
{
	struct peer *p = qp->open.peer;

	if (qp->framing != QP_WEFT || !p || !peers_may_probe(qp->nic->peers, p, now_ns))
		return;
	list_del(&qp->open.link);
	list_add_tail(&p->asking, &qp->open.link);
	ask_at(qp, now_ns);
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
	settle(qp);
	qp_fail(qp, why, SHM_WC_RETRY_EXC_ERR, 0);
}
