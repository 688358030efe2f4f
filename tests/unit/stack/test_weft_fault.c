/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "refusal.h"
#include "sr.h"
#include "weft_peer.h"

/* What ends a QP of the weft framing: each fatal NAK in its cases, when it is said, and what the
 * requester makes of it. */

#define M PEER_MTU
#define INV AETH_NAK_INVALID
#define ACC AETH_NAK_ACCESS
#define OPR AETH_NAK_OPERATION
#define RGT "rkey, bounds or access"
#define ATM "misaligned, or too many"

enum what { WRITE, WRITE_2, READ, ADD, SEND, SEND_INV };

struct row {
	const char *name;
	enum what what;
	enum key key;
	int64_t va;
	uint32_t len;
	uint8_t syndrome;
	uint32_t psn; /* at fault, behind the first WRITE's */
	const char *why;
	uint8_t recv_status; /* 0 = flushed */
	uint32_t lost_rights;
	bool no_dest;
};

static const struct row rows[] = {
	{"WRITE, no such key", WRITE, KEY_NONE, 0, 8, ACC, 1, RGT},
	{"WRITE, other PD", WRITE, KEY_OTHER_PD, 0, 8, ACC, 1, RGT},
	{"WRITE, read only", WRITE, KEY_READ_ONLY, 0, 8, ACC, 1, RGT},
	{"WRITE, local key", WRITE, KEY_LOCAL, 0, 8, ACC, 1, RGT},
	{"WRITE, deregistered", WRITE, KEY_GONE, 0, 8, ACC, 1, RGT},
	{"WRITE, window not bound", WRITE, KEY_UNBOUND, 0, 8, ACC, 1, RGT},
	{"WRITE, a byte before", WRITE, KEY_FULL, -1, 8, ACC, 1, RGT},
	{"WRITE, a byte behind", WRITE, KEY_FULL, PAIR_BUF - 7, 8, ACC, 1, RGT},
	{"WRITE, its second packet behind", WRITE_2, KEY_FULL, PAIR_BUF - M, M + 8, ACC, 2, RGT},
	{"no WRITE", WRITE, KEY_FULL, 0, 8, INV, 1, RGT, 0, SHM_ACCESS_REMOTE_WRITE},
	{"READ, no such key", READ, KEY_NONE, 0, 8, ACC, 1, RGT},
	{"READ, other PD", READ, KEY_OTHER_PD, 0, 8, ACC, 1, RGT},
	{"READ, local key", READ, KEY_LOCAL, 0, 8, ACC, 1, RGT},
	{"READ, a byte behind", READ, KEY_FULL, PAIR_BUF - 7, 8, ACC, 1, RGT},
	{"no READ", READ, KEY_FULL, 0, 8, INV, 1, RGT, 0, SHM_ACCESS_REMOTE_READ},
	{"READ beyond 2^31", READ, KEY_FULL, 0, 0x80000001, INV, 1, "length of a packet"},
	{"READ without resources", READ, KEY_FULL, 0, 8, INV, 1, RGT, 0, 0, true},
	{"atomic, read only", ADD, KEY_READ_ONLY, 0, 8, ACC, 1, RGT},
	{"atomic, behind", ADD, KEY_FULL, PAIR_BUF, 8, ACC, 1, RGT},
	{"atomic, misaligned by 4", ADD, KEY_FULL, 4, 8, INV, 1, ATM},
	{"no atomics", ADD, KEY_FULL, 0, 8, INV, 1, RGT, 0, SHM_ACCESS_REMOTE_ATOMIC},
	{"atomic without resources", ADD, KEY_FULL, 0, 8, INV, 1, RGT, 0, 0, true},
	{"SEND longer than its receive", SEND, KEY_FULL, 0, 2 * M + 1, INV, 1,
         "longer than the QP or the receive", SHM_WC_LOC_LEN_ERR},
	{"SEND into a bad receive", SEND, KEY_NONE, 0, M + 1, OPR, 2,
         "lkey, bounds or access of a local", SHM_WC_LOC_PROT_ERR},
	{"SEND INV of no window", SEND_INV, KEY_NONE, 0, 8, ACC, 1, RGT},
	{"SEND INV of a region", SEND_INV, KEY_FULL, 0, 8, ACC, 1, RGT},
};

