/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "world.h"

/* What the host promises to engines about their memory. */

static struct reliability_ops ops; /* go-back-N, watched */
static const struct reliability_ops *gbn;
static uint32_t bdp_of_size, bdp_of_init;

static size_t
state_size(const void *params, const struct engine_env *env)
{
	bdp_of_size = env->bdp_pkts;
	return gbn->state_size(params, env) + env->bdp_pkts;
}

static void
init(void *state, const void *params, const struct engine_env *env, const struct rel_qp *qp)
{
	bdp_of_init = env->bdp_pkts;
	gbn->init(state, params, env, qp);
}

Test(engines, no_path_mtu_needs_more_memory_than_the_state_has)
{
	for (uint8_t mtu = 1; mtu <= 5; mtu++) {
		struct shm_qp_attr attr;
		struct app_qp a, b;
		struct world w;

		world_open(&w, NULL);
		gbn = w.nic[0]->conf.rel;
		ops = *gbn;
		ops.state_size = state_size;
		ops.init = init;
		w.nic[0]->conf.rel = &ops;
		app_open(&a, &w, 0, NULL);
		app_open(&b, &w, 1, NULL);
		attr = app_attr(&a, &b);
		attr.path_mtu = mtu;
		for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTR; state++)
			cr_assert_eq(app_to(&a, &attr, state), 0);
		cr_expect_gt(bdp_of_init, 0);
		cr_expect_leq(bdp_of_init, bdp_of_size, "MTU %u", mtu_bytes(mtu));
		if (mtu == 1)
			cr_expect_eq(bdp_of_init, bdp_of_size);
		app_close(&a);
		app_close(&b);
		world_close(&w);
	}
}
