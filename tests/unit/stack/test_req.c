/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "comp.h"
#include "peer.h"

/* What the requester sends for its work requests, and when. */

#define Q QP_PSN
#define M PEER_MTU

static void
put_read_resp(struct peer *p, uint32_t psn, uint32_t len)
{
	struct wire_pkt w = peer_pkt(p, OP_READ_RESP_ONLY, psn);

	w.payload_len = len;
	peer_put(p, &w, NULL);
}

static void
post(struct peer *p, uint8_t op, uint8_t flags, uint64_t wr_id, uint32_t len)
{
	struct shm_send_wqe wqe = {.wr_id = wr_id,
	                           .op = op,
	                           .flags = flags,
	                           .nb_sge = 1,
	                           .imm = 0xaabbccdd,
	                           .remote_addr = 0x2000,
	                           .rkey = 0x1234,
	                           .atomic = {.compare_add = 5, .swap = 6}};
	struct shm_sge sge = {(uintptr_t)p->buf, len, p->mr.mr->key};

	app_post_send(&p->qp, &wqe, &sge);
}

Test(req, each_operation_has_its_opcodes_and_headers)
{
	static const struct {
		uint8_t op;
		uint8_t ops[3]; /* of a message of 3 packets; alone */
		uint8_t only;
	} rows[] = {
		{SHM_WR_SEND, {OP_SEND_FIRST, OP_SEND_MIDDLE, OP_SEND_LAST}, OP_SEND_ONLY},
		{SHM_WR_SEND_IMM,
	         {OP_SEND_FIRST, OP_SEND_MIDDLE, OP_SEND_LAST_IMM},
	         OP_SEND_ONLY_IMM},
		{SHM_WR_SEND_INV,
	         {OP_SEND_FIRST, OP_SEND_MIDDLE, OP_SEND_LAST_INV},
	         OP_SEND_ONLY_INV},
		{SHM_WR_WRITE, {OP_WRITE_FIRST, OP_WRITE_MIDDLE, OP_WRITE_LAST}, OP_WRITE_ONLY},
		{SHM_WR_WRITE_IMM,
	         {OP_WRITE_FIRST, OP_WRITE_MIDDLE, OP_WRITE_LAST_IMM},
	         OP_WRITE_ONLY_IMM},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct peer p;

		peer_open(&p, NULL, NULL);
		post(&p, rows[i].op, SHM_SEND_SOLICITED, 1, 2 * M + 5);
		post(&p, rows[i].op, SHM_SEND_SOLICITED, 2, 6);
		peer_go(&p);
		cr_assert_eq(p.nb_out, 4);
		for (uint32_t k = 0; k < 4; k++) {
			const struct wire_pkt *w = &p.out[k].w;
			uint8_t op = k < 3 ? rows[i].ops[k] : rows[i].only;
			bool end = k >= 2;

			peer_expect_frame(&p, k, op, Q + k, 0, 0);
			cr_expect_eq(w->payload_len, k < 2 ? M : k == 2 ? 5u : 6u);
			cr_expect_eq(
				memcmp(w->payload, p.buf + (k < 3 ? k * M : 0), w->payload_len), 0);
			cr_expect_eq(w->ack_req, end);
			/* Solicited are messages that end in a receive completion. */
			cr_expect_eq(w->solicited, end && rows[i].op != SHM_WR_WRITE, "row %zu", i);
			cr_expect_eq(w->pkey, PKEY_DEFAULT);
			cr_expect_eq(w->dest_qpn, PEER_QPN);
			if (w->op->flags & OPF_RETH) {
				cr_expect_eq(w->va, 0x2000);
				cr_expect_eq(w->rkey, 0x1234);
				cr_expect_eq(w->dma_len, k < 3 ? 2 * M + 5 : 6u);
			}
			if (w->op->flags & OPF_IMM)
				cr_expect_eq(w->imm, 0xaabbccdd);
			if (w->op->flags & OPF_IETH)
				cr_expect_eq(w->inv_rkey, 0xaabbccdd);
		}
		peer_close(&p);
	}
}

Test(req, atomics_carry_their_operands)
{
	struct peer p;

	peer_open(&p, NULL, NULL);
	post(&p, SHM_WR_CMP_SWAP, 0, 1, 8);
	post(&p, SHM_WR_FETCH_ADD, 0, 2, 8);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 2);
	cr_expect_eq(p.out[0].w.opcode, OP_CMP_SWAP);
	cr_expect_eq(p.out[0].w.compare, 5);
	cr_expect_eq(p.out[0].w.swap_add, 6);
	cr_expect_eq(p.out[1].w.opcode, OP_FETCH_ADD);
	cr_expect_eq(p.out[1].w.swap_add, 5);
	peer_close(&p);
}

