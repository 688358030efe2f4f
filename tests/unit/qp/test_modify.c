/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "pair.h"

static int
modify(struct pair *p, int side, uint8_t state, uint32_t mask)
{
	struct shm_qp_attr attr = app_attr(&p->qp[side], &p->qp[!side]);

	attr.state = state;
	return qp_modify(p->qp[side].qp, &attr, mask, p->w.now_ns);
}

/* Bring side 0 there by legal steps; side 1 stands ready. */
static void
bring(struct pair *p, uint8_t state)
{
	static const uint8_t way[SHM_QPS_NB][4] = {
		[SHM_QPS_INIT] = {SHM_QPS_INIT},
		[SHM_QPS_RTR] = {SHM_QPS_INIT, SHM_QPS_RTR},
		[SHM_QPS_RTS] = {SHM_QPS_INIT, SHM_QPS_RTR, SHM_QPS_RTS},
		[SHM_QPS_SQD] = {SHM_QPS_INIT, SHM_QPS_RTR, SHM_QPS_RTS, SHM_QPS_SQD},
		[SHM_QPS_SQE] = {SHM_QPS_INIT, SHM_QPS_RTR, SHM_QPS_RTS},
		[SHM_QPS_ERR] = {SHM_QPS_ERR},
	};
	struct shm_qp_attr attr = app_attr(&p->qp[0], &p->qp[1]);

	for (int i = 0; i < 4 && way[state][i]; i++)
		cr_assert_eq(app_to(&p->qp[0], &attr, way[state][i]), 0);
	if (state == SHM_QPS_SQE) {
		pair_post(p, SHM_WR_READ, 1, 0, 0, 8); /* neither UC nor UD carry READs */
		pair_expect(p, &p->qp[0].scq, 1, SHM_WC_LOC_QP_OP_ERR);
	}
	cr_assert_eq(p->qp[0].qp->state, state);
}

static char last_line[LOG_LINE_MAX];

static void
keep_line(enum log_level level, const char *line)
{
	(void)level;
	strcpy(last_line, line);
}

