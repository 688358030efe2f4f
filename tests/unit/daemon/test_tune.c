/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf_read.h"
#include "mem.h"
#include "tune.h"
#include "view.h"
#include "world.h"

/* Changes of the NICs of a world, by a worker that has nothing else to do. */

static struct world w;
static struct nodes nodes;
static struct conf *conf;
static struct tune tune = {.nodes = &nodes};
static struct nic_conf own[2]; /* of the world, which frees the parameters */
static char answer[512];

static void
setup(void)
{
	const struct worker_conf worker_conf = {.name = "test"};

	conf = tune.conf = calloc(1, sizeof(*conf));
	cr_assert(conf && conf_defaults(conf));
	world_open(&w, NULL);
	nodes.pool = w.pool;
	nodes.worker = worker_create(&worker_conf);
	cr_assert_not_null(nodes.worker);
	for (uint32_t i = 0; i < 2; i++) {
		nodes.nics[i] = w.nic[i];
		own[i] = w.nic[i]->conf;
		nodes.host_ports[i] = w.port[i];
		strcpy(conf->nics[i].name, w.nic[i]->conf.name);
		param_defaults(fault_param_descs, &conf->nics[i].fault);
	}
	/* A switch that nobody drives: its ports alone are of interest. */
	strcpy(conf->switches[0].name, "sw0");
	conf->switches[0].nb_ports = 2;
	cr_assert_eq(port_mem_create_pair(8, nodes.switch_ports[0]), 0);
	for (uint32_t p = 0; p < 2; p++)
		conf_port_defaults(&conf->switches[0].settings[p]);
	nodes.nb_nics = conf->nb_nics = 2;
	conf->nb_switches = 1;
	cr_assert_eq(worker_start(nodes.worker), 0);
}

static void
teardown(void)
{
	worker_stop(nodes.worker);
	worker_destroy(nodes.worker);
	for (uint32_t i = 0; i < 2; i++) {
		w.nic[i]->conf = own[i];
		w.port[i] = nodes.host_ports[i];
		nodes.switch_ports[0][i]->ops->close(nodes.switch_ports[0][i]);
	}
	world_close(&w);
	tune_fini(&tune);
	conf_free(conf);
}

TestSuite(tune, .init = setup, .fini = teardown);

static int
set(const char *target, const char *key, const char *text)
{
	return tune_set(&tune, target, key, text, answer, sizeof(answer));
}

static uint64_t
rate_of_new_pair(struct app_qp *a, struct app_qp *b)
{
	struct qp_view v;

	app_open(a, &w, 0, NULL);
	app_open(b, &w, 1, NULL);
	app_connect(a, b);
	qp_view(a->qp, &v);
	return v.rate_bps;
}

Test(tune, an_engines_parameter_holds_for_connections_from_then_on)
{
	struct app_qp a[2], b[2];
	struct qp_view v;
	uint64_t before = rate_of_new_pair(&a[0], &b[0]);

	cr_expect_eq(set("fixed", "rate", "3G"), 0, "%s", answer);
	cr_expect_eq(rate_of_new_pair(&a[1], &b[1]), 3000000000);
	qp_view(a[0].qp, &v);
	cr_expect_eq(v.rate_bps, before, "those that are there keep what they have");
	cr_expect_eq(set("fixed", "rate", "2G"), 0);
	cr_expect_eq(tune.nb_kept, 2);
	for (int i = 0; i < 2; i++) {
		app_close(&a[i]);
		app_close(&b[i]);
	}
}

Test(tune, a_nic_takes_a_traffic_class_and_faults)
{
	cr_expect_eq(set("side0", "traffic_class", "104"), 0, "%s", answer);
	cr_expect_eq(w.nic[0]->conf.traffic_class, 104);
	cr_expect_eq(w.nic[1]->conf.traffic_class, own[1].traffic_class);
	cr_expect_eq(set("side0", "fault_loss", "100%"), 0, "%s", answer);
	cr_expect_eq(conf->nics[0].fault.tx.ppm[FAULT_LOSS], 1000000);
	cr_expect(port_is_fault(nodes.host_ports[0]), "it had none");
	cr_expect_not(port_is_fault(nodes.host_ports[1]));
}

