/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "fail.h"
#include "log.h"
#include "peer.h"
#include "psn.h"

/* Silence and RNR: how often is repeated, after how long, and how it ends. */

#define Q QP_PSN

static uint8_t
state(const struct peer *p, char why[256])
{
	struct shm_qp_attr q;

	qp_query(p->qp.qp, &q, why, 256);
	return q.state;
}

Test(retry, silence_is_met_with_exactly_retry_cnt_repeats)
{
	/* The shortest timeout is about four ticks of the timers' wheel: lateness must not add up.
	 */
	static const uint8_t timeouts[] = {1, 4, 8};

	for (size_t t = 0; t < 3; t++)
		for (uint8_t retry = 0; retry <= 7; retry++) {
			struct shm_qp_attr attr = peer_attr();
			uint64_t T = 4096u << timeouts[t], start;
			struct peer p;
			char why[256];

			attr.timeout = timeouts[t];
			attr.retry_cnt = retry;
			peer_open(&p, NULL, &attr);
			peer_post(&p, SHM_WR_WRITE, 1, 8);
			peer_go(&p);
			start = p.w.now_ns;
			cr_expect_eq(p.nb_out, 1);
			peer_wait(&p, (uint64_t)(retry + 1) * (T + 5000));
			cr_expect_eq(p.nb_out, retry, "timeout %u: %u repeats, want %u",
			             timeouts[t], p.nb_out, retry);
			for (uint32_t i = 0; i < p.nb_out; i++) {
				cr_expect_eq(p.out[i].w.psn, Q & 0xffffff);
				cr_expect_geq(p.out[i].at_ns, start + (i + 1) * T);
			}
			peer_expect(&p.qp.scq, 1, SHM_WC_RETRY_EXC_ERR);
			cr_expect_eq(state(&p, why), SHM_QPS_ERR);
			cr_expect(strstr(why, "never answered"), "%s", why);
			peer_close(&p);
		}
}

Test(retry, the_last_repeat_is_given_its_time)
{
	struct shm_qp_attr attr = peer_attr();
	struct peer p;

	attr.timeout = 1;
	attr.retry_cnt = 7;
	peer_open(&p, NULL, &attr);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	for (peer_go(&p); p.qp.qp->nic->stats.retransmits < 7; peer_wait(&p, 1000))
		cr_assert_eq(p.qp.qp->state, SHM_QPS_RTS);
	peer_wait(&p, 6000);
	peer_put_ack(&p, AETH_ACK, Q, 1);
	peer_go(&p);
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	peer_close(&p);
}

Test(retry, progress_gives_all_retries_back)
{
	struct shm_qp_attr attr = peer_attr();
	struct peer p;

	attr.retry_cnt = 1;
	peer_open(&p, NULL, &attr);
	for (uint64_t k = 0; k < 6; k++)
		peer_post(&p, SHM_WR_WRITE, k, 8);
	peer_go(&p);
	for (uint32_t k = 0; k < 6; k++) {
		peer_wait(&p, 90000); /* one timeout of 65.5 us */
		cr_expect_eq(p.nb_out, 6 - k);
		peer_put_ack(&p, AETH_ACK, Q + k, k);
		peer_go(&p);
		peer_expect(&p.qp.scq, k, SHM_WC_SUCCESS);
	}
	peer_close(&p);
}

Test(retry, a_peer_that_talks_without_progress_does_not_hold_it_off)
{
	struct shm_qp_attr attr = peer_attr();
	struct peer p;

	attr.retry_cnt = 2;
	peer_open(&p, NULL, &attr);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	for (int i = 0; i < 250 && p.qp.qp->state == SHM_QPS_RTS; i++) {
		peer_put_ack(&p, AETH_NAK_PSN, Q, 0);
		peer_go(&p);
	}
	peer_expect(&p.qp.scq, 1, SHM_WC_RETRY_EXC_ERR);
	peer_close(&p);
}

/* READ responses first to last of one of count packets that begins at psn, each after a time. */
static void
trickle(struct peer *p, uint32_t psn, uint32_t count, uint32_t first, uint32_t last,
        uint64_t gap_ns)
{
	for (uint32_t i = first; i <= last; i++) {
		struct wire_pkt w = peer_pkt(p,
		                             i == count - 1 ? OP_READ_RESP_LAST
		                             : i == first   ? OP_READ_RESP_FIRST
		                                            : OP_READ_RESP_MIDDLE,
		                             psn + i);

		peer_wait(p, gap_ns);
		cr_expect_eq(p->nb_out, 0, "asked again before response %u", i);
		w.payload_len = PEER_MTU;
		peer_put(p, &w, NULL);
		peer_go(p);
	}
}

