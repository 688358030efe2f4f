/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gbn with one mistake each: those of tests/lab_rig, and those that need more than one kind of
 * operation to be seen.
 */
#include "rel_bad.h"

#include "bad_gbn.h"
#include "psn.h"

extern const struct reliability_ops gbn_ops;

/* ---- what gbn would do, and then one thing else ---- */

/* Says that it has what it dropped: now and then a packet beyond a gap counts as the one due. */
static void
ack_dropped(void *state, const struct rel_rx *rx, uint64_t now_ns, struct rel_rx_out *out)
{
	struct rel_head *head = state;

	gbn_ops.on_data(state, rx, now_ns, out);
	if (out->place == REL_DROP && rx->psn == head->rx_cum + 1)
		head->rx_cum++;
}

/* Takes what it had for new: an atomic, say, is done twice. */
static void
take_twice(void *state, const struct rel_rx *rx, uint64_t now_ns, struct rel_rx_out *out)
{
	gbn_ops.on_data(state, rx, now_ns, out);
	if (out->place == REL_DUPLICATE)
		out->place = REL_PLACE;
}

/* Never answers what it had before: if the answer was lost, the peer asks for ever. */
static void
ignore_again(void *state, const struct rel_rx *rx, uint64_t now_ns, struct rel_rx_out *out)
{
	gbn_ops.on_data(state, rx, now_ns, out);
	if (out->place == REL_DUPLICATE)
		out->place = REL_DROP;
}

/* Believes that an answer is about one packet more. */
static void
believe_more(void *state, const struct rel_ack *ack, uint64_t now_ns, struct rel_out *out)
{
	struct rel_head *head = state;
	struct rel_ack more = *ack;

	if (ack->kind == REL_ACK && head->inflight_pkts > 1 && ack->cum == head->tx_una + 1)
		more.cum++;
	gbn_ops.on_ack(state, &more, now_ns, out);
}

/* Has no timer: what is lost at the end of a flight stays lost. */
static void
no_timer(void *state, uint64_t now_ns, struct rel_out *out)
{
	struct rel_head *head = state;

	(void)out;
	if (now_ns >= head->deadline_ns)
		head->deadline_ns = NEVER_NS;
}

#define GBN(text, tx_ack, tx_timer, rx_data)                                                       \
	{                                                                                          \
		.info = {.name = text, .source = "a test"}, .tx_next = gbn_next,                   \
		.on_post = gbn_post, .on_ack = tx_ack, .on_timer = tx_timer, .on_data = rx_data,   \
		.state_size = gbn_size, .init = gbn_init, .start = gbn_start,                      \
	}

/* gbn_ops is no constant expression: its functions by way of these. */
static bool
gbn_next(void *state, uint64_t now_ns, struct rel_tx *tx)
{
	return gbn_ops.tx_next(state, now_ns, tx);
}

static void
gbn_post(void *state, const struct rel_msg *msg, uint64_t now_ns)
{
	gbn_ops.on_post(state, msg, now_ns);
}

static void
gbn_ack(void *state, const struct rel_ack *ack, uint64_t now_ns, struct rel_out *out)
{
	gbn_ops.on_ack(state, ack, now_ns, out);
}

static void
gbn_timer(void *state, uint64_t now_ns, struct rel_out *out)
{
	gbn_ops.on_timer(state, now_ns, out);
}

static void
gbn_data(void *state, const struct rel_rx *rx, uint64_t now_ns, struct rel_rx_out *out)
{
	gbn_ops.on_data(state, rx, now_ns, out);
}

static size_t
gbn_size(const void *params, const struct engine_env *env)
{
	return gbn_ops.state_size(params, env);
}

static void
gbn_init(void *state, const void *params, const struct engine_env *env, const struct rel_qp *qp)
{
	static const uint64_t zero[8];

	(void)params;
	assert(gbn_ops.info.params_size <= sizeof(zero));
	gbn_ops.init(state, zero, env, qp);
}

static void
gbn_start(void *state, uint64_t now_ns)
{
	gbn_ops.start(state, now_ns);
}

static const struct reliability_ops ops_ack_dropped =
	GBN("ack-dropped", gbn_ack, gbn_timer, ack_dropped);
static const struct reliability_ops ops_take_twice =
	GBN("take-twice", gbn_ack, gbn_timer, take_twice);
static const struct reliability_ops ops_ignore_again =
	GBN("ignore-again", gbn_ack, gbn_timer, ignore_again);
static const struct reliability_ops ops_believe_more =
	GBN("believe-more", believe_more, gbn_timer, gbn_data);
static const struct reliability_ops ops_no_timer = GBN("no-timer", gbn_ack, no_timer, gbn_data);

/* ---- those of the laboratory ---- */

#define PLANT(name, mistake)                                                                       \
	static void name(void)                                                                     \
	{                                                                                          \
		bad_gbn = mistake;                                                                 \
	}
/* clang-format off */
PLANT(plant_nothing, BAD_NOTHING)
PLANT(plant_wrap, BAD_WRAP)
PLANT(plant_ack, BAD_ACK)
PLANT(plant_swallow, BAD_SWALLOW)
PLANT(plant_unordered, BAD_UNORDERED)
PLANT(plant_mute, BAD_MUTE)
PLANT(plant_crash, BAD_CRASH)
/* clang-format on */

#define ROCEV2(text, engine)                                                                       \
	{                                                                                          \
		text, &(engine), FRAMING_ROCEV2                                                    \
	}

const struct rel_planted rel_planted_engines[] = {
	{ROCEV2("no mistake", bad_gbn_ops), plant_nothing, true},
	{ROCEV2("wrap", bad_gbn_ops), plant_wrap, false},
	{ROCEV2("ack", bad_gbn_ops), plant_ack, false},
	{ROCEV2("swallow", bad_gbn_ops), plant_swallow, false},
	{ROCEV2("unordered", bad_gbn_ops), plant_unordered, false},
	{ROCEV2("mute", bad_gbn_ops), plant_mute, false},
	{ROCEV2("crash", bad_gbn_ops), plant_crash, false},
	{ROCEV2("acknowledges what it dropped", ops_ack_dropped), NULL, false},
	{ROCEV2("takes duplicates", ops_take_twice), NULL, false},
	{ROCEV2("does not answer duplicates", ops_ignore_again), NULL, false},
	{ROCEV2("believes more than it hears", ops_believe_more), NULL, false},
	{ROCEV2("no timer", ops_no_timer), NULL, false},
	{{NULL, NULL, FRAMING_ROCEV2}, NULL, false},
};
