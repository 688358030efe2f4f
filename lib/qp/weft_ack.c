/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "comp.h"
#include "lease.h"
#include "path.h"
#include "psn.h"
#include "resp.h"
#include "weft_hdr.h"
#include "weft_stream.h"

/*
 * Acknowledgements of the weft framing: what is to be said when, and the packet. Every one says how
 * far its stream has come, whatever else it is for; so one that is lost is made good by the next.
 */

const uint8_t weft_no_ext[REL_EXT_MAX];

/* ---- what to say ---- */

void
weft_ack_now(struct qp *qp)
{
	if (qp->win.is_mute)
		return;
	qp->win.ack_due = true;
	qp_respond(qp);
}

void
weft_mute(struct qp *qp)
{
	struct weft_in *in = &qp->win;

	in->is_mute = true;
	in->ack_due = false;
	in->ack_due_ns = NEVER_NS;
	if (!in->nb_faults)
		lease_fifo_end(qp);
}

bool
weft_ack_waits(const struct qp *qp)
{
	return qp->win.ack_due || qp->fifo_head != qp->fifo_tail;
}

/* One with a syndrome of its own. */
static void
push(struct qp *qp, uint8_t syndrome, uint64_t value)
{
	resp_push(qp, &(struct resp){.kind = RESP_ACK,
	                             .syndrome = syndrome,
	                             .psn = value,
	                             .sport = qp->win.sport,
	                             .ts_ns = qp->win.ts_ns,
	                             .came_ns = qp->win.came_ns});
}

static void
push_missing(struct qp *qp, const struct rel_rx_out *out)
{
	assert(out->miss_count <= REL_MISSING_MAX);
	for (uint32_t i = 0; i < out->miss_count; i++)
		push(qp, NAK_MISSING, out->miss_first + (uint64_t)i * out->miss_stride);
}

/* Of the newest packet: what an acknowledgement echoes. */
static void
note_newest(struct weft_in *in, const struct wire_pkt *w, uint64_t now_ns)
{
	in->sport = w->udp_sport;
	in->ack_psn = w->psn;
	in->came_ns = now_ns;
	if (w->weft.has_ts)
		in->ts_ns = w->weft.ts_ns;
}

/* The first mark since the last acknowledgement. */
static bool
is_news(const struct qp *qp, const struct wire_pkt *w)
{
	return (w->tos & IP_ECN_MASK) == ECN_CE && !qp->win.ce &&
	       (qp->terms.rx_wire & WIRE_CE_ECHO);
}

/* What has a syndrome of its own. */
static bool
answer_own(struct qp *qp, const struct rel_rx *rx, const struct rel_rx_out *out)
{
	switch (out->resp) {
	case REL_RESP_GAP:
		push(qp, AETH_NAK_PSN, rx->psn);
		return true;
	case REL_RESP_MISSING:
		push_missing(qp, out);
		return true;
	case REL_RESP_RESTART:
		push(qp, NAK_RESTART, rx->msn);
		return true;
	case REL_RESP_NONE:
	case REL_RESP_ACK:
	case REL_RESP_BOUNCE:
		break;
	}
	if (out->place == REL_DROP || !(qp->rel_ops->info.wire & WIRE_ACK_EACH))
		return false;
	push(qp, AETH_ACK, rx->psn);
	return true;
}

/* Whether a plain one is due. */
static bool
is_due(const struct qp *qp, const struct wire_pkt *w, const struct rel_rx_out *out)
{
	if (out->resp == REL_RESP_ACK || out->place == REL_DUPLICATE)
		return true;
	return out->place == REL_PLACE && (w->ack_req || qp->win.nb_unacked >= qp->win.ack_every);
}

void
weft_answer(struct qp *qp, const struct wire_pkt *w, const struct rel_rx *rx,
            const struct rel_rx_out *out, uint64_t now_ns)
{
	struct weft_in *in = &qp->win;

	note_newest(in, w, now_ns);
	if (qp->rel_ops->ack_ext_len && in->has_echo)
		memcpy(in->rx->ack_ext, out->ext, qp->rel_ops->ack_ext_len);
	if (is_news(qp, w)) {
		in->ce = true;
		weft_ack_now(qp);
	}
	if (in->is_mute)
		return;
	in->nb_unacked += out->place != REL_DROP;
	if (answer_own(qp, rx, out))
		return;
	if (is_due(qp, w, out)) {
		weft_ack_now(qp);
	} else if (qp->terms.ack_delay_us && in->nb_unacked && in->ack_due_ns == NEVER_NS &&
	           !in->ack_due) {
		in->ack_due_ns = now_ns + qp->terms.ack_delay_us * UINT64_C(1000);
		comp_arm(qp);
	}
}