Test(tune, a_port_gets_a_fault_layer_once_and_keeps_what_was_said)
{
	struct port *layer, *bare = nodes.switch_ports[0][1];
	const struct fault_params *fault = &conf->switches[0].settings[1].fault;

	cr_expect_eq(set("sw0/1", "fault_loss", "1%"), 0, "%s", answer);
	layer = nodes.switch_ports[0][1];
	cr_expect(layer != bare && port_is_fault(layer));
	cr_expect_not(port_is_fault(nodes.switch_ports[0][0]));
	cr_expect_eq(set("sw0/1", "fault_rx_pattern", "0110"), 0, "%s", answer);
	cr_expect_eq(set("sw0/1", "fault_down", "yes"), 0, "%s", answer);
	cr_expect_eq(nodes.switch_ports[0][1], layer);
	cr_expect_eq(fault->tx.ppm[FAULT_LOSS], 10000);
	cr_expect_eq(fault->rx.pattern.nb_bits, 4);
	cr_expect(fault->down.now);
	cr_expect_eq(fault->tx.reorder_pkts, 8, "a default");
}

Test(tune, what_is_wrong_is_told_and_changes_nothing)
{
	static const struct {
		const char *target, *key, *text;
		int err;
		const char *say;
	} rows[] = {
		{"side2", "traffic_class", "1", -ENOENT, "nearest: 'side0'"},
		{"gbm", "renak", "1us", -ENOENT, "nearest: 'gbn'"},
		{"gbn", "reank", "1us", -ENOENT, "nearest: 'renak'"},
		{"gbn", "renak", "1", -EINVAL, "renak = 1"},
		{"gbn", "renak", "2s", -ERANGE, "out of range"},
		{"side0", "mtu", "1500", -ENOENT, "only traffic_class and fault_"},
		{"side0", "traffic_class", "256", -ERANGE, "0 to 255"},
		{"side0", "fault_loss", "101%", -ERANGE, "out of range"},
		{"side0", "fault_down", "1", -EINVAL, "neither yes nor no"},
		{"none", "x", "1", -ENOENT, "unknown key 'x'"},
		{"sw0", "fault_loss", "1%", -ENOENT, "of sw0: one of its ports, sw0/0 to sw0/1"},
		{"sw0/2", "fault_loss", "1%", -ENOENT, "sw0/0 to sw0/1"},
		{"sw0/", "fault_loss", "1%", -ENOENT, "sw0/0 to sw0/1"},
		{"sw0/ 1", "fault_loss", "1%", -ENOENT, "sw0/0 to sw0/1"},
		{"sw0/1x", "fault_loss", "1%", -ENOENT, "sw0/0 to sw0/1"},
		{"sw0/18446744073709551617", "fault_loss", "1%", -ENOENT, "sw0/0 to sw0/1"},
		{"sw1/0", "fault_loss", "1%", -ENOENT, "unknown NIC, switch or engine 'sw1/0'"},
		{"sw0/1", "fault_los", "1%", -ENOENT, "of sw0/1 only fault_... change"},
		{"sw0/1", "traffic_class", "1", -ENOENT, "unknown key 'traffic_class'"},
		{"sw0/1", "fault_loss", "101%", -ERANGE, "out of range"},
		{"side0/0", "fault_loss", "1%", -ENOENT, "nearest: 'side0'"},
		{"flowlet", "gap", "5us", -EOPNOTSUPP, "gap of switches is read when they start"},
		{"flowlet", "gab", "5us", -ENOENT, "nearest: 'gap'"},
	};
	const void *params = w.nic[0]->conf.bind.params.rel;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int err = set(rows[i].target, rows[i].key, rows[i].text);

		cr_expect_eq(err, rows[i].err, "row %zu: %d, %s", i, err, answer);
		cr_expect(strstr(answer, rows[i].say), "row %zu: %s", i, answer);
	}
	cr_expect_eq(w.nic[0]->conf.bind.params.rel, params);
	cr_expect_eq(tune.nb_kept, 0);
	cr_expect_not(port_is_fault(nodes.switch_ports[0][1]));
}