Test(req, max_rd_atomic_are_outstanding_and_later_sends_wait_behind)
{
	for (uint8_t max = 1; max <= 16; max += 5) {
		struct shm_qp_attr attr = peer_attr();
		struct peer p;

		attr.max_rd_atomic = max;
		peer_open(&p, NULL, &attr);
		for (uint32_t i = 0; i < 20; i++)
			post(&p, i & 1 ? SHM_WR_FETCH_ADD : SHM_WR_READ, SHM_SEND_SIGNALED, i, 8);
		post(&p, SHM_WR_WRITE, SHM_SEND_SIGNALED, 20, 8);
		peer_go(&p);
		cr_expect_eq(p.nb_out, max);
		for (uint32_t i = 0; i < 20; i++) {
			struct wire_pkt w = peer_pkt(&p, OP_ATOMIC_ACK, Q + i);

			if (i & 1)
				peer_put(&p, &w, NULL);
			else
				put_read_resp(&p, Q + i, 8);
			peer_go(&p);
			cr_expect_eq(p.nb_out,
			             i + max == 19  ? 2u
			             : i + max < 19 ? 1u
			                            : 0u,
			             "max %u, answer %u: %u", max, i, p.nb_out);
			peer_expect(&p.qp.scq, i, SHM_WC_SUCCESS);
		}
		peer_close(&p);
	}
}

Test(req, a_fence_waits_for_reads_and_atomics_before_it)
{
	struct peer p;

	peer_open(&p, NULL, NULL);
	post(&p, SHM_WR_READ, SHM_SEND_SIGNALED, 1, 8);
	post(&p, SHM_WR_WRITE, SHM_SEND_SIGNALED, 2, 8);
	post(&p, SHM_WR_WRITE, SHM_SEND_SIGNALED | SHM_SEND_FENCE, 3, 8);
	post(&p, SHM_WR_WRITE, SHM_SEND_SIGNALED, 4, 8);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 2);
	peer_wait(&p, 30000);
	cr_expect_eq(p.nb_out, 0);
	put_read_resp(&p, Q, 8);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 2);
	peer_put_ack(&p, AETH_ACK, Q + 3, 4);
	peer_go(&p);
	for (uint64_t i = 1; i <= 4; i++)
		peer_expect(&p.qp.scq, i, SHM_WC_SUCCESS);
	/* Without any outstanding it waits for nothing. */
	post(&p, SHM_WR_WRITE, SHM_SEND_FENCE, 5, 8);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 1);
	peer_close(&p);
}

Test(req, only_signalled_requests_complete_unless_the_qp_signals_all)
{
	for (int all = 0; all < 2; all++) {
		struct app_conf ac = {.sig_all = all};
		struct peer p;

		peer_open(&p, &ac, NULL);
		for (uint64_t i = 0; i < 6; i++)
			post(&p, SHM_WR_WRITE, i % 3 == 2 ? SHM_SEND_SIGNALED : 0, i, 8);
		peer_go(&p);
		peer_put_ack(&p, AETH_ACK, Q + 5, 6);
		peer_go(&p);
		for (uint64_t i = 0; i < 6; i++)
			if (all || i % 3 == 2)
				peer_expect(&p.qp.scq, i, SHM_WC_SUCCESS);
		pair_expect_none(&p.qp.scq);
		cr_expect_eq(atomic_load(&p.qp.sq.ring->ring.head), 6);
		/* An unsignalled one that fails shows nevertheless. */
		post(&p, SHM_WR_WRITE, 0, 7, 8);
		peer_go(&p);
		peer_put_ack(&p, AETH_NAK_ACCESS, Q + 6, 6);
		peer_go(&p);
		peer_expect(&p.qp.scq, 7, SHM_WC_REM_ACCESS_ERR);
		peer_close(&p);
	}
}

/* Memory that takes everything. */
static bool
sink(const struct mem *mem, uint64_t va, const void *src, uint32_t len)
{
	(void)src;
	*(uint64_t *)mem->owner = va + len;
	return true;
}

