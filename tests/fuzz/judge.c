/* SPDX-License-Identifier: BSD-3-Clause */
#include "judge.h"

#include <string.h>

static const struct crowd_end *
end_of(const struct judge *j)
{
	return &j->crowd->end[j->side];
}

static uint64_t
nb_drops(const struct nic_stats *s)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < WIRE_BAD_NB; i++)
		sum += s->bad[i];
	for (uint32_t i = 0; i < DROP_NB; i++)
		sum += s->drop[i];
	return sum;
}

/* Whether an atomic of the peer waits, for its turn or for messages before it. */
static bool
has_rds(const struct weft_in *in)
{
	bool has = in->rd_run != in->rd_tail;

	for (uint32_t i = 0; in->nb_msgs && i < WEFT_MSGS && !has; i++)
		has = (in->rx->msgs_used[i / 64] >> i % 64 & 1) &&
		      in->rx->msgs[i].kind == OPF_ATOMIC;
	return has;
}

/* All padding is zero, so that these can be compared. */
static void
look_at_qp(struct judge_qp *out, const struct app_qp *a)
{
	const struct qp *qp = a->qp;

	memset(out, 0, sizeof(*out));
	out->rx_cum = qp->rel->rx_cum;
	out->tx_una = qp->rel->tx_una;
	out->hold_ns = qp->hold_ns;
	out->rx_length = qp->rx_length;
	out->rx_va = qp->rx_va;
	out->fifo_tail = qp->fifo_tail;
	out->msn = qp->msn;
	out->state = qp->state;
	out->nb_cqes = a->scq.cq->tail + a->rcq.cq->tail;
	out->nb_rnr = qp->nb_rnr;
	out->have_recv = qp->recv;
	out->cnp_due = list_is_linked(&qp->cnp_link);
	out->comm_est = qp->comm_est;
	out->emsn = qp->win.emsn;
	out->essn = qp->win.essn;
	out->bssn = qp->win.bssn;
	out->fault_msn = qp->win.fault_msn;
	out->hold_until_ns = qp->wout.hold_ns;
	out->nb_msgs = qp->win.nb_msgs;
	out->nb_refused = qp->win.nb_refused;
	out->nb_unacked = qp->win.nb_unacked;
	out->ack_due = qp->win.ack_due;
	out->has_rds = has_rds(&qp->win);
}

void
judge_begin(struct judge *j, const struct crowd *crowd, int side)
{
	const struct nic *nic = crowd->w.nic[side];

	j->crowd = crowd;
	j->side = side;
	memcpy(j->block, crowd->end[side].block, sizeof(j->block));
	j->stats = nic->stats;
	j->neigh = *neigh_stats(nic->neigh);
	for (int t = 0; t < CROWD_TYPES; t++)
		look_at_qp(&j->qp[t], &crowd->end[side].qp[t]);
}

/* Whether anything but the counters of what came in tells of the frame. */
static bool
left_a_trace(const struct judge *j)
{
	const struct nic *nic = j->crowd->w.nic[j->side];
	struct nic_stats now = nic->stats;

	now.rx_packets = j->stats.rx_packets;
	now.rx_bytes = j->stats.rx_bytes;
	if (memcmp(&now, &j->stats, sizeof(now)))
		return true;
	for (int t = 0; t < CROWD_TYPES; t++) {
		struct judge_qp qp;

		look_at_qp(&qp, &end_of(j)->qp[t]);
		if (memcmp(&qp, &j->qp[t], sizeof(qp)))
			return true;
	}
	return false;
}

/* The start of a UC message a second time begins it again, just as before. */
static bool
is_restart(const struct judge *j, const struct wire_pkt *w)
{
	return (w->opcode & OP_TRANSPORT_MASK) == OP_UC && w->op->flags & OPF_START &&
	       w->psn == ((j->qp[CROWD_UC].rx_cum - 1) & 0xffffff);
}

/*
 * An acknowledgement of the weft framing says what is so; what was known before leaves no trace.
 * A header that comes back may tell the engine nothing that it wants to know. Nor does the NAK
 * repeated to a packet for a QP that failed leave one.
 */
static bool
is_old_news(const struct judge *j, const struct wire_pkt *w)
{
	return w->opcode == (OP_WEFT | OP_ACK) || (w->op->flags & OPF_BOUNCE) ||
	       (w->op->flags & OPF_WEFT && j->qp[CROWD_RC].state == SHM_QPS_ERR);
}

/* A dropped frame moves no RC QP. (UC counts on behind a gap.) */
static void
check_unmoved(const struct judge *j)
{
	struct judge_qp qp;

	look_at_qp(&qp, &end_of(j)->qp[CROWD_RC]);
	FUZZ_CHECK(qp.rx_cum == j->qp[CROWD_RC].rx_cum || qp.state != SHM_QPS_RTS);
	FUZZ_CHECK(qp.tx_una == j->qp[CROWD_RC].tx_una || qp.state != SHM_QPS_RTS);
	FUZZ_CHECK(qp.state == j->qp[CROWD_RC].state);
}

/* ---- memory ---- */

/* Bytes of the attacked block that are not as they were: from first to last. */
static bool
changed_run(const struct judge *j, uint32_t *first, uint32_t *last)
{
	const uint8_t *now = end_of(j)->block;
	uint32_t size = sizeof(j->block);

	if (!memcmp(now, j->block, size))
		return false;
	for (*first = 0; now[*first] == j->block[*first];)
		++*first;
	for (*last = size - 1; now[*last] == j->block[*last];)
		--*last;
	return true;
}

