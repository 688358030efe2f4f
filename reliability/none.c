/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No reliability: what UC and UD run on (IBA vol. 1, ch. 9, unreliable services).
 *
 * Packets leave once, in order, and are done with when they leave: tx_una follows at once, nothing
 * is ever in flight. Whatever arrives is placed, and the next PSN is expected after it; that a
 * message with a gap is dropped up to the next FIRST (UC) is a matter of opcodes and so the host's,
 * which compares rel_rx.psn with rx_cum before the call.
 *
 * Ours: a PSN from behind also sets what is expected next, but rx_cum never falls. It goes once
 * round the 24-bit circle instead, so that no sequence of PSNs, however hostile, can make it
 * underflow.
 */
#include "psn.h"
#include "reliability.h"

struct none {
	struct rel_head head;
	const struct rel_qp *qp;
};

static bool
none_tx_next(void *state, uint64_t now_ns, struct rel_tx *tx)
{
	struct none *s = state;

	(void)now_ns;
	if (s->head.tx_una == s->qp->tx_end_psn) {
		s->head.tx_ready = false;
		return false;
	}
	tx->psn = s->head.tx_una++;
	s->head.tx_ready = s->head.tx_una != s->qp->tx_end_psn;
	return true;
}

static void
none_on_post(void *state, const struct rel_msg *msg, uint64_t now_ns)
{
	struct none *s = state;

	(void)msg;
	(void)now_ns;
	s->head.tx_ready = true;
}

/* Nobody answers and nothing is waited for; an answer is a peer's mistake and says nothing. */
static void
none_on_ack(void *state, const struct rel_ack *ack, uint64_t now_ns, struct rel_out *out)
{
	(void)state;
	(void)ack;
	(void)now_ns;
	(void)out;
}

static void
none_on_timer(void *state, uint64_t now_ns, struct rel_out *out)
{
	(void)state;
	(void)now_ns;
	(void)out;
}

static void
none_on_data(void *state, const struct rel_rx *rx, uint64_t now_ns, struct rel_rx_out *out)
{
	struct none *s = state;
	uint64_t cum = rx->psn + 1;

	(void)now_ns;
	if (cum < s->head.rx_cum)
		cum += PSN_MASK + UINT64_C(1);
	s->head.rx_cum = cum;
	out->place = REL_PLACE;
}

static size_t
none_state_size(const void *params, const struct engine_env *env)
{
	(void)params;
	(void)env;
	return sizeof(struct none);
}

static void
none_init(void *state, const void *params, const struct engine_env *env, const struct rel_qp *qp)
{
	struct none *s = state;

	(void)params;
	(void)env;
	*s = (struct none){
		.head = {.deadline_ns = NEVER_NS, .rx_cum = qp->rx_first_psn},
		.qp = qp,
	};
}

static void
none_start(void *state, uint64_t now_ns)
{
	struct none *s = state;

	(void)now_ns;
	s->head.tx_una = s->qp->tx_first_psn;
}

const struct reliability_ops none_ops = {
	.info =
		{
			.name = "none",
			.source = "IBA vol. 1, ch. 9, unreliable services",
		},
	.tx_next = none_tx_next,
	.on_post = none_on_post,
	.on_ack = none_on_ack,
	.on_timer = none_on_timer,
	.on_data = none_on_data,
	.state_size = none_state_size,
	.init = none_init,
	.start = none_start,
};
