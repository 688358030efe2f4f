/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bad_gbn.h"
#include "be.h"
#include "hdr.h"
#include "lab_impl.h"
#include "lab_rig.h"
#include "opcode.h"
#include "wire.h"

/*
 * Each checker of a run fires when it should: something is broken on purpose, in an engine, on a
 * link, in a switch, a NIC or an application, and the run stops with the rule that it broke.
 */

/* ---- the run ---- */

/* Two hosts at a switch, real payload, and one flow of some packets of 1 KB; its PSNs wrap. */
static void
begin(struct lab_rig *r, enum flow_verb verb, const char *bytes, const char *message)
{
	struct plan_params topology = lab_rig_topology();
	struct workload *w;

	topology.hosts = 2;
	lab_rig_init(r, PLAN_STAR, &topology);
	r->conf.real_payload = true;
	r->conf.first_psn = 0xfffffe;
	r->conf.host.window_pkts = 4;
	r->conf.host.timeout = 6; /* 262 us */
	w = lab_rig_workload(r, "long", verb);
	lab_rig_set(w, "bytes", bytes);
	lab_rig_set(w, "message", message);
}

/* What the rows of a test are run under. */
static const enum framing_wish framings[] = {FRAMING_WISH_ROCEV2, FRAMING_WISH_WEFT};

static void
use_bad(struct lab_rig *r, enum bad_gbn bad)
{
	bad_gbn = bad;
	r->conf.engines.params.rel = NULL;
	r->conf.engines.set.rel = &bad_gbn_ops;
}

/* Of frames from the first host. */
static void
set_fault(struct lab_rig *r, const char *key, const char *value)
{
	struct fault_params *faults = lab_rig_faults(r, 0);
	char why[256];

	cr_assert_eq(param_set(fault_param_descs, faults, key, value, why, sizeof(why)), 0, "%s",
	             why);
}

/* It stopped for this, and told when, where and what came before. */
static void
expect_rule(struct lab_rig *r, const char *rule, bool has_history)
{
	const struct violation *v = &lab_result(r->lab)->violation;
	uint32_t nb_lines = 0;

	if (!rule) {
		cr_expect_null(v->rule, "%s: %s", v->rule, v->what);
		return;
	}
	cr_assert_not_null(v->rule, "nobody noticed: %s", rule);
	cr_expect_str_eq(v->rule, rule, "%s", v->what);
	cr_expect_gt(strlen(v->what), 10);
	cr_expect_leq(v->at_ps, lab_now_ps(r->lab));
	cr_expect_not(lab_run(r->lab, 1), "the run goes on");
	cr_assert_eq(v->history != NULL, has_history, "%s", rule);
	for (const char *p = v->history; p && *p; p++)
		nb_lines += *p == '\n';
	cr_expect(!has_history || (nb_lines > 1 && nb_lines <= 101), "%u lines", nb_lines);
}

/* ---- engines ---- */

static const char sent[] = "only what was sent is acknowledged";
static const char arrived[] = "what completes has arrived";
static const char payload[] = "payload is what was sent";
static const char window[] = "no PSN beyond its window";
static const char skipped[] = "PSNs follow each other";

/*
 * A weft packet says itself where it belongs: what is accepted out of order is placed where it
 * should be, and what is missing is missed when its work request completes. The responses of a weft
 * READ are a stream of the engine's, which it can spoil; plain ones are not.
 */