Test(retry, a_responder_is_slow_but_not_silent_while_each_response_comes_in_time)
{
	struct shm_qp_attr attr = peer_attr();
	struct peer p;

	attr.retry_cnt = 0;
	peer_open(&p, NULL, &attr);
	peer_post(&p, SHM_WR_READ, 1, 40 * PEER_MTU);
	peer_go(&p);
	trickle(&p, Q, 40, 0, 39, 55000); /* of 65 us */
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	cr_expect_eq(p.qp.qp->nic->stats.local_ack_timeout_err, 0);
	peer_close(&p);
}

/* The repeat queues behind what the responder still sends of the first request. */
Test(retry, a_lost_response_costs_one_repeat_however_long_the_rest_takes)
{
	struct shm_qp_attr attr = peer_attr();
	struct peer p;

	attr.retry_cnt = 0;
	peer_open(&p, NULL, &attr);
	peer_post(&p, SHM_WR_READ, 1, 40 * PEER_MTU);
	peer_go(&p);
	trickle(&p, Q, 40, 0, 4, 55000);
	trickle(&p, Q, 40, 6, 6, 55000);
	peer_expect_frame(&p, 0, OP_READ_REQUEST, Q + 5, 0, 0);
	trickle(&p, Q, 40, 7, 39, 55000);
	cr_expect_eq(p.nb_out, 0);
	trickle(&p, Q, 40, 5, 39, 55000);
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	cr_expect_eq(p.qp.qp->nic->stats.local_ack_timeout_err, 0);
	peer_close(&p);
}

Test(retry, responses_to_a_repeat_too_many_leave_what_waits_behind_them_its_time)
{
	struct shm_qp_attr attr = peer_attr();
	struct peer p;

	attr.retry_cnt = 1;
	peer_open(&p, NULL, &attr);
	peer_post(&p, SHM_WR_READ, 1, 20 * PEER_MTU);
	peer_go(&p);
	peer_wait(&p, 80000); /* more than 65 us: it is asked for again */
	peer_expect_frame(&p, 0, OP_READ_REQUEST, Q, 0, 0);
	trickle(&p, Q, 20, 0, 19, 1000);
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	peer_post(&p, SHM_WR_WRITE, 2, 8);
	peer_go(&p);
	peer_expect_frame(&p, 0, OP_WRITE_ONLY, Q + 20, 0, 0);
	trickle(&p, Q, 20, 0, 19, 55000);
	peer_put_ack(&p, AETH_ACK, Q + 20, 2);
	peer_go(&p);
	peer_expect(&p.qp.scq, 2, SHM_WC_SUCCESS);
	cr_expect_eq(p.qp.qp->nic->stats.local_ack_timeout_err, 1);
	peer_close(&p);
}

Test(retry, timeout_0_waits_for_ever)
{
	struct shm_qp_attr attr = peer_attr();
	struct peer p;

	attr.timeout = 0;
	attr.retry_cnt = 0;
	peer_open(&p, NULL, &attr);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	peer_go(&p);
	p.w.now_ns += UINT64_C(3600000000000);
	peer_wait(&p, 100000);
	cr_expect_eq(p.nb_out, 0);
	peer_put_ack(&p, AETH_ACK, Q, 1);
	peer_go(&p);
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	peer_close(&p);
}

Test(retry, a_timeout_set_while_draining_holds_from_then_on)
{
	struct shm_qp_attr attr = peer_attr(), sqd = {.state = SHM_QPS_SQD, .timeout = 1};
	struct peer p;

	attr.timeout = 20;
	attr.retry_cnt = 0;
	peer_open(&p, NULL, &attr);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	peer_go(&p);
	cr_assert_eq(qp_modify(p.qp.qp, &sqd, SHM_QP_STATE, p.w.now_ns), 0);
	cr_assert_eq(qp_modify(p.qp.qp, &sqd, SHM_QP_TIMEOUT, p.w.now_ns), 0);
	peer_put_ack(&p, AETH_ACK, Q, 1);
	peer_go(&p);
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	sqd.state = SHM_QPS_RTS;
	cr_assert_eq(qp_modify(p.qp.qp, &sqd, SHM_QP_STATE, p.w.now_ns), 0);
	peer_post(&p, SHM_WR_WRITE, 2, 8);
	peer_wait(&p, 20000);
	peer_expect(&p.qp.scq, 2, SHM_WC_RETRY_EXC_ERR);
	peer_close(&p);
}

static char last_line[LOG_LINE_MAX];

