/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "be.h"
#include "hdr.h"
#include "pair.h"
#include "peer.h"
#include "prng.h"

/* Priority flow control: what the other end of the link has paused stays in the NIC. */

#define CLASS_3 0x60 /* a type of service of this class */
#define CLASS_4 0x80
#define LONGEST 0xffff
#define LONGEST_NS 335540 /* at 100 Gb/s */
#define MS UINT64_C(1000000)

static void
open_in_class_3(struct peer *p)
{
	struct shm_qp_attr attr = peer_attr();

	attr.av.traffic_class = CLASS_3;
	peer_open(p, NULL, &attr);
}

Test(pfc, data_of_a_paused_class_wait_and_nobody_looks_meanwhile)
{
	struct peer p;
	uint64_t end_ns;

	open_in_class_3(&p);
	world_pause(&p.w, 0, 1 << 3, LONGEST);
	end_ns = p.w.now_ns + LONGEST_NS;
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 0);
	cr_expect_eq(stack_next_ns(p.w.nic[0]), end_ns);
	peer_wait(&p, end_ns - p.w.now_ns - 1000);
	cr_expect_eq(p.nb_out, 0);
	peer_wait(&p, 2000);
	cr_assert_eq(p.nb_out, 1);
	cr_expect_geq(p.out[0].at_ns, end_ns);
	cr_expect_eq(p.w.nic[0]->stats.pfc.pauses[3], 1);
	cr_expect_eq(p.w.nic[0]->stats.pfc.duration_us[3], LONGEST_NS / 1000);
	cr_expect_eq(p.w.nic[0]->stats.drop[DROP_NOT_ROCE], 0);
	peer_close(&p);
}

Test(pfc, a_resume_lets_them_go_at_once)
{
	struct peer p;

	open_in_class_3(&p);
	world_pause(&p.w, 0, 0xff, LONGEST);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 0);
	world_pause(&p.w, 0, 1 << 3, 0);
	cr_expect_leq(stack_next_ns(p.w.nic[0]), p.w.now_ns);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 1);
	cr_expect_eq(p.w.nic[0]->stats.pfc.resumes[3], 1);
	peer_close(&p);
}

Test(pfc, another_class_is_not_meant)
{
	struct peer p;

	open_in_class_3(&p);
	world_pause(&p.w, 0, (uint8_t) ~(1 << 3), LONGEST);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	peer_put_op(&p, OP_WRITE_ONLY, PEER_PSN, 8, true);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 2);
	peer_close(&p);
}

Test(pfc, acknowledgements_and_read_responses_wait_as_data_do)
{
	struct peer p;

	open_in_class_3(&p);
	world_pause(&p.w, 0, 1 << 3, LONGEST);
	peer_put_op(&p, OP_WRITE_ONLY, PEER_PSN, 8, true);
	peer_put_op(&p, OP_READ_REQUEST, PEER_PSN + 1, 8, true);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 0);
	cr_expect_gt(stack_next_ns(p.w.nic[0]), p.w.now_ns);
	world_pause(&p.w, 0, 1 << 3, 0);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 2);
	peer_expect_frame(&p, 0, OP_ACK, PEER_PSN, AETH_ACK, 1);
	peer_expect_frame(&p, 1, OP_READ_RESP_ONLY, PEER_PSN + 1, AETH_ACK, 2);
	peer_close(&p);
}

static enum cc_feedback
always_notify(void *state, const struct cc_rx *rx, uint64_t now_ns)
{
	(void)state;
	(void)rx;
	(void)now_ns;
	return CC_FEEDBACK_CNP;
}

/* In neither order does the one that is paused hold up the other. */
Test(pfc, a_cnp_is_of_class_6_whatever_its_qp_is_of)
{
	static const struct {
		uint8_t paused;
		uint8_t opcode; /* of what leaves */
	} rows[] = {{1 << 3, OP_CNP}, {1 << 6, OP_ACK}};

	for (size_t i = 0; i < 2; i++) {
		struct cc_ops ops;
		struct peer p;

		open_in_class_3(&p);
		ops = *p.qp.qp->cc_ops;
		ops.on_rx = always_notify;
		p.qp.qp->cc_ops = &ops;
		world_pause(&p.w, 0, rows[i].paused, LONGEST);
		peer_put_op(&p, OP_WRITE_ONLY, PEER_PSN, 8, true);
		peer_go(&p);
		cr_assert_eq(p.nb_out, 1);
		cr_expect_eq(p.out[0].w.opcode, rows[i].opcode);
		cr_expect_eq(p.out[0].w.tos, i ? CLASS_3 : 0xc0);
		cr_expect_gt(stack_next_ns(p.w.nic[0]), p.w.now_ns);
		world_pause(&p.w, 0, rows[i].paused, 0);
		peer_go(&p);
		cr_assert_eq(p.nb_out, 1);
		cr_expect_eq(p.out[0].w.opcode, rows[!i].opcode);
		peer_close(&p);
	}
}