/* Message 1, from PSN 1 on. */
static void
put(struct peer *p, const struct keys *k, const struct row *r)
{
	bool is_send = r->what == SEND || r->what == SEND_INV;
	uint32_t nb = r->what == READ || r->what == ADD ? 1 : (r->len + M - 1) / M;

	for (uint32_t i = 0; i < nb; i++) {
		struct wire_pkt w = is_send           ? wp_send(p, 1, 1, 0, r->len, i)
		                    : r->what == READ ? wp_read(p, 1, 1, 0, r->len, 0)
		                    : r->what == ADD  ? wp_add(p, 1, 1, 0, 0)
		                                      : wp_write(p, 1, 1, 0, r->len, i);

		if (r->what == SEND_INV)
			w.opcode = OP_WEFT | OP_SEND_ONLY_INV;
		w.va += (uint64_t)r->va;
		w.rkey = w.inv_rkey = k->key[r->key];
		wp_put(p, w);
	}
}

static void
run(const struct row *r)
{
	struct shm_qp_attr attr = peer_attr();
	struct peer p;
	struct keys k = {0};
	const struct wire_pkt *nak;

	attr.access &= ~r->lost_rights;
	if (r->no_dest)
		attr.max_dest_rd_atomic = 0;
	peer_open_weft(&p, &(struct peer_weft){.attr = &attr});
	keys_open(&k, &p);
	refusal_post(&p, r->recv_status);
	p.qp.qp->attr.access |= r->lost_rights & SHM_ACCESS_REMOTE_WRITE;
	wp_hand(&p, wp_write(&p, 0, 0, 8192, 8, 0));
	p.qp.qp->attr.access &= ~r->lost_rights;
	put(&p, &k, r);
	peer_go(&p);
	nak = wp_expect_ack(&p, r->syndrome,
	                    r->what == READ || r->what == ADD || r->what == SEND_INV ? 2 : r->psn,
	                    1);
	cr_expect_eq(nak->weft.value, (PEER_PSN + r->psn) & 0xffffff, "%s: PSN 0x%x", r->name,
	             nak->weft.value);
	refusal_expect_end(&p, r->name, r->why, r->recv_status);
	keys_close(&k, &p);
	peer_close(&p);
}

Test(weft_fault, each_refusal_has_its_code_psn_msn_and_reason)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		run(&rows[i]);
}

static struct wire_pkt
bad_write(const struct peer *p, uint32_t psn, uint32_t msn)
{
	struct wire_pkt w = wp_write(p, psn, msn, 0, 8, 0);

	w.rkey = 0xdeadbeef;
	return w;
}

Test(weft_fault, nothing_is_placed_from_the_message_at_fault_on)
{
	struct peer p;
	uint8_t before[M];

	peer_open_weft(&p, &(struct peer_weft){.rel = &sr_ops});
	memcpy(before, p.buf, M);
	wp_put(&p, bad_write(&p, 1, 1));
	wp_put(&p, wp_write(&p, 2, 2, 0, M, 0));
	peer_go(&p);
	cr_expect_eq(p.w.nic[0]->stats.drop[DROP_GAP], 1);
	cr_expect_eq(p.qp.qp->state, SHM_QPS_RTS); /* message 0 is missing */
	cr_expect_arr_eq(p.buf, before, M);
	wp_hand(&p, wp_write(&p, 0, 0, 4 * M, M, 0));
	cr_expect_arr_neq(p.buf + 4 * M, before, M);
	cr_expect_eq(wp_expect_ack(&p, ACC, 1, 1)->weft.value, (PEER_PSN + 1) & 0xffffff);
	cr_expect_eq(p.qp.qp->state, SHM_QPS_ERR);
	peer_close(&p);
}