Test(watch, mistakes_of_an_engine_are_told_as_the_rules_that_they_break)
{
	static const struct {
		enum bad_gbn bad;
		enum flow_verb verb;
		const char *bytes, *message;
		const char *pattern;  /* of losses */
		const char *rules[2]; /* by framing; NULL = none */
	} rows[] = {
		{BAD_NOTHING, FLOW_WRITE, "24K", "4K", "0001", {NULL, NULL}},
		{BAD_NOTHING, FLOW_SEND, "24K", "4K", "0001", {NULL, NULL}},
		{BAD_NOTHING, FLOW_READ, "24K", "4K", "0001", {NULL, NULL}},
		{BAD_ACK, FLOW_WRITE, "1K", "1K", NULL, {sent, sent}},
		{BAD_ACK, FLOW_WRITE, "24K", "4K", NULL, {payload, arrived}},
		{BAD_ACK, FLOW_READ, "24K", "4K", NULL, {NULL, arrived}},
		{BAD_WRAP, FLOW_WRITE, "4K", "1K", NULL, {arrived, arrived}},
		{BAD_WRAP, FLOW_SEND, "4K", "1K", NULL, {payload, arrived}},
		{BAD_WRAP, FLOW_READ, "4K", "1K", NULL, {NULL, sent}},
		{BAD_SWALLOW, FLOW_WRITE, "24K", "4K", NULL, {arrived, arrived}},
		{BAD_SWALLOW, FLOW_SEND, "24K", "4K", NULL, {arrived, arrived}},
		{BAD_SWALLOW, FLOW_READ, "24K", "4K", NULL, {NULL, arrived}},
		{BAD_UNORDERED, FLOW_WRITE, "24K", "4K", "0100", {payload, arrived}},
		{BAD_UNORDERED, FLOW_WRITE, "24K", "1K", "0100", {arrived, arrived}},
		{BAD_UNORDERED, FLOW_SEND, "24K", "4K", "0100", {payload, arrived}},
		{BAD_UNORDERED, FLOW_READ, "24K", "4K", "0100", {NULL, arrived}},
		{BAD_WINDOW, FLOW_WRITE, "24K", "4K", NULL, {window, window}},
		{BAD_WINDOW, FLOW_READ, "24K", "4K", NULL, {NULL, window}},
		{BAD_SKIP, FLOW_WRITE, "24K", "4K", NULL, {skipped, skipped}},
		{BAD_SKIP, FLOW_READ, "24K", "4K", NULL, {NULL, skipped}},
	};

	for (size_t n = 0; n < 2 * sizeof(rows) / sizeof(rows[0]); n++) {
		size_t i = n / 2;
		struct lab_rig r;

		begin(&r, rows[i].verb, rows[i].bytes, rows[i].message);
		r.conf.engines.framing = framings[n % 2];
		use_bad(&r, rows[i].bad);
		if (rows[i].pattern)
			set_fault(&r, "fault_pattern", rows[i].pattern);
		lab_rig_run(&r);
		expect_rule(&r, rows[i].rules[n % 2], true);
		lab_rig_fini(&r);
	}
}

/* ---- frames ---- */

/* Who changes a frame on its way to a host, so that nothing but its meaning is wrong. */
struct forger {
	struct lab_tap tap;
	void (*forge)(uint8_t *bth, uint32_t len);
	uint32_t skip; /* data packets before it */
};

static void
reseal(uint8_t *frame, uint32_t len)
{
	uint32_t crc = ~icrc_headers(frame + ETH_LEN, false, len - ETH_LEN - ICRC_LEN);

	for (uint32_t i = 0; i < ICRC_LEN; i++)
		frame[len - ICRC_LEN + i] = (uint8_t)(crc >> 8 * i);
}

static void
forge_frame(void *arg, uint32_t node, uint16_t port, bool is_out, uint64_t at_ps,
            const struct pkt *p)
{
	enum { BTH = ETH_LEN + IPV4_LEN + UDP_LEN };
	struct forger *f = arg;
	const struct opcode_info *op = &opcode_table[p->data[BTH]];

	(void)node;
	(void)port;
	(void)at_ps;
	if (is_out || !(op->flags & (OPF_WRITE | OPF_SEND | OPF_READ_RESP)) || f->skip-- > 0)
		return;
	f->forge(p->data + BTH, p->len - BTH);
	reseal(p->data, p->len);
	f->skip = UINT32_MAX;
}

/* The last byte of the payload. */
static void
forge_payload(uint8_t *bth, uint32_t len)
{
	bth[len - ICRC_LEN - 1] ^= 1;
}

/* Where a WRITE goes: into the memory of the next message. In weft it is behind MSN and map. */
static void
forge_address(uint8_t *bth, uint32_t len)
{
	bool is_weft = opcode_table[bth[0]].flags & OPF_WEFT;
	uint8_t *reth = bth + BTH_LEN + (is_weft ? WEFT_MSN_MAP_LEN : 0);

	(void)len;
	put_be64(reth, get_be64(reth) + CONN_STRIDE);
}