Test(pfc, neighbour_frames_are_of_class_0)
{
	struct world w;
	struct pkt *pkts[STACK_BURST];
	uint32_t n;

	world_open(&w, NULL); /* which announces its addresses */
	world_pause(&w, 0, 1 << 0, LONGEST);
	cr_expect_eq(stack_tx(w.nic[0], pkts, STACK_BURST, w.now_ns), 0);
	cr_expect_eq(stack_next_ns(w.nic[0]), w.now_ns + LONGEST_NS);
	world_pause(&w, 0, 1 << 0, 0);
	world_pause(&w, 0, 0xfe, LONGEST);
	n = stack_tx(w.nic[0], pkts, STACK_BURST, w.now_ns);
	cr_expect_gt(n, 0);
	pkt_free(pkts, n);
	world_close(&w);
}

/* Two pairs of QPs between the same NICs, of classes 3 and 4. */
struct two {
	struct pair p;
	struct app_qp more[2];
};

static void
to_rts(struct app_qp *a, struct app_qp *b, uint8_t tos)
{
	for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTS; state++)
		for (int i = 0; i < 2; i++) {
			struct shm_qp_attr attr = i ? app_attr(b, a) : app_attr(a, b);

			attr.av.traffic_class = tos;
			cr_assert_eq(app_to(i ? b : a, &attr, state), 0);
		}
}

static void
open_two(struct two *t)
{
	pair_make(&t->p, NULL, NULL);
	for (int i = 0; i < 2; i++)
		app_open(&t->more[i], &t->p.w, i, NULL);
	to_rts(&t->p.qp[0], &t->p.qp[1], CLASS_3);
	to_rts(&t->more[0], &t->more[1], CLASS_4);
	world_run(&t->p.w, 20);
}

static void
close_two(struct two *t)
{
	for (int i = 0; i < 2; i++)
		app_close(&t->more[i]);
	pair_close(&t->p);
}

Test(pfc, no_class_holds_up_another)
{
	struct shm_send_wqe wqe;
	struct shm_sge sge;
	struct shm_cqe c;
	struct two t;

	open_two(&t);
	sge = pair_sge(&t.p, 0, 0, 100000);
	for (uint64_t i = 0; i < 20; i++) {
		pair_post(&t.p, i % 2 ? SHM_WR_WRITE : SHM_WR_READ, i, 0, 200000, 100000);
		wqe = pair_wqe(&t.p, i % 2 ? SHM_WR_READ : SHM_WR_WRITE, i, 400000);
		app_post_send(&t.more[0], &wqe, &sge);
	}
	world_run(&t.p.w, 50);
	/* At both ends, for longer than all of the other class takes. */
	for (int i = 0; i < 2; i++)
		world_pause(&t.p.w, i, 1 << 3, LONGEST);
	while (local_poll(&t.p.qp[0].scq, &c))
		;
	for (uint64_t i = 0; i < 20; i++) {
		cr_assert(app_wait(&t.p.w, &t.more[0].scq, &c, 300), "request %lu", i);
		cr_expect_eq(c.status, SHM_WC_SUCCESS);
	}
	pair_expect_none(&t.p.qp[0].scq);
	for (int i = 0; i < 2; i++)
		world_pause(&t.p.w, i, 1 << 3, 0);
	do {
		cr_assert(app_wait(&t.p.w, &t.p.qp[0].scq, &c, 1000));
		cr_expect_eq(c.status, SHM_WC_SUCCESS);
	} while (c.wr_id != 19);
	close_two(&t);
}

