/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"
#include "net.h"
#include "plan.h"
#include "pool.h"

/* The driver with nodes that do as they are told: when they are called, and with which time. */

#define NB_NODES 2
#define NB_CALLS 512

/* 1,082 and 24 bytes at 100 Gb/s. */
#define FRAME_BYTES 1082
#define FRAME_PS UINT64_C(88480)

struct fake {
	struct node node;
	uint32_t nb_to_send;
	uint32_t nb_echoes; /* frames that it still answers, each by one */
	uint64_t next_ns;   /* its deadline */
	uint64_t got_ns[NB_CALLS], ticked_ns[NB_CALLS];
	uint32_t nb_got, nb_ticks;
	uint64_t last_ns; /* of any call */
	uint32_t nb_ups, nb_downs;
};

static struct net net;
static struct plan plan;
static struct pkt_pool *pool;
static struct fake fakes[NB_NODES];
static uint64_t taps_ps[NB_NODES][NB_CALLS];
static uint32_t nb_taps[NB_NODES];

static struct fake *
fake_of(struct node *node, uint64_t now_ns)
{
	struct fake *f = container_of(node, struct fake, node);

	cr_assert_geq(now_ns, f->last_ns, "time goes back from %lu to %lu", f->last_ns, now_ns);
	f->last_ns = now_ns;
	return f;
}

static void
fake_receive(struct node *node, uint16_t port, struct pkt **pkts, uint32_t n, uint64_t now_ns)
{
	struct fake *f = fake_of(node, now_ns);

	cr_assert_eq(port, 0);
	for (uint32_t i = 0; i < n; i++) {
		f->got_ns[f->nb_got++ % NB_CALLS] = now_ns;
		if (f->nb_echoes > 0) {
			f->nb_echoes--;
			f->nb_to_send++;
		}
	}
	pkt_free(pkts, n);
}

static uint32_t
fake_send(struct node *node, uint16_t port, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	struct fake *f = fake_of(node, now_ns);

	cr_assert(port == 0 && max == 1);
	if (f->nb_to_send == 0)
		return 0;
	f->nb_to_send--;
	cr_assert_eq(pool->alloc(pool, pkts, 1), 1);
	pkts[0]->len = FRAME_BYTES;
	return 1;
}

static void
fake_tick(struct node *node, uint64_t now_ns)
{
	struct fake *f = fake_of(node, now_ns);

	f->ticked_ns[f->nb_ticks++ % NB_CALLS] = now_ns;
	if (f->next_ns <= now_ns)
		f->next_ns = UINT64_MAX;
}

static uint64_t
fake_next_ns(const struct node *node)
{
	const struct fake *f = (const struct fake *)node;

	return f->nb_to_send > 0 ? 0 : f->next_ns;
}

static void
fake_link(struct node *node, uint16_t port, bool is_up, uint64_t now_ns)
{
	struct fake *f = fake_of(node, now_ns);

	cr_assert_eq(port, 0);
	f->nb_ups += is_up;
	f->nb_downs += !is_up;
}

static void
ignore_frame(void *arg, struct net_node *host, const struct pkt *p, uint64_t now_ps)
{
	(void)arg;
	(void)host;
	(void)p;
	(void)now_ps;
}

static void
ignore_turn(void *arg, struct net_node *host, uint64_t now_ps)
{
	(void)arg;
	(void)host;
	(void)now_ps;
}

static void
tap(void *arg, struct net_node *node, uint16_t port, bool is_out, const struct pkt *p,
    uint64_t now_ps)
{
	(void)arg;
	(void)port;
	(void)p;
	if (!is_out)
		taps_ps[node->idx][nb_taps[node->idx]++ % NB_CALLS] = now_ps;
}

static void
begin(uint64_t delay_ns)
{
	static const struct node_ops ops = {
		.receive = fake_receive,
		.send = fake_send,
		.tick = fake_tick,
		.next_ns = fake_next_ns,
		.link = fake_link,
	};
	struct plan_params params;
	const char *key;
	char why[256];

	memset(&net, 0, sizeof(net));
	memset(fakes, 0, sizeof(fakes));
	memset(nb_taps, 0, sizeof(nb_taps));
	param_defaults(plan_param_descs, &params);
	params.delay_ns = delay_ns;
	cr_assert_eq(plan_create(&plan, PLAN_BACK_TO_BACK, &params, &key, why, sizeof(why)), 0);
	pool = sim_pool_create(FRAME_BYTES);
	cr_assert(pool);
	cr_assert_eq(net_init(&net, &plan), 0);
	net.hooks = (struct net_hooks){
		.rx = ignore_frame, .tx = ignore_frame, .turn = ignore_turn, .tap = tap};
	for (uint32_t i = 0; i < NB_NODES; i++) {
		fakes[i].node = (struct node){.ops = &ops, .nb_ports = 1};
		fakes[i].next_ns = UINT64_MAX;
		net_set_node(&net, i, &fakes[i].node, true);
	}
}