Test(weft_fault, of_several_the_lowest_message_counts)
{
	struct peer p;
	struct shm_sge sge;

	peer_open_weft(&p, &(struct peer_weft){.rel = &sr_ops});
	sge = (struct shm_sge){(uintptr_t)p.buf, 4, p.mr.mr->key};
	app_post_recv(&p.qp, 50, &sge, 1);
	wp_put(&p, bad_write(&p, 3, 3));
	wp_put(&p, wp_send(&p, 1, 1, 0, 8, 0)); /* too long */
	wp_put(&p, bad_write(&p, 2, 2));
	wp_put(&p, wp_write(&p, 0, 0, 0, 8, 0));
	peer_go(&p);
	wp_expect_ack(&p, INV, 1, 1);
	peer_expect(&p.qp.rcq, 50, SHM_WC_LOC_LEN_ERR);
	peer_close(&p);
}

/* No honest peer gives two messages one SSN, but for one that was refused. */
Test(weft_fault, a_receive_that_another_message_has_had_is_not_blamed)
{
	struct peer p;
	struct shm_sge sge;

	peer_open_weft(&p, &(struct peer_weft){.rel = &sr_ops});
	sge = (struct shm_sge){(uintptr_t)p.buf, 8, p.mr.mr->key};
	app_post_recv(&p.qp, 1, &sge, 1);
	wp_hand(&p, wp_send(&p, 1, 1, 0, 64, 0)); /* too long */
	wp_hand(&p, wp_send(&p, 0, 0, 0, 8, 0));
	wp_expect_ack(&p, AETH_NAK_INVALID, 1, 1);
	cr_expect_eq(p.qp.qp->state, SHM_QPS_ERR);
	peer_expect(&p.qp.rcq, 1, SHM_WC_SUCCESS);
	peer_close(&p);
}

Test(weft_fault, no_acknowledgement_covers_the_message_at_fault)
{
	struct peer p;
	struct wire_pkt w;

	peer_open_weft(&p, &(struct peer_weft){.rel = &sr_ops});
	wp_put(&p, wp_write(&p, 0, 0, 0, 2 * M, 1));
	wp_put(&p, bad_write(&p, 2, 1));
	peer_go(&p);
	w = wp_write(&p, 0, 0, 0, 2 * M, 1); /* a duplicate asks */
	w.ack_req = true;
	wp_hand(&p, w);
	wp_expect_ack(&p, AETH_ACK, 0, 0);
	wp_hand(&p, wp_write(&p, 0, 0, 0, 2 * M, 0));
	wp_expect_ack(&p, ACC, 2, 1);
	for (uint32_t i = 0; i < p.nb_out; i++)
		cr_expect_leq(p.out[i].w.msn, 1);
	peer_close(&p);
}

Test(weft_fault, the_nak_is_said_again_to_who_asks_once_a_millisecond_a_thousand_times)
{
	struct peer p;
	uint32_t nb = 1;

	peer_open_weft(&p, NULL);
	wp_hand(&p, bad_write(&p, 0, 0));
	wp_expect_ack(&p, ACC, 0, 0);
	for (int i = 0; i < 30; i++) { /* 3 ms */
		p.w.now_ns += 99000;
		wp_hand(&p, bad_write(&p, 0, 0));
		nb += wp_nb(&p, OP_ACK);
		if (wp_nb(&p, OP_ACK))
			wp_expect_ack(&p, ACC, 0, 0);
	}
	cr_expect(nb == 3 || nb == 4, "%u", nb);
	wp_hand(&p, wp_ack(&p, AETH_ACK, 0, 0, 0)); /* no stream packet */
	for (int i = 0; i < 1100; i++) {
		p.w.now_ns += 1000000;
		wp_hand(&p, wp_write(&p, 0, 0, 0, 8, 0));
		nb += wp_nb(&p, OP_ACK);
	}
	cr_expect_eq(nb, 1000, "%u", nb);
	peer_close(&p);
}