/* Two datagrams to handles of different classes, from one queue: they leave in order. */
Test(pfc, a_datagram_is_of_its_handles_class)
{
	static const struct app_conf ud = {.type = SHM_QPT_UD};
	static const uint8_t tos[] = {CLASS_4, CLASS_3, CLASS_4};
	struct shm_send_wqe wqe;
	struct shm_sge sge;
	struct shm_cqe c;
	struct pair p;

	pair_open(&p, NULL, &ud);
	wqe = pair_wqe(&p, SHM_WR_SEND, 0, 0);
	sge = pair_sge(&p, 0, 0, 64);
	wqe.ud.av = app_attr(&p.qp[0], &p.qp[1]).av;
	wqe.ud.qpn = p.qp[1].qp->qpn;
	wqe.ud.qkey = 0x1234;
	for (uint64_t i = 0; i < 4; i++)
		pair_recv(&p, i, 0, 1000);
	app_post_send(&p.qp[0], &wqe, &sge);
	pair_expect(&p, &p.qp[1].rcq, 0, SHM_WC_SUCCESS);
	pair_expect(&p, &p.qp[0].scq, 0, SHM_WC_SUCCESS);

	world_pause(&p.w, 0, 1 << 3, LONGEST);
	for (uint64_t i = 0; i < 3; i++) {
		wqe.wr_id = 1 + i;
		wqe.ud.av.traffic_class = tos[i];
		app_post_send(&p.qp[0], &wqe, &sge);
	}
	pair_expect(&p, &p.qp[1].rcq, 1, SHM_WC_SUCCESS);
	world_run(&p.w, 100);
	pair_expect_none(&p.qp[1].rcq);
	cr_expect_gt(stack_next_ns(p.w.nic[0]), p.w.now_ns);
	world_pause(&p.w, 0, 1 << 3, 0);
	for (uint64_t i = 1; i < 3; i++)
		pair_expect(&p, &p.qp[1].rcq, 1 + i, SHM_WC_SUCCESS);
	cr_expect(local_poll(&p.qp[0].scq, &c));
	pair_close(&p);
}

/* A whole retry budget of timeouts passes; then the peer answers. */
Test(pfc, time_in_which_a_qp_may_not_send_takes_none_of_its_retries)
{
	static const uint8_t retries[] = {1, 7};

	for (size_t i = 0; i < 2; i++) {
		struct shm_qp_attr attr = peer_attr();
		uint64_t timeout_ns = 65536, end_ns;
		struct peer p;

		attr.av.traffic_class = CLASS_3;
		attr.retry_cnt = retries[i];
		peer_open(&p, NULL, &attr);
		peer_post(&p, SHM_WR_WRITE, 1, 8);
		peer_go(&p);
		cr_assert_eq(p.nb_out, 1);
		end_ns = p.w.now_ns + 20 * timeout_ns;
		while (p.w.now_ns < end_ns) {
			world_pause(&p.w, 0, 1 << 3, LONGEST);
			peer_wait(&p, LONGEST_NS / 2);
			cr_assert_eq(p.nb_out, 0);
		}
		cr_expect_eq(p.qp.qp->state, SHM_QPS_RTS);
		/* What was sent before has timed out once, and is repeated now. */
		cr_expect_eq(p.w.nic[0]->stats.local_ack_timeout_err, 1);
		world_pause(&p.w, 0, 1 << 3, 0);
		peer_go(&p);
		cr_assert_eq(p.nb_out, 1);
		peer_put_ack(&p, AETH_ACK, QP_PSN, 1);
		peer_go(&p);
		peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
		peer_close(&p);
	}
}

Test(pfc, a_forged_storm_ends_with_the_watchdog)
{
	struct peer p;
	uint64_t begin_ns;

	open_in_class_3(&p);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	begin_ns = p.w.now_ns;
	do {
		/* Resumes, too, with a pause at their heels. */
		world_pause(&p.w, 0, 1 << 3, LONGEST);
		world_pause(&p.w, 0, 1 << 3, 0);
		world_pause(&p.w, 0, 1 << 3, LONGEST);
		peer_wait(&p, 20000);
		cr_assert_lt(p.w.now_ns, begin_ns + 2 * PAUSE_WATCHDOG_NS);
	} while (p.nb_out == 0);
	cr_expect_geq(p.w.now_ns, begin_ns + PAUSE_WATCHDOG_NS);
	cr_expect_eq(p.w.nic[0]->stats.pfc.storms[3], 1);
	/* It goes on, and is ignored. */
	world_pause(&p.w, 0, 1 << 3, LONGEST);
	peer_put_op(&p, OP_WRITE_ONLY, PEER_PSN, 8, true);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 1);
	cr_expect_geq(p.w.nic[0]->stats.pfc.ignored[3], 1);
	peer_close(&p);
}

Test(pfc, a_link_that_goes_down_takes_its_pauses_along)
{
	struct peer p;

	open_in_class_3(&p);
	world_pause(&p.w, 0, 0xff, LONGEST);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 0);
	nic_set_link(p.w.nic[0], false);
	nic_set_link(p.w.nic[0], true);
	cr_expect_eq(stack_next_ns(p.w.nic[0]), 0);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 1);
	peer_close(&p);
}

Test(pfc, a_nic_that_is_told_so_obeys_none)
{
	struct world_conf wc = {.ignores_pfc = true};
	struct pair p;

	pair_open(&p, &wc, NULL);
	world_pause(&p.w, 0, 0xff, LONGEST);
	pair_post(&p, SHM_WR_WRITE, 1, 0, 0, 100);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
	cr_expect_eq(p.w.nic[0]->stats.drop[DROP_NOT_ROCE], 1);
	cr_expect_eq(p.w.nic[0]->stats.pfc.pauses[0], 0);
	pair_close(&p);
}

