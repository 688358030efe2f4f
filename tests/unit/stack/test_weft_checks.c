/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "sr.h"
#include "weft_peer.h"

/*
 * What a packet of the weft framing must agree with before anything is done: the parts that were
 * agreed on, the windows, and what is known of its message. What does not is dropped and counted,
 * never answered by a NAK, and the QP goes on.
 */

#define M PEER_MTU

/* What the QP has: a 4-packet SEND (MSN 1, PSN 1 to 4) of which packet 1 came, behind a done WRITE
 * of one packet (MSN 0, PSN 0). */
static void
open_in_the_middle(struct peer *p)
{
	static const struct reliability_ops *const rel = &sr_ops;
	struct shm_sge sge;

	peer_open_weft(p, &(struct peer_weft){.rel = rel, .terms = {.max_msgs = 16}});
	sge = (struct shm_sge){(uintptr_t)p->buf, 8 * M, p->mr.mr->key};
	app_post_recv(&p->qp, 1, &sge, 1);
	app_post_recv(&p->qp, 2, &sge, 1);
	wp_put(p, wp_write(p, 0, 0, 0, 8, 0));
	wp_put(p, wp_send(p, 1, 1, 0, 3 * M + 8, 1));
	peer_go(p);
	cr_assert_eq(p->qp.qp->rel->rx_cum & 0xffffff, (PEER_PSN + 1) & 0xffffff);
}

/* The rest of what was begun: all goes on. */
static void
finish_and_close(struct peer *p, const char *name)
{
	struct shm_cqe c;

	for (uint32_t i = 0; i < 4; i++)
		wp_put(p, wp_send(p, 1, 1, 0, 3 * M + 8, i));
	peer_go(p);
	wp_expect_ack(p, AETH_ACK, 5, 2);
	cr_expect_eq(p->qp.qp->state, SHM_QPS_RTS, "%s", name);
	cr_assert(local_poll(&p->qp.rcq, &c), "%s", name);
	cr_expect_eq(c.wr_id, 1, "%s", name);
	cr_expect_eq(c.byte_len, 3 * M + 8, "%s", name);
	pair_expect_none(&p->qp.rcq);
	peer_close(p);
}

enum change {
	TS,
	LANE,
	SLOTS,
	EXT,
	MSN_FAR,
	MSN_OLD,
	PSN_FAR,
	KIND_WRITE,
	KIND_READ,
	LENGTH,
	SSN,
	RUN_LATER,
	RUN_EARLIER,
	BEFORE,
	BEHIND,
	SHORT,
	OFFSET,
	SSN_FAR,
	FIRST_SHORT,
};

static struct wire_pkt
wrong_pkt(const struct peer *p, enum change change)
{
	static const uint8_t ext[16] = {1};
	struct wire_pkt w = wp_send(p, 1, 1, 0, 3 * M + 8, 2);

	switch (change) {
	case TS:
		w.weft.has_ts = true;
		break;
	case LANE:
		w.weft.has_lane = true;
		w.weft.lane = (struct wire_lane){.lanes = 1, .back = 255};
		break;
	case SLOTS:
		w.weft.nb_slots = 2;
		break;
	case EXT:
		w.weft.ext_len = 3;
		w.weft.ext = ext;
		break;
	case MSN_FAR: /* eMSN 1 + max_msgs 16 */
		return wp_write(p, 6, 17, 0, 8, 0);
	case MSN_OLD: /* a done message's MSN with a PSN that has not come */
		return wp_write(p, 6, 0, 0, 8, 0);
	case PSN_FAR: /* of a window of 256 */
		return wp_write(p, 1 + 256, 2, 0, 8, 0);
	case KIND_WRITE:
		return wp_write(p, 1, 1, 0, 3 * M + 8, 2);
	case KIND_READ:
		return wp_read(p, 3, 1, 0, 8, 0);
	case LENGTH:
		w.weft.msg_len += M;
		break;
	case SSN:
		w.weft.ssn = 1;
		break;
	case RUN_LATER:
		w.psn = (w.psn + 1) & 0xffffff;
		break;
	case RUN_EARLIER:
		w.psn = (w.psn - 1) & 0xffffff;
		break;
	case BEFORE: /* the next message begins before this one ends */
		return wp_write(p, 4, 2, 0, 8, 0);
	case BEHIND: /* ... or leaves a gap */
		return wp_write(p, 6, 2, 0, 8, 0);
	case SHORT: /* a MIDDLE of less than the path MTU */
		w.payload_len = M / 2;
		break;
	case OFFSET: /* no multiple of the path MTU */
		w.weft.offset -= 256;
		break;
	case SSN_FAR:
		return wp_send(p, 5, 2, 16, 8, 0);
	case FIRST_SHORT: /* a FIRST of less than the path MTU */
		w = wp_write(p, 5, 2, 0, 2 * M, 0);
		w.payload_len = M / 2;
		break;
	}
	return w;
}

