/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No congestion control: a rate and a window that never change.
 *
 * With the defaults a QP may send at line rate without a window, as a RoCE NIC does whose
 * congestion control is off. With `rate` and `window` it is a fixed share, or the static-window
 * scheme that the engines' papers compare themselves with (window = bandwidth x delay).
 */
#include "cc.h"

struct fixed_params {
	uint64_t rate_bps;
	uint64_t window_bytes;
	uint32_t ack_every_pkts;
};

static const struct param_desc fixed_param_descs[] = {
	{"rate", PARAM_U64, offsetof(struct fixed_params, rate_bps), 0, 0, 1e13, "bps",
         "our choice: 0 = not limited"},
	{"window", PARAM_U64, offsetof(struct fixed_params, window_bytes), 0, 0, 0x1p40, "B",
         "our choice: 0 = no window"},
	{"ack_every", PARAM_U32, offsetof(struct fixed_params, ack_every_pkts), 0, 0, 65536, "pkt",
         "our choice: 0 = no wish"},
	{0},
};

static void
fixed_on_ack(void *state, struct cc_nic *nic, const struct cc_ack *ack, uint64_t now_ns)
{
	(void)state;
	(void)nic;
	(void)ack;
	(void)now_ns;
}

static size_t
fixed_state_size(const void *params, const struct engine_env *env)
{
	(void)params;
	(void)env;
	return sizeof(struct cc_head);
}

static void
fixed_init(void *state, struct cc_nic *nic, const void *params, const struct engine_env *env)
{
	const struct fixed_params *p = params;
	struct cc_head *head = state;
	uint64_t rate_bps = p->rate_bps;

	(void)nic;
	if (rate_bps == 0 || rate_bps > env->line_rate_bps)
		rate_bps = env->line_rate_bps;
	*head = (struct cc_head){
		.rate_bps = rate_bps,
		.window_bytes = p->window_bytes ? p->window_bytes : CC_NO_WINDOW,
		.deadline_ns = NEVER_NS,
		.ack_every_pkts = p->ack_every_pkts,
	};
}

const struct cc_ops fixed_ops = {
	.info =
		{
			.name = "fixed",
			.source = "our choice",
			.params_size = sizeof(struct fixed_params),
			.params = fixed_param_descs,
		},
	.on_ack = fixed_on_ack,
	.state_size = fixed_state_size,
	.init = fixed_init,
};