/* What a program gets is EINVAL: the log, and a line for its user, say the rest. */
Test(qp_modify, a_refusal_is_logged_with_its_reason)
{
	static const struct {
		uint8_t state, path_mtu, gid;
		const char *why;
	} rows[] = {
		{SHM_QPS_RTS, 3, 1, "from INIT to RTS: no way leads there from this state"},
		{SHM_QPS_RTR, 6, 1, "from INIT to RTR: path MTU is none, or above the NIC's"},
		{SHM_QPS_RTR, 3, 99,
	         "from INIT to RTR: there is no GID 99; there are 0, 1, 2 (see 'ibv_devinfo -v')"},
		{SHM_QPS_RTR, 3, 0, "and the peer's 10.0.0.2: choose both of IPv4 or both of IPv6"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct shm_qp_attr attr;
		struct pair p;

		pair_make(&p, NULL, NULL);
		bring(&p, SHM_QPS_INIT);
		attr = app_attr(&p.qp[0], &p.qp[1]);
		attr.path_mtu = rows[i].path_mtu;
		attr.av.sgid_index = rows[i].gid;
		log_fn = keep_line;
		last_line[0] = '\0';
		cr_expect_eq(app_to(&p.qp[0], &attr, rows[i].state), -EINVAL);
		cr_expect(strstr(last_line, rows[i].why), "row %zu: '%s'", i, last_line);
		cr_expect(strstr(last_line, p.w.nic[0]->refusal) &&
		                  !strncmp(p.w.nic[0]->refusal, "refused to change QP 0x", 23),
		          "row %zu: '%s'", i, p.w.nic[0]->refusal);
		log_fn = NULL;
		pair_close(&p);
	}
}

Test(qp_modify, a_refused_change_changes_nothing)
{
	static const uint8_t types[] = {SHM_QPT_RC, SHM_QPT_UC, SHM_QPT_UD};
	static const uint32_t masks[] = {0x39,     0x71,    0x129181,  0x101181, 0x12e01,  0x10001,
	                                 0x1,      0x3,     0x1ffffff, 0x129180, 0x12e00,  0x80,
	                                 0x129101, 0x80001, 0x4001,    0x200001, 0x400001, 0x20};
	uint32_t nb_refused = 0;

	for (size_t t = 0; t < 3; t++)
		for (uint8_t from = 0; from < SHM_QPS_NB; from++) {
			struct app_conf ac = {.type = types[t]};
			struct pair p;

			if (from == SHM_QPS_SQE && types[t] == SHM_QPT_RC)
				continue;
			pair_make(&p, NULL, &ac);
			bring(&p, from);
			for (size_t m = 0; m < sizeof(masks) / sizeof(masks[0]); m++)
				for (unsigned to = SHM_QPS_INIT; to <= 255;
				     to += to > 6 ? 248 : 1) {
					struct qp *qp = p.qp[0].qp, before = *qp;
					struct shm_qp_attr attr = app_attr(&p.qp[0], &p.qp[1]);

					if (to == SHM_QPS_ERR)
						continue;
					attr.state = (uint8_t)to;
					/* No GID there: refused whatever else is right. */
					attr.av.sgid_index = 200;
					attr.port_num = 9;
					attr.timeout = 99;
					attr.sq_psn = 0x1000000;
					attr.qkey = 99;
					attr.access = 0x1f;
					if (!qp_modify(qp, &attr, masks[m], p.w.now_ns))
						break; /* a legal one without values */
					nb_refused++;
					cr_expect_eq(memcmp(&before, qp, sizeof(before)), 0,
					             "type %u, %u to %u, mask 0x%x", types[t], from,
					             to, masks[m]);
				}
			pair_close(&p);
		}
	cr_expect_gt(nb_refused, 1000, "%u", nb_refused);
}

Test(qp_modify, addresses_that_cannot_be_reached_are_refused)
{
	static const struct {
		uint8_t sgid;
		uint8_t dgid[16];
	} rows[] = {
		{3, {[10] = 0xff, 0xff, 10, 0, 0, 9}},  /* no such entry */
		{1, {0xfd, [15] = 2}},                  /* families differ */
		{2, {[10] = 0xff, 0xff, 10, 0, 0, 9}},  /* the other way round */
		{1, {0}},                               /* nowhere */
		{1, {[10] = 0xff, 0xff, 224, 0, 0, 1}}, /* multicast */
		{2, {0xff, 2, [15] = 1}},               /* multicast */
		{255, {[10] = 0xff, 0xff, 10, 0, 0, 9}},
	};
	struct pair p;

	pair_make(&p, NULL, NULL);
	bring(&p, SHM_QPS_INIT);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct shm_qp_attr attr = app_attr(&p.qp[0], &p.qp[1]);
		struct qp before = *p.qp[0].qp;

		attr.state = SHM_QPS_RTR;
		attr.av.sgid_index = rows[i].sgid;
		memcpy(attr.av.dgid, rows[i].dgid, 16);
		cr_expect_eq(qp_modify(p.qp[0].qp, &attr, 0x129181, p.w.now_ns), -22, "row %zu", i);
		cr_expect_eq(memcmp(&before, p.qp[0].qp, sizeof(before)), 0, "row %zu", i);
	}
	pair_close(&p);
}

Test(qp_modify, thousands_of_peers_leave_room_for_another, .timeout = 20)
{
	enum { NB = 5000 };
	struct app_conf ac = {.type = SHM_QPT_UC, .depth = 1, .cq_depth = 1};
	struct app_qp *qps = calloc(NB, sizeof(*qps));
	struct pair p;

	cr_assert(qps);
	pair_make(&p, NULL, NULL);
	for (uint32_t i = 0; i < NB; i++) {
		struct shm_qp_attr attr;

		app_open(&qps[i], &p.w, 0, &ac);
		attr = app_attr(&qps[i], &p.qp[1]);
		attr.av.dgid[13] = 1;
		attr.av.dgid[14] = (uint8_t)(i >> 8);
		attr.av.dgid[15] = (uint8_t)i;
		cr_assert_eq(app_to(&qps[i], &attr, SHM_QPS_INIT), 0);
		cr_assert_eq(app_to(&qps[i], &attr, SHM_QPS_RTR), 0, "QP %u", i);
	}
	app_connect(&p.qp[0], &p.qp[1]);
	for (uint32_t i = 0; i < NB; i++)
		app_close(&qps[i]);
	free(qps);
	pair_close(&p);
}

