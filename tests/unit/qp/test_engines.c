/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "engines.h"
#include "framing.h"
#include "open.h"
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
		gbn = w.nic[0]->conf.bind.set.rel;
		ops = *gbn;
		ops.state_size = state_size;
		ops.init = init;
		w.nic[0]->conf.bind.set.rel = &ops;
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

/* ---- which engines a QP gets ---- */

/* go-back-N by other names, with more memory and with counters of its own. */
static const struct stat_desc twin_stats[] = {{"twin_rewinds", offsetof(struct rel_head, rx_cum)},
                                              {NULL}};
static struct reliability_ops twin, weft_only;
static struct cc_ops hops; /* as an engine with telemetry: not in plain RoCEv2 */
static struct nic_bind binds[4];

static size_t
twin_size(const void *params, const struct engine_env *env)
{
	return gbn->state_size(params, env) + 1000;
}

static struct ip_prefix
prefix_of(const char *bytes, uint8_t len, uint8_t bits)
{
	struct ip_prefix prefix = {.bits = bits};

	memcpy(prefix.ip.b, bytes, len);
	return prefix;
}

#define V4 "\0\0\0\0\0\0\0\0\0\0\xff\xff"

/* 10.0.0.0/8 has the twin; 10.0.0.2 an engine of weft, if it speaks that; fd00::/16 telemetry. */
static void
open_world(struct world *w)
{
	struct nic *nic;

	world_open(w, NULL);
	nic = w->nic[0];
	gbn = nic->conf.bind.set.rel;
	twin = weft_only = *gbn;
	twin.info.name = "twin";
	twin.info.stats = twin_stats;
	twin.state_size = twin_size;
	weft_only.info.name = "weft_only";
	weft_only.info.needs = TRAIT_WEFT;
	hops = *nic->conf.bind.set.cc;
	hops.info.name = "hops";
	hops.info.wire = WIRE_INT;
	for (int i = 0; i < 4; i++)
		binds[i] = nic->conf.bind;
	binds[0].peers = prefix_of(V4 "\x0a", 13, 96 + 8);
	binds[0].set.rel = &twin;
	binds[1].peers = prefix_of(V4 "\x0a\0\0\x02", 16, 128);
	binds[1].set.rel = &weft_only;
	binds[1].framing = FRAMING_WISH_AUTO;
	binds[2].peers = prefix_of("\xfd\0", 2, 16);
	binds[2].set.cc = &hops;
	binds[2].framing = FRAMING_WISH_WEFT;
	binds[3].peers = prefix_of(V4 "\x0a\x01", 14, 96 + 16);
	nic->conf.peers = binds;
	nic->conf.nb_peers = 4;
	nic->peers = open_peers(nic);
	cr_assert(nic->peers);
	cr_assert(nic_find_engine_stats(nic));
}

Test(engines, the_longest_prefix_that_holds_a_peer_wins)
{
	static const struct {
		uint8_t ip[16];
		int bind; /* -1 = the NIC's own */
	} rows[] = {
		{{[10] = 0xff, 0xff, 10, 0, 0, 1}, 0},     {{[10] = 0xff, 0xff, 10, 0, 0, 2}, 1},
		{{[10] = 0xff, 0xff, 10, 1, 2, 3}, 3},     {{0xfd, 0, 7, [15] = 1}, 2},
		{{[10] = 0xff, 0xff, 192, 168, 0, 1}, -1}, {{0xfd, 1, [15] = 1}, -1},
	};
	struct world w;

	open_world(&w);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct nic_bind *want =
			rows[i].bind < 0 ? &w.nic[0]->conf.bind : &binds[rows[i].bind];
		struct ip_addr ip;

		memcpy(ip.b, rows[i].ip, 16);
		cr_expect_eq(nic_bind_of(w.nic[0], &ip), want, "row %zu", i);
	}
	world_close(&w);
}

