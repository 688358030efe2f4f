/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf_read.h"
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
	const struct world_conf world_conf = {.fault = {.seed = 1, .tx.delay_ns = 1}};
	const struct worker_conf worker_conf = {.name = "test"};

	conf = tune.conf = calloc(1, sizeof(*conf));
	cr_assert(conf && conf_defaults(conf));
	world_open(&w, &world_conf);
	nodes.worker = worker_create(&worker_conf);
	cr_assert_not_null(nodes.worker);
	for (uint32_t i = 0; i < 2; i++) {
		nodes.nics[i] = w.nic[i];
		own[i] = w.nic[i]->conf;
		nodes.host_ports[i] = w.port[i];
		strcpy(conf->nics[i].name, w.nic[i]->conf.name);
		param_defaults(fault_param_descs, &conf->nics[i].fault);
	}
	conf->nics[0].has_fault = true;
	nodes.nb_nics = conf->nb_nics = 2;
	cr_assert_eq(worker_start(nodes.worker), 0);
}

static void
teardown(void)
{
	worker_stop(nodes.worker);
	worker_destroy(nodes.worker);
	for (uint32_t i = 0; i < 2; i++)
		w.nic[i]->conf = own[i];
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
	cr_expect_eq(set("side1", "fault_loss", "1%"), -EOPNOTSUPP);
	cr_expect(strstr(answer, "no fault layer"), "%s", answer);
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
		{"none", "x", "1", -ENOENT, "unknown key 'x'"},
	};
	const void *params = w.nic[0]->conf.rel_params;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int err = set(rows[i].target, rows[i].key, rows[i].text);

		cr_expect_eq(err, rows[i].err, "row %zu: %d, %s", i, err, answer);
		cr_expect(strstr(answer, rows[i].say), "row %zu: %s", i, answer);
	}
	cr_expect_eq(w.nic[0]->conf.rel_params, params);
	cr_expect_eq(tune.nb_kept, 0);
}
