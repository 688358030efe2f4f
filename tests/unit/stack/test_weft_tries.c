/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "weft_peer.h"

/* Responses of the weft framing are repeated, and given up, whatever the application wants for its
 * requests: a QP that only answers has nothing to do with its own timeout and retry_cnt. */

#define MS UINT64_C(1000000)
/** A response has 8 x 4096 << 14 ns; a try may last as long again. */
#define LEAST_NS (530 * MS)
#define MOST_NS (750 * MS)

static const struct {
	uint8_t timeout, retry_cnt;
	uint32_t least, most; /* copies of a response that nobody acknowledges */
} rows[] = {{0, 7, 8, 9},  {0, 0, 8, 9},   {14, 0, 8, 9},
            {14, 7, 8, 9}, {1, 1, 12, 24}, {8, 0, 8, 16}};
#define NB_ROWS (sizeof(rows) / sizeof(rows[0]))

static void
open_responder(struct peer *p, size_t row)
{
	struct shm_qp_attr attr = peer_attr();

	attr.timeout = rows[row].timeout;
	attr.retry_cnt = rows[row].retry_cnt;
	peer_open_weft(p, &(struct peer_weft){.attr = &attr});
	wp_hand(p, wp_read(p, 0, 0, 0, 64, 0));
	cr_assert_eq(wp_nb(p, OP_READ_RESP_ONLY), 1);
}

Test(weft_tries, a_response_is_repeated_until_half_a_second_is_over)
{
	for (size_t i = 0; i < NB_ROWS; i++) {
		struct peer p;
		uint32_t nb = 1;

		open_responder(&p, i);
		peer_wait(&p, LEAST_NS);
		nb += wp_nb(&p, OP_READ_RESP_ONLY);
		cr_expect_eq(p.qp.qp->state, SHM_QPS_RTS, "row %zu", i);
		peer_wait(&p, MOST_NS - LEAST_NS);
		nb += wp_nb(&p, OP_READ_RESP_ONLY);
		cr_expect_eq(p.qp.qp->state, SHM_QPS_ERR, "row %zu", i);
		cr_expect(nb >= rows[i].least && nb <= rows[i].most, "row %zu: %u", i, nb);
		peer_close(&p);
	}
}

Test(weft_tries, what_is_acknowledged_makes_the_next_as_quick_as_the_first)
{
	struct peer p;

	open_responder(&p, 4);
	peer_wait(&p, 100 * MS); /* by now the tries are tens of ms apart */
	wp_hand(&p, wp_ack(&p, AETH_ACK, 1, 1, 0));
	wp_hand(&p, wp_read(&p, 1, 1, 0, 64, 0));
	peer_wait(&p, MS / 10);
	cr_expect_geq(wp_nb(&p, OP_READ_RESP_ONLY), 2);
	wp_hand(&p, wp_ack(&p, AETH_ACK, 2, 2, 1));
	peer_wait(&p, MOST_NS);
	cr_expect_eq(wp_nb(&p, OP_READ_RESP_ONLY), 0);
	cr_expect_eq(p.qp.qp->state, SHM_QPS_RTS);
	peer_close(&p);
}

/* Its own requests have what the application said. */
Test(weft_tries, a_request_without_a_timeout_is_waited_for_for_ever)
{
	struct shm_qp_attr attr = peer_attr();
	struct peer p;

	attr.timeout = 0;
	peer_open_weft(&p, &(struct peer_weft){.attr = &attr});
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	peer_wait(&p, 2 * MOST_NS);
	cr_expect_eq(p.qp.qp->state, SHM_QPS_RTS);
	wp_hand(&p, wp_ack(&p, AETH_ACK, 1, 1, 0));
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	peer_close(&p);
}