static bool
inside(const uint8_t *p, uint32_t len, uint64_t va, uint64_t va_len)
{
	uint64_t at = (uintptr_t)p;

	return at >= va && at + len <= va + va_len;
}

/* The window is never bound to more than the first half. */
static void
check_rights(const struct judge *j, const struct wire_pkt *w, const uint8_t *p, uint32_t len)
{
	const struct crowd_end *me = end_of(j);

	if (w->rkey == me->mr.mr->key)
		return;
	FUZZ_CHECK(w->rkey >> 8 == me->window->key >> 8);
	FUZZ_CHECK(inside(p, len, (uintptr_t)me->buf, CROWD_BUF / 2));
}

static void
check_atomic(const struct judge *j, const struct wire_pkt *w, const uint8_t *p, uint32_t len)
{
	uint64_t before, after;

	FUZZ_CHECK(inside(p, len, w->va, 8));
	memcpy(&after, (const void *)(uintptr_t)w->va, 8);
	memcpy(&before, j->block + (w->va - (uintptr_t)end_of(j)->block), 8);
	if ((w->opcode & ~OP_TRANSPORT_MASK) == OP_FETCH_ADD)
		FUZZ_CHECK(after == before + w->swap_add);
	else
		FUZZ_CHECK(before == w->compare && after == w->swap_add);
	check_rights(j, w, p, len);
}

/* The answer's value lies around what changed. */
static void
check_atomic_ack(const struct wire_pkt *w, const uint8_t *p, uint32_t len)
{
	bool found = false;

	FUZZ_CHECK(len <= 8);
	for (uint32_t off = 0; off <= 8 - len && !found; off++)
		found = !memcmp(p - off, &w->atomic_orig, 8);
	FUZZ_CHECK(found);
}

/* A datagram: IP header, then payload, at the start of the receive. */
static void
check_datagram(const struct judge *j, const struct wire_pkt *w, const uint8_t *frame,
               const uint8_t *p, uint32_t len)
{
	const uint8_t *buf = end_of(j)->buf;
	static const uint8_t zero[20];
	uint32_t skip = w->ipv6 ? 0 : sizeof(zero);

	FUZZ_CHECK(inside(p, len, (uintptr_t)buf, 40 + w->payload_len));
	FUZZ_CHECK(!memcmp(buf, zero, skip));
	FUZZ_CHECK(!memcmp(buf + skip, frame + w->l3_off, 40 - skip));
	FUZZ_CHECK(!memcmp(buf + 40, w->payload, w->payload_len));
}

static void
check_placed(const struct judge *j, const struct wire_pkt *w, const uint8_t *p, uint32_t len)
{
	uint32_t flags = w->op->flags;
	int type = (w->opcode & OP_TRANSPORT_MASK) == OP_UC ? CROWD_UC : CROWD_RC;

	FUZZ_CHECK(len <= w->payload_len && memmem(w->payload, w->payload_len, p, len));
	if (!(flags & OPF_WRITE))
		return;
	if (flags & OPF_RETH)
		check_rights(j, w, p, len);
	FUZZ_CHECK(inside(p, len, flags & OPF_RETH ? w->va : j->qp[type].rx_va, w->payload_len));
}

/* What changed in memory is what this frame may write there. */
static void
check_memory(const struct judge *j, const uint8_t *frame, const struct wire_pkt *w)
{
	uint32_t first, last, len;
	const uint8_t *p;

	if (!changed_run(j, &first, &last))
		return;
	p = end_of(j)->block + first;
	len = last - first + 1;
	FUZZ_CHECK(inside(p, len, (uintptr_t)end_of(j)->buf, CROWD_BUF));
	/* An atomic of some earlier packet may have run behind this one. */
	if (w->op->flags & OPF_WEFT && j->qp[CROWD_RC].has_rds)
		return;
	if (w->op->flags & OPF_ATOMIC)
		check_atomic(j, w, p, len);
	else if (w->op->flags & OPF_ATOMIC_ACK_ETH)
		check_atomic_ack(w, p, len);
	else if ((w->opcode & OP_TRANSPORT_MASK) == OP_UD)
		check_datagram(j, w, frame, p, len);
	else
		check_placed(j, w, p, len);
}

static void
check_unchanged(const struct judge *j)
{
	uint32_t first, last;

	FUZZ_CHECK(!changed_run(j, &first, &last));
}

void
judge_one(const struct judge *j, const uint8_t *frame, uint32_t len)
{
	const struct nic *nic = j->crowd->w.nic[j->side];
	uint64_t dropped = nb_drops(&nic->stats) - nb_drops(&j->stats);
	struct wire_pkt w;
	enum wire_bad bad;
	enum wire_kind kind = wire_parse(frame, len, &w, &bad);

	FUZZ_CHECK(nic->stats.rx_packets == j->stats.rx_packets + 1);
	FUZZ_CHECK(nic->stats.rx_bytes == j->stats.rx_bytes + len);
	FUZZ_CHECK(dropped <= 1);
	if (dropped)
		check_unmoved(j);
	else if (kind == WIRE_ROCE)
		FUZZ_CHECK(left_a_trace(j) || is_restart(j, &w) || is_old_news(j, &w));
	else
		FUZZ_CHECK(kind == WIRE_ARP || kind == WIRE_ND);
	if (!dropped && kind == WIRE_ROCE)
		check_memory(j, frame, &w);
	else
		check_unchanged(j);
}

void
judge_many(const struct judge *j, uint32_t n)
{
	const struct nic *nic = j->crowd->w.nic[j->side];

	FUZZ_CHECK(nic->stats.rx_packets == j->stats.rx_packets + n);
	FUZZ_CHECK(nb_drops(&nic->stats) - nb_drops(&j->stats) <= n);
}