Test(req, a_read_of_more_than_2_to_the_22_packets_goes_in_parts)
{
	static const struct mem_ops ops = {.write = sink};
	const uint64_t va = UINT64_C(1) << 40, len = UINT64_C(1) << 31, part = len / 2;
	const uint32_t part_psns = 1u << 22;
	struct mem_seg seg = {.va = va, .len = len};
	uint64_t written = 0;
	struct mem mem = {.ops = &ops, .owner = &written, .nb_segs = 1, .segs = &seg};
	struct shm_qp_attr attr = peer_attr();
	struct shm_send_wqe wqe = {.wr_id = 3,
	                           .op = SHM_WR_READ,
	                           .flags = SHM_SEND_SIGNALED,
	                           .nb_sge = 1,
	                           .remote_addr = 0x5000,
	                           .rkey = 9};
	struct peer p;
	struct mr *mr;

	attr.path_mtu = 1; /* 2^31 bytes are 2^23 packets of 256 */
	attr.timeout = 0;
	peer_open(&p, NULL, &attr);
	mr = mr_create(p.w.nic[0], PD, ALL_ACCESS, va, va, len, &mem);
	app_post_send(&p.qp, &wqe, &(struct shm_sge){va, (uint32_t)len, mr->key});
	post(&p, SHM_WR_WRITE, SHM_SEND_SIGNALED, 4, 8);
	peer_go(&p);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t first = Q + i * part_psns, last = first + part_psns - 1;
		struct rel_ack but_one = {.cum = p.qp.qp->rel->tx_una + part_psns - 1};
		struct wire_pkt w = peer_pkt(&p, OP_READ_RESP_LAST, last);

		cr_expect_eq(p.nb_out, i + 1); /* both parts would be half of the circle */
		peer_expect_frame(&p, 0, OP_READ_REQUEST, first, 0, 0);
		cr_expect_eq(p.out[0].w.dma_len, part);
		cr_expect_eq(p.out[0].w.va, 0x5000 + i * part);
		if (i)
			peer_expect_frame(&p, 1, OP_WRITE_ONLY, last + 1, 0, 0);
		/* All responses but the last; that one by hand. */
		comp_answer(p.qp.qp, &but_one, NULL, p.w.now_ns);
		pair_expect_none(&p.qp.scq);
		w.payload_len = 256;
		peer_put(&p, &w, NULL);
		peer_go(&p);
		cr_expect_eq(written, va + (i + 1) * part);
	}
	peer_expect(&p.qp.scq, 3, SHM_WC_SUCCESS);
	mr_destroy(p.w.nic[0], mr);
	peer_close(&p);
}

Test(req, a_window_of_the_congestion_control_below_the_coalescing_count_does_not_stall)
{
	struct peer p;
	uint32_t acked = 0;

	peer_open(&p, NULL, NULL);
	p.qp.qp->cc->window_bytes = 3 * (M + 70);
	post(&p, SHM_WR_WRITE, SHM_SEND_SIGNALED, 1, 12 * M);
	peer_go(&p);
	while (acked < 12) {
		cr_assert_leq(p.nb_out, 3);
		cr_assert_geq(p.nb_out, 1);
		cr_assert(p.out[p.nb_out - 1].w.ack_req, "%u acknowledged, nobody asks", acked);
		acked += p.nb_out;
		peer_put_ack(&p, AETH_ACK, Q + acked - 1, 0);
		peer_go(&p);
	}
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	cr_expect_eq(p.qp.qp->nic->stats.retransmits, 0);
	peer_close(&p);
}

Test(req, a_slow_qp_asks_for_acknowledgements_within_its_timeout)
{
	struct shm_qp_attr attr = peer_attr(), rate = {.rate_limit_kbps = 100000};
	uint32_t nb = 0, asked = 0;
	struct peer p;

	/* 88 us per packet of 1 KB; 1.05 ms of patience; 16 packets would take 1.4 ms. */
	attr.timeout = 8;
	peer_open(&p, NULL, &attr);
	cr_assert_eq(qp_modify(p.qp.qp, &rate, SHM_QP_RATE_LIMIT, p.w.now_ns), 0);
	post(&p, SHM_WR_WRITE, SHM_SEND_SIGNALED, 1, 40 * M);
	while (nb < 40) {
		peer_wait(&p, 1000);
		if (!p.nb_out)
			continue;
		cr_assert_eq(p.out[0].w.psn, (Q + nb) & 0xffffff, "packet %u again", nb);
		nb++;
		if (!p.out[0].w.ack_req)
			continue;
		asked++;
		peer_put_ack(&p, AETH_ACK, Q + nb - 1, 0);
		stack_rx(p.w.nic[0], p.in, p.nb_in, p.w.now_ns);
		p.nb_in = 0;
	}
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	cr_expect_eq(p.qp.qp->nic->stats.retransmits, 0);
	cr_expect_leq(asked, 21);
	peer_close(&p);
}
