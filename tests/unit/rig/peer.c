/* SPDX-License-Identifier: BSD-3-Clause */
#include "peer.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "framing.h"

/* Requests read and write here, in a peer that has no memory. */
#define REMOTE_VA 0x100000
#define REMOTE_KEY 0x77777777

struct shm_qp_attr
peer_attr(void)
{
	return (struct shm_qp_attr){
		.path_mtu = 3,
		.port_num = 1,
		.timeout = 4, /* 65.536 us */
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 12,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.access = ALL_ACCESS,
		.qkey = 0x1234,
	};
}

static void
connect(struct peer *p, const struct shm_qp_attr *attr, const struct weft_terms *weft)
{
	struct shm_qp_attr a = *attr;

	a.dest_qpn = PEER_QPN;
	a.rq_psn = PEER_PSN;
	a.sq_psn = QP_PSN;
	a.av = (struct shm_av){
		.sgid_index = 1, .hop_limit = 64, .traffic_class = attr->av.traffic_class};
	memcpy(a.av.dgid, p->w.nic[1]->gids.entry[1].ip.b, 16);
	for (uint8_t state = SHM_QPS_INIT; state <= p->end_state; state++) {
		cr_assert_eq(app_to(&p->qp, &a, state), 0, "to state %u", state);
		if (weft && state == SHM_QPS_RTR) {
			p->qp.qp->framing = QP_PENDING;
			framing_weft(p->qp.qp, weft, p->w.now_ns);
		}
	}
}

static void
open(struct peer *p, const struct world_conf *wc, const struct app_conf *ac,
     const struct shm_qp_attr *attr, const struct weft_terms *weft)
{
	struct shm_qp_attr defaults = peer_attr();
	struct wire_addr addr = {.ttl = 64, .dmac = {2, 0, 0, 0, 0, 1}, .smac = {2, 0, 0, 0, 0, 2}};

	world_open(&p->w, wc);
	p->out = calloc(PEER_MAX, sizeof(*p->out));
	p->buf = malloc(PAIR_BUF);
	cr_assert(p->out && p->buf);
	for (uint32_t k = 0; k < PAIR_BUF; k++)
		p->buf[k] = (uint8_t)(k * 7 + (k >> 8));
	app_open(&p->qp, &p->w, 0, ac);
	app_reg(&p->mr, &p->w, 0, p->buf, PAIR_BUF, ALL_ACCESS);
	connect(p, attr ? attr : &defaults, weft);
	addr.dst = p->w.nic[0]->gids.entry[1].ip;
	addr.src = p->w.nic[1]->gids.entry[1].ip;
	wire_path_init(&p->path, &addr);
	world_run(&p->w, 10); /* the MAC */
}

void
peer_open(struct peer *p, const struct app_conf *ac, const struct shm_qp_attr *attr)
{
	*p = (struct peer){.end_state = SHM_QPS_RTS};
	open(p, NULL, ac, attr, NULL);
}

void
peer_open_weft(struct peer *p, const struct peer_weft *pw)
{
	static const struct peer_weft none;
	struct weft_terms terms;

	if (!pw)
		pw = &none;
	*p = (struct peer){.end_state = pw->stays_rtr ? SHM_QPS_RTR : SHM_QPS_RTS};
	terms = pw->terms;
	terms.tx_first_psn = QP_PSN;
	if (!terms.window_pkts)
		terms.window_pkts = 256;
	if (!terms.max_msgs)
		terms.max_msgs = 256;
	open(p, &(struct world_conf){.rel = pw->rel, .first_msn = pw->first_msn}, pw->app, pw->attr,
	     &terms);
}

void
peer_close(struct peer *p)
{
	pkt_free(p->in, p->nb_in);
	app_close(&p->qp);
	cr_assert_eq(mr_destroy(p->w.nic[0], p->mr.mr), 0);
	free(p->buf);
	free(p->out);
	world_close(&p->w);
}

struct wire_pkt
peer_pkt(const struct peer *p, uint8_t opcode, uint32_t psn)
{
	return (struct wire_pkt){.opcode = opcode,
	                         .mig_req = true,
	                         .pkey = PKEY_DEFAULT,
	                         .dest_qpn = p->qp.qp->qpn,
	                         .psn = psn & 0xffffff,
	                         .va = (uintptr_t)p->buf,
	                         .rkey = p->mr.mr->key,
	                         .syndrome = AETH_ACK,
	                         .qkey = 0x1234,
	                         .src_qpn = PEER_QPN};
}

void
peer_put_on(struct peer *p, struct wire_path *path, const struct wire_pkt *w, const void *payload)
{
	struct pkt *pkt;
	uint32_t crc, len;

	cr_assert_lt(p->nb_in, STACK_BURST);
	cr_assert_eq(p->w.pool->alloc(p->w.pool, &pkt, 1), 1);
	len = wire_build(pkt->data, path, w, 0xc123, 2, &crc);
	for (uint32_t i = 0; i < w->payload_len; i++)
		pkt->data[len + i] = payload ? ((const uint8_t *)payload)[i] : (uint8_t)i;
	crc = icrc_update(crc, pkt->data + len, w->payload_len);
	len += w->payload_len;
	pkt->len = len + wire_end(pkt->data + len, w->payload_len, crc);
	p->in[p->nb_in++] = pkt;
}

