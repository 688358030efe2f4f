/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The suite's own selective repeat against itself, over a network of packets that loses, doubles
 * and reorders them, before hosts are tested with it.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "prng.h"
#include "psn.h"
#include "sr.h"

enum { NB_PKTS = 3000, WINDOW = 100, PIPE_MAX = 1024, TIMEOUT_NS = 2000 };

/* Data, or an answer to it. */
struct piece {
	uint64_t due_ns;
	uint64_t psn, cum, sack_base, sack_bits;
	bool is_gap;
};

struct pipe {
	struct piece pieces[PIPE_MAX];
	uint32_t nb;
};

struct pair {
	_Alignas(ENGINE_STATE_ALIGN) uint8_t tx[16384], rx[16384];
	struct rel_qp tx_qp, rx_qp;
	struct pipe there, back;
	struct prng prng;
	uint32_t percent;
	uint64_t now_ns;
	uint8_t placed[NB_PKTS];
	uint32_t nb_acked, nb_sent;
};

#define FIRST (PSN_BIAS + 0xfffff0)

static struct rel_head *
head(uint8_t *state)
{
	return (struct rel_head *)(void *)state;
}

static void
begin(struct pair *p, uint64_t seed, uint32_t percent)
{
	static const struct engine_env env = {.window_pkts = WINDOW, .max_msgs = 256};

	memset(p, 0xa5, sizeof(*p));
	prng_seed(&p->prng, seed);
	p->percent = percent;
	p->now_ns = 0;
	p->there.nb = p->back.nb = p->nb_acked = p->nb_sent = 0;
	memset(p->placed, 0, sizeof(p->placed));
	p->tx_qp = p->rx_qp = (struct rel_qp){.rx_first_psn = FIRST,
	                                      .tx_first_psn = FIRST,
	                                      .tx_end_psn = FIRST,
	                                      .ack_timeout_ns = TIMEOUT_NS,
	                                      .window_pkts = WINDOW};
	cr_assert_leq(sr_ops.state_size(NULL, &env), sizeof(p->tx));
	sr_ops.init(p->tx, NULL, &env, &p->tx_qp);
	sr_ops.init(p->rx, NULL, &env, &p->rx_qp);
	sr_ops.start(p->tx, 0);
	sr_ops.start(p->rx, 0);
}

static bool
strikes(struct pair *p)
{
	return prng_below(&p->prng, 100) < p->percent;
}

static void
put(struct pair *p, struct pipe *pipe, struct piece piece)
{
	uint32_t copies = strikes(p) ? 0 : strikes(p) ? 2 : 1;

	for (; copies && pipe->nb < PIPE_MAX; copies--) {
		piece.due_ns = p->now_ns + 20 + (strikes(p) ? prng_below(&p->prng, 100) : 0);
		pipe->pieces[pipe->nb++] = piece;
	}
}

/* The next that is due. */
static bool
get(struct pair *p, struct pipe *pipe, struct piece *piece)
{
	uint32_t i = 0;

	while (i < pipe->nb && pipe->pieces[i].due_ns > p->now_ns)
		i++;
	if (i == pipe->nb)
		return false;
	*piece = pipe->pieces[i];
	memmove(&pipe->pieces[i], &pipe->pieces[i + 1], (--pipe->nb - i) * sizeof(*piece));
	return true;
}

static void
receive(struct pair *p, const struct piece *data)
{
	struct rel_rx rx = {.psn = data->psn, .nb_psns = 1};
	struct rel_rx_out out = {0};
	const struct rel_head *h = head(p->rx);

	sr_ops.on_data(p->rx, &rx, p->now_ns, &out);
	if (out.place == REL_PLACE)
		p->placed[data->psn - FIRST]++;
	put(p, &p->back,
	    (struct piece){.psn = data->psn,
	                   .cum = h->rx_cum,
	                   .sack_base = h->sack_base,
	                   .sack_bits = h->sack_bits,
	                   .is_gap = out.resp == REL_RESP_GAP});
}

static void
answer(struct pair *p, const struct piece *said)
{
	struct rel_ack ack = {.kind = said->is_gap ? REL_GAP : REL_ACK,
	                      .cum = said->cum,
	                      .psn = said->psn,
	                      .sack_base = said->sack_base,
	                      .sack_bits = said->sack_bits};
	struct rel_out out = {0};

	sr_ops.on_ack(p->tx, &ack, p->now_ns, &out);
	p->nb_acked += out.acked.nb_pkts;
}

static void
turn(struct pair *p)
{
	struct rel_head *h = head(p->tx);
	struct rel_tx tx = {.nb_psns = 1};
	struct rel_out out = {0};
	struct piece piece;

	p->now_ns += 10;
	if (p->tx_qp.tx_end_psn < FIRST + NB_PKTS) {
		p->tx_qp.tx_end_psn++;
		sr_ops.on_post(p->tx, NULL, p->now_ns);
	}
	if (h->tx_ready && sr_ops.tx_next(p->tx, p->now_ns, &tx)) {
		cr_assert_lt(tx.psn, p->tx_qp.tx_end_psn);
		cr_assert_lt(tx.psn - h->tx_una, WINDOW);
		p->nb_sent++;
		put(p, &p->there, (struct piece){.psn = tx.psn});
	}
	while (get(p, &p->there, &piece))
		receive(p, &piece);
	while (get(p, &p->back, &piece))
		answer(p, &piece);
	if (h->deadline_ns <= p->now_ns) {
		sr_ops.on_timer(p->tx, p->now_ns, &out);
		cr_assert_gt(h->deadline_ns, p->now_ns);
	}
}

Test(sr, each_packet_is_placed_and_acknowledged_once_whatever_the_network_does)
{
	static struct pair p;

	for (uint64_t seed = 1; seed <= 30; seed++) {
		begin(&p, seed, (uint32_t)(seed % 6) * 3);
		while (head(p.tx)->tx_una < FIRST + NB_PKTS) {
			turn(&p);
			cr_assert_lt(p.now_ns, 10000000, "seed %lu hangs", (unsigned long)seed);
		}
		for (uint32_t i = 0; i < NB_PKTS; i++)
			cr_assert_eq(p.placed[i], 1, "seed %lu: packet %u", (unsigned long)seed, i);
		cr_expect_eq(head(p.rx)->rx_cum, FIRST + NB_PKTS);
		cr_expect_eq(p.nb_acked, NB_PKTS);
		cr_expect_eq(head(p.tx)->inflight_pkts, 0, "%u", head(p.tx)->inflight_pkts);
		cr_expect_eq(head(p.tx)->deadline_ns, NEVER_NS);
		if (p.percent == 0)
			cr_expect_eq(p.nb_sent, NB_PKTS);
	}
}

Test(sr, only_what_is_missing_is_sent_again)
{
	static struct pair p;
	uint32_t nb_lost = 0;

	begin(&p, 1, 0);
	while (head(p.tx)->tx_una < FIRST + NB_PKTS) {
		turn(&p);
		if (p.now_ns % 1000 != 500 || p.there.nb == 0)
			continue;
		p.there.nb--; /* the one that was sent last */
		nb_lost++;
	}
	cr_expect_eq(p.nb_sent, NB_PKTS + nb_lost, "%u, and %u lost", p.nb_sent, nb_lost);
}
