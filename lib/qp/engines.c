/* SPDX-License-Identifier: BSD-3-Clause */
#include "engines.h"

#include "lease.h"
#include "path.h"

static struct engine_set
engines_of(const struct nic_conf *conf, uint8_t type)
{
	return (struct engine_set){.rel = type == SHM_QPT_RC ? conf->rel : conf->rel_dgram,
	                           .cc = conf->cc,
	                           .lb = conf->lb};
}

static struct engine_set_params
params_of(const struct nic_conf *conf, uint8_t type)
{
	return (struct engine_set_params){.rel = type == SHM_QPT_RC ? conf->rel_params : NULL,
	                                  .cc = conf->cc_params,
	                                  .lb = conf->lb_params};
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

void
qp_engines_layout(const struct nic *nic, uint8_t type, struct engine_layout *at)
{
	struct engine_set set = engines_of(&nic->conf, type);
	struct engine_set_params params = params_of(&nic->conf, type);
	/* Of all that the path may have, the MTU with the most packets per BDP. */
	struct engine_env env = env_of(&nic->conf, mtu_bytes(1));

	engine_set_layout(&set, &params, &env, at);
}

void
qp_engines_place(struct qp *qp, uint8_t type, const struct engine_layout *at)
{
	struct engine_set set = engines_of(&qp->nic->conf, type);
	char *block = (char *)qp + QP_ENGINES_OFFSET;

	qp->rel_ops = set.rel;
	qp->cc_ops = set.cc;
	qp->lb_ops = set.lb;
	qp->rel = (struct rel_head *)(block + at->rel_offset);
	qp->cc = (struct cc_head *)(block + at->cc_offset);
	qp->lb = (struct lb_head *)(block + at->lb_offset);
}

void
qp_engines_init(struct qp *qp)
{
	const struct nic_conf *conf = &qp->nic->conf;
	struct engine_set set = engines_of(conf, qp->type);
	struct engine_set_params params = params_of(conf, qp->type);
	struct engine_env env = env_of(conf, qp->mtu);

	env.seed = conf->seed ^ ((uint64_t)qp->qpn << 32);
	env.max_msgs = qp->rel_qp.msg_mask + 1;
	env.base_sport = path_sport(qp);
	set.rel->init(qp->rel, params.rel, &env, &qp->rel_qp);
	set.cc->init(qp->cc, &qp->nic->cc_nic, params.cc, &env);
	set.lb->init(qp->lb, params.lb, &env);
	qp->ecn = engine_set_wire(&set) & WIRE_ECT ? ECN_ECT0 : ECN_NOT_ECT;
}