Test(watch, a_frame_that_was_forged_is_told_where_it_is_placed)
{
	static const struct {
		enum flow_verb verb;
		uint32_t to; /* host */
		uint32_t skip;
		void (*forge)(uint8_t *bth, uint32_t len);
		const char *rule;
	} rows[] = {
		{FLOW_WRITE, 1, 0, forge_payload, payload},
		{FLOW_SEND, 1, 3, forge_payload, payload},
		{FLOW_READ, 1, 2, forge_payload, payload},
		{FLOW_WRITE, 1, 0, forge_address, "nothing is placed outside its message"},
	};

	for (size_t n = 0; n < 2 * sizeof(rows) / sizeof(rows[0]); n++) {
		size_t i = n / 2;
		struct forger f = {.forge = rows[i].forge, .skip = rows[i].skip};
		struct lab_rig r;

		begin(&r, rows[i].verb, "4K", "4K");
		r.conf.engines.framing = framings[n % 2];
		f.tap = (struct lab_tap){.frame = forge_frame, .arg = &f, .node = rows[i].to};
		r.lab = lab_create(&r.conf);
		cr_assert(r.lab);
		lab_set_tap(r.lab, &f.tap);
		while (lab_run(r.lab, 1000))
			;
		expect_rule(&r, rows[i].rule, true);
		lab_rig_fini(&r);
	}
}

/* ---- an application ---- */

/* One more request than the workload's, for no bytes. */
static void
post_another(struct conn *conn, uint8_t op)
{
	struct conn_end *e = conn_requester(conn), *peer = &conn->end[e == &conn->end[0]];
	const struct shm_send_wqe wqe = {
		.wr_id = 77,
		.op = op,
		.flags = SHM_SEND_SIGNALED,
		.nb_sge = 1,
		.remote_addr = CONN_BASE,
		.rkey = peer->mr->key,
	};

	local_put_send(&e->qp, &wqe,
	               &(struct shm_sge){.addr = CONN_BASE, .length = 0, .lkey = e->mr->key});
	local_ring(&e->qp, 0);
}

Test(watch, a_completion_that_nobody_waits_for_is_told)
{
	static const struct {
		enum flow_verb verb;
		uint8_t op;
		const char *rule;
	} rows[] = {
		{FLOW_WRITE, SHM_WR_WRITE, "each WQE completes once and in order"},
		{FLOW_READ, SHM_WR_READ, "each WQE completes once and in order"},
		{FLOW_SEND, SHM_WR_SEND, "what completes was sent"},
	};

	for (size_t n = 0; n < 2 * sizeof(rows) / sizeof(rows[0]); n++) {
		size_t i = n / 2;
		struct lab_rig r;

		begin(&r, rows[i].verb, "24K", "4K");
		r.conf.engines.framing = framings[n % 2];
		r.conf.duration_ns = 1000000;
		r.lab = lab_create(&r.conf);
		cr_assert(r.lab);
		while (r.lab->nb_conns == 0)
			cr_assert(lab_run(r.lab, 1));
		post_another(r.lab->conns, rows[i].op);
		while (lab_run(r.lab, 1000))
			;
		expect_rule(&r, rows[i].rule, true);
		lab_rig_fini(&r);
	}
}

/* ---- sums ---- */

/* A node of which one frame goes another way. */
static const struct node_ops *honest;
static struct pkt *stolen;
static uint32_t nb_honest;

/* It comes, and is gone: the node behind has never seen it. */
static void
receive_less(struct node *node, uint16_t port, struct pkt **pkts, uint32_t n, uint64_t now_ns)
{
	if (nb_honest-- == 0)
		pkt_free(pkts, n);
	else
		honest->receive(node, port, pkts, n, now_ns);
}

/* The node has counted it as sent, and keeps it. */
static uint32_t
send_less(struct node *node, uint16_t port, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	uint32_t n = honest->send(node, port, pkts, max, now_ns);

	if (n == 0 || nb_honest-- != 0)
		return n;
	stolen = pkts[0];
	return 0;
}