Test(weft_checks, what_does_not_fit_is_dropped_and_counted_and_the_qp_goes_on)
{
	static const struct {
		const char *name;
		enum change change;
		enum drop why;
	} rows[] = {
		{"a timestamp", TS, DROP_PARTS},
		{"a path header", LANE, DROP_PARTS},
		{"INT slots", SLOTS, DROP_PARTS},
		{"block X", EXT, DROP_PARTS},
		{"MSN beyond the window", MSN_FAR, DROP_MESSAGE},
		{"MSN that is done, new PSN", MSN_OLD, DROP_MESSAGE},
		{"PSN beyond the window", PSN_FAR, DROP_MESSAGE},
		{"a WRITE in a SEND", KIND_WRITE, DROP_MESSAGE},
		{"a READ in a SEND", KIND_READ, DROP_MESSAGE},
		{"another length", LENGTH, DROP_MESSAGE},
		{"another SSN", SSN, DROP_MESSAGE},
		{"a run that begins later", RUN_LATER, DROP_MESSAGE},
		{"a run that begins earlier", RUN_EARLIER, DROP_MESSAGE},
		{"the next run begins too early", BEFORE, DROP_MESSAGE},
		{"the next run leaves a gap", BEHIND, DROP_MESSAGE},
		{"a short MIDDLE", SHORT, DROP_MESSAGE},
		{"an offset between packets", OFFSET, DROP_MESSAGE},
		{"an SSN beyond the window", SSN_FAR, DROP_BUSY},
		{"a short FIRST", FIRST_SHORT, DROP_MESSAGE},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct peer p;
		const uint64_t *drop;
		uint64_t cum;

		open_in_the_middle(&p);
		drop = p.w.nic[0]->stats.drop;
		cum = p.qp.qp->rel->rx_cum;
		wp_hand(&p, wrong_pkt(&p, rows[i].change));
		if (drop[rows[i].why] != 1)
			for (int d = 0; d < DROP_NB; d++)
				cr_expect(!drop[d], "%s: dropped for %d", rows[i].name, d);
		cr_expect_eq(drop[rows[i].why], 1, "%s: %lu", rows[i].name,
		             (unsigned long)drop[rows[i].why]);
		cr_expect_eq(p.nb_out, 0, "%s: is answered", rows[i].name);
		cr_expect_eq(p.qp.qp->rel->rx_cum, cum, "%s", rows[i].name);
		finish_and_close(&p, rows[i].name);
	}
}

Test(weft_checks, a_packet_of_plain_roce_is_dropped_as_of_another_framing)
{
	struct peer p;

	open_in_the_middle(&p);
	peer_put_op(&p, OP_WRITE_ONLY, PEER_PSN + 1, 8, true);
	peer_put_ack(&p, AETH_ACK, QP_PSN, 0);
	peer_go(&p);
	cr_expect_eq(p.w.nic[0]->stats.drop[DROP_FRAMING], 2);
	cr_expect_eq(p.nb_out, 0);
	finish_and_close(&p, "plain");
}

Test(weft_checks, a_packet_of_weft_is_dropped_by_a_plain_qp)
{
	struct peer p;

	peer_open(&p, NULL, NULL);
	wp_put(&p, wp_write(&p, 0, 0, 0, 8, 0));
	wp_put(&p, wp_ack(&p, AETH_ACK, 0, 0, 0));
	peer_go(&p);
	cr_expect_eq(p.w.nic[0]->stats.drop[DROP_FRAMING], 2);
	cr_expect_eq(p.nb_out, 0);
	peer_close(&p);
}