Test(qp_modify, a_qp_that_carried_traffic_can_be_reset_and_connected_again)
{
	static const uint8_t types[] = {SHM_QPT_RC, SHM_QPT_UC};

	for (size_t t = 0; t < 2; t++) {
		struct app_conf ac = {.type = types[t]};
		struct pair p;

		pair_make(&p, NULL, &ac);
		for (uint32_t round = 0; round < 4; round++) {
			world_nb_events = 0;
			app_connect(&p.qp[0], &p.qp[1]);
			pair_recv(&p, 7, 0, 5000);
			pair_post(&p, SHM_WR_SEND_IMM, round, round, 0, 5000);
			pair_expect(&p, &p.qp[0].scq, round, SHM_WC_SUCCESS);
			pair_expect(&p, &p.qp[1].rcq, 7, SHM_WC_SUCCESS);
			cr_expect_eq(memcmp(p.buf[1], p.buf[0] + round, 5000), 0);
			/* Leave things half done. */
			for (uint32_t i = 0; i < 5; i++)
				pair_post(&p, round & 1 ? SHM_WR_WRITE : SHM_WR_SEND, 100 + i, 0, 0,
				          50000);
			for (uint32_t i = 0; i < round && types[t] == SHM_QPT_RC; i++)
				pair_post(&p, SHM_WR_READ, 200 + i, 0, 0, 50000);
			if (types[t] == SHM_QPT_UC && round == 1)
				pair_recv(&p, 8, 0, 50);
			world_run(&p.w, 3 * round);
			for (int i = 0; i < 2; i++) {
				struct shm_cqe c;

				cr_expect_eq(modify(&p, i, SHM_QPS_RESET, 1), 0);
				cr_expect_eq(atomic_load(&p.qp[i].sq.ring->ring.head),
				             p.qp[i].sq.tail);
				cr_expect_eq(atomic_load(&p.qp[i].rq.ring->ring.head),
				             p.qp[i].rq.tail);
				while (local_poll(&p.qp[i].scq, &c) || local_poll(&p.qp[i].rcq, &c))
					;
			}
			world_run(&p.w, 50);
			pair_expect_none(&p.qp[0].scq);
			pair_expect_none(&p.qp[1].rcq);
		}
		pair_close(&p);
	}
}

Test(qp_modify, each_connection_is_announced_once_while_it_is_not_yet_rts)
{
	struct pair p;

	pair_make(&p, NULL, NULL);
	for (uint32_t round = 1; round < 4; round++) {
		struct shm_qp_attr a = app_attr(&p.qp[0], &p.qp[1]),
				   b = app_attr(&p.qp[1], &p.qp[0]);

		for (uint8_t s = SHM_QPS_INIT; s <= SHM_QPS_RTS; s++)
			app_to(&p.qp[0], &a, s);
		app_to(&p.qp[1], &b, SHM_QPS_INIT);
		app_to(&p.qp[1], &b, SHM_QPS_RTR);
		pair_post(&p, SHM_WR_WRITE, 1, 0, 0, 3000);
		pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
		cr_expect_eq(pair_events(SHM_EVENT_COMM_EST), round);
		modify(&p, 0, SHM_QPS_RESET, 1);
		modify(&p, 1, SHM_QPS_RESET, 1);
	}
	pair_close(&p);
}

