/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "bind.h"
#include "counters.h"
#include "faults.h"
#include "report.h"
#include "view.h"
#include "world.h"

/* Reports of the two NICs of a world, told by a worker that has nothing else to do. */

static struct world w;
static struct nodes nodes;
static struct conf conf;
static struct report report = {.nodes = &nodes, .conf = &conf};

static void
setup(void)
{
	const struct worker_conf worker_conf = {.name = "test"};

	world_open(&w, NULL);
	nodes.worker = worker_create(&worker_conf);
	cr_assert_not_null(nodes.worker);
	for (uint32_t i = 0; i < 2; i++) {
		nodes.nics[i] = w.nic[i];
		strcpy(conf.nics[i].name, w.nic[i]->conf.name);
		strcpy(conf.nics[i].port.arg, "r");
		nodes.host_ports[i] = w.port[i];
		conf.nics[i].bind.set = w.nic[i]->conf.bind.set;
	}
	nodes.nb_nics = conf.nb_nics = 2;
	cr_assert_eq(worker_start(nodes.worker), 0);
}

static void
teardown(void)
{
	worker_stop(nodes.worker);
	worker_destroy(nodes.worker);
	world_close(&w);
}

TestSuite(report, .init = setup, .fini = teardown);

static json_int_t
number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	cr_assert(json_is_integer(value), "%s is no number", key);
	return json_integer_value(value);
}

static const char *
text(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	cr_assert(json_is_string(value), "%s is no text", key);
	return json_string_value(value);
}

Test(report, nodes_have_the_addresses_of_their_nics)
{
	json_t *all = report_nodes(&report), *nic = json_array_get(all, 0), *gids, *port;

	cr_assert_eq(json_array_size(all), 2);
	cr_expect_str_eq(text(nic, "name"), "side0");
	cr_expect_str_eq(text(nic, "kind"), "nic");
	cr_expect_str_eq(text(nic, "framing"), "rocev2");
	cr_expect_str_eq(text(nic, "reliability"), "gbn");
	cr_expect_eq(number(nic, "qps"), 0);
	cr_expect_eq(number(nic, "keys"), 0);
	cr_expect_eq(number(nic, "path_mtu"), mtu_bytes(w.nic[0]->active_mtu));
	port = json_array_get(json_object_get(nic, "ports"), 0);
	cr_expect_str_eq(text(port, "port"), "ring:r");
	cr_expect_str_eq(text(port, "link"), "up");
	gids = json_object_get(nic, "gids");
	cr_assert_eq(json_array_size(gids), w.nic[0]->gids.len);
	cr_expect_eq(number(json_array_get(gids, 0), "index"), 0);
	json_decref(all);
}

Test(report, counters_are_those_of_the_node_asked_for)
{
	json_t *all, *own;

	w.nic[0]->stats.out_of_sequence = 7;
	all = report_counters(&report, NULL);
	cr_expect_eq(json_object_size(all), 3, "the worker and two NICs");
	own = json_object_get(all, "side0");
	cr_expect_eq(number(own, "out_of_sequence"), 7);
	cr_expect_eq(number(own, "gbn_rewinds"), 0);
	cr_expect_eq(number(own, "neigh_lost"), 0);
	cr_expect_eq(number(json_object_get(all, "side1"), "out_of_sequence"), 0);
	json_decref(all);

	all = report_counters(&report, "side1");
	cr_expect_eq(json_object_size(all), 1);
	cr_expect_not_null(json_object_get(all, "side1"));
	json_decref(all);

	cr_expect(report_has_counters(&report, "worker"));
	cr_expect_not(report_has_counters(&report, "side2"));
}

Test(report, counters_of_faults_are_there_from_the_first_on)
{
	static const struct fault_params params = {.seed = 1, .tx.ppm[FAULT_LOSS] = 1};
	json_t *all = report_counters(&report, "side1");

	cr_expect_null(json_object_get(json_object_get(all, "side1"), "fault_tx_lost"));
	json_decref(all);
	nodes.pool = w.pool;
	cr_assert_eq(faults_set(&nodes, &nodes.host_ports[1], &params), 0);
	w.port[1] = nodes.host_ports[1];
	all = report_counters(&report, "side1");
	cr_expect_eq(number(json_object_get(all, "side1"), "fault_tx_lost"), 0);
	cr_expect_eq(number(json_object_get(all, "side1"), "neigh_lost"), 0);
	json_decref(all);
}

Test(report, one_qp_is_found_by_its_number)
{
	struct app_qp a, b;
	json_t *qp;

	app_open(&a, &w, 0, NULL);
	app_open(&b, &w, 1, NULL);
	app_connect(&a, &b);
	qp = report_qp(&report, w.nic[0], a.qp->qpn);
	cr_assert(json_is_object(qp));
	cr_expect_str_eq(text(qp, "nic"), "side0");
	cr_expect_eq(number(qp, "qpn"), a.qp->qpn);
	cr_expect_str_eq(text(qp, "state"), "RTS");
	cr_expect_eq(number(qp, "peer_qpn"), b.qp->qpn);
	cr_expect_str_eq(text(qp, "error"), "");
	json_decref(qp);
	qp = report_qp(&report, w.nic[1], a.qp->qpn ^ 1);
	cr_expect(json_is_null(qp));
	app_close(&a);
	app_close(&b);
}