/* What comes is kept beside the queues, for ever. */
static void
receive_and_keep(struct node *node, uint16_t port, struct pkt **pkts, uint32_t n, uint64_t now_ns)
{
	struct pkt *copy;

	honest->receive(node, port, pkts, n, now_ns);
	if (nb_honest-- != 0)
		return;
	cr_assert_eq(pkts[0]->pool->alloc(pkts[0]->pool, &copy, 1), 1);
	stolen = copy;
}

Test(watch, sums_are_told_that_are_wrong)
{
	static const char in_out[] = "in = out + drops", empty[] = "buffers are empty at the end";
	static const struct {
		uint32_t node; /* 2 is the switch */
		uint32_t nb_honest;
		struct node_ops ops;
		const char *rule;
	} rows[] = {
		{2, 3, {.receive = receive_less}, in_out},
		{2, 3, {.send = send_less}, in_out},
		{1, 3, {.receive = receive_less}, in_out},
		{0, 3, {.send = send_less}, in_out},
		{2, 3, {.receive = receive_and_keep}, empty},
		{1, 3, {.receive = receive_and_keep}, empty},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct node_ops ops;
		struct lab_rig r;
		struct node *node;

		begin(&r, FLOW_WRITE, "24K", "4K");
		r.lab = lab_create(&r.conf);
		cr_assert(r.lab);
		node = r.lab->net.nodes[rows[i].node].node;
		honest = node->ops;
		ops = *honest;
		if (rows[i].ops.receive)
			ops.receive = rows[i].ops.receive;
		if (rows[i].ops.send)
			ops.send = rows[i].ops.send;
		node->ops = &ops;
		nb_honest = rows[i].nb_honest;
		stolen = NULL;
		while (lab_run(r.lab, 1000))
			;
		expect_rule(&r, rows[i].rule, false);
		if (stolen)
			pkt_free(&stolen, 1);
		lab_rig_fini(&r);
	}
}

/* A frame on its way is no more. */
Test(watch, a_frame_that_a_link_loses_is_told)
{
	struct pkt_queue *flight;
	struct lab_rig r;
	struct pkt *p;

	begin(&r, FLOW_WRITE, "24K", "4K");
	r.lab = lab_create(&r.conf);
	cr_assert(r.lab);
	flight = &r.lab->net.links[0][0].link.flight;
	while (flight->nb_pkts < 2)
		cr_assert(lab_run(r.lab, 1));
	p = pkt_queue_pop(flight);
	pkt_free(&p, 1);
	while (lab_run(r.lab, 1000))
		;
	expect_rule(&r, "in = out + drops", false);
	lab_rig_fini(&r);
}

/* A link from which no frame comes any more, and which counts them all. */
Test(watch, frames_that_never_arrive_are_told)
{
	struct sim_link *link;
	struct lab_rig r;

	begin(&r, FLOW_WRITE, "24K", "4K");
	r.lab = lab_create(&r.conf);
	cr_assert(r.lab);
	link = &r.lab->net.links[0][0].link;
	while (link->flight.nb_pkts < 2)
		cr_assert(lab_run(r.lab, 1));
	event_cancel(link->clock, &link->arrival);
	while (lab_run(r.lab, 1000))
		;
	expect_rule(&r, "buffers are empty at the end", false);
	lab_rig_fini(&r);
}

/* It counts a drop of a frame that it sent as well. */
Test(watch, a_switch_whose_counters_do_not_add_up_is_told)
{
	struct lab_rig r;

	begin(&r, FLOW_WRITE, "24K", "4K");
	r.lab = lab_create(&r.conf);
	cr_assert(r.lab);
	cr_assert(lab_run(r.lab, 20));
	((struct switch_port_stats *)(uintptr_t)r.lab->switches[0].ports[1])->tx_no_buffer++;
	while (lab_run(r.lab, 1000))
		;
	expect_rule(&r, "in = out + drops", false);
	cr_expect(strstr(lab_result(r.lab)->violation.what, "switch s0"), "%s",
	          lab_result(r.lab)->violation.what);
	lab_rig_fini(&r);
}
