/* SPDX-License-Identifier: BSD-3-Clause */
#include "bad_gbn.h"

#include <assert.h>
#include <stdlib.h>

#include "psn.h"

enum bad_gbn bad_gbn;

extern const struct reliability_ops gbn_ops;

/* Behind gbn's state: what it is told of the streams, which may be a lie. */
struct extra {
	const struct rel_qp *truth;
	struct rel_qp told;
	uint32_t nb_hidden; /* in flight, and the host does not know */
	uint32_t nb_data;
	bool has_skipped;
};

static struct extra *
extra_of(void *state)
{
	size_t size = gbn_ops.state_size(NULL, NULL);

	size = (size + ENGINE_STATE_ALIGN - 1) / ENGINE_STATE_ALIGN * ENGINE_STATE_ALIGN;
	return (struct extra *)(void *)((char *)state + size);
}

/* Before and after each call of gbn's. */
static void
enter(void *state)
{
	struct rel_head *head = state;
	struct extra *x = extra_of(state);

	x->told = *x->truth;
	x->told.window_pkts += bad_gbn == BAD_WINDOW;
	head->inflight_pkts += x->nb_hidden;
	x->nb_hidden = 0;
}

static void
leave(void *state)
{
	struct rel_head *head = state;

	if (bad_gbn != BAD_WINDOW || head->inflight_pkts == 0)
		return;
	head->inflight_pkts--;
	extra_of(state)->nb_hidden = 1;
}

static size_t
bad_state_size(const void *params, const struct engine_env *env)
{
	return gbn_ops.state_size(params, env) + ENGINE_STATE_ALIGN + sizeof(struct extra);
}

static void
bad_init(void *state, const void *params, const struct engine_env *env, const struct rel_qp *qp)
{
	static const uint64_t zero[8];

	(void)params;
	assert(gbn_ops.info.params_size <= sizeof(zero));
	*extra_of(state) = (struct extra){.truth = qp, .told = *qp};
	gbn_ops.init(state, zero, env, &extra_of(state)->told);
}

static void
bad_start(void *state, uint64_t now_ns)
{
	enter(state);
	gbn_ops.start(state, now_ns);
	leave(state);
}

static void
bad_on_post(void *state, const struct rel_msg *msg, uint64_t now_ns)
{
	enter(state);
	gbn_ops.on_post(state, msg, now_ns);
	leave(state);
}

static bool
bad_tx_next(void *state, uint64_t now_ns, struct rel_tx *tx)
{
	struct extra *x = extra_of(state);
	bool has_one;

	if (bad_gbn == BAD_MUTE && ((struct rel_head *)state)->tx_una == 2 * PSN_BIAS) {
		((struct rel_head *)state)->tx_ready = false;
		return false;
	}
	enter(state);
	has_one = gbn_ops.tx_next(state, now_ns, tx);
	if (has_one && bad_gbn == BAD_SKIP && !x->has_skipped) {
		x->has_skipped = true;
		has_one = gbn_ops.tx_next(state, now_ns, tx);
	}
	leave(state);
	return has_one;
}

static void
bad_on_ack(void *state, const struct rel_ack *ack, uint64_t now_ns, struct rel_out *out)
{
	enter(state);
	gbn_ops.on_ack(state, ack, now_ns, out);
	leave(state);
}

static void
bad_on_timer(void *state, uint64_t now_ns, struct rel_out *out)
{
	enter(state);
	gbn_ops.on_timer(state, now_ns, out);
	leave(state);
}

static void
bad_on_data(void *state, const struct rel_rx *rx, uint64_t now_ns, struct rel_rx_out *out)
{
	struct rel_head *head = state;
	struct extra *x = extra_of(state);

	enter(state);
	if (bad_gbn == BAD_UNORDERED && rx->psn > head->rx_cum)
		head->rx_cum = rx->psn;
	gbn_ops.on_data(state, rx, now_ns, out);
	leave(state);
	x->nb_data += out->place == REL_PLACE;
	if (out->place != REL_PLACE)
		return;
	if (bad_gbn == BAD_ACK || (bad_gbn == BAD_WRAP && (rx->psn & PSN_MASK) == PSN_MASK))
		head->rx_cum++;
	if (bad_gbn == BAD_SWALLOW && x->nb_data == 4)
		out->place = REL_DROP;
	if (bad_gbn == BAD_CRASH && (rx->psn & PSN_MASK) == 0)
		abort();
}

const struct reliability_ops bad_gbn_ops = {
	.info = {.name = "bad", .source = "a test"},
	.tx_next = bad_tx_next,
	.on_post = bad_on_post,
	.on_ack = bad_on_ack,
	.on_timer = bad_on_timer,
	.on_data = bad_on_data,
	.state_size = bad_state_size,
	.init = bad_init,
	.start = bad_start,
};