/* To the group address of pauses or to the NIC: nobody else is meant. */
Test(pfc, a_frame_to_another_station_is_not_obeyed)
{
	static const struct {
		uint8_t dmac[6];
		uint64_t want;
	} rows[] = {
		{{0x01, 0x80, 0xc2, 0, 0, 1}, 1}, {{2, 0, 0, 0, 0, 1}, 1},
		{{2, 0, 0, 0, 0, 2}, 0},          {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 0},
		{{0x01, 0x80, 0xc2, 0, 0, 2}, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wire_pfc pfc = {.classes = 1 << 5, .time_quanta[5] = LONGEST};
		struct world w;
		struct pkt *pkt;

		world_open(&w, NULL);
		cr_assert_eq(w.pool->alloc(w.pool, &pkt, 1), 1);
		wire_build_pfc(pkt->data, rows[i].dmac, &pfc);
		memcpy(pkt->data, rows[i].dmac, 6);
		pkt->len = 60;
		stack_rx(w.nic[0], &pkt, 1, w.now_ns);
		cr_expect_eq(w.nic[0]->stats.pfc.pauses[5], rows[i].want, "row %zu", i);
		world_close(&w);
	}
}

Test(pfc, a_qp_that_is_destroyed_while_it_waits_is_gone)
{
	struct peer p;

	open_in_class_3(&p);
	world_pause(&p.w, 0, 1 << 3, LONGEST);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	peer_put_op(&p, OP_WRITE_ONLY, PEER_PSN, 8, true);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 0);
	cr_expect_neq(p.w.nic[0]->resp_mask, 0);
	cr_assert_eq(app_to(&p.qp, &(struct shm_qp_attr){0}, SHM_QPS_RESET), 0);
	cr_expect_eq(p.w.nic[0]->resp_mask, 0);
	world_pause(&p.w, 0, 1 << 3, 0);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 0);
	peer_close(&p);
}

/* QPs of all classes, and pauses and resumes of all classes at both ends, at any moment. */
Test(pfc, whatever_is_paused_and_resumed_all_requests_end_well_and_nothing_polls)
{
	enum { NB = 24, REQUESTS = 40 };
	static struct app_qp qp[2][NB];
	static const uint8_t ops[] = {SHM_WR_WRITE, SHM_WR_READ, SHM_WR_FETCH_ADD};
	uint32_t posted[NB] = {0}, done = 0;
	struct prng rng;
	struct shm_cqe c;
	struct pair p;

	prng_seed(&rng, 1);
	pair_open(&p, NULL, NULL);
	for (uint32_t i = 0; i < NB; i++) {
		for (int side = 0; side < 2; side++)
			app_open(&qp[side][i], &p.w, side, NULL);
		to_rts(&qp[0][i], &qp[1][i], (uint8_t)(i << 5));
	}
	for (uint32_t step = 0; done < NB * REQUESTS; step++) {
		uint32_t i = prng_below(&rng, NB);

		cr_assert_lt(step, 200000, "%u of %u are done", done, NB * REQUESTS);
		if (prng_below(&rng, 4) == 0)
			world_pause(&p.w, (int)prng_below(&rng, 2), (uint8_t)prng_next(&rng),
			            (uint16_t)(prng_below(&rng, 3) ? prng_below(&rng, 4000) : 0));
		if (posted[i] < REQUESTS) {
			uint8_t op = ops[prng_below(&rng, 3)];
			struct shm_send_wqe wqe = pair_wqe(&p, op, i, 8 * prng_below(&rng, 1000));
			struct shm_sge sge = pair_sge(
				&p, 0, 0, op == SHM_WR_FETCH_ADD ? 8 : prng_below(&rng, 20000));

			posted[i]++;
			app_post_send(&qp[0][i], &wqe, &sge);
		}
		world_step(&p.w);
		for (uint32_t k = 0; k < NB; k++)
			while (local_poll(&qp[0][k].scq, &c)) {
				cr_assert_eq(c.status, SHM_WC_SUCCESS);
				done++;
			}
	}
	world_run(&p.w, 1000); /* the last pauses end */
	for (int side = 0; side < 2; side++) {
		const struct nic *nic = p.w.nic[side];

		cr_expect_eq(nic->resp_mask, 0);
		cr_expect_eq(nic->sched.closed, 0);
		cr_expect_gt(stack_next_ns(nic), p.w.now_ns);
		for (uint32_t i = 0; i < NB; i++)
			app_close(&qp[side][i]);
	}
	pair_close(&p);
}
