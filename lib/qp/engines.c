/* SPDX-License-Identifier: BSD-3-Clause */
#include "engines.h"

#include <assert.h>
#include <string.h>

#include "framing.h"
#include "lease.h"
#include "path.h"

/* Three engines with their parameters. */
struct choice {
	struct engine_set set;
	struct engine_set_params params;
};

static struct choice
choice_weft(const struct nic_bind *bind)
{
	return (struct choice){bind->set, bind->params};
}

/* UC and UD differ in what is done about losses, which is nothing. */
static struct choice
choice_plain(const struct nic_conf *conf, const struct nic_bind *bind, uint8_t type)
{
	struct choice c = {engine_set_plain(&bind->set, bind->framing, &conf->plain), bind->params};

	if (c.set.rel != bind->set.rel)
		c.params.rel = conf->plain_params.rel;
	if (c.set.cc != bind->set.cc)
		c.params.cc = conf->plain_params.cc;
	if (c.set.lb != bind->set.lb)
		c.params.lb = conf->plain_params.lb;
	if (type != SHM_QPT_RC) {
		c.set.rel = conf->rel_dgram;
		c.params.rel = NULL;
	}
	return c;
}

static bool
may_be_weft(const struct nic_bind *bind, uint8_t type)
{
	return type == SHM_QPT_RC && bind->framing != FRAMING_WISH_ROCEV2;
}

static struct engine_env
env_of(const struct nic_conf *conf, uint32_t mtu)
{
	/* In an order that neither overflows nor loses much: bytes per ms, then per RTT. */
	uint64_t bdp_bytes = conf->line_rate_bps / 8000 * conf->base_rtt_ns / 1000000;

	return (struct engine_env){
		.line_rate_bps = conf->line_rate_bps,
		.base_rtt_ns = conf->base_rtt_ns,
		.mtu_bytes = mtu,
		.bdp_pkts = bdp_bytes ? (uint32_t)((bdp_bytes + mtu - 1) / mtu) : 1,
		.window_pkts = conf->window_pkts,
		.max_msgs = LEASE_MAX_WRS,
		.nb_hops = 1,
	};
}

/* Of all that the path may have, the MTU with the most packets per BDP. */
static struct engine_layout
layout_of(const struct nic_conf *conf, const struct choice *c)
{
	struct engine_env env = env_of(conf, mtu_bytes(1));
	struct engine_layout at;

	engine_set_layout(&c->set, &c->params, &env, &at);
	return at;
}

static size_t
size_of(const struct nic_conf *conf, const struct nic_bind *bind, uint8_t type)
{
	struct choice plain = choice_plain(conf, bind, type), weft = choice_weft(bind);
	size_t size = layout_of(conf, &plain).size;

	if (may_be_weft(bind, type) && layout_of(conf, &weft).size > size)
		size = layout_of(conf, &weft).size;
	return size;
}

size_t
qp_engines_size(const struct nic *nic, uint8_t type)
{
	const struct nic_conf *conf = &nic->conf;
	size_t size = size_of(conf, &conf->bind, type);

	for (uint32_t i = 0; type != SHM_QPT_UD && i < conf->nb_peers; i++) {
		size_t more = size_of(conf, &conf->peers[i], type);

		size = more > size ? more : size;
	}
	return size;
}

/* What may still be in the room is of engines before. */
static void
place(struct qp *qp, const struct choice *c)
{
	struct engine_layout at = layout_of(&qp->nic->conf, c);
	char *block = (char *)qp + QP_ENGINES_OFFSET;

	assert(at.size <= qp->engines_size);
	memset(block, 0, qp->engines_size);
	qp->rel_ops = c->set.rel;
	qp->cc_ops = c->set.cc;
	qp->lb_ops = c->set.lb;
	qp->rel = (struct rel_head *)(block + at.rel_offset);
	qp->cc = (struct cc_head *)(block + at.cc_offset);
	qp->lb = (struct lb_head *)(block + at.lb_offset);
}

static void
init(struct qp *qp, const struct choice *c)
{
	const struct nic_conf *conf = &qp->nic->conf;
	struct engine_env env = env_of(conf, qp->mtu);

	place(qp, c);
	env.seed = conf->seed ^ ((uint64_t)qp->qpn << 32);
	env.max_msgs = qp->rel_qp.msg_mask + 1;
	env.base_sport = path_sport(qp);
	c->set.rel->init(qp->rel, c->params.rel, &env, &qp->rel_qp);
	c->set.cc->init(qp->cc, &qp->nic->cc_nic, c->params.cc, &env);
	c->set.lb->init(qp->lb, c->params.lb, &env);
	qp->ecn = engine_set_wire(&c->set) & (WIRE_ECT | WIRE_CE_ECHO) ? ECN_ECT0 : ECN_NOT_ECT;
}

/* UD has no peer of its own. */
static const struct nic_bind *
bind_of(const struct qp *qp)
{
	return qp->type == SHM_QPT_UD ? &qp->nic->conf.bind : nic_bind_of(qp->nic, &qp->peer_ip);
}

void
qp_engines_place(struct qp *qp)
{
	struct choice c = choice_plain(&qp->nic->conf, &qp->nic->conf.bind, qp->type);

	place(qp, &c);
}

void
qp_engines_init(struct qp *qp)
{
	const struct nic_bind *bind = bind_of(qp);
	bool pending = may_be_weft(bind, qp->type);
	struct choice c =
		pending ? choice_weft(bind) : choice_plain(&qp->nic->conf, bind, qp->type);

	qp->framing = pending ? QP_PENDING : QP_PLAIN;
	init(qp, &c);
}

void
qp_engines_fall_back(struct qp *qp)
{
	struct choice c = choice_plain(&qp->nic->conf, bind_of(qp), qp->type);

	nic_add_engine_stats(qp, &qp->nic->ended_stats);
	init(qp, &c);
}