void
peer_put(struct peer *p, const struct wire_pkt *w, const void *payload)
{
	peer_put_on(p, &p->path, w, payload);
}

void
peer_put_op(struct peer *p, uint8_t opcode, uint32_t psn, uint32_t len, bool ack_req)
{
	struct wire_pkt w = peer_pkt(p, opcode, psn);

	w.payload_len = opcode_table[opcode].flags & OPF_PAYLOAD ? len : 0;
	w.dma_len = len;
	w.ack_req = ack_req;
	w.swap_add = 1;
	peer_put(p, &w, NULL);
}

void
peer_expect_frame(const struct peer *p, uint32_t i, uint8_t opcode, uint32_t psn, uint8_t syndrome,
                  uint32_t msn)
{
	const struct wire_pkt *w = &p->out[i].w;

	cr_assert_lt(i, p->nb_out, "only %u frames", p->nb_out);
	cr_expect_eq(w->opcode, opcode, "frame %u: opcode 0x%x, want 0x%x", i, w->opcode, opcode);
	cr_expect_eq(w->psn, psn & 0xffffff, "frame %u: PSN 0x%x, want 0x%x", i, w->psn,
	             psn & 0xffffff);
	if (!(w->op->flags & OPF_AETH))
		return;
	cr_expect_eq(w->syndrome, syndrome, "frame %u: syndrome 0x%x", i, w->syndrome);
	cr_expect_eq(w->msn, msn, "frame %u: MSN %u, want %u", i, w->msn, msn);
}

void
peer_put_ack(struct peer *p, uint8_t syndrome, uint32_t psn, uint32_t msn)
{
	struct wire_pkt w = peer_pkt(p, OP_ACK, psn);

	w.syndrome = syndrome;
	w.msn = msn;
	peer_put(p, &w, NULL);
}

static void
collect(struct peer *p, struct pkt *pkt)
{
	struct peer_frame *f = &p->out[p->nb_out];
	enum wire_bad bad;

	cr_assert_lt(p->nb_out, PEER_MAX);
	memcpy(f->bytes, pkt->data, pkt->len);
	f->at_ns = p->w.now_ns;
	switch (wire_parse(f->bytes, pkt->len, &f->w, &bad)) {
	case WIRE_ROCE:
		cr_assert(wire_is_header_only(&f->w) || wire_icrc_ok(f->bytes, &f->w));
		p->nb_out++;
		break;
	case WIRE_ARP:
	case WIRE_ND: /* another question for the peer's MAC: its stack answers it */
		stack_rx(p->w.nic[1], &pkt, 1, p->w.now_ns);
		if (stack_tx(p->w.nic[1], &pkt, 1, p->w.now_ns))
			stack_rx(p->w.nic[0], &pkt, 1, p->w.now_ns);
		return;
	case WIRE_HELLO:
	case WIRE_PFC:
	case WIRE_OTHER:
	case WIRE_BAD:
		cr_assert(false, "the stack sent a bad frame");
	}
	pkt_free(&pkt, 1);
}

static void
turn(struct peer *p)
{
	struct pkt *pkts[STACK_BURST];
	uint32_t n;

	stack_tick(p->w.nic[0], p->w.now_ns);
	while ((n = stack_tx(p->w.nic[0], pkts, STACK_BURST, p->w.now_ns)))
		for (uint32_t i = 0; i < n; i++)
			collect(p, pkts[i]);
}

void
peer_go(struct peer *p)
{
	p->nb_out = 0;
	p->w.now_ns += 1000;
	stack_rx(p->w.nic[0], p->in, p->nb_in, p->w.now_ns);
	p->nb_in = 0;
	turn(p);
}

void
peer_wait(struct peer *p, uint64_t ns)
{
	p->nb_out = 0;
	for (uint64_t end = p->w.now_ns + ns; p->w.now_ns < end;) {
		p->w.now_ns += 1000;
		turn(p);
	}
}

void
peer_post(struct peer *p, uint8_t op, uint64_t wr_id, uint32_t len)
{
	struct shm_send_wqe wqe = {.wr_id = wr_id,
	                           .op = op,
	                           .flags = SHM_SEND_SIGNALED,
	                           .nb_sge = 1,
	                           .remote_addr = REMOTE_VA,
	                           .rkey = REMOTE_KEY};
	struct shm_sge sge = {(uintptr_t)p->buf, len, p->mr.mr->key};

	app_post_send(&p->qp, &wqe, &sge);
}

struct shm_cqe
peer_expect(struct local_cq *cq, uint64_t wr_id, uint8_t status)
{
	struct shm_cqe c = {0};

	cr_assert(local_poll(cq, &c), "no completion for %lu", (unsigned long)wr_id);
	cr_expect_eq(c.wr_id, wr_id, "wr_id %lu, want %lu", (unsigned long)c.wr_id,
	             (unsigned long)wr_id);
	cr_expect_eq(c.status, status, "wr_id %lu: status %u, want %u", (unsigned long)wr_id,
	             c.status, status);
	return c;
}