/* ---- the requester ---- */

Test(weft_fault, the_request_that_is_named_fails_those_before_it_complete)
{
	static const struct {
		uint8_t syndrome, status;
		const char *why;
	} naks[] = {
		{INV, SHM_WC_REM_INV_REQ_ERR, "refused a request as invalid"},
		{ACC, SHM_WC_REM_ACCESS_ERR, "refused access"},
		{OPR, SHM_WC_REM_OP_ERR, "could not carry out"},
	};

	for (size_t i = 0; i < 3; i++) {
		struct peer p;
		struct shm_qp_attr q;
		char why[256];

		peer_open_weft(&p, NULL);
		for (uint64_t id = 0; id < 4; id++)
			peer_post(&p, id == 1 ? SHM_WR_SEND : SHM_WR_WRITE, id, 8);
		peer_go(&p);
		wp_hand(&p, wp_ack(&p, naks[i].syndrome, 2, 2, 2));
		peer_expect(&p.qp.scq, 0, SHM_WC_SUCCESS);
		peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
		peer_expect(&p.qp.scq, 2, naks[i].status);
		peer_expect(&p.qp.scq, 3, SHM_WC_WR_FLUSH_ERR);
		qp_query(p.qp.qp, &q, why, sizeof(why));
		cr_expect_eq(q.state, SHM_QPS_ERR);
		cr_expect(strstr(why, naks[i].why), "%s", why);
		peer_close(&p);
	}
}

Test(weft_fault, a_read_is_named_by_the_message_of_its_request)
{
	struct peer p;

	peer_open_weft(&p, NULL);
	peer_post(&p, SHM_WR_READ, 0, 8);
	peer_post(&p, SHM_WR_READ, 1, 8);
	peer_post(&p, SHM_WR_WRITE, 2, 8);
	peer_go(&p);
	wp_hand(&p, wp_ack(&p, AETH_ACK, 3, 3, 2));
	wp_hand(&p, wp_read_resp(&p, 0, 0, 0, 8, 0));
	peer_expect(&p.qp.scq, 0, SHM_WC_SUCCESS);
	wp_hand(&p, wp_ack(&p, ACC, 3, 1, 1));
	peer_expect(&p.qp.scq, 1, SHM_WC_REM_ACCESS_ERR);
	peer_expect(&p.qp.scq, 2, SHM_WC_WR_FLUSH_ERR);
	peer_close(&p);
}

Test(weft_fault, a_response_that_was_not_asked_for_ends_the_qp_and_the_peer_is_not_told)
{
	static const struct {
		const char *name;
		uint32_t req_msn, len;
		uint8_t op;            /* 0 = READ response */
		uint8_t first, second; /* statuses of the READ and the FETCH_ADD */
	} bad[] = {
		{"of no request", 7, 8, 0, SHM_WC_BAD_RESP_ERR, SHM_WC_WR_FLUSH_ERR},
		{"longer than asked", 0, 9, 0, SHM_WC_BAD_RESP_ERR, SHM_WC_WR_FLUSH_ERR},
		{"shorter than asked", 0, 7, 0, SHM_WC_BAD_RESP_ERR, SHM_WC_WR_FLUSH_ERR},
		{"many packets for one", 0, 4 * M, 0, SHM_WC_BAD_RESP_ERR, SHM_WC_WR_FLUSH_ERR},
		{"a READ's for an atomic", 1, 8, 0, SHM_WC_WR_FLUSH_ERR, SHM_WC_BAD_RESP_ERR},
		{"an atomic's for a READ", 0, 0, OP_ATOMIC_ACK, SHM_WC_BAD_RESP_ERR,
	         SHM_WC_WR_FLUSH_ERR},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct peer p;
		struct wire_pkt w;
		uint8_t before[64];

		peer_open_weft(&p, NULL);
		memcpy(before, p.buf, 64);
		peer_post(&p, SHM_WR_READ, 0, 8);
		peer_post(&p, SHM_WR_FETCH_ADD, 1, 8);
		peer_go(&p);
		w = wp_read_resp(&p, 0, 0, bad[i].req_msn, bad[i].len, 0);
		if (bad[i].op)
			w.opcode = OP_WEFT | bad[i].op;
		wp_hand(&p, w);
		cr_expect_eq(p.qp.qp->state, SHM_QPS_ERR, "%s", bad[i].name);
		peer_expect(&p.qp.scq, 0, bad[i].first);
		peer_expect(&p.qp.scq, 1, bad[i].second);
		cr_expect_eq(p.nb_out, 0, "%s", bad[i].name);
		cr_expect_arr_eq(p.buf, before, 64, "%s", bad[i].name);
		peer_close(&p);
	}
}

