/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selective repeat: the receiver takes packets in any order within the window. A packet is sent
 * again when LATER_PKTS that were sent after it have arrived, or after silence.
 */
#include "sr.h"

#include "bitmap.h"

#define LATER_PKTS 3
#define LEN 1024 /* of the bitmaps; no window of the tests is longer */

struct sr {
	struct rel_head head;
	const struct rel_qp *qp;
	uint64_t tx_nxt;  /* never sent so far */
	uint64_t tx_fack; /* behind the highest that is known to have arrived */
	uint64_t tx_lost; /* none below is to be sent again */
	uint64_t rx_end;  /* behind the highest that arrived */
	struct bitmap acked, lost, here;
	uint64_t words[3][LEN / 64];
	uint64_t sent_nxt[LEN]; /* tx_nxt behind its last sending */
};

/* ---- sender half ---- */

static void
ready(struct sr *s)
{
	while (s->tx_lost < s->tx_nxt && !bitmap_test(&s->lost, s->tx_lost))
		s->tx_lost++;
	s->head.tx_ready =
		s->tx_lost < s->tx_nxt ||
		(s->tx_nxt < s->qp->tx_end_psn && s->tx_nxt - s->head.tx_una < s->qp->window_pkts);
	if (!s->head.inflight_pkts)
		s->head.deadline_ns = NEVER_NS;
}

static void
restart(struct sr *s, uint64_t now_ns)
{
	s->head.deadline_ns = s->head.inflight_pkts && s->qp->ack_timeout_ns
	                              ? now_ns + s->qp->ack_timeout_ns
	                              : NEVER_NS;
}

static bool
sr_tx_next(void *state, uint64_t now_ns, struct rel_tx *tx)
{
	struct sr *s = state;

	if (!s->head.tx_ready)
		return false;
	tx->retransmit = s->tx_lost < s->tx_nxt;
	tx->psn = tx->retransmit ? s->tx_lost : s->tx_nxt++;
	tx->ack_req = tx->retransmit || s->tx_nxt == s->qp->tx_end_psn;
	bitmap_clear(&s->lost, tx->psn);
	if (!tx->retransmit)
		bitmap_clear(&s->acked, tx->psn);
	s->sent_nxt[tx->psn % LEN] = s->tx_nxt;
	s->head.inflight_pkts++;
	if (s->head.deadline_ns == NEVER_NS)
		restart(s, now_ns);
	ready(s);
	return true;
}

static void
sr_on_post(void *state, const struct rel_msg *msg, uint64_t now_ns)
{
	(void)msg;
	(void)now_ns;
	ready(state);
}

static void
arrived(struct sr *s, uint64_t psn, struct rel_out *out)
{
	if (psn < s->head.tx_una || psn >= s->tx_nxt || bitmap_set(&s->acked, psn))
		return;
	s->head.inflight_pkts -= !bitmap_test(&s->lost, psn);
	bitmap_clear(&s->lost, psn);
	rel_runs_add(&out->acked, psn, 1);
	if (psn >= s->tx_fack)
		s->tx_fack = psn + 1;
}

static void
lose(struct sr *s, uint64_t psn, struct rel_out *out)
{
	if (bitmap_test(&s->acked, psn) || bitmap_set(&s->lost, psn))
		return;
	s->head.inflight_pkts--;
	rel_runs_add(&out->lost, psn, 1);
	if (psn < s->tx_lost)
		s->tx_lost = psn;
}

static void
sr_on_ack(void *state, const struct rel_ack *ack, uint64_t now_ns, struct rel_out *out)
{
	struct sr *s = state;

	for (uint64_t psn = s->head.tx_una; psn < ack->cum; psn++)
		arrived(s, psn, out);
	if (s->head.tx_una < ack->cum)
		s->head.tx_una = ack->cum;
	if (ack->kind == REL_GAP)
		arrived(s, ack->psn, out);
	for (uint32_t i = 0; i < 64; i++)
		if (ack->sack_bits >> i & 1)
			arrived(s, ack->sack_base + i, out);
	for (uint64_t psn = s->head.tx_una; psn < s->tx_fack; psn++)
		if (s->sent_nxt[psn % LEN] + LATER_PKTS <= s->tx_fack)
			lose(s, psn, out);
	if (s->tx_lost < s->head.tx_una)
		s->tx_lost = s->head.tx_una;
	if (out->acked.nb_pkts)
		restart(s, now_ns);
	ready(s);
}

