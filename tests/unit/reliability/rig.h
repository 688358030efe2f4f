/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_RIG_H
#define WEFT_TEST_RIG_H

#include <criterion/criterion.h>

#include "psn.h"
#include "reliability.h"

#include <string.h>

/**
 * A reliability engine with as little host around it as it needs: the message ring and the presets.
 *
 * PSNs and MSNs of tests are small numbers relative to rig.tx0 and rig.rx0, which stand just before
 * the wire's numbers wrap.
 */
struct rig {
	_Alignas(ENGINE_STATE_ALIGN) uint8_t state[4096];
	struct rel_msg msgs[1024];
	struct rel_qp qp;
	const struct reliability_ops *ops;
	struct rel_head *head;
	uint64_t tx0, rx0;
};

static inline void
rig_init(struct rig *r, const struct reliability_ops *ops, const void *params)
{
	static const struct engine_env env = {
		.line_rate_bps = 100000000000,
		.base_rtt_ns = 10000,
		.mtu_bytes = 1024,
		.bdp_pkts = 123,
		.window_pkts = 100,
		.max_msgs = 1024,
		.nb_hops = 1,
	};

	*r = (struct rig){.ops = ops, .tx0 = PSN_BIAS + 0xfffffe, .rx0 = PSN_BIAS + 0xfffffd};
	r->head = (struct rel_head *)r->state;
	r->qp = (struct rel_qp){
		.rx_first_psn = r->rx0,
		.tx_first_msn = PSN_BIAS + 0xffffff,
		.tx_end_msn = PSN_BIAS + 0xffffff,
		.ack_timeout_ns = 1000000,
		.window_pkts = 100,
		.msg_mask = 1023,
		.tx_msgs = r->msgs,
	};
	cr_assert_leq(ops->state_size(params, &env), sizeof(r->state));
	memset(r->state, 0xa5, sizeof(r->state));
	ops->init(r->state, params, &env, &r->qp);
	cr_expect_eq(r->head->deadline_ns, NEVER_NS);
	cr_expect_eq(r->head->rx_cum, r->rx0);
	r->qp.tx_first_psn = r->tx0;
	r->qp.tx_end_psn = r->tx0;
	ops->start(r->state, 0);
	cr_expect_eq(r->head->tx_una, r->tx0);
	cr_expect_eq(r->head->inflight_pkts, 0);
	cr_expect_not(r->head->tx_ready);
}

/** Open a message behind the last. */
static inline void
rig_post(struct rig *r, uint32_t nb_psns, bool one_pkt, uint64_t now_ns)
{
	struct rel_msg *m = &r->msgs[r->qp.tx_end_msn & r->qp.msg_mask];

	*m = (struct rel_msg){r->qp.tx_end_msn, r->qp.tx_end_psn, nb_psns, one_pkt};
	r->qp.tx_end_psn += nb_psns;
	r->qp.tx_end_msn++;
	r->ops->on_post(r->state, m, now_ns);
}

/** Ask for the next packet: its number from tx0, or -1. */
static inline int64_t
rig_tx(struct rig *r, uint64_t now_ns, struct rel_tx *tx)
{
	struct rel_tx spare;

	if (!tx)
		tx = &spare;
	*tx = (struct rel_tx){.nb_psns = 1};
	if (!r->ops->tx_next(r->state, now_ns, tx)) {
		cr_assert_not(r->head->tx_ready);
		return -1;
	}
	cr_assert_geq(tx->psn, r->tx0);
	cr_assert_leq(tx->psn + tx->nb_psns, r->qp.tx_end_psn);
	return (int64_t)(tx->psn - r->tx0);
}

/** Send all that may go; returns how many packets went. */
static inline uint32_t
rig_tx_all(struct rig *r, uint64_t now_ns)
{
	uint32_t nb = 0;

	while (r->head->tx_ready && rig_tx(r, now_ns, NULL) >= 0)
		nb++;
	return nb;
}

/** What the host does after each call: messages all of whose PSNs are acknowledged are closed. */
static inline void
rig_close(struct rig *r)
{
	while (r->qp.tx_first_msn != r->qp.tx_end_msn) {
		struct rel_msg *m = &r->msgs[r->qp.tx_first_msn & r->qp.msg_mask];

		if (m->first_psn + m->nb_psns > r->head->tx_una)
			break;
		*m = (struct rel_msg){0}; /* nobody may read it any more */
		r->qp.tx_first_msn++;
	}
}

/** An answer; cum and the psn that triggered it count from tx0. */
static inline struct rel_out
rig_answer(struct rig *r, enum rel_ack_kind kind, uint64_t cum, uint64_t psn, uint64_t now_ns)
{
	struct rel_ack ack = {.kind = kind, .cum = r->tx0 + cum, .psn = r->tx0 + psn};
	struct rel_out out;

	memset(&out, 0xa5, sizeof(out));
	out.acked.nb_pkts = out.acked.nb_runs = out.lost.nb_pkts = out.lost.nb_runs = 0;
	out.timeout = false;
	r->ops->on_ack(r->state, &ack, now_ns, &out);
	rig_close(r);
	return out;
}

static inline struct rel_out
rig_ack(struct rig *r, enum rel_ack_kind kind, uint64_t cum, uint64_t now_ns)
{
	return rig_answer(r, kind, cum, cum, now_ns);
}

static inline struct rel_out
rig_timer(struct rig *r, uint64_t now_ns)
{
	struct rel_out out;

	memset(&out, 0xa5, sizeof(out));
	out.acked.nb_pkts = out.acked.nb_runs = out.lost.nb_pkts = out.lost.nb_runs = 0;
	out.timeout = false;
	r->ops->on_timer(r->state, now_ns, &out);
	cr_assert_gt(r->head->deadline_ns, now_ns);
	return out;
}

/** A packet of the peer's stream; psn counts from rx0. */
static inline struct rel_rx_out
rig_rx(struct rig *r, int64_t psn, uint32_t nb_psns, uint64_t now_ns)
{
	struct rel_rx rx = {.psn = r->rx0 + (uint64_t)psn, .nb_psns = nb_psns};
	struct rel_rx_out out = {0};

	r->ops->on_data(r->state, &rx, now_ns, &out);
	return out;
}

#endif
