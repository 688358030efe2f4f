/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "load.h"
#include "report.h"
#include "world.h"

/* Both ends of a test in one process, over in-memory ports. */
struct ends {
	struct world world;
	struct load client, server;
};

static void
join(struct load *a, const struct load *b)
{
	for (uint32_t i = 0; i < a->test.nb_qps; i++) {
		struct local_peer peer = {
			.gid = b->nic->gids.entry[1].ip,
			.qpn = b->qps[i].app.qp->qpn,
			.psn = b->qps[i].psn,
			.own_psn = a->qps[i].psn,
			.sgid_index = 1,
			.path_mtu = SHM_MTU_1024,
			.timeout = 8,
			.nb_rd_atomic = 16,
			.retry_cnt = 7,
			.rnr_retry = 7,
			.min_rnr_timer = 12,
		};

		a->qps[i].remote_addr = (uintptr_t)b->qps[i].mem;
		a->qps[i].remote_rkey = b->mr.mr->key;
		cr_assert_eq(local_qp_connect(&a->qps[i].app, &peer, a->nic->now_ns), 0);
	}
}

static void
ends_open(struct ends *e, const struct perf_test *test, const struct world_conf *conf)
{
	struct load *loads[] = {&e->client, &e->server};

	world_open(&e->world, conf);
	world_run(&e->world, 1);
	for (int i = 0; i < 2; i++) {
		load_init(loads[i], e->world.nic[i]);
		cr_assert_eq(load_plan(loads[i], test, i == 0), 0);
		cr_assert_eq(load_open(loads[i]), 0);
	}
	join(&e->client, &e->server);
	join(&e->server, &e->client);
}

static void
ends_close(struct ends *e)
{
	load_close(&e->client);
	load_close(&e->server);
	load_fini(&e->client);
	load_fini(&e->server);
	world_close(&e->world);
}

/* One round; false if the client is not through after so many turns. */
static bool
play(struct ends *e, uint64_t first, uint64_t end, uint64_t turns)
{
	struct load *loads[] = {&e->server, &e->client};

	for (int i = 0; i < 2; i++) {
		loads[i]->first = first;
		loads[i]->end = end;
		if (loads[i]->test.is_checked)
			load_fill(loads[i]);
		load_prepare(loads[i], first, end, e->world.now_ns);
		load_go(loads[i], e->world.now_ns);
	}
	while (e->client.is_running && turns--) {
		world_step(&e->world);
		for (int i = 0; i < 2; i++)
			loads[i]->node.ops->tick(&loads[i]->node, e->world.now_ns);
	}
	load_stop(&e->server);
	return !e->client.is_running;
}

Test(load, every_operation_moves_every_byte_of_every_message)
{
	static const struct world_conf lossy = {
		.fault = {.seed = 5, .tx.ppm[FAULT_LOSS] = 10000, .rx.ppm[FAULT_LOSS] = 10000},
	};

	for (int op = 0; op < PERF_OP_NB; op++) {
		struct perf_test test = {
			.op = (enum perf_op)op,
			.size = op == PERF_ATOMIC ? 8 : 3001,
			.nb_qps = 3,
			.depth = 24,
			.iters = 100,
			.is_checked = true,
		};
		struct ends e;

		ends_open(&e, &test, &lossy);
		/* Two rounds: the second uses the same memory again. */
		for (uint64_t first = 0; first < 200; first += 100) {
			cr_assert(play(&e, first, first + 100, 1000000), "op %d", op);
			cr_assert_str_empty(e.client.why, "op %d: %s", op, e.client.why);
			cr_expect_eq(load_verify(&e.client) + load_verify(&e.server), 0, "op %d",
			             op);
		}
		cr_expect_eq(e.client.nb_total, 600, "op %d", op);
		cr_expect_gt(e.client.spent_ns, 0);
		ends_close(&e);
	}
}

Test(load, nothing_is_done_after_a_close_in_the_middle_of_a_round)
{
	struct perf_test tests[2 * PERF_OP_NB];

	for (int i = 0; i < 2 * PERF_OP_NB; i++)
		tests[i] = (struct perf_test){
			.op = (enum perf_op)(i / 2),
			.size = 8,
			.nb_qps = 1,
			.depth = 16,
			.iters = 1000,
			.is_lat = i % 2,
		};
	for (int i = 0; i < 2 * PERF_OP_NB; i++) {
		struct ends e;

		ends_open(&e, &tests[i], &(struct world_conf){0});
		cr_expect_not(play(&e, 0, 1000, 5), "test %d", i);
		load_go(&e.server, e.world.now_ns);
		load_close(&e.client);
		load_close(&e.server);
		e.client.node.ops->tick(&e.client.node, e.world.now_ns);
		e.server.node.ops->tick(&e.server.node, e.world.now_ns);
		cr_expect_eq(e.client.node.ops->next_ns(&e.client.node), UINT64_MAX);
		load_fini(&e.client);
		load_fini(&e.server);
		world_close(&e.world);
	}
}