static void
sr_on_timer(void *state, uint64_t now_ns, struct rel_out *out)
{
	struct sr *s = state;

	if (now_ns < s->head.deadline_ns)
		return;
	for (uint64_t psn = s->head.tx_una; psn < s->tx_nxt; psn++)
		lose(s, psn, out);
	out->timeout = true;
	ready(s);
}

/* ---- receiver half ---- */

static void
sr_on_data(void *state, const struct rel_rx *rx, uint64_t now_ns, struct rel_rx_out *out)
{
	struct sr *s = state;
	struct rel_head *h = &s->head;
	bool fills = rx->psn == h->rx_cum && rx->psn + 1 < s->rx_end;

	(void)now_ns;
	if (rx->psn < h->rx_cum || (rx->psn < s->rx_end && bitmap_test(&s->here, rx->psn))) {
		out->place = REL_DUPLICATE;
		return;
	}
	if (rx->psn >= h->rx_cum + s->qp->window_pkts) {
		out->place = REL_DROP;
		return;
	}
	for (; s->rx_end <= rx->psn; s->rx_end++)
		bitmap_clear(&s->here, s->rx_end);
	bitmap_set(&s->here, rx->psn);
	while (h->rx_cum < s->rx_end && bitmap_test(&s->here, h->rx_cum))
		h->rx_cum++;
	out->resp = rx->psn >= h->rx_cum ? REL_RESP_GAP : fills ? REL_RESP_ACK : REL_RESP_NONE;
	h->sack_base = h->rx_cum + (rx->psn > h->rx_cum ? (rx->psn - h->rx_cum) / 64 * 64 : 0);
	h->sack_bits = 0;
	for (uint32_t i = 0; i < 64 && h->sack_base + i < s->rx_end; i++)
		h->sack_bits |= (uint64_t)bitmap_test(&s->here, h->sack_base + i) << i;
}

/* ---- set-up ---- */

static size_t
sr_state_size(const void *params, const struct engine_env *env)
{
	(void)params;
	(void)env;
	return sizeof(struct sr);
}

static void
sr_init(void *state, const void *params, const struct engine_env *env, const struct rel_qp *qp)
{
	struct sr *s = state;

	(void)params;
	assert(env->window_pkts <= LEN);
	*s = (struct sr){.head = {.deadline_ns = NEVER_NS, .rx_cum = qp->rx_first_psn},
	                 .qp = qp,
	                 .rx_end = qp->rx_first_psn,
	                 .acked = bitmap_of(s->words[0], LEN),
	                 .lost = bitmap_of(s->words[1], LEN),
	                 .here = bitmap_of(s->words[2], LEN)};
}

static void
sr_start(void *state, uint64_t now_ns)
{
	struct sr *s = state;

	(void)now_ns;
	s->head.tx_una = s->tx_nxt = s->tx_fack = s->tx_lost = s->qp->tx_first_psn;
}

#define SR(text, parts)                                                                            \
	{                                                                                          \
		.info = {.name = text, .source = "a test", .needs = TRAIT_WEFT, .wire = parts},    \
		.tx_next = sr_tx_next, .on_post = sr_on_post, .on_ack = sr_on_ack,                 \
		.on_timer = sr_on_timer, .on_data = sr_on_data, .state_size = sr_state_size,       \
		.init = sr_init, .start = sr_start,                                                \
	}

const struct reliability_ops sr_ops = SR("sr", WIRE_SACK);
const struct reliability_ops sr_all_ops =
	SR("sr-all", WIRE_SACK | WIRE_TS | WIRE_CE_ECHO | WIRE_ACK_EACH);