Test(qp_modify, sqd_ends_what_was_begun_tells_it_and_goes_on_in_rts)
{
	static const struct {
		bool notify;
		uint8_t type;
	} rows[] = {{true, SHM_QPT_RC}, {false, SHM_QPT_RC}, {true, SHM_QPT_UC}};

	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		struct app_conf ac = {.type = rows[r].type};
		struct shm_qp_attr q;
		struct pair p;

		pair_open(&p, NULL, &ac);
		world_run(&p.w, 10);
		pair_post(&p, SHM_WR_WRITE, 1, 0, 0, 300000);
		world_step(&p.w);
		qp_modify(p.qp[0].qp,
		          &(struct shm_qp_attr){.state = SHM_QPS_SQD,
		                                .en_sqd_notify = rows[r].notify},
		          SHM_QP_STATE | (rows[r].notify ? SHM_QP_EN_SQD_ASYNC_NOTIFY : 0),
		          p.w.now_ns);
		pair_post(&p, SHM_WR_WRITE, 2, 0, 0, 1000);
		qp_query(p.qp[0].qp, &q, NULL, 0);
		cr_expect_eq(q.state, SHM_QPS_SQD);
		cr_expect(q.sq_draining, "row %zu", r);
		pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
		world_run(&p.w, 100);
		qp_query(p.qp[0].qp, &q, NULL, 0);
		cr_expect(!q.sq_draining, "row %zu", r);
		cr_expect_eq(pair_events(SHM_EVENT_SQ_DRAINED), rows[r].notify, "row %zu", r);
		pair_expect_none(&p.qp[0].scq);
		cr_expect_eq(modify(&p, 0, SHM_QPS_RTS, 1), 0);
		pair_expect(&p, &p.qp[0].scq, 2, SHM_WC_SUCCESS);
		cr_expect_eq(memcmp(p.buf[1], p.buf[0], 300000), 0, "row %zu", r);
		/* An empty queue is drained at once; asked for only if this change asks. */
		cr_expect_eq(modify(&p, 0, SHM_QPS_SQD, 1), 0);
		cr_expect_eq(pair_events(SHM_EVENT_SQ_DRAINED), rows[r].notify, "row %zu", r);
		pair_close(&p);
	}
}

/* The next READ is looked at already, and waits: it has not begun. */
Test(qp_modify, sqd_is_drained_when_the_reads_that_were_sent_are_done)
{
	const uint32_t nb_reads = 2 * WEFT_MAX_RD_ATOMIC;
	struct shm_qp_attr q;
	struct pair p;
	uint32_t nb = 0;

	pair_open(&p, NULL, NULL);
	for (uint32_t i = 0; i < nb_reads; i++)
		pair_post(&p, SHM_WR_READ, i, 0, 0, 5000);
	while (p.qp[0].qp->sq_open == p.qp[0].qp->sq.head + p.qp[0].qp->nb_rd)
		world_step(&p.w);
	cr_assert_eq(qp_modify(p.qp[0].qp,
	                       &(struct shm_qp_attr){.state = SHM_QPS_SQD, .en_sqd_notify = 1},
	                       SHM_QP_STATE | SHM_QP_EN_SQD_ASYNC_NOTIFY, p.w.now_ns),
	             0);
	qp_query(p.qp[0].qp, &q, NULL, 0);
	cr_expect(q.sq_draining);
	cr_expect_eq(pair_events(SHM_EVENT_SQ_DRAINED), 0);
	world_run(&p.w, 1000);
	qp_query(p.qp[0].qp, &q, NULL, 0);
	cr_expect(!q.sq_draining);
	cr_expect_eq(pair_events(SHM_EVENT_SQ_DRAINED), 1);
	cr_expect_eq(modify(&p, 0, SHM_QPS_RTS, 1), 0);
	while (nb < nb_reads)
		pair_expect(&p, &p.qp[0].scq, nb++, SHM_WC_SUCCESS);
	cr_expect_eq(pair_events(SHM_EVENT_SQ_DRAINED), 1, "once");
	pair_close(&p);
}

Test(qp_modify, sqd_receives_and_answers_as_before)
{
	struct pair p;

	pair_open(&p, NULL, NULL);
	modify(&p, 1, SHM_QPS_SQD, 1);
	pair_recv(&p, 3, 0, 100);
	pair_post(&p, SHM_WR_SEND, 1, 0, 0, 100);
	pair_post(&p, SHM_WR_READ, 2, 0, 500, 3000);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
	pair_expect(&p, &p.qp[0].scq, 2, SHM_WC_SUCCESS);
	pair_expect(&p, &p.qp[1].rcq, 3, SHM_WC_SUCCESS);
	pair_close(&p);
}