/* ---- the packet ---- */

/* Nothing is acknowledged that will be refused. */
static uint64_t
cum_of(const struct qp *qp)
{
	const struct weft_in *in = &qp->win;
	uint64_t cum = qp->rel->rx_cum, fault;

	if (in->fault_msn == WEFT_NONE || in->fault_msn < in->emsn)
		return cum;
	fault = psn_unwrap(cum, in->fault_psn);
	return fault < cum ? fault : cum;
}

static void
fill_blocks(const struct qp *qp, uint64_t cum, const struct resp *r, struct wire_weft *f)
{
	const struct weft_in *in = &qp->win;
	const struct rel_head *rel = qp->rel;
	uint64_t ssn;

	f->has_rnr = in->nb_refused != 0;
	if (f->has_rnr) {
		f->rnr_msn = (uint32_t)weft_first_refused(qp, &ssn)->refused_msn & PSN_MASK;
		f->rnr_ssn = (uint32_t)ssn & PSN_MASK;
		f->rnr_code = qp->attr.min_rnr_timer & AETH_VALUE_MASK;
	}
	f->has_sack = (qp->terms.rx_wire & WIRE_SACK) && rel->sack_bits && cum == rel->rx_cum;
	if (f->has_sack) {
		f->sack_off = (uint16_t)(rel->sack_base - cum);
		f->sack_bits = rel->sack_bits;
	}
	f->has_ts = qp->terms.rx_wire & WIRE_TS;
	if (f->has_ts) {
		f->ts_ns = r->ts_ns;
		f->held_ns = (uint32_t)(qp->nic->now_ns - r->came_ns);
	}
	f->ce = in->ce;
	f->ext_len = qp->rel_ops->ack_ext_len;
	f->ext = in->has_echo ? in->rx->ack_ext : weft_no_ext;
	f->nb_slots = 0;
	if (in->has_echo && qp->terms.rx_slots && in->rx->int_area[0] >> 4 <= qp->terms.rx_slots) {
		f->nb_slots = in->rx->int_area[0] >> 4;
		f->int_area = in->rx->int_area;
	}
}

/* The QP has ended. What it refused was done with, and never delivered: it must not complete. */
static void
fill_fatal(const struct weft_in *in, const struct resp *r, struct wire_pkt *w)
{
	w->msn = r->msn;
	w->weft.has_rnr = in->fault_refuses;
	w->weft.rnr_ssn = in->fault_rnr_ssn;
	w->weft.rnr_msn = in->fault_rnr_msn;
}

/* The oldest that has a syndrome of its own, else a plain one. */
static struct resp
next(struct qp *qp)
{
	const struct weft_in *in = &qp->win;
	struct resp r;

	if (qp->fifo_head == qp->fifo_tail)
		return (struct resp){
			.syndrome = qp->rel_ops->info.wire & WIRE_COUNT ? ACK_COUNT : AETH_ACK,
			.psn = qp->rel_ops->info.wire & WIRE_COUNT ? qp->rel->rx_count
		                                                   : in->ack_psn,
			.sport = in->sport,
			.ts_ns = in->ts_ns,
			.came_ns = in->came_ns,
		};
	r = qp->fifo[qp->fifo_head++ % RESP_FIFO_LEN];
	if (qp->fifo_head == qp->fifo_tail)
		lease_fifo_end(qp);
	return r;
}

void
weft_ack_tx(struct qp *qp)
{
	struct weft_in *in = &qp->win;
	uint64_t cum = cum_of(qp);
	struct resp r = next(qp);
	struct wire_pkt w = {
		.opcode = OP_WEFT | OP_ACK,
		.mig_req = true,
		.pkey = PKEY_DEFAULT,
		.dest_qpn = qp->attr.dest_qpn,
		.psn = (uint32_t)cum & PSN_MASK,
		.msn = (uint32_t)in->emsn & PSN_MASK,
		.syndrome = r.syndrome,
		.weft = {.value = (uint32_t)r.psn & PSN_MASK,
	                 .tag = qp->terms.rx_wire & WIRE_TRIM ? DCP_ACK : DCP_OTHER},
	};

	if (weft_ack_is_fatal(r.syndrome))
		fill_fatal(in, &r, &w);
	else
		fill_blocks(qp, cum, &r, &w.weft);
	path_plan(qp, &w, r.sport ? r.sport : path_sport(qp), ECN_NOT_ECT);
	in->ack_due = in->ce = in->has_echo = false;
	in->nb_unacked = 0;
	in->ack_due_ns = NEVER_NS;
	weft_in_rest(qp);
}
