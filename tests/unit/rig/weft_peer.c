/* SPDX-License-Identifier: BSD-3-Clause */
#include "weft_peer.h"

#include <criterion/criterion.h>

#define MASK 0xffffff

static uint32_t
number(const struct peer *p, uint32_t n)
{
	return (n + p->w.conf.first_msn) & MASK;
}

struct wire_pkt
wp_pkt(const struct peer *p, uint8_t op, uint32_t psn, uint32_t msn)
{
	struct wire_pkt w = peer_pkt(p, OP_WEFT | op, PEER_PSN + psn);

	w.msn = number(p, msn);
	w.weft.ssn = w.weft.opp_emsn = number(p, 0);
	return w;
}

/* Which of FIRST, MIDDLE, LAST, ONLY packet idx is, of kinds that have them in this order. */
static uint8_t
op_of(uint8_t first, uint8_t only, uint32_t len, uint32_t idx)
{
	uint32_t nb = len <= PEER_MTU ? 1 : (len + PEER_MTU - 1) / PEER_MTU;

	cr_assert_lt(idx, nb);
	if (nb == 1)
		return only;
	return (uint8_t)(first + (idx == 0 ? 0 : idx == nb - 1 ? 2 : 1));
}

static uint32_t
payload_of(uint32_t len, uint32_t idx)
{
	uint32_t left = len - idx * PEER_MTU;

	return left < PEER_MTU ? left : PEER_MTU;
}

struct wire_pkt
wp_send(const struct peer *p, uint32_t psn, uint32_t msn, uint32_t ssn, uint32_t len, uint32_t idx)
{
	struct wire_pkt w = wp_pkt(p, op_of(OP_SEND_FIRST, OP_SEND_ONLY, len, idx), psn + idx, msn);

	w.payload_len = payload_of(len, idx);
	w.weft.ssn = number(p, ssn);
	w.weft.msg_len = len;
	w.weft.offset = idx * PEER_MTU;
	return w;
}

struct wire_pkt
wp_void(const struct peer *p, uint32_t psn, uint32_t msn, uint32_t ssn, uint32_t len, uint32_t idx)
{
	struct wire_pkt w = wp_send(p, psn, msn, ssn, len, idx);

	w.opcode = OP_WEFT | OP_VOID;
	w.payload_len = 0;
	return w;
}

struct wire_pkt
wp_write(const struct peer *p, uint32_t psn, uint32_t msn, uint64_t off, uint32_t len, uint32_t idx)
{
	struct wire_pkt w =
		wp_pkt(p, op_of(OP_WRITE_FIRST, OP_WRITE_ONLY, len, idx), psn + idx, msn);

	w.payload_len = payload_of(len, idx);
	w.va += off + (uint64_t)idx * PEER_MTU;
	w.dma_len = len;
	return w;
}

struct wire_pkt
wp_write_imm(const struct peer *p, uint32_t psn, uint32_t msn, uint32_t ssn, uint32_t len,
             uint32_t imm)
{
	struct wire_pkt w = wp_write(p, psn, msn, 0, len, 0);

	w.opcode = OP_WEFT | OP_WRITE_ONLY_IMM;
	w.weft.ssn = number(p, ssn);
	w.imm = imm;
	return w;
}

struct wire_pkt
wp_read(const struct peer *p, uint32_t psn, uint32_t msn, uint64_t off, uint32_t len, uint32_t ssn)
{
	struct wire_pkt w = wp_pkt(p, OP_READ_REQUEST, psn, msn);

	w.va += off;
	w.dma_len = len;
	w.weft.ssn = number(p, ssn);
	return w;
}

struct wire_pkt
wp_add(const struct peer *p, uint32_t psn, uint32_t msn, uint64_t off, uint32_t ssn)
{
	struct wire_pkt w = wp_pkt(p, OP_FETCH_ADD, psn, msn);

	w.va += off;
	w.swap_add = 1;
	w.weft.ssn = number(p, ssn);
	return w;
}

struct wire_pkt
wp_read_resp(const struct peer *p, uint32_t psn, uint32_t msn, uint32_t req_msn, uint32_t len,
             uint32_t idx)
{
	struct wire_pkt w =
		wp_pkt(p, op_of(OP_READ_RESP_FIRST, OP_READ_RESP_ONLY, len, idx), psn + idx, msn);

	w.payload_len = payload_of(len, idx);
	w.weft.req_msn = number(p, req_msn);
	w.weft.msg_len = len;
	w.weft.offset = idx * PEER_MTU;
	return w;
}

struct wire_pkt
wp_ack(const struct peer *p, uint8_t syndrome, uint32_t cum, uint32_t emsn, uint32_t value)
{
	struct wire_pkt w = wp_pkt(p, OP_ACK, 0, emsn);

	w.psn = (QP_PSN + cum) & MASK;
	w.syndrome = syndrome;
	w.weft.value = (QP_PSN + value) & MASK;
	return w;
}

struct wire_pkt
wp_refusal(const struct peer *p, uint32_t cum, uint32_t emsn, uint32_t ssn, uint32_t msn,
           uint8_t code)
{
	struct wire_pkt w = wp_ack(p, AETH_ACK, cum, emsn, cum - 1);

	w.weft.has_rnr = true;
	w.weft.rnr_ssn = number(p, ssn);
	w.weft.rnr_msn = number(p, msn);
	w.weft.rnr_code = code;
	return w;
}

void
wp_put(struct peer *p, struct wire_pkt w)
{
	peer_put(p, &w, NULL);
}

void
wp_hand(struct peer *p, struct wire_pkt w)
{
	wp_put(p, w);
	peer_go(p);
}

const struct wire_pkt *
wp_expect_ack(const struct peer *p, uint8_t syndrome, uint32_t cum, uint32_t emsn)
{
	const struct wire_pkt *w = NULL;

	for (uint32_t i = 0; i < p->nb_out; i++)
		if (p->out[i].w.opcode == (OP_WEFT | OP_ACK))
			w = &p->out[i].w;
	cr_assert(w, "no acknowledgement left");
	cr_expect_eq(w->dest_qpn, PEER_QPN);
	cr_expect_eq(w->syndrome, syndrome, "syndrome 0x%x, want 0x%x", w->syndrome, syndrome);
	cr_expect_eq(w->psn, (PEER_PSN + cum) & MASK, "cum 0x%x, want 0x%x", w->psn,
	             (PEER_PSN + cum) & MASK);
	cr_expect_eq(w->msn, number(p, emsn), "eMSN 0x%x, want 0x%x", w->msn, number(p, emsn));
	return w;
}

const struct wire_pkt *
wp_expect_pkt(const struct peer *p, uint32_t i, uint8_t op, uint32_t psn, uint32_t msn)
{
	const struct wire_pkt *w = &p->out[i].w;

	cr_assert_lt(i, p->nb_out, "only %u frames", p->nb_out);
	cr_expect_eq(w->opcode, OP_WEFT | op, "frame %u: opcode 0x%x, want 0x%x", i, w->opcode,
	             OP_WEFT | op);
	cr_expect_eq(w->psn, (QP_PSN + psn) & MASK, "frame %u: PSN 0x%x, want 0x%x", i, w->psn,
	             (QP_PSN + psn) & MASK);
	cr_expect_eq(w->msn, number(p, msn), "frame %u: MSN 0x%x, want 0x%x", i, w->msn,
	             number(p, msn));
	return w;
}

uint32_t
wp_nb(const struct peer *p, uint8_t op)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < p->nb_out; i++)
		nb += p->out[i].w.opcode == (OP_WEFT | op);
	return nb;
}
