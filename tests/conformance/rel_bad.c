/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gbn with one mistake each: those of tests/lab_rig, and those that need more than one kind of
 * operation to be seen. And selective repeat, for what only packets out of order bring to light.
 */
#include "rel_bad.h"

#include "psn.h"
#include "sr.h"

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

/* ---- what sr would do, and then one thing else ---- */

/* Whatever comes acknowledges all before it. */
static void
sr_ack_all(void *state, const struct rel_rx *rx, uint64_t now_ns, struct rel_rx_out *out)
{
	struct rel_head *head = state;

	sr_ops.on_data(state, rx, now_ns, out);
	if (out->place == REL_PLACE && rx->psn >= head->rx_cum)
		head->rx_cum = rx->psn + 1;
}

/* Takes one packet in a while without a place for it. */
static void
sr_lose_one(void *state, const struct rel_rx *rx, uint64_t now_ns, struct rel_rx_out *out)
{
	sr_ops.on_data(state, rx, now_ns, out);
	if (out->resp == REL_RESP_GAP && rx->psn % 4 == 0)
		out->place = REL_DROP;
}

/* Takes what is here out of order for the end of all that was sent. */
static void
sr_believe_sack(void *state, const struct rel_ack *ack, uint64_t now_ns, struct rel_out *out)
{
	struct rel_ack more = *ack;

	if (ack->kind == REL_GAP)
		more.cum = ack->psn + 1;
	sr_ops.on_ack(state, &more, now_ns, out);
}

/* ---- all of them ---- */

const struct rel_planted rel_planted_engines[] = {
	{.name = "no mistake", .base = &bad_gbn_ops, .mistake = BAD_NOTHING, .is_good = true},
	{.name = "wrap", .base = &bad_gbn_ops, .mistake = BAD_WRAP},
	{.name = "ack", .base = &bad_gbn_ops, .mistake = BAD_ACK},
	{.name = "swallow", .base = &bad_gbn_ops, .mistake = BAD_SWALLOW},
	{.name = "unordered", .base = &bad_gbn_ops, .mistake = BAD_UNORDERED},
	{.name = "mute", .base = &bad_gbn_ops, .mistake = BAD_MUTE},
	{.name = "crash", .base = &bad_gbn_ops, .mistake = BAD_CRASH},
	{.name = "acknowledges what it dropped", .base = &gbn_ops, .on_data = ack_dropped},
	{.name = "takes duplicates", .base = &gbn_ops, .on_data = take_twice},
	{.name = "does not answer duplicates", .base = &gbn_ops, .on_data = ignore_again},
	{.name = "believes more than it hears", .base = &gbn_ops, .on_ack = believe_more},
	{.name = "no timer", .base = &gbn_ops, .on_timer = no_timer},
	{.name = "sr without a mistake", .base = &sr_ops, .needs_weft = true, .is_good = true},
	{.name = "sr acknowledges all", .base = &sr_ops, .on_data = sr_ack_all, .needs_weft = true},
	{.name = "sr loses one", .base = &sr_ops, .on_data = sr_lose_one, .needs_weft = true},
	{.name = "sr believes", .base = &sr_ops, .on_ack = sr_believe_sack, .needs_weft = true},
	{.name = "sr without a timer", .base = &sr_ops, .on_timer = no_timer, .needs_weft = true},
	{.name = NULL},
};

struct rel_subject
rel_plant(const struct rel_planted *planted, enum framing framing)
{
	static struct reliability_ops ops;

	bad_gbn = planted->mistake;
	ops = *planted->base;
	if (planted->on_ack)
		ops.on_ack = planted->on_ack;
	if (planted->on_timer)
		ops.on_timer = planted->on_timer;
	if (planted->on_data)
		ops.on_data = planted->on_data;
	return (struct rel_subject){planted->name, &ops, framing};
}
