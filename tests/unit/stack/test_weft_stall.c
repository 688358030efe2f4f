/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "weft_peer.h"

/*
 * The peer has acknowledged a READ or atomic of the weft framing, so nothing is outstanding that a
 * timeout would repeat, and answers not at all, or not to the end.
 */

#define M PEER_MTU
#define RETRY_CNT 1
#define TIMEOUT 4
#define TIMEOUT_NS (UINT64_C(4096) << TIMEOUT)
/** How long a response may make no progress. */
#define PATIENCE_NS ((RETRY_CNT + 1) * 4 * TIMEOUT_NS)
/** In which a timer comes up. */
#define TICK_NS 20000

static void
open_reader(struct peer *p, uint8_t timeout)
{
	struct shm_qp_attr attr = peer_attr();

	attr.retry_cnt = RETRY_CNT;
	attr.timeout = timeout;
	peer_open_weft(p, &(struct peer_weft){.attr = &attr});
	memset(p->buf, 0x5a, PAIR_BUF);
}

/* Nothing is completed or sent, but for acknowledgements, for so long, and then comes what comes.
 */
static void
wait_quietly(struct peer *p, uint64_t ns)
{
	peer_wait(p, ns);
	for (uint32_t i = 0; i < p->nb_out; i++)
		cr_expect_eq(p->out[i].w.opcode, OP_WEFT | OP_ACK);
	pair_expect_none(&p->qp.scq);
	cr_expect_eq(p->qp.qp->state, SHM_QPS_RTS);
}

/* The request stalls from now on: it fails in its time, neither before nor much later. */
static void
expect_stall(struct peer *p, uint64_t wr_id, const char *what)
{
	struct shm_qp_attr q;
	char why[256];

	wait_quietly(p, PATIENCE_NS - TICK_NS);
	peer_wait(p, 2 * TICK_NS);
	qp_query(p->qp.qp, &q, why, sizeof(why));
	cr_assert_eq(q.state, SHM_QPS_ERR, "%s: goes on waiting", what);
	cr_expect(strstr(why, "retry count exceeded"), "%s: %s", what, why);
	cr_expect(strstr(why, "READs and atomics missing 1"), "%s: %s", what, why);
	peer_expect(&p->qp.scq, wr_id, SHM_WC_RETRY_EXC_ERR);
	cr_expect_eq(p->nb_out, 0, "%s", what);
}

Test(weft_stall, a_request_that_is_acknowledged_and_never_answered_ends_in_retry_exceeded)
{
	static const uint8_t ops[] = {SHM_WR_READ, SHM_WR_FETCH_ADD, SHM_WR_CMP_SWAP};

	for (size_t i = 0; i < sizeof(ops); i++) {
		struct peer p;

		open_reader(&p, TIMEOUT);
		peer_post(&p, ops[i], 1, 8);
		peer_go(&p);
		cr_assert_eq(p.nb_out, 1);
		wp_hand(&p, wp_ack(&p, AETH_ACK, 1, 1, 0));
		expect_stall(&p, 1, "no answer");
		for (uint32_t b = 0; b < 8; b++)
			cr_expect_eq(p.buf[b], 0x5a);
		peer_close(&p);
	}
}

Test(weft_stall, what_is_before_it_has_completed_and_what_is_behind_it_is_flushed)
{
	struct peer p;

	open_reader(&p, TIMEOUT);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	peer_post(&p, SHM_WR_READ, 2, 8);
	peer_post(&p, SHM_WR_SEND, 3, 8); /* acknowledged, and not complete: it waits its turn */
	peer_go(&p);
	wp_hand(&p, wp_ack(&p, AETH_ACK, 3, 3, 2));
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	expect_stall(&p, 2, "a READ among others");
	peer_expect(&p.qp.scq, 3, SHM_WC_WR_FLUSH_ERR);
	peer_close(&p);
}