/* QPs that a walk tells of. */
static uint32_t
count(struct report_walk *walk, uint32_t slices)
{
	uint32_t n = 0;

	while (slices-- > 0 && report_walk_more(walk)) {
		json_t *slice = report_walk_next(walk);

		cr_assert(json_is_array(slice));
		cr_expect_leq(json_array_size(slice), REPORT_SLICE_QPS);
		n += (uint32_t)json_array_size(slice);
		json_decref(slice);
	}
	return n;
}

Test(report, a_walk_tells_of_each_qp_once_in_slices)
{
	enum { NB = 2 * REPORT_SLICE_QPS + 5 };
	static struct app_qp qps[NB];
	const struct app_conf small = {.depth = 4};
	struct report_walk walk;
	uint32_t n;

	for (uint32_t i = 0; i < NB; i++)
		app_open(&qps[i], &w, i % 8 == 0, &small);

	report_walk_begin(&walk, &report, NULL);
	cr_expect_eq(count(&walk, 100), NB);
	cr_expect_not(report_walk_more(&walk));
	report_walk_begin(&walk, &report, w.nic[1]);
	cr_expect_eq(count(&walk, 100), (NB + 7) / 8);

	/* Those that end meanwhile are left out, the others are not. */
	report_walk_begin(&walk, &report, NULL);
	n = count(&walk, 1);
	for (uint32_t i = 0; i < NB; i += 8)
		app_close(&qps[i]);
	cr_expect_eq(n + count(&walk, 100), NB - (NB + 7) / 8);

	/* Given up in the middle. */
	report_walk_begin(&walk, &report, NULL);
	count(&walk, 1);
	report_walk_end(&walk);
	for (uint32_t i = 0; i < NB; i++) {
		if (i % 8)
			app_close(&qps[i]);
	}
}

#define NB_CLIENTS 150

/* Connections 2, 4, 6...: every third has no NIC. */
static uint32_t
even_clients(void *arg, uint64_t after, struct client_view *views, uint32_t max)
{
	uint32_t nb = 0;

	cr_assert_eq(arg, &w);
	for (uint64_t i = 1; i <= NB_CLIENTS && nb < max; i++) {
		if (2 * i > after)
			views[nb++] = (struct client_view){.number = 2 * i,
			                                   .nic = i % 3 ? "side1" : NULL,
			                                   .nb_mrs = (uint32_t)i,
			                                   .memory_bytes = i << 32};
	}
	return nb;
}

Test(report, clients_come_in_pieces_each_once)
{
	const struct report of_clients = {
		.nodes = &nodes, .conf = &conf, .clients = even_clients, .clients_arg = &w};
	const struct {
		const struct nic *nic;
		uint32_t nb;
	} rows[] = {{NULL, NB_CLIENTS}, {w.nic[0], 0}, {w.nic[1], NB_CLIENTS / 3 * 2}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_int_t last = 0;
		uint64_t after = 0;
		uint32_t nb = 0;

		for (bool more = true; more;) {
			json_t *piece = report_clients(&of_clients, rows[i].nic, &after, &more),
			       *client;
			size_t k;

			json_array_foreach(piece, k, client)
			{
				cr_expect_gt(number(client, "client"), last);
				last = number(client, "client");
				cr_expect_eq(number(client, "mrs"), last / 2);
				cr_expect_eq(number(client, "memory_bytes"), last / 2 << 32);
				nb++;
			}
			json_decref(piece);
		}
		cr_expect_eq(nb, rows[i].nb, "row %zu", i);
	}
}

Test(report, one_client_by_its_number)
{
	const struct report of_clients = {
		.nodes = &nodes, .conf = &conf, .clients = even_clients, .clients_arg = &w};
	json_t *client = report_client(&of_clients, 4);
	uint64_t after = 0;
	bool more;

	cr_expect_eq(number(client, "client"), 4);
	cr_expect_str_eq(text(client, "nic"), "side1");
	json_decref(client);
	client = report_client(&of_clients, 6);
	cr_expect(json_is_null(json_object_get(client, "nic")));
	json_decref(client);
	for (uint64_t none = 0; none < 2 * NB_CLIENTS + 4; none += 2 * NB_CLIENTS + 2)
		cr_expect(json_is_null(report_client(&of_clients, none)), "client %lu", none);
	cr_expect(json_is_null(report_client(&of_clients, 3)));
	client = report_clients(&report, NULL, &after, &more);
	cr_expect_eq(json_array_size(client), 0, "nobody serves programs");
	cr_expect_not(more);
	json_decref(client);
}
