/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both halves of gbn against each other, over a network that loses, duplicates and reorders 3 %
 * each way. Between them stand the host's rules for plain RC in their shortest form: READs are
 * answered by responses, and whatever lies beyond an unanswered READ is a gap there.
 */
#include <criterion/criterion.h>

#include "bind.h"
#include "prng.h"
#include "rig.h"

enum { PIPE_LEN = 512, NB_MSGS = 2000, OPEN_MAX = 50, BAD_PERCENT = 3 };

/** What is on its way: a request packet, or an answer. PSNs count from 0. */
struct piece {
	enum { REQUEST, READ_REQUEST, ACK, NAK, RESPONSE } kind;
	uint64_t psn;
	uint32_t nb_psns;
	bool ack_req;
};

struct pipe {
	struct piece pieces[PIPE_LEN];
	uint32_t nb;
};

static struct rig rig, peer;
static struct pipe there, back;
static struct prng rng;
static uint64_t sent_end; /**< behind the highest PSN sent */

static bool
bad(void)
{
	return prng_below(&rng, 100) < BAD_PERCENT;
}

static void
pipe_put(struct pipe *p, struct piece piece)
{
	uint32_t copies = bad() ? 0 : bad() ? 2 : 1;

	for (; copies && p->nb < PIPE_LEN; copies--) {
		uint32_t at = p->nb++;

		if (at > 0 && bad()) { /* overtakes the one before */
			p->pieces[at] = p->pieces[at - 1];
			at--;
		}
		p->pieces[at] = piece;
	}
}

static struct piece
pipe_get(struct pipe *p)
{
	struct piece first = p->pieces[0];

	memmove(p->pieces, p->pieces + 1, --p->nb * sizeof(first));
	return first;
}

/** First PSN not answered of the oldest open READ, or UINT64_MAX. */
static uint64_t
unanswered(void)
{
	for (uint64_t n = rig.qp.tx_first_msn; n != rig.qp.tx_end_msn; n++) {
		const struct rel_msg *m = &rig.msgs[n & rig.qp.msg_mask];
		uint64_t una = rig.head->tx_una;

		if (m->one_pkt)
			return (m->first_psn > una ? m->first_psn : una) - rig.tx0;
	}
	return UINT64_MAX;
}

static void
send_one(uint64_t now)
{
	struct rel_tx tx;
	int64_t psn = rig_tx(&rig, now, &tx);
	bool read;

	if (psn < 0)
		return;
	cr_assert_eq(tx.retransmit, (uint64_t)psn < sent_end);
	if ((uint64_t)psn + tx.nb_psns > sent_end)
		sent_end = (uint64_t)psn + tx.nb_psns;
	read = rel_msg_of(&rig.qp, tx.psn)->one_pkt;
	pipe_put(&there, (struct piece){
				 .kind = read ? READ_REQUEST : REQUEST,
				 .psn = (uint64_t)psn,
				 .nb_psns = tx.nb_psns,
				 .ack_req = tx.ack_req || tx.retransmit,
			 });
}

/** The peer's host: places what is expected, answers as it is told. */
static void
receive_request(uint64_t now)
{
	struct piece p = pipe_get(&there);
	uint64_t before = peer.head->rx_cum - peer.rx0;
	struct rel_rx_out out = rig_rx(&peer, (int64_t)p.psn, p.nb_psns, now);
	uint64_t cum = peer.head->rx_cum - peer.rx0;

	if (out.place == REL_PLACE)
		cr_assert_eq(p.psn, before);
	cr_assert_eq(cum, out.place == REL_PLACE ? before + p.nb_psns : before);
	if (out.resp == REL_RESP_GAP) {
		pipe_put(&back, (struct piece){.kind = NAK, .psn = cum});
	} else if (out.place != REL_DROP && p.kind == READ_REQUEST) {
		for (uint32_t i = 0; i < p.nb_psns; i++)
			pipe_put(&back, (struct piece){.kind = RESPONSE, .psn = p.psn + i});
	} else if (out.place == REL_DUPLICATE || (out.place == REL_PLACE && p.ack_req)) {
		pipe_put(&back, (struct piece){.kind = ACK, .psn = cum - 1});
	}
}

/** The own host: READs are answered by responses in order, the rest by ACKs. */
static uint32_t
receive_answer(uint64_t now)
{
	struct piece p = pipe_get(&back);
	uint64_t cum = p.kind == NAK ? p.psn : p.psn + 1;
	uint64_t gap = unanswered();

	if (rig.tx0 + p.psn < rig.head->tx_una || p.psn >= sent_end)
		return 0;
	if (p.kind == RESPONSE && p.psn == gap)
		return rig_ack(&rig, REL_ACK, cum, now).acked.nb_pkts;
	if (cum > gap)
		return rig_ack(&rig, REL_GAP, gap, now).acked.nb_pkts;
	if (p.kind == RESPONSE)
		return 0;
	return rig_ack(&rig, p.kind == NAK ? REL_GAP : REL_ACK, cum, now).acked.nb_pkts;
}

/** What holds after each step. */
static void
check(uint64_t una_before)
{
	bool waits = rig.head->inflight_pkts > 0;

	cr_assert_geq(rig.head->tx_una, una_before);
	cr_assert_leq(rig.head->tx_una - rig.tx0, peer.head->rx_cum - peer.rx0);
	cr_assert_leq(rig.head->inflight_pkts, rig.qp.window_pkts);
	cr_assert_eq(waits, rig.head->deadline_ns != NEVER_NS);
	/* Nothing is forgotten: it is acknowledged, waited for, or about to be sent. */
	cr_assert(waits || rig.head->tx_ready || rig.head->tx_una == rig.qp.tx_end_psn);
}

static void
run(uint64_t seed, uint64_t renak_ns)
{
	uint64_t now = 0, pkts = 0, acked = 0, posted = 0;

	prng_seed(&rng, seed);
	there.nb = back.nb = 0;
	sent_end = 0;
	rig_init(&rig, reliability_find("gbn"), &renak_ns);
	rig_init(&peer, reliability_find("gbn"), &renak_ns);
	rig.qp.window_pkts = 1 + prng_below(&rng, 64);
	while (posted < NB_MSGS || rig.head->tx_una != rig.qp.tx_end_psn) {
		uint32_t what = prng_below(&rng, 4);
		uint64_t una = rig.head->tx_una;

		cr_assert_lt(now, UINT64_C(60000000000), "seed %lu: no end", seed);
		now += 100 + prng_below(&rng, 1000);
		if (posted < NB_MSGS && rig.qp.tx_end_msn - rig.qp.tx_first_msn < OPEN_MAX) {
			bool read = prng_below(&rng, 5) == 0;
			uint32_t nb_psns = 1 + prng_below(&rng, 8);

			rig_post(&rig, nb_psns, read, now);
			pkts += read ? 1 : nb_psns;
			posted++;
		}
		if (now >= rig.head->deadline_ns)
			cr_assert(rig_timer(&rig, now).timeout);
		else if (what < 2)
			send_one(now);
		else if (what == 2 && there.nb)
			receive_request(now);
		else if (what == 3 && back.nb)
			acked += receive_answer(now);
		check(una);
	}
	cr_expect_eq(acked, pkts, "seed %lu: each packet is acknowledged once", seed);
	cr_expect_eq(peer.head->rx_cum - peer.rx0, rig.head->tx_una - rig.tx0);
}

Test(gbn_pair, everything_arrives_once_and_in_order_over_a_bad_network)
{
	for (uint64_t seed = 0; seed < 40; seed++)
		run(seed, seed % 2 ? 50000 : 0);
}
