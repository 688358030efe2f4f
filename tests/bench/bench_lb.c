/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ns per packet of each switch's load balancer, by the number of hops: once with queues that change
 * with each packet, once with a group of which one hop in four is down. 4,096 flows, whose packets
 * come 100 ns apart in random order.
 */
#include <stdio.h>

#include "bind.h"
#include "prng.h"
#include "timing.h"

#define RUN_NS 10000000
#define NB_FLOWS 4096
#define NB_PKTS 16384

static uint32_t flows[NB_PKTS];
static uint16_t fill[NB_PKTS];
static uint64_t sum; /* keeps the choices from being optimised away */

static double
run(const struct lb_ops *ops, void *state, struct lb_hop *hops, uint16_t nb_hops)
{
	uint64_t start = timing_now_ns(), now, now_ns = 1000000, nb = 0;

	do {
		for (uint32_t i = 0; i < NB_PKTS; i++) {
			struct lb_pkt pkt = {.flow_hash = flows[i], .len_bytes = 1082};
			struct lb_choice choice = {.hop = 0};

			uint16_t changed = fill[i] & (uint16_t)(nb_hops - 1);

			hops[changed] = (struct lb_hop){
				.id = changed, .up = hops[changed].up, .queue_bytes = fill[i]};
			ops->select(state, &pkt, hops, nb_hops, now_ns, &choice);
			sum += choice.hop;
			now_ns += 100;
		}
		nb += NB_PKTS;
		now = timing_now_ns();
	} while (now - start < RUN_NS);
	return (double)(now - start) / (double)nb;
}

static double
median(const struct lb_ops *ops, void *state, uint16_t nb_hops, uint16_t every_down)
{
	double ns[TIMING_RUNS];

	for (uint32_t r = 0; r < TIMING_RUNS; r++) {
		struct lb_hop hops[LB_GROUP_MAX];

		for (uint16_t i = 0; i < nb_hops; i++)
			hops[i] = (struct lb_hop){.id = i, .up = !every_down || i % every_down};
		ns[r] = run(ops, state, hops, nb_hops);
	}
	return timing_median(ns);
}

static void
bench(const char *name, const char *param, const char *value)
{
	const struct lb_ops *ops = lb_find(name, LB_SWITCH);
	const struct engine_env env = {.seed = 1, .nb_hops = LB_GROUP_MAX};
	_Alignas(8) uint8_t params[64];
	char what[64], why[200];
	void *state;

	param_defaults(ops->info.params, params);
	if (param && param_set(ops->info.params, params, param, value, why, sizeof(why)))
		abort();
	state = malloc(ops->state_size(params, &env));
	if (!state)
		abort();
	ops->init(state, params, &env);
	snprintf(what, sizeof(what), "%s%s%s%s%s", name, param ? ", " : "", param ? param : "",
	         param ? " = " : "", param ? value : "");
	printf("%-28s", what);
	for (uint16_t n = 1; n <= LB_GROUP_MAX; n = (uint16_t)(n * 4))
		printf(" %7.1f", median(ops, state, n, 0));
	for (uint16_t n = 4; n <= LB_GROUP_MAX; n = (uint16_t)(n * 4))
		printf(" %7.1f", median(ops, state, n, 4));
	putchar('\n');
	free(state);
}

int
main(void)
{
	struct prng prng;

	prng_seed(&prng, 1);
	for (uint32_t i = 0; i < NB_FLOWS; i++)
		flows[i] = (uint32_t)prng_next(&prng);
	for (uint32_t i = NB_FLOWS; i < NB_PKTS; i++)
		flows[i] = flows[prng_below(&prng, NB_FLOWS)];
	for (uint32_t i = 0; i < NB_PKTS; i++)
		fill[i] = (uint16_t)prng_next(&prng);
	printf("ns per packet, median of %d runs\n\n", TIMING_RUNS);
	printf("%-28s %31s %23s\n", "", "hops, all up", "a quarter down");
	printf("%-28s %7d %7d %7d %7d %7d %7d %7d\n", "", 1, 4, 16, 64, 4, 16, 64);
	bench("ecmp", NULL, NULL);
	bench("spray", NULL, NULL);
	bench("spray", "round_robin", "yes");
	bench("flowlet", NULL, NULL);
	bench("adaptive", NULL, NULL);
	bench("adaptive", "gap", "100us");
	return sum == 0;
}
