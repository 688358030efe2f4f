/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "batch.h"
#include "comp.h"
#include "engines.h"
#include "fail.h"
#include "open.h"
#include "open_impl.h"

/* The QPs of a peer: which of them ask it in an OPEN, and what they learn of it. */

/** QPs of one peer that a turn looks at: those of one client must not hold up others. Our choice.
 */
#define TURN_QPS 64
/** Those behind them wait so long, if none of them had anything to say. Our choice. */
#define NEXT_LOOK_NS 100000
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

/* ---- questions ---- */

void
open_ask_at(struct qp *qp, uint64_t at_ns)
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
	open_ask_at(qp, now_ns + (repeat_ns < LAST_REPEAT_NS ? repeat_ns : LAST_REPEAT_NS));
}

/* A QP whose turn it is: it asks, or it learns that its peer is plain. Whether it is in msg now. */
static bool
look_at(struct qp *qp, const struct peer *p, struct hello_msg *msg, uint64_t now_ns)
{
	if (!open_is_there(qp)) { /* it has failed */
		open_settle(qp);
		return false;
	}
	if (p->state == PEER_PLAIN && qp->framing == QP_PENDING) {
		open_go_plain(qp, QP_REASON_NO_WEFT, now_ns);
		return false;
	}
	if (p->state != PEER_WEFT)
		return false;
	msg->qp[msg->nb_qps++] = open_terms_of(qp);
	if (qp->framing == QP_PENDING)
		asked(qp, now_ns);
	else
		open_settle(qp); /* a probe, once */
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

/* ---- what the NIC says of itself ---- */

/* To a peer: what the conf has for it. */
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
		.opened = open_rx,
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
