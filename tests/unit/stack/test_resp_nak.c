/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "refusal.h"

/* Requests that a responder refuses: each NAK code in each of its cases. */

struct step {
	uint8_t opcode;
	uint8_t psn; /* behind PEER_PSN */
	uint32_t len, dma_len;
	int64_t va;
	enum key key;
};

struct row {
	const char *name;
	struct step steps[4];
	uint8_t syndrome;
	uint8_t psn, msn;
	const char *why;
	uint8_t recv_status;  /* 0 = flushed */
	uint32_t lost_rights; /* of the QP */
	uint8_t max_dest;     /* 0 = 4 */
	bool no_dest;
};

#define M PEER_MTU
#define INV AETH_NAK_INVALID
#define ACC AETH_NAK_ACCESS
#define SEQ "opcode out of order"
#define LEN "length of a packet"
#define RGT "rkey, bounds or access"
#define ATM "misaligned, or too many"

static const struct row rows[] = {
	/* opcode order */
	{"MIDDLE first", {{OP_SEND_MIDDLE, 0, M}}, INV, 0, 0, SEQ},
	{"LAST first", {{OP_SEND_LAST, 0, 4}}, INV, 0, 0, SEQ},
	{"LAST IMM first", {{OP_SEND_LAST_IMM, 0, 4}}, INV, 0, 0, SEQ},
	{"LAST INV first", {{OP_SEND_LAST_INV, 0, 4}}, INV, 0, 0, SEQ},
	{"WRITE MIDDLE first", {{OP_WRITE_MIDDLE, 0, M}}, INV, 0, 0, SEQ},
	{"WRITE LAST first", {{OP_WRITE_LAST, 0, 4}}, INV, 0, 0, SEQ},
	{"WRITE LAST IMM first", {{OP_WRITE_LAST_IMM, 0, 4}}, INV, 0, 0, SEQ},
	{"FIRST in a SEND", {{OP_SEND_FIRST, 0, M}, {OP_SEND_FIRST, 1, M}}, INV, 1, 0, SEQ},
	{"ONLY in a SEND", {{OP_SEND_FIRST, 0, M}, {OP_SEND_ONLY, 1, 4}}, INV, 1, 0, SEQ},
	{"WRITE in a SEND", {{OP_SEND_FIRST, 0, M}, {OP_WRITE_MIDDLE, 1, M}}, INV, 1, 0, SEQ},
	{"READ in a SEND", {{OP_SEND_FIRST, 0, M}, {OP_READ_REQUEST, 1, 0, 8}}, INV, 1, 0, SEQ},
	{"atomic in a SEND", {{OP_SEND_FIRST, 0, M}, {OP_FETCH_ADD, 1}}, INV, 1, 0, SEQ},
	{"SEND in a WRITE", {{OP_WRITE_FIRST, 0, M, 3 * M}, {OP_SEND_LAST, 1, 4}}, INV, 1, 0, SEQ},
	{"FIRST in a WRITE",
         {{OP_WRITE_FIRST, 0, M, 3 * M}, {OP_WRITE_FIRST, 1, M, 3 * M}},
         INV,
         1,
         0,
         SEQ},
	/* lengths */
	{"short FIRST", {{OP_SEND_FIRST, 0, M - 4}}, INV, 0, 0, LEN},
	{"long FIRST", {{OP_SEND_FIRST, 0, M + 4}}, INV, 0, 0, LEN},
	{"short MIDDLE", {{OP_SEND_FIRST, 0, M}, {OP_SEND_MIDDLE, 1, 4}}, INV, 1, 0, LEN},
	{"long ONLY", {{OP_SEND_ONLY, 0, M + 1}}, INV, 0, 0, LEN},
	{"long LAST", {{OP_SEND_FIRST, 0, M}, {OP_SEND_LAST, 1, M + 1}}, INV, 1, 0, LEN},
	{"ONLY shorter than its RETH", {{OP_WRITE_ONLY, 0, 8, 9}}, INV, 0, 0, LEN},
	{"ONLY longer than its RETH", {{OP_WRITE_ONLY, 0, 8, 7}}, INV, 0, 0, LEN},
	{"FIRST of one packet", {{OP_WRITE_FIRST, 0, M, M}}, INV, 0, 0, LEN},
	{"LAST too short", {{OP_WRITE_FIRST, 0, M, M + 8}, {OP_WRITE_LAST, 1, 7}}, INV, 1, 0, LEN},
	{"LAST too long", {{OP_WRITE_FIRST, 0, M, M + 8}, {OP_WRITE_LAST, 1, 9}}, INV, 1, 0, LEN},
	{"MIDDLE where LAST is due",
         {{OP_WRITE_FIRST, 0, M, M + 8}, {OP_WRITE_MIDDLE, 1, M}},
         INV,
         1,
         0,
         LEN},
	{"WRITE beyond 2^31", {{OP_WRITE_FIRST, 0, M, 0x80000001}}, INV, 0, 0, LEN},
	{"READ beyond 2^31", {{OP_READ_REQUEST, 0, 0, 0x80000001}}, INV, 0, 0, LEN},
	/* rights of the QP */
	{"no WRITE", {{OP_WRITE_ONLY, 0, 8, 8}}, INV, 0, 0, RGT, 0, SHM_ACCESS_REMOTE_WRITE},
	{"no READ", {{OP_READ_REQUEST, 0, 0, 8}}, INV, 0, 0, RGT, 0, SHM_ACCESS_REMOTE_READ},
	{"no atomics", {{OP_FETCH_ADD, 0}}, INV, 0, 0, RGT, 0, SHM_ACCESS_REMOTE_ATOMIC},
	{"READ without resources", {{OP_READ_REQUEST, 0, 0, 8}}, INV, 0, 0, RGT, 0, 0, 0, true},
	{"atomic without resources", {{OP_CMP_SWAP, 0}}, INV, 0, 0, RGT, 0, 0, 0, true},
	/* READs and atomics */
	{"one READ too many",
         {{OP_READ_REQUEST, 0, 0, 8}, {OP_READ_REQUEST, 1, 0, 8}, {OP_READ_REQUEST, 2, 0, 8}},
         INV,
         2,
         2,
         ATM,
         0,
         0,
         2},
	{"one atomic too many",
         {{OP_READ_REQUEST, 0, 0, 3 * M}, {OP_CMP_SWAP, 3}},
         INV,
         3,
         1,
         ATM,
         0,
         0,
         1},
	{"misaligned by 1", {{OP_FETCH_ADD, 0, .va = 1}}, INV, 0, 0, ATM},
	{"misaligned by 4", {{OP_CMP_SWAP, 0, .va = 4}}, INV, 0, 0, ATM},
	/* memory */
	{"WRITE, no such key", {{OP_WRITE_ONLY, 0, 8, 8, 0, KEY_NONE}}, ACC, 0, 0, RGT},
	{"WRITE, other PD", {{OP_WRITE_ONLY, 0, 8, 8, 0, KEY_OTHER_PD}}, ACC, 0, 0, RGT},
	{"WRITE, read only", {{OP_WRITE_ONLY, 0, 8, 8, 0, KEY_READ_ONLY}}, ACC, 0, 0, RGT},
	{"WRITE, local key", {{OP_WRITE_ONLY, 0, 8, 8, 0, KEY_LOCAL}}, ACC, 0, 0, RGT},
	{"WRITE, deregistered", {{OP_WRITE_ONLY, 0, 8, 8, 0, KEY_GONE}}, ACC, 0, 0, RGT},
	{"WRITE, window not bound", {{OP_WRITE_ONLY, 0, 8, 8, 0, KEY_UNBOUND}}, ACC, 0, 0, RGT},
	{"WRITE, a byte before", {{OP_WRITE_ONLY, 0, 8, 8, -1}}, ACC, 0, 0, RGT},
	{"WRITE, a byte behind", {{OP_WRITE_ONLY, 0, 8, 8, PAIR_BUF - 7}}, ACC, 0, 0, RGT},
	{"WRITE, all judged at FIRST", {{OP_WRITE_FIRST, 0, M, PAIR_BUF + 1}}, ACC, 0, 0, RGT},
	{"WRITE round the end of memory",
         {{OP_WRITE_FIRST, 0, M, 0x7fffffff, -0x40000000}},
         ACC,
         0,
         0,
         RGT},
	{"READ, no such key", {{OP_READ_REQUEST, 0, 0, 8, 0, KEY_NONE}}, ACC, 0, 0, RGT},
	{"READ, other PD", {{OP_READ_REQUEST, 0, 0, 8, 0, KEY_OTHER_PD}}, ACC, 0, 0, RGT},
	{"READ, local key", {{OP_READ_REQUEST, 0, 0, 8, 0, KEY_LOCAL}}, ACC, 0, 0, RGT},
	{"READ, a byte behind", {{OP_READ_REQUEST, 0, 0, 8, PAIR_BUF - 7}}, ACC, 0, 0, RGT},
	{"atomic, read only", {{OP_FETCH_ADD, 0, .key = KEY_READ_ONLY}}, ACC, 0, 0, RGT},
	{"atomic, behind", {{OP_CMP_SWAP, 0, .va = PAIR_BUF}}, ACC, 0, 0, RGT},
	{"SEND INV of no window", {{OP_SEND_ONLY_INV, 0, 8, .key = KEY_NONE}}, ACC, 0, 0, RGT},
	{"SEND INV of a region", {{OP_SEND_ONLY_INV, 0, 8, .key = KEY_FULL}}, ACC, 0, 0, RGT},
	/* what is posted here; the receive has 2 x MTU bytes, the second entry's key is wrong */
	{"SEND longer than its receive",
         {{OP_SEND_FIRST, 0, M}, {OP_SEND_MIDDLE, 1, M}, {OP_SEND_LAST, 2, 1}},
         INV,
         2,
         0,
         "longer than the QP or the receive",
         SHM_WC_LOC_LEN_ERR},
	{"SEND into a bad receive",
         {{OP_SEND_FIRST, 0, M}, {OP_SEND_LAST, 1, M}},
         AETH_NAK_OPERATION,
         1,
         0,
         "lkey, bounds or access of a local",
         SHM_WC_LOC_PROT_ERR},
};

