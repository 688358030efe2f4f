/* SPDX-License-Identifier: BSD-3-Clause */
#include "mark.h"
#include "rel_run.h"

/* Turns of two stacks and the link between them, in virtual time. */

static void
note_frames(struct run *r, enum rel_trace_kind kind, int side, struct pkt **pkts, uint32_t n)
{
	for (uint32_t i = 0; i < n && r->watch->trace; i++)
		rel_trace_frame(r->watch->trace, r->w.now_ns, kind, side, pkts[i]);
}

/* Some switch on the way is congested. */
static void
mark_some(struct run *r, struct pkt **pkts, uint32_t n)
{
	for (uint32_t i = 0; i < n && r->s->ce_ppm; i++) {
		uint8_t *l2 = pkts[i]->data;
		uint32_t l3_off = l2[12] == 0x81 && l2[13] == 0 ? 18 : 14;
		uint16_t type = (uint16_t)(l2[l3_off - 2] << 8 | l2[l3_off - 1]);

		if ((type == 0x0800 || type == 0x86dd) &&
		    prng_below(&r->prng, 1000000) < r->s->ce_ppm)
			r->watch->tally.nb_ce += mark_ce(l2 + l3_off);
	}
}

/* One turn of a side; whether a frame came or went. */
static bool
turn_side(struct run *r, int side)
{
	struct pkt *pkts[STACK_BURST];
	struct world *w = &r->w;
	struct port *port = w->port[side];
	uint32_t nb_in = port->ops->rx_burst(port, pkts, STACK_BURST, w->now_ns), nb_out, room;

	note_frames(r, REL_TRACE_ARRIVED, side, pkts, nb_in);
	if (nb_in)
		stack_rx(w->nic[side], pkts, nb_in, w->now_ns);
	stack_tick(w->nic[side], w->now_ns);
	room = port->ops->tx_room(port);
	nb_out = stack_tx(w->nic[side], pkts, room < STACK_BURST ? room : STACK_BURST, w->now_ns);
	note_frames(r, REL_TRACE_SENT, side, pkts, nb_out);
	mark_some(r, pkts, nb_out);
	if (port->ops->tx_burst(port, pkts, nb_out, w->now_ns) != nb_out)
		rel_bad(&r->o.verdict, "the link refuses frames for which it had room");
	return nb_in || nb_out;
}

/* When a stack or the link has something to do. */
static uint64_t
stacks_next_ns(const struct run *r)
{
	uint64_t next_ns = NEVER_NS;

	for (int side = 0; side < 2; side++) {
		struct port *port = r->w.port[side];

		next_ns = min_ns(next_ns, stack_next_ns(r->w.nic[side]));
		next_ns = min_ns(next_ns, port->ops->next_ns(port));
	}
	return next_ns;
}

/* Whether an application has something to look at. */
static bool
has_completions(const struct run *r)
{
	for (uint32_t p = 0; p < r->s->nb_pairs; p++)
		for (int side = 0; side < 2; side++) {
			const struct app_qp *qp = &r->ends[p][side].qp;

			if (atomic_load(&qp->scq.ring->ring.tail) != qp->scq.head ||
			    atomic_load(&qp->rcq.ring->ring.tail) != qp->rcq.head)
				return true;
		}
	return false;
}

void
run_turn(struct run *r, uint64_t apps_next_ns, uint64_t end_ns)
{
	bool moved = turn_side(r, 0) | turn_side(r, 1) | has_completions(r);
	uint64_t next_ns = min_ns(apps_next_ns, moved ? 0 : stacks_next_ns(r));
	uint64_t least_ns = r->w.now_ns + r->s->step_ns;

	if (next_ns < least_ns)
		next_ns = least_ns;
	r->w.now_ns = next_ns < end_ns || end_ns < least_ns ? next_ns : end_ns;
	r->nb_turns++;
}

void
run_rest(struct run *r, uint64_t ns)
{
	uint64_t end_ns = r->w.now_ns + ns;

	while (r->w.now_ns < end_ns)
		run_turn(r, NEVER_NS, end_ns);
}
