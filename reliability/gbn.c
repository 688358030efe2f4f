/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Go-back-N: the reliable connection as the standard has it (IBA vol. 1, ch. 9).
 *
 * The receiver takes the packet it expects and nothing else. The first packet beyond a gap is
 * answered by a NAK that names the expected PSN; the NAK acknowledges all below it. The sender then
 * sends everything from there on again, once per gap. Silence for ack_timeout_ns does the same.
 *
 * Under rocev2 one packet of a READ spends the PSNs of all its responses: it counts as one packet
 * in flight, is acknowledged by its last response, and when sent again asks for the responses that
 * are missing. An engine that never meets rel_msg.one_pkt, as under framing weft, takes none of
 * that.
 *
 * Left open by the standard, and what we chose:
 * - A NAK whose repetition is lost too is not sent a second time; recovery waits for the timer.
 * With `renak` it is, at most so often, as simulators of RoCE NICs do (500 us in the code of DCQCN
 * and HPCC, 4 us in ConWeave's), and the sender obeys such a repeated NAK at most so often. Both
 * ends want the same value, longer than the round trip, or one loss costs several rewinds.
 * - The timer measures silence. An answer unlike the one before it restarts it, also if it
 *   acknowledges nothing: responses of a READ behind a lost one, or of a READ that was asked for
 *   once too often, show a peer at work, behind which a repeat would only queue. Linux's rxe lets
 *   every answer do that (rxe_comp.c). Here one that is repeated does not: a peer that always says
 *   the same cannot hold off recovery.
 */
#include "reliability.h"

#include <assert.h>

/** PSNs outstanding stay below half the circle, or old and new could not be told apart. */
#define PSNS_MAX ((UINT64_C(1) << 23) - 1)

struct gbn_params {
	uint64_t renak_ns; /**< 0 = one NAK per gap */
};

static const struct param_desc gbn_param_descs[] = {
	{"renak", PARAM_U64, offsetof(struct gbn_params, renak_ns), 0, 0, 1e9, "ns",
         "IBA vol. 1, ch. 9: one NAK per gap (0)"},
	{0},
};

struct gbn {
	struct rel_head head;
	const struct rel_qp *qp;
	uint64_t renak_ns;

	/* sender: tx_una <= tx_nxt <= tx_max <= qp->tx_end_psn */
	uint64_t tx_nxt;     /**< goes next */
	uint64_t tx_max;     /**< never sent so far */
	uint64_t una_msn;    /**< message of tx_una */
	uint64_t nxt_msn;    /**< message of tx_nxt */
	uint64_t rewound_to; /**< gap that the last rewind was for; REL_PSN_UNKNOWN = none */
	uint64_t rewound_ns; /**< when that was */
	uint64_t heard;      /**< PSN of the last answer */

	/* receiver */
	uint64_t nak_ns; /**< when the last NAK was sent */
	bool nak_sent;   /**< for the present rx_cum */

	uint64_t nb_rewinds;
	uint64_t nb_naks_ignored;
};

static const struct stat_desc gbn_stat_descs[] = {
	{"gbn_rewinds", offsetof(struct gbn, nb_rewinds)},
	{"gbn_naks_ignored", offsetof(struct gbn, nb_naks_ignored)},
	{0},
};

/* ---- sender half ---- */

static const struct rel_msg *
msg_at(const struct gbn *s, uint64_t msn)
{
	return &s->qp->tx_msgs[msn & s->qp->msg_mask];
}

static uint64_t
msg_end(const struct rel_msg *msg)
{
	return msg->first_psn + msg->nb_psns;
}

/** PSNs that the packet at tx_nxt spends. */
static uint32_t
psns_next(const struct gbn *s)
{
	const struct rel_msg *msg = msg_at(s, s->nxt_msn);

	return msg->one_pkt ? (uint32_t)(msg_end(msg) - s->tx_nxt) : 1;
}

static bool
may_send(const struct gbn *s)
{
	return s->tx_nxt != s->qp->tx_end_psn && s->head.inflight_pkts < s->qp->window_pkts &&
	       s->tx_nxt + psns_next(s) - s->head.tx_una <= PSNS_MAX;
}

/**
 * Count the packets of PSNs [from, to) into runs. A READ counts with its last PSN, as its first.
 *
 * @param msn  message of from.
 * @return     message of to.
 */
static uint64_t
count_pkts(const struct gbn *s, uint64_t msn, uint64_t from, uint64_t to, struct rel_runs *runs)
{
	while (from < to) {
		const struct rel_msg *msg = msg_at(s, msn);
		uint64_t end = msg_end(msg);
		uint64_t stop = end < to ? end : to;

		if (!msg->one_pkt)
			rel_runs_add(runs, from, (uint32_t)(stop - from));
		else if (stop == end)
			rel_runs_add(runs, msg->first_psn, 1);
		if (stop == end)
			msn++;
		from = stop;
	}
	return msn;
}

static void
restart_timer(struct gbn *s, uint64_t now_ns)
{
	bool waiting = s->head.inflight_pkts > 0 && s->qp->ack_timeout_ns > 0;

	s->head.deadline_ns = waiting ? now_ns + s->qp->ack_timeout_ns : NEVER_NS;
}

/** All below cum is acknowledged. */
static void
advance(struct gbn *s, uint64_t cum, uint64_t now_ns, struct rel_out *out)
{
	if (cum <= s->head.tx_una)
		return;
	s->una_msn = count_pkts(s, s->una_msn, s->head.tx_una, cum, &out->acked);
	s->head.tx_una = cum;
	if (cum < s->tx_nxt) {
		s->head.inflight_pkts -= out->acked.nb_pkts;
	} else { /* also what was to be sent again has arrived the first time */
		s->tx_nxt = cum;
		s->nxt_msn = s->una_msn;
		s->head.inflight_pkts = 0;
	}
	restart_timer(s, now_ns);
}

/** The peer spoke. If it does more than repeat itself, it is not silent. */
static void
hear(struct gbn *s, uint64_t psn, uint64_t now_ns)
{
	if (psn != s->heard && s->head.deadline_ns != NEVER_NS)
		restart_timer(s, now_ns);
	s->heard = psn;
}

/** Send all that is not acknowledged again. */
static void
rewind_to_una(struct gbn *s)
{
	s->tx_nxt = s->head.tx_una;
	s->nxt_msn = s->una_msn;
	s->head.inflight_pkts = 0;
	s->head.deadline_ns = NEVER_NS; /* nothing is waited for until something is sent */
	s->rewound_to = REL_PSN_UNKNOWN;
	s->nb_rewinds++;
}

/** As rewind_to_una; what was in flight is lost. */
static void
lose_flight(struct gbn *s, struct rel_out *out)
{
	count_pkts(s, s->una_msn, s->head.tx_una, s->tx_nxt, &out->lost);
	rewind_to_una(s);
}

static void
on_gap(struct gbn *s, uint64_t cum, uint64_t now_ns, struct rel_out *out)
{
	bool again = cum == s->rewound_to;

	if (cum != s->head.tx_una || s->tx_nxt == cum)
		return; /* an old answer, or about to be sent anyway */
	if (again && (s->renak_ns == 0 || now_ns - s->rewound_ns < s->renak_ns)) {
		s->nb_naks_ignored++;
		return;
	}
	lose_flight(s, out);
	s->rewound_to = cum;
	s->rewound_ns = now_ns;
}

static bool
gbn_tx_next(void *state, uint64_t now_ns, struct rel_tx *tx)
{
	struct gbn *s = state;
	const struct rel_msg *msg;

	if (!s->head.tx_ready) /* true to the state after each call */
		return false;
	msg = msg_at(s, s->nxt_msn);
	tx->psn = s->tx_nxt;
	tx->nb_psns = psns_next(s);
	tx->retransmit = s->tx_nxt < s->tx_max;

	s->tx_nxt += tx->nb_psns;
	if (s->tx_nxt > s->tx_max)
		s->tx_max = s->tx_nxt;
	if (s->tx_nxt == msg_end(msg)) {
		tx->ack_req = true;
		s->nxt_msn++;
	}
	s->head.inflight_pkts++;
	if (s->head.deadline_ns == NEVER_NS)
		restart_timer(s, now_ns);
	s->head.tx_ready = may_send(s);
	return true;
}

static void
gbn_on_post(void *state, const struct rel_msg *msg, uint64_t now_ns)
{
	struct gbn *s = state;

	(void)now_ns;
	assert(s->tx_nxt != msg->first_psn || s->nxt_msn == msg->msn);
	s->head.tx_ready = may_send(s);
}

static void
gbn_on_ack(void *state, const struct rel_ack *ack, uint64_t now_ns, struct rel_out *out)
{
	struct gbn *s = state;

	switch (ack->kind) {
	case REL_ACK:
	case REL_GAP:
	case REL_REWIND:
		assert(ack->cum <= s->tx_max);
		advance(s, ack->cum, now_ns, out);
		hear(s, ack->psn, now_ns);
		if (ack->kind == REL_GAP)
			on_gap(s, ack->cum, now_ns, out);
		if (ack->kind == REL_REWIND)
			rewind_to_una(s);
		break;
	case REL_MISSING:
	case REL_RESTART:
	case REL_TRIMMED:
		return; /* answers to what our receiver half never says */
	}
	s->head.tx_ready = may_send(s);
}

static void
gbn_on_timer(void *state, uint64_t now_ns, struct rel_out *out)
{
	struct gbn *s = state;

	if (now_ns < s->head.deadline_ns)
		return;
	if (s->qp->ack_timeout_ns == 0) { /* switched off meanwhile */
		s->head.deadline_ns = NEVER_NS;
		return;
	}
	lose_flight(s, out);
	out->timeout = true;
	s->head.tx_ready = may_send(s);
}

/* ---- receiver half ---- */

static void
gbn_on_data(void *state, const struct rel_rx *rx, uint64_t now_ns, struct rel_rx_out *out)
{
	struct gbn *s = state;

	if (rx->psn == s->head.rx_cum) {
		s->head.rx_cum += rx->nb_psns;
		s->nak_sent = false;
		out->place = REL_PLACE;
	} else if (rx->psn < s->head.rx_cum) {
		out->place = REL_DUPLICATE;
	} else {
		out->place = REL_DROP;
		if (s->nak_sent && (s->renak_ns == 0 || now_ns - s->nak_ns < s->renak_ns))
			return;
		out->resp = REL_RESP_GAP;
		s->nak_sent = true;
		s->nak_ns = now_ns;
	}
}

/* ---- set-up ---- */

static size_t
gbn_state_size(const void *params, const struct engine_env *env)
{
	(void)params;
	(void)env;
	return sizeof(struct gbn);
}

static void
gbn_init(void *state, const void *params, const struct engine_env *env, const struct rel_qp *qp)
{
	const struct gbn_params *p = params;
	struct gbn *s = state;

	(void)env;
	*s = (struct gbn){
		.head = {.deadline_ns = NEVER_NS, .rx_cum = qp->rx_first_psn},
		.qp = qp,
		.renak_ns = p->renak_ns,
		.rewound_to = REL_PSN_UNKNOWN,
	};
}

static void
gbn_start(void *state, uint64_t now_ns)
{
	struct gbn *s = state;

	(void)now_ns;
	assert(s->qp->tx_first_msn == s->qp->tx_end_msn);
	s->head.tx_una = s->qp->tx_first_psn;
	s->tx_nxt = s->qp->tx_first_psn;
	s->tx_max = s->qp->tx_first_psn;
	s->una_msn = s->qp->tx_end_msn;
	s->nxt_msn = s->qp->tx_end_msn;
}

const struct reliability_ops gbn_ops = {
	.info =
		{
			.name = "gbn",
			.source = "IBA vol. 1, ch. 9, reliable connection",
			.params_size = sizeof(struct gbn_params),
			.params = gbn_param_descs,
			.stats = gbn_stat_descs,
		},
	.tx_next = gbn_tx_next,
	.on_post = gbn_on_post,
	.on_ack = gbn_on_ack,
	.on_timer = gbn_on_timer,
	.on_data = gbn_on_data,
	.state_size = gbn_state_size,
	.init = gbn_init,
	.start = gbn_start,
};