static void
put(struct peer *p, const struct keys *k, const struct step *s)
{
	struct wire_pkt w = peer_pkt(p, s->opcode, PEER_PSN + s->psn);

	w.payload_len = s->len;
	w.dma_len = s->dma_len;
	w.va += (uint64_t)s->va;
	w.rkey = w.inv_rkey = k->key[s->key];
	w.swap_add = 1;
	peer_put(p, &w, NULL);
}

static void
run(const struct row *r)
{
	struct shm_qp_attr attr = peer_attr();
	struct peer p;
	struct keys k = {0};
	const struct wire_pkt *nak;

	attr.access &= ~r->lost_rights;
	if (r->max_dest)
		attr.max_dest_rd_atomic = r->max_dest;
	if (r->no_dest)
		attr.max_dest_rd_atomic = 0;
	peer_open(&p, NULL, &attr);
	keys_open(&k, &p);
	refusal_post(&p, r->recv_status);
	for (int i = 0; i < 4 && (i == 0 || r->steps[i].psn); i++)
		put(&p, &k, &r->steps[i]);
	peer_go(&p);

	cr_assert_geq(p.nb_out, 1, "%s", r->name);
	nak = &p.out[p.nb_out - 1].w;
	for (uint32_t i = 0; i < p.nb_out; i++)
		if (p.out[i].w.op->flags & OPF_ACK && p.out[i].w.syndrome >= 0x60)
			nak = &p.out[i].w;
	cr_expect_eq(nak->opcode, OP_ACK, "%s: opcode 0x%x", r->name, nak->opcode);
	cr_expect_eq(nak->syndrome, r->syndrome, "%s: syndrome 0x%x", r->name, nak->syndrome);
	cr_expect_eq(nak->psn, (PEER_PSN + r->psn) & 0xffffff, "%s: PSN 0x%x", r->name, nak->psn);
	cr_expect_eq(nak->msn, r->msn, "%s: MSN %u", r->name, nak->msn);
	cr_expect_eq(nak->dest_qpn, PEER_QPN, "%s", r->name);

	refusal_expect_end(&p, r->name, r->why, r->recv_status);

	/* What comes now is dropped, counted, and not answered. */
	put(&p, &k, &(struct step){OP_WRITE_ONLY, (uint8_t)(r->psn + 1), 8, 8});
	peer_go(&p);
	for (uint32_t i = 0; i < p.nb_out; i++)
		cr_expect(p.out[i].w.op->flags & OPF_READ_RESP, "%s", r->name);
	cr_expect_geq(p.w.nic[0]->stats.drop[DROP_QP_STATE], 1, "%s", r->name);
	keys_close(&k, &p);
	peer_close(&p);
}