Test(load, a_wrong_byte_is_found)
{
	struct perf_test test = {.op = PERF_WRITE,
	                         .size = 100,
	                         .nb_qps = 2,
	                         .depth = 8,
	                         .iters = 20,
	                         .is_checked = true};
	struct ends e;

	ends_open(&e, &test, NULL);
	cr_assert(play(&e, 0, 20, 100000));
	cr_expect_eq(load_verify(&e.server), 0);
	e.server.qps[1].mem[7 * e.server.slot_bytes + 99] ^= 1;
	cr_expect_eq(load_verify(&e.server), 1);
	ends_close(&e);
}

Test(load, a_latency_test_has_one_sample_per_message)
{
	for (int op = 0, depth = 1; op < PERF_OP_NB; op++, depth *= 4) {
		struct perf_test test = {
			.op = (enum perf_op)op,
			.size = 8,
			.nb_qps = 1,
			.depth = (uint32_t)depth,
			.iters = 600, /* more than a byte counts */
			.is_lat = true,
		};
		struct perf_result result = {0};
		struct ends e;

		ends_open(&e, &test, NULL);
		cr_assert(play(&e, 0, 600, 100000), "op %d", op);
		cr_expect_eq(e.client.nb_samples, 600, "op %d", op);
		report_latency(&result, e.client.samples_ns, e.client.nb_samples);
		cr_expect_geq(result.min_ns, 1000, "op %d: at least a turn", op);
		cr_expect_leq(result.min_ns, result.typical_ns);
		cr_expect_leq(result.typical_ns, result.p99_ns);
		cr_expect_leq(result.p99_ns, result.max_ns);
		ends_close(&e);
	}
}

Test(load, a_test_of_seconds_ends_with_them)
{
	struct perf_test test = {
		.op = PERF_SEND, .size = 64, .nb_qps = 2, .depth = 100, .seconds = 1};
	struct world_conf slow = {.step_ns = 100000};
	struct ends e;

	ends_open(&e, &test, &slow);
	cr_assert(play(&e, 0, UINT64_MAX, 20000));
	cr_assert_str_empty(e.client.why);
	cr_expect_geq(e.client.last_ns - e.client.start_ns, 990000000);
	cr_expect_leq(e.client.last_ns - e.client.start_ns, 1100000000);
	cr_expect_gt(e.client.nb_total, 1000);
	ends_close(&e);
}

Test(load, a_failed_qp_ends_the_test_with_its_reason)
{
	struct perf_test test = {
		.op = PERF_WRITE, .size = 64, .nb_qps = 1, .depth = 4, .iters = 10};
	struct ends e;

	ends_open(&e, &test, NULL);
	e.client.qps[0].remote_rkey ^= 0x100;
	cr_assert(play(&e, 0, 10, 100000));
	cr_expect_neq(strstr(e.client.why, "status 10"), NULL, "%s", e.client.why);
	ends_close(&e);
}

Test(report, percentiles_are_of_the_samples)
{
	uint64_t samples[1000];
	struct perf_result r;

	for (uint64_t i = 0; i < 1000; i++)
		samples[(i * 7) % 1000] = i + 1;
	report_latency(&r, samples, 1000);
	cr_expect_eq(r.min_ns, 1);
	cr_expect_eq(r.max_ns, 1000);
	cr_expect_eq(r.typical_ns, 500);
	cr_expect_eq(r.p99_ns, 990);
	cr_expect_eq(r.p999_ns, 999);
	cr_expect_float_eq(r.avg_ns, 500.5, 1e-9);
	cr_expect_float_eq(r.stdev_ns, 288.675, 1e-3);
	report_latency(&r, samples, 1);
	cr_expect_eq(r.p999_ns, 1);
}

Test(load, needs_are_messages_and_queues)
{
	static const struct {
		struct perf_test test;
		uint64_t least, most;
	} rows[] = {
		{{.size = 1 << 20, .nb_qps = 8, .depth = 1, .iters = 1}, 8 << 20, 9 << 20},
		/* Queues alone: two of a completion, and a send and a receive for each message. */
		{{.size = 8, .nb_qps = 64, .depth = 1024, .iters = 1}, 64 * 1024 * 224, 20 << 20},
		{{.size = 8, .nb_qps = 1, .depth = 16, .seconds = 1, .is_lat = true},
	         32000000,
	         33 << 20},
		{{.size = 4096, .nb_qps = PERF_MAX_QPS, .depth = PERF_MAX_DEPTH, .iters = 1},
	         UINT64_C(28) << 30,
	         PERF_SERVER_MEMORY_MAX - PERF_MAX_MEMORY},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t needs = load_needs(&rows[i].test);

		cr_expect_geq(needs, rows[i].least, "row %zu", i);
		cr_expect_leq(needs, rows[i].most, "row %zu", i);
	}
}