static void
keep_line(enum log_level level, const char *line)
{
	(void)level;
	strcpy(last_line, line);
}

Test(retry, without_a_neighbour_the_reason_says_so)
{
	struct shm_qp_attr attr = peer_attr();
	struct pair p;
	char why[256];

	log_fn = keep_line;
	pair_make(&p, NULL, NULL);
	attr.retry_cnt = 1;
	attr.av = (struct shm_av){.sgid_index = 1, .dgid = {[10] = 0xff, 0xff, 10, 0, 0, 77}};
	for (uint8_t s = SHM_QPS_INIT; s <= SHM_QPS_RTS; s++)
		cr_assert_eq(app_to(&p.qp[0], &attr, s), 0);
	pair_post(&p, SHM_WR_WRITE, 1, 0, 0, 8);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_RETRY_EXC_ERR);
	cr_expect_eq(pair_state(&p, 0, why), SHM_QPS_ERR);
	cr_expect(strstr(why, "no neighbour"), "%s", why);
	cr_expect(strstr(last_line, " to 10.0.0.77 QP 0x"), "%s", last_line);
	cr_expect(strstr(last_line, why), "%s", last_line);
	pair_close(&p);
}

Test(retry, with_the_own_link_down_the_reason_says_so_and_for_how_long)
{
	struct world_conf wc = {.step_ns = 100000};
	struct shm_qp_attr attr;
	struct pair p;
	char why[256];

	log_fn = keep_line;
	pair_make(&p, &wc, NULL);
	attr = app_attr(&p.qp[0], &p.qp[1]);
	attr.timeout = 14;
	attr.retry_cnt = 1;
	for (uint8_t s = SHM_QPS_INIT; s <= SHM_QPS_RTS; s++)
		cr_assert_eq(app_to(&p.qp[0], &attr, s), 0);
	nic_set_link(p.w.nic[0], false);
	world_run(&p.w, 30000);
	pair_post(&p, SHM_WR_WRITE, 1, 0, 0, 8);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_RETRY_EXC_ERR);
	cr_expect_eq(pair_state(&p, 0, why), SHM_QPS_ERR);
	cr_expect(strstr(why, "the NIC's own link is down, for 3 s now"), "%s", why);
	cr_expect(strstr(last_line, "bring the interface up"), "%s", last_line);
	pair_close(&p);
}

Test(retry, a_path_mtu_above_the_nics_is_told_as_what_to_mend)
{
	struct shm_qp_attr attr = peer_attr();
	struct peer p;

	log_fn = keep_line;
	attr.retry_cnt = 0;
	peer_open(&p, NULL, &attr);
	p.qp.qp->nic->active_mtu = nic_mtu_code(p.qp.qp->nic, 576);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	peer_go(&p);
	peer_wait(&p, 2000000);
	peer_expect(&p.qp.scq, 1, SHM_WC_RETRY_EXC_ERR);
	cr_expect(strstr(last_line, "raise the interface's MTU"), "%s", last_line);
	peer_close(&p);
}

Test(retry, no_reason_is_cut)
{
	char text[WEFT_REASON_LEN];
	struct pair p;
	struct qp *qp;

	pair_make(&p, NULL, NULL);
	qp = p.qp[0].qp;
	qp->tx_nxt_psn = PSN_MASK;
	qp->error.psn = qp->error.peer_psn = PSN_MASK;
	qp->error.nb_timeouts = qp->error.down_s = UINT32_MAX;
	qp->error.peer_spoke = true;
	qp->error.peer_syndrome = AETH_NAK_OPERATION;
	for (int why = QP_REASON_USER; why < QP_REASON_NB; why++) {
		qp->error.why = (uint8_t)why;
		qp_explain(qp, text, sizeof(text));
		cr_expect(strstr(text, "NAK remote operational error for PSN 16777215"), "%s",
		          text);
		cr_expect_lt(strlen(text), sizeof(text) - 32, "room for larger counts");
	}
	qp->error.why = QP_REASON_NONE;
	pair_close(&p);
}

