/* SPDX-License-Identifier: BSD-3-Clause */
#include "weft_msg.h"

#include "psn.h"
#include "weft_stream.h"

/*
 * What a packet says of itself, of its message and of its place in it must agree with what is
 * known. What does not is dropped and counted, and never answered by a NAK: it may be forged.
 */

#define KINDS (OPF_SEND | OPF_WRITE | OPF_READ | OPF_ATOMIC | OPF_READ_RESP | OPF_ATOMIC_RESP)
/** A WRITE MIDDLE does not say how far it is from the message's begin. */
#define IDX_UNKNOWN UINT32_MAX

const struct rel_msg *
weft_msg_of(const struct qp *qp, uint64_t msn)
{
	const struct weft_rx_msg *m = weft_msg_slot_of(&qp->win, msn);

	return m ? &m->rel : NULL;
}

/* ---- the shape of a packet: what it says of itself must agree with the path MTU ---- */

/* Of packets with an SPH parse has seen that offset, lengths and opcode agree. */
static bool
has_sph_shape(const struct qp *qp, struct weft_arrival *a)
{
	const struct wire_weft *f = &a->w->weft;
	uint32_t left = f->msg_len - f->offset;

	a->idx = f->offset >> __builtin_ctz(qp->mtu);
	if (f->offset & (qp->mtu - 1))
		return false;
	return (a->w->op->flags & OPF_VOID) ||
	       a->w->payload_len == (left < qp->mtu ? left : qp->mtu);
}

/* With the whole length in the RETH. */
static bool
has_write_shape(const struct qp *qp, struct weft_arrival *a)
{
	uint32_t len = a->w->dma_len, flags = a->w->op->flags, nb;

	if (flags & OPF_MIDDLE) {
		a->idx = IDX_UNKNOWN;
		return a->w->payload_len == qp->mtu && len > 2 * qp->mtu;
	}
	nb = weft_pkts_of(qp->mtu, len);
	a->idx = flags & OPF_END ? nb - 1 : 0;
	if (len > WEFT_MAX_MSG || !!(flags & OPF_ONLY) != (nb == 1))
		return false;
	return a->w->payload_len == (flags & OPF_END ? len - (nb - 1) * qp->mtu : qp->mtu);
}

static bool
has_shape(const struct qp *qp, struct weft_arrival *a)
{
	uint32_t flags = a->w->op->flags;

	if (flags & OPF_WRITE)
		return has_write_shape(qp, a);
	if (flags & OPF_SPH)
		return has_sph_shape(qp, a);
	a->idx = 0;
	return true;
}

/* ---- the message of a packet ---- */

static uint32_t
kind_of(uint32_t flags)
{
	return flags & OPF_VOID ? OPF_SEND : flags & KINDS;
}

static uint32_t
length_of(const struct wire_pkt *w)
{
	if (w->op->flags & OPF_WRITE)
		return w->dma_len;
	return w->op->flags & OPF_SPH ? w->weft.msg_len : 0;
}

static uint32_t
ref_of(const struct wire_pkt *w)
{
	return w->op->flags & (OPF_READ_RESP | OPF_ATOMIC_RESP) ? w->weft.req_msn : w->weft.ssn;
}

/* A message as its first packet has it. */
static void
make_fresh(const struct qp *qp, struct weft_arrival *a)
{
	const struct wire_pkt *w = a->w;
	struct weft_rx_msg *m = &a->fresh;

	m->kind = kind_of(w->op->flags);
	m->length = length_of(w);
	m->ref = ref_of(w);
	m->rel = (struct rel_msg){.msn = a->msn,
	                          .first_psn = REL_PSN_UNKNOWN,
	                          .nb_psns = weft_pkts_of(qp->mtu, m->length)};
	m->end_flags = 0;
	m->is_refused = m->solicited = false;
	m->rkey = w->rkey;
	a->m = m;
}

/* Whether a packet can be of a message that has begun. */
static bool
matches(const struct weft_rx_msg *m, const struct wire_pkt *w)
{
	if (m->kind != kind_of(w->op->flags) || m->length != length_of(w))
		return false;
	return m->kind == OPF_WRITE ? m->rkey == w->rkey : m->ref == ref_of(w);
}

/* Runs of neighbours touch: where a message begins, if that is known of what is around it. */
static uint64_t
first_from_before(const struct weft_in *in, uint64_t msn)
{
	const struct weft_rx_msg *m;

	if (msn == in->emsn)
		return in->emsn_psn;
	m = weft_msg_slot_of(in, msn - 1);
	return m && m->rel.first_psn != REL_PSN_UNKNOWN ? m->rel.first_psn + m->rel.nb_psns
	                                                : REL_PSN_UNKNOWN;
}

static bool
touches_next(const struct weft_in *in, const struct rel_msg *rel)
{
	const struct weft_rx_msg *next = weft_msg_slot_of(in, rel->msn + 1);

	return !next || next->rel.first_psn == REL_PSN_UNKNOWN ||
	       next->rel.first_psn == rel->first_psn + rel->nb_psns;
}

/* Whether the packet has its place in the message's run of PSNs, as far as that is known. */
static bool
fits_run(const struct weft_in *in, struct weft_arrival *a)
{
	struct rel_msg *rel = &a->m->rel;
	uint64_t first = rel->first_psn, idx;

	if (first == REL_PSN_UNKNOWN)
		first = first_from_before(in, a->msn);
	if (first == REL_PSN_UNKNOWN && a->idx == IDX_UNKNOWN)
		return true;
	if (first == REL_PSN_UNKNOWN)
		first = a->psn - a->idx;
	idx = a->psn - first;
	if (a->idx == IDX_UNKNOWN ? idx == 0 || idx + 1 >= rel->nb_psns : idx != a->idx)
		return false;
	if (first == rel->first_psn)
		return true;
	rel->first_psn = first;
	a->has_told_first = true;
	return touches_next(in, rel);
}

/* Whether it can be of its message, as far as that is known. */
static bool
fits(const struct qp *qp, struct weft_arrival *a)
{
	const struct weft_in *in = &qp->win;
	bool is_old = a->psn < qp->rel->rx_cum;

	if (a->msn < in->emsn)
		return is_old;
	if (a->msn - in->emsn >= qp->terms.max_msgs)
		return false;
	if (a->m == &a->fresh ? is_old : !matches(a->m, a->w))
		return false;
	return fits_run(in, a);
}

bool
weft_msg_find(struct qp *qp, struct weft_arrival *a)
{
	a->has_told_first = false;
	if (!has_shape(qp, a))
		return false;
	a->m = weft_msg_slot_of(&qp->win, a->msn);
	if (!a->m)
		make_fresh(qp, a);
	if (fits(qp, a))
		return true;
	weft_msg_forget(a);
	return false;
}

void
weft_msg_forget(const struct weft_arrival *a)
{
	if (a->has_told_first)
		a->m->rel.first_psn = REL_PSN_UNKNOWN;
}

void
weft_msg_open(struct weft_in *in, struct weft_arrival *a)
{
	uint32_t slot = weft_msg_slot(in, a->msn);

	if (a->m != &a->fresh)
		return;
	a->m = &in->rx->msgs[slot];
	*a->m = a->fresh;
	in->rx->msgs_used[slot / 64] |= UINT64_C(1) << slot % 64;
	in->nb_msgs++;
}

void
weft_msg_close(struct weft_in *in, uint64_t msn)
{
	uint32_t slot = weft_msg_slot(in, msn);

	in->rx->msgs_used[slot / 64] &= ~(UINT64_C(1) << slot % 64);
	in->nb_msgs--;
}