/* A WRITE says its key in each packet, and a MIDDLE not where it is in the message. */
Test(weft_checks, packets_of_a_write_have_one_key_and_their_place)
{
	static const struct {
		const char *name;
		uint32_t idx, psn; /* psn: of the packet, from the message's begin */
		bool other_key;
	} rows[] = {
		{"another key", 2, 2, true},
		{"a MIDDLE in FIRST's place", 1, 0, false},
		{"a MIDDLE in LAST's place", 1, 4, false},
		{"a LAST in a MIDDLE's place", 4, 3, false},
		{"a FIRST in a MIDDLE's place", 0, 1, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct peer p;
		struct wire_pkt w;

		peer_open_weft(&p, &(struct peer_weft){.rel = &sr_ops});
		wp_hand(&p, wp_write(&p, 0, 0, 0, 4 * M + 8, 1));
		w = wp_write(&p, 0, 0, 0, 4 * M + 8, rows[i].idx);
		w.psn = (PEER_PSN + rows[i].psn) & 0xffffff;
		w.rkey ^= rows[i].other_key;
		wp_hand(&p, w);
		cr_expect_eq(p.w.nic[0]->stats.drop[DROP_MESSAGE], 1, "%s", rows[i].name);
		cr_expect_eq(p.nb_out, 0, "%s", rows[i].name);
		for (uint32_t k = 0; k < 5; k++)
			wp_put(&p, wp_write(&p, 0, 0, 0, 4 * M + 8, k));
		peer_go(&p);
		wp_expect_ack(&p, AETH_ACK, 5, 1);
		peer_close(&p);
	}
}

/* Of a WRITE whose MIDDLE came first it is not known where it begins: each other packet would say.
 */
Test(weft_checks, a_packet_that_is_dropped_tells_nothing_of_its_message)
{
	static const struct {
		uint32_t psn;
		enum drop why;
	} rows[] = {
		{6 + 1000, DROP_GAP},  /* beyond the window */
		{6 + 1, DROP_MESSAGE}, /* in the next message, which is here */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct peer p;
		struct wire_pkt w;

		peer_open_weft(&p, &(struct peer_weft){.rel = &sr_ops});
		wp_hand(&p, wp_write(&p, 2, 2, 0, 4 * M + 8, 1));
		if (rows[i].why == DROP_MESSAGE)
			wp_hand(&p, wp_write(&p, 7, 3, 0, 8, 0));
		w = wp_write(&p, 2, 2, 0, 4 * M + 8, 4);
		w.psn = (PEER_PSN + rows[i].psn) & 0xffffff;
		wp_hand(&p, w);
		cr_expect_eq(p.w.nic[0]->stats.drop[rows[i].why], 1, "row %zu", i);
		wp_put(&p, wp_write(&p, 0, 0, 0, 8, 0));
		wp_put(&p, wp_write(&p, 1, 1, 0, 8, 0));
		for (uint32_t k = 0; k < 5; k++)
			wp_put(&p, wp_write(&p, 2, 2, 0, 4 * M + 8, k));
		wp_hand(&p, wp_write(&p, 7, 3, 0, 8, 0));
		wp_expect_ack(&p, AETH_ACK, 8, 4);
		peer_close(&p);
	}
}

Test(weft_checks, an_acknowledgement_of_what_was_not_sent_is_stale)
{
	struct peer p;
	struct wire_pkt rows[8];

	peer_open_weft(&p, NULL);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	peer_go(&p);
	wp_expect_pkt(&p, 0, OP_WRITE_ONLY, 0, 0);
	rows[0] = wp_ack(&p, AETH_ACK, 2, 1, 0);
	rows[1] = wp_ack(&p, AETH_ACK, 1, 1, 1); /* triggered by what has not left */
	rows[2] = wp_ack(&p, AETH_NAK_PSN, 0, 0, 1);
	rows[3] = wp_ack(&p, 0x65, 0, 0, 1);
	rows[4] = wp_ack(&p, 0x65, 1, 0, 0); /* has it, and wants it */
	rows[5] = wp_ack(&p, AETH_NAK_ACCESS, 0, 1, 0);
	rows[6] = wp_ack(&p, 0x7f, 1, 1, 0);
	rows[7] = wp_ack(&p, 0x66, 0, 0, 0);
	rows[7].weft.value = 1;
	for (uint32_t i = 0; i < 8; i++) {
		wp_hand(&p, rows[i]);
		cr_expect_eq(p.w.nic[0]->stats.drop[DROP_STALE], i + 1, "row %u", i);
		cr_expect_eq(p.qp.qp->state, SHM_QPS_RTS, "row %u", i);
		pair_expect_none(&p.qp.scq);
	}
	wp_hand(&p, wp_ack(&p, AETH_ACK, 1, 1, 0));
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	peer_close(&p);
}

Test(weft_checks, an_acknowledgement_has_the_parts_that_were_agreed_on)
{
	struct peer p;
	struct wire_pkt rows[3];

	peer_open_weft(&p, NULL);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	peer_go(&p);
	for (uint32_t i = 0; i < 3; i++)
		rows[i] = wp_ack(&p, AETH_ACK, 1, 1, 0);
	rows[0].weft.has_ts = true;
	rows[1].weft.has_sack = true;
	rows[1].weft.sack_bits = 2;
	rows[2].weft.nb_slots = 1;
	for (uint32_t i = 0; i < 3; i++) {
		wp_hand(&p, rows[i]);
		cr_expect_eq(p.w.nic[0]->stats.drop[DROP_PARTS], i + 1, "row %u", i);
		pair_expect_none(&p.qp.scq);
	}
	peer_close(&p);
}