Test(retry, rnr_is_repeated_rnr_retry_times_each_after_its_time)
{
	for (uint8_t retry = 0; retry <= 7; retry++) {
		struct shm_qp_attr attr = peer_attr();
		uint32_t tries = retry == 7 ? 40 : retry + 1u;
		struct peer p;
		char why[256];

		attr.rnr_retry = retry;
		attr.retry_cnt = 0; /* counts something else */
		peer_open(&p, NULL, &attr);
		peer_post(&p, SHM_WR_SEND, 1, 8);
		peer_post(&p, SHM_WR_SEND, 2, 8);
		peer_go(&p);
		cr_assert_eq(p.nb_out, 2);
		for (uint32_t i = 0; i < tries; i++) {
			uint64_t at;

			pair_expect_none(&p.qp.scq);
			peer_put_ack(&p, AETH_RNR | 14, Q, 0); /* 1.28 ms: longer than a timeout */
			peer_go(&p);
			at = p.w.now_ns;
			cr_expect_eq(p.nb_out, 0);
			peer_put_ack(&p, AETH_RNR | 1, Q, 0); /* its echo */
			peer_go(&p);
			cr_expect_eq(p.nb_out, 0);
			peer_wait(&p, 1290000);
			if (i == tries - 1 && retry < 7)
				break;
			cr_assert_eq(p.nb_out, 2, "retry %u, try %u: %u", retry, i, p.nb_out);
			peer_expect_frame(&p, 0, OP_SEND_ONLY, Q, 0, 0);
			cr_expect_geq(p.out[0].at_ns, at + 1280000);
		}
		if (retry == 7) {
			peer_put_ack(&p, AETH_ACK, Q + 1, 2);
			peer_go(&p);
			peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
		} else {
			peer_expect(&p.qp.scq, 1, SHM_WC_RNR_RETRY_EXC_ERR);
			peer_expect(&p.qp.scq, 2, SHM_WC_WR_FLUSH_ERR);
			cr_expect_eq(state(&p, why), SHM_QPS_ERR);
			cr_expect(strstr(why, "posts no receives"), "%s", why);
		}
		peer_close(&p);
	}
}

Test(retry, timeouts_between_refusals_are_not_silence)
{
	struct shm_qp_attr attr = peer_attr();
	struct peer p;

	attr.rnr_retry = 7;
	attr.retry_cnt = 1;
	peer_open(&p, NULL, &attr);
	peer_post(&p, SHM_WR_SEND, 1, 8);
	peer_go(&p);
	for (uint32_t i = 0; i < 10; i++) {
		peer_put_ack(&p, AETH_RNR | 1, Q, 0);
		peer_go(&p);
		peer_wait(&p, 15000);
		cr_assert_eq(p.nb_out, 1, "try %u", i);
		/* This one or its refusal is lost, and nobody has time for us for two timeouts. */
		p.w.now_ns += 140000;
		peer_wait(&p, 1000);
		cr_assert_eq(p.nb_out, 1, "try %u", i);
		pair_expect_none(&p.qp.scq);
	}
	peer_put_ack(&p, AETH_ACK, Q, 1);
	peer_go(&p);
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	peer_close(&p);
}

Test(retry, rnr_acknowledges_what_is_before_and_progress_resets_its_count)
{
	struct shm_qp_attr attr = peer_attr();
	struct peer p;

	attr.rnr_retry = 1;
	peer_open(&p, NULL, &attr);
	for (uint64_t k = 0; k < 5; k++)
		peer_post(&p, SHM_WR_SEND, k, 8);
	peer_go(&p);
	for (uint32_t k = 1; k < 5; k++) {
		peer_put_ack(&p, AETH_RNR | 1, Q + k, k);
		peer_go(&p);
		peer_expect(&p.qp.scq, k - 1, SHM_WC_SUCCESS);
		peer_wait(&p, 15000);
		cr_expect_eq(p.nb_out, 5 - k);
		peer_expect_frame(&p, 0, OP_SEND_ONLY, Q + k, 0, 0);
	}
	peer_close(&p);
}

Test(retry, rnr_times_are_those_of_the_table)
{
	static const uint32_t us[] = {655360, 10,    20,    30,     40,     60,     80,     120,
	                              160,    240,   320,   480,    640,    960,    1280,   1920,
	                              2560,   3840,  5120,  7680,   10240,  15360,  20480,  30720,
	                              40960,  61440, 81920, 122880, 163840, 245760, 327680, 491520};
	struct peer p;

	peer_open(&p, NULL, NULL);
	peer_post(&p, SHM_WR_SEND, 1, 8);
	peer_go(&p);
	for (uint32_t code = 0; code < 32; code++) {
		uint64_t at;

		peer_put_ack(&p, (uint8_t)(AETH_RNR | code), Q, 0);
		peer_go(&p);
		at = p.w.now_ns;
		p.w.now_ns = at + us[code] * UINT64_C(1000) - 2000;
		peer_wait(&p, 1000);
		cr_expect_eq(p.nb_out, 0, "code %u: too early", code);
		peer_wait(&p, 5000);
		cr_expect_eq(p.nb_out, 1, "code %u: too late", code);
	}
	peer_close(&p);
}