/*
 * Each end is at fault behind a READ, whose response it wants to be acknowledged first, and takes
 * nothing of the other's stream that is behind its own fault, such as that response.
 */
Test(weft_fault, faults_that_cross_end_both_with_the_right_reason)
{
	static const uint8_t timeouts[] = {14, 0};

	for (size_t i = 0; i < sizeof(timeouts); i++) {
		struct shm_qp_attr attr;
		struct pair p;

		pair_make(&p, &(struct world_conf){.weft = true}, NULL);
		attr = app_attr(&p.qp[0], &p.qp[1]);
		attr.timeout = timeouts[i];
		pair_connect(&p, &attr);
		for (int side = 0; side < 2; side++) {
			struct shm_send_wqe q = pair_wqe(&p, SHM_WR_READ, 1, 0);
			struct shm_sge s = pair_sge(&p, side, 0, 100);

			q.remote_addr = (uintptr_t)p.buf[!side];
			q.rkey = p.mr[!side].mr->key;
			app_post_send(&p.qp[side], &q, &s);
			q.op = SHM_WR_WRITE;
			q.wr_id = 2;
			q.rkey ^= 0x5a5a00;
			app_post_send(&p.qp[side], &q, &s);
		}
		for (int side = 0; side < 2; side++) {
			char why[256];

			pair_expect(&p, &p.qp[side].scq, 1, SHM_WC_WR_FLUSH_ERR);
			pair_expect(&p, &p.qp[side].scq, 2, SHM_WC_WR_FLUSH_ERR);
			cr_expect_eq(pair_state(&p, side, why), SHM_QPS_ERR);
			cr_expect(strstr(why, RGT), "timeout %u: %s", timeouts[i], why);
		}
		pair_close(&p);
	}
}

Test(weft_fault, both_ends_of_a_refused_write_know_why)
{
	struct pair p;
	struct shm_send_wqe q;
	struct shm_sge s;
	char why[256];

	pair_open(&p, &(struct world_conf){.weft = true}, NULL);
	pair_post(&p, SHM_WR_WRITE, 1, 0, 0, 5000);
	q = pair_wqe(&p, SHM_WR_WRITE, 2, 0);
	q.rkey ^= 0x5a5a00;
	s = pair_sge(&p, 0, 0, 5000);
	app_post_send(&p.qp[0], &q, &s);
	pair_post(&p, SHM_WR_WRITE, 3, 0, 8192, 8);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
	pair_expect(&p, &p.qp[0].scq, 2, SHM_WC_REM_ACCESS_ERR);
	pair_expect(&p, &p.qp[0].scq, 3, SHM_WC_WR_FLUSH_ERR);
	cr_expect_eq(pair_state(&p, 0, why), SHM_QPS_ERR);
	cr_expect(strstr(why, "refused access"), "%s", why);
	cr_expect_eq(pair_state(&p, 1, why), SHM_QPS_ERR);
	cr_expect(strstr(why, RGT), "%s", why);
	cr_expect_eq(p.buf[1][8192], 0xee);
	cr_expect_eq(p.w.nic[0]->stats.req_remote_access_errors, 1);
	cr_expect_eq(p.w.nic[1]->stats.resp_remote_access_errors, 1);
	pair_close(&p);
}