Test(resp_nak, each_refusal_has_its_code_psn_msn_and_reason)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		run(&rows[i]);
}

/* Bytes that a refused WRITE must not have touched. */
Test(resp_nak, a_refused_write_places_nothing)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct step *s = &rows[i].steps[0];
		struct peer p;
		struct keys k = {0};

		if (!(opcode_table[s->opcode].flags & OPF_WRITE) || rows[i].psn)
			continue;
		peer_open(&p, NULL, NULL);
		keys_open(&k, &p);
		if (rows[i].lost_rights)
			p.qp.qp->attr.access &= ~rows[i].lost_rights;
		put(&p, &k, s);
		peer_go(&p);
		for (uint32_t b = 0; b < PAIR_BUF; b++)
			cr_assert_eq(p.buf[b], (uint8_t)(b * 7 + (b >> 8)), "%s: byte %u",
			             rows[i].name, b);
		keys_close(&k, &p);
		peer_close(&p);
	}
}

Test(resp_nak, a_message_without_bytes_names_no_memory)
{
	struct peer p;
	struct wire_pkt w;

	peer_open(&p, NULL, NULL);
	w = peer_pkt(&p, OP_WRITE_ONLY, PEER_PSN);
	w.rkey = 0xdeadbeef;
	w.ack_req = true;
	peer_put(&p, &w, NULL);
	w = peer_pkt(&p, OP_READ_REQUEST, PEER_PSN + 1);
	w.rkey = 0xdeadbeef;
	w.va = 1;
	peer_put(&p, &w, NULL);
	w = peer_pkt(&p, OP_SEND_ONLY, PEER_PSN + 2);
	w.ack_req = true;
	peer_put(&p, &w, NULL);
	app_post_recv(&p.qp, 5, NULL, 0);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 3);
	cr_expect_eq(p.out[0].w.opcode, OP_ACK);
	cr_expect_eq(p.out[1].w.opcode, OP_READ_RESP_ONLY);
	cr_expect_eq(p.out[1].w.payload_len, 0);
	cr_expect_eq(p.out[2].w.opcode, OP_ACK);
	cr_expect_eq(p.out[2].w.msn, 3);
	peer_expect(&p.qp.rcq, 5, SHM_WC_SUCCESS);
	cr_expect_eq(p.qp.qp->state, SHM_QPS_RTS);
	peer_close(&p);
}