/* After the last packet that came, however many there were. */
Test(weft_stall, a_response_that_stops_in_its_middle_ends_in_retry_exceeded_as_well)
{
	for (uint32_t nb = 1; nb < 4; nb++) {
		struct peer p;

		open_reader(&p, TIMEOUT);
		peer_post(&p, SHM_WR_READ, 1, 4 * M);
		peer_go(&p);
		wp_hand(&p, wp_ack(&p, AETH_ACK, 1, 1, 0));
		for (uint32_t i = 0; i < nb; i++) {
			wait_quietly(&p, PATIENCE_NS / 2);
			wp_hand(&p, wp_read_resp(&p, 0, 0, 0, 4 * M, i));
		}
		expect_stall(&p, 1, "some packets");
		cr_expect_eq(p.buf[nb * M - 1], (uint8_t)(M - 1)); /* what came is there */
		cr_expect_eq(p.buf[nb * M], 0x5a);
		peer_close(&p);
	}
}

Test(weft_stall, a_slow_answer_is_waited_for_and_the_next_has_as_long)
{
	struct peer p;

	open_reader(&p, TIMEOUT);
	for (uint64_t id = 0; id < 2; id++)
		peer_post(&p, SHM_WR_READ, id, 3 * M);
	peer_go(&p);
	wp_hand(&p, wp_ack(&p, AETH_ACK, 2, 2, 1));
	for (uint32_t id = 0; id < 2; id++) {
		for (uint32_t i = 0; i < 3; i++) {
			wait_quietly(&p, PATIENCE_NS - TICK_NS);
			wp_hand(&p, wp_read_resp(&p, 3 * id, id, id, 3 * M, i));
		}
		peer_expect(&p.qp.scq, id, SHM_WC_SUCCESS);
	}
	p.nb_out = 0;
	wait_quietly(&p, 3 * PATIENCE_NS); /* nothing is waited for any more */
	peer_close(&p);
}

/* A response waits for the message that the peer is sending, however long that is. */
Test(weft_stall, a_peer_that_sends_something_else_is_not_silent)
{
	struct peer p;

	open_reader(&p, TIMEOUT);
	peer_post(&p, SHM_WR_READ, 1, 8);
	peer_go(&p);
	wp_hand(&p, wp_ack(&p, AETH_ACK, 1, 1, 0));
	for (uint32_t i = 0; i < 10; i++) {
		wait_quietly(&p, PATIENCE_NS - TICK_NS);
		wp_hand(&p, wp_write(&p, 0, 0, 64 * M, 12 * M, i));
		cr_expect_eq(p.nb_out, 0);
	}
	/* Its last word may have come at any moment of a period: it fails in the next. */
	peer_wait(&p, 2 * PATIENCE_NS + TICK_NS);
	peer_expect(&p.qp.scq, 1, SHM_WC_RETRY_EXC_ERR);
	peer_close(&p);
}

/* Refused SENDs before it: the peer can't run it, and says so. */
Test(weft_stall, a_read_behind_a_refused_send_does_not_stall)
{
	struct peer p;

	open_reader(&p, TIMEOUT);
	peer_post(&p, SHM_WR_SEND, 1, 8);
	peer_post(&p, SHM_WR_READ, 2, 8);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 2);
	for (uint32_t i = 0; i < 6; i++) { /* PSN and MSN 0, then 2, 3 ... */
		uint32_t n = i ? i + 1 : 0;

		wp_hand(&p, wp_refusal(&p, i + 2, i + 2, 0, n, 12)); /* 0.64 ms > PATIENCE_NS */
		cr_expect_eq(p.nb_out, 0);
		peer_wait(&p, 650000);
		cr_assert_eq(wp_nb(&p, OP_SEND_ONLY), 1, "hold %u", i);
		cr_expect_eq(p.qp.qp->state, SHM_QPS_RTS);
	}
	wp_hand(&p, wp_ack(&p, AETH_ACK, 8, 8, 7));
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	wp_hand(&p, wp_read_resp(&p, 0, 0, 1, 8, 0));
	peer_expect(&p.qp.scq, 2, SHM_WC_SUCCESS);
	peer_close(&p);
}

Test(weft_stall, without_a_timeout_it_is_waited_for_for_ever)
{
	struct peer p;

	open_reader(&p, 0);
	peer_post(&p, SHM_WR_READ, 1, 8);
	peer_go(&p);
	wp_hand(&p, wp_ack(&p, AETH_ACK, 1, 1, 0));
	wait_quietly(&p, 100 * PATIENCE_NS);
	wp_hand(&p, wp_read_resp(&p, 0, 0, 0, 8, 0));
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	peer_close(&p);
}