Test(qp_modify, sqe_flushes_sends_and_receives_on_until_rts_again)
{
	struct app_conf ac = {.type = SHM_QPT_UC};
	struct shm_qp_attr q;
	char why[256];
	struct pair p;

	pair_open(&p, NULL, &ac);
	pair_post(&p, SHM_WR_WRITE, 1, 0, 0, 10);
	pair_post(&p, SHM_WR_READ, 2, 0, 0, 10);
	pair_post(&p, SHM_WR_WRITE, 3, 0, 0, 10);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
	pair_expect(&p, &p.qp[0].scq, 2, SHM_WC_LOC_QP_OP_ERR);
	pair_expect(&p, &p.qp[0].scq, 3, SHM_WC_WR_FLUSH_ERR);
	cr_expect_eq(pair_state(&p, 0, why), SHM_QPS_SQE);
	cr_expect(strstr(why, "malformed work"), "%s", why);
	pair_post(&p, SHM_WR_WRITE, 4, 0, 0, 10);
	pair_expect(&p, &p.qp[0].scq, 4, SHM_WC_WR_FLUSH_ERR);

	struct shm_sge s = pair_sge(&p, 0, 0, 64), from = pair_sge(&p, 1, 0, 64);
	struct shm_send_wqe back = {.op = SHM_WR_SEND, .nb_sge = 1};
	app_post_recv(&p.qp[0], 9, &s, 1);
	app_post_send(&p.qp[1], &back, &from);
	pair_expect(&p, &p.qp[0].rcq, 9, SHM_WC_SUCCESS);

	cr_expect_eq(modify(&p, 0, SHM_QPS_RTS, 1), 0);
	pair_post(&p, SHM_WR_WRITE, 5, 0, 0, 10);
	pair_expect(&p, &p.qp[0].scq, 5, SHM_WC_SUCCESS);
	qp_query(p.qp[0].qp, &q, why, sizeof(why));
	cr_expect_str_eq(why, "");
	pair_close(&p);
}

static _Atomic uint32_t *spoilt_tail;

static void
spoil_tail(const struct world_event *e)
{
	(void)e;
	atomic_store(spoilt_tail, 0x80000000);
}

Test(qp_modify, sqe_is_not_left_with_a_queue_that_is_spoilt_meanwhile, .timeout = 20)
{
	struct app_conf ac = {.type = SHM_QPT_UC, .depth = 1024, .channel = 1};
	struct pair p;
	char why[256];

	pair_open(&p, NULL, &ac);
	pair_post(&p, SHM_WR_READ, 0, 0, 0, 10);
	pair_expect(&p, &p.qp[0].scq, 0, SHM_WC_LOC_QP_OP_ERR);
	for (uint32_t i = 0; i < 1000; i++)
		pair_post(&p, SHM_WR_WRITE, i, 0, 0, 10);
	/* The first of these completions is told while the others are still flushed. */
	atomic_store(&p.qp[0].scq.ring->armed, SHM_ARM_ANY);
	spoilt_tail = &p.qp[0].sq.ring->ring.tail;
	world_on_event = spoil_tail;
	cr_expect_eq(modify(&p, 0, SHM_QPS_RTS, 1), 0);
	cr_expect_eq(pair_state(&p, 0, why), SHM_QPS_ERR);
	pair_close(&p);
}

Test(qp_modify, a_qp_can_be_destroyed_in_any_state)
{
	static const uint8_t types[] = {SHM_QPT_RC, SHM_QPT_UC, SHM_QPT_UD};

	for (size_t t = 0; t < 3; t++)
		for (uint8_t s = 0; s < SHM_QPS_NB; s++)
			for (uint32_t turns = 0; turns < 6; turns += 2) {
				struct app_conf ac = {.type = types[t]};
				struct pair p;

				if (s == SHM_QPS_SQE && types[t] == SHM_QPT_RC)
					continue;
				pair_make(&p, NULL, &ac);
				bring(&p, s);
				for (uint32_t i = 0; i < 10; i++)
					pair_post(&p, i & 1 ? SHM_WR_SEND : SHM_WR_WRITE, i, 0, 0,
					          1000);
				world_run(&p.w, turns);
				pair_close(&p);
			}
}