Test(engines, a_qp_gets_those_of_its_peer_and_its_framing)
{
	static const struct {
		uint8_t type;
		uint8_t gid;  /* of both ends: 1 is IPv4, 2 IPv6 */
		uint8_t last; /* byte of the peer's address */
		const char *rel, *cc;
		uint8_t framing;
		const char *plain_rel, *plain_cc; /* after falling back; NULL = it is plain */
	} rows[] = {
		{SHM_QPT_RC, 1, 9, "twin", "fixed", QP_PLAIN, NULL, NULL},
		{SHM_QPT_RC, 1, 2, "weft_only", "fixed", QP_PENDING, "gbn", "fixed"},
		{SHM_QPT_RC, 2, 2, "gbn", "hops", QP_PENDING, "gbn", "fixed"},
		{SHM_QPT_UC, 1, 2, "none", "fixed", QP_PLAIN, NULL, NULL},
		{SHM_QPT_UC, 2, 2, "none", "fixed", QP_PLAIN, NULL, NULL},
		{SHM_QPT_UD, 1, 2, "none", "fixed", QP_PLAIN, NULL, NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct app_conf ac = {.type = rows[i].type};
		struct shm_qp_attr attr;
		struct app_qp a, b;
		struct world w;

		open_world(&w);
		app_open(&a, &w, 0, &ac);
		app_open(&b, &w, 1, &ac);
		cr_expect_eq(a.qp->framing, QP_PLAIN);
		attr = app_attr(&a, &b);
		attr.av.sgid_index = rows[i].gid;
		memcpy(attr.av.dgid, w.nic[1]->gids.entry[rows[i].gid].ip.b, 16);
		attr.av.dgid[15] = rows[i].last;
		for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTR; state++)
			cr_assert_eq(app_to(&a, &attr, state), 0);
		cr_expect_str_eq(a.qp->rel_ops->info.name, rows[i].rel, "row %zu", i);
		cr_expect_str_eq(a.qp->cc_ops->info.name, rows[i].cc, "row %zu", i);
		cr_expect_eq(a.qp->framing, rows[i].framing, "row %zu", i);
		if (rows[i].plain_rel) {
			qp_engines_fall_back(a.qp);
			cr_expect_str_eq(a.qp->rel_ops->info.name, rows[i].plain_rel, "row %zu", i);
			cr_expect_str_eq(a.qp->cc_ops->info.name, rows[i].plain_cc, "row %zu", i);
			cr_expect_eq(a.qp->rel->rx_cum, a.qp->rel_qp.rx_first_psn);
		}
		app_close(&a);
		app_close(&b);
		world_close(&w);
	}
}

/* A counter by its name, if there is one, summed over what has the name. */
static uint64_t
counter(const struct nic *nic, const char *name)
{
	struct nic_engine_sums sums;
	uint64_t sum = 0;

	nic_engine_stats(nic, &sums);
	for (uint32_t e = 0; e < nic->nb_engine_stats; e++) {
		uint32_t i = 0;

		STAT_FOREACH (d, nic->engine_stats[e]) {
			sum += strcmp(d->name, name) == 0 ? sums.engine[e][i] : 0;
			i++;
		}
	}
	return sum;
}

Test(engines, counters_are_those_of_the_engine_that_counted)
{
	struct shm_qp_attr attr, reset = {.state = SHM_QPS_RESET};
	struct app_qp a, b;
	struct world w;

	open_world(&w);
	app_open(&a, &w, 0, NULL);
	app_open(&b, &w, 1, NULL);
	/* What the twin counts is where it receives. */
	attr = app_attr(&a, &b);
	attr.av.dgid[15] = 9;
	for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTR; state++)
		cr_assert_eq(app_to(&a, &attr, state), 0);
	cr_expect_eq(counter(w.nic[0], "twin_rewinds"), a.qp->rel->rx_cum);
	cr_expect_eq(counter(w.nic[0], "gbn_rewinds"), 0);
	cr_assert_eq(app_to(&a, &reset, SHM_QPS_RESET), 0);
	cr_expect_gt(counter(w.nic[0], "twin_rewinds"), 0, "what it counted stays");

	/* The same QP with a peer that has another engine counts there. */
	attr.av.dgid[15] = 2;
	for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTR; state++)
		cr_assert_eq(app_to(&a, &attr, state), 0);
	cr_expect_eq(a.qp->rel_ops, &weft_only);
	cr_expect_eq(counter(w.nic[0], "twin_rewinds"), a.qp->rel_qp.rx_first_psn);
	app_close(&a);
	app_close(&b);
	world_close(&w);
}

Test(engines, congestion_controls_that_share_a_state_are_one_per_nic)
{
	struct cc_ops one, two;
	const struct cc_ops *shared;
	struct nic_conf conf;
	struct world w;

	open_world(&w);
	conf = w.nic[0]->conf;
	cr_expect(nic_find_shared_cc(&conf, &shared));
	cr_expect_null(shared);
	one = two = *conf.bind.set.cc;
	one.nic_state_size = 8;
	two.nic_state_size = 16;
	binds[2].set.cc = &one;
	cr_expect(nic_find_shared_cc(&conf, &shared));
	cr_expect_eq(shared, &one);
	binds[1].set.cc = &two;
	cr_expect_not(nic_find_shared_cc(&conf, &shared));
	cr_expect_null(nic_create(&conf, 0));
	cr_expect_eq(errno, EINVAL);
	world_close(&w);
}