static void
end(void)
{
	net_fini(&net);
	cr_expect_eq(sim_pool_nb_out(pool), 0);
	sim_pool_destroy(pool);
	plan_free(&plan);
}

static void
run_out(void)
{
	for (uint32_t i = 0; i < 100000; i++)
		if (!net_step(&net))
			return;
	cr_assert(false, "it never comes to rest");
}

Test(net, frames_follow_each_other_and_arrive_to_the_picosecond)
{
	begin(1000);
	fakes[0].nb_to_send = 100;
	net_wake(&net, 0);
	run_out();
	cr_assert_eq(fakes[1].nb_got, 100);
	for (uint32_t i = 0; i < 100; i++) {
		uint64_t want_ps = (i + 1) * FRAME_PS + 1000000;

		cr_assert_eq(taps_ps[1][i], want_ps, "frame %u: %lu ps", i, taps_ps[1][i]);
		cr_assert_eq(fakes[1].got_ns[i], want_ps / 1000); /* nodes see whole ones */
	}
	end();
}

/* An answer leaves in the picosecond in which the frame arrived, whatever the window of nodes is.
 */
Test(net, an_answer_takes_no_time)
{
	static const uint64_t delays_ns[] = {0, 1, 33, 1000, 1000000};

	for (size_t d = 0; d < sizeof(delays_ns) / sizeof(delays_ns[0]); d++) {
		uint64_t way_ps = FRAME_PS + delays_ns[d] * 1000;

		begin(delays_ns[d]);
		fakes[0].nb_to_send = 1;
		fakes[0].nb_echoes = 49;
		fakes[1].nb_echoes = 50;
		net_wake(&net, 0);
		run_out();
		cr_assert_eq(fakes[1].nb_got, 50);
		cr_assert_eq(fakes[0].nb_got, 50);
		for (uint32_t i = 0; i < 50; i++) {
			cr_assert_eq(taps_ps[1][i], (2 * i + 1) * way_ps, "delay %lu, %u: %lu",
			             delays_ns[d], i, taps_ps[1][i]);
			cr_assert_eq(taps_ps[0][i], (2 * i + 2) * way_ps, "delay %lu, %u: %lu",
			             delays_ns[d], i, taps_ps[0][i]);
		}
		end();
	}
}

Test(net, both_ways_of_a_link_are_free_of_each_other)
{
	begin(1000);
	for (uint32_t i = 0; i < NB_NODES; i++) {
		fakes[i].nb_to_send = 100;
		net_wake(&net, i);
	}
	run_out();
	for (uint32_t i = 0; i < NB_NODES; i++) {
		cr_expect_eq(fakes[i].nb_got, 100);
		cr_expect_eq(taps_ps[i][99], 100 * FRAME_PS + 1000000);
	}
	end();
}

Test(net, a_node_has_its_turn_at_its_deadline_and_then_only_when_something_comes)
{
	begin(1000);
	fakes[1].next_ns = 777;
	net_wake(&net, 1);
	run_out();
	cr_assert_eq(fakes[1].nb_ticks, 2);
	cr_expect_eq(fakes[1].ticked_ns[0], 0);
	cr_expect_eq(fakes[1].ticked_ns[1], 777);
	cr_expect_eq(fakes[0].nb_ticks, 0, "nobody woke it");
	end();
}

Test(net, a_link_that_turns_is_told_to_both_ends)
{
	begin(1000);
	net_set_link(&net, 0, false);
	net_set_link(&net, 0, true);
	run_out();
	for (uint32_t i = 0; i < NB_NODES; i++) {
		cr_expect_eq(fakes[i].nb_downs, 1);
		cr_expect_eq(fakes[i].nb_ups, 1);
		cr_expect_eq(fakes[i].nb_ticks, 1, "and each has a turn");
	}
	end();
}
