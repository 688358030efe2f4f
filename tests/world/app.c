/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <string.h>

#include "world.h"

#include <stdlib.h>

/* The applications of a world: their rings, as the client library uses them. */

static void
must(int err)
{
	assert(!err);
}

void
app_open(struct app_qp *a, struct world *w, int side, const struct app_conf *conf)
{
	struct app_conf c = conf ? *conf : (struct app_conf){0};
	struct qp_init init;

	c.type = c.type ? c.type : SHM_QPT_RC;
	c.depth = c.depth ? c.depth : 64;
	c.max_sge = c.max_sge ? c.max_sge : 4;
	c.cq_depth = c.cq_depth ? c.cq_depth : 4 * c.depth;
	*a = (struct app_qp){.world = w, .side = side, .srq = c.srq};
	must(local_cq_open(&a->scq, c.cq_depth, c.channel, 0xc0));
	must(local_cq_open(&a->rcq, c.cq_depth, c.channel, 0xc0));
	must(local_wq_open(&a->sq, c.depth, sq_stride(c.max_sge, WEFT_MAX_INLINE)));
	if (!c.srq)
		must(local_wq_open(&a->rq, c.depth, rq_stride(c.max_sge)));
	init = (struct qp_init){
		.client = c.client,
		.type = c.type,
		.pd = PD,
		.send_cq = a->scq.cq,
		.recv_cq = a->rcq.cq,
		.srq = c.srq ? c.srq->srq : NULL,
		.cap = {c.depth, c.srq ? 0 : c.depth, c.max_sge, c.max_sge, WEFT_MAX_INLINE},
		.sq_sig_all = c.sig_all,
		.sq = a->sq.ring,
		.rq = a->rq.ring,
		.sq_slots = a->sq.nb_slots,
		.rq_slots = a->rq.nb_slots,
		.sq_stride = a->sq.stride,
		.rq_stride = a->rq.stride,
		.cookie = 0x100 + (uint64_t)side,
	};
	a->qp = qp_create(w->nic[side], &init);
	assert(a->qp);
}

void
app_close(struct app_qp *a)
{
	qp_destroy(a->qp);
	local_cq_close(&a->scq);
	local_cq_close(&a->rcq);
	local_wq_close(&a->sq);
	local_wq_close(&a->rq);
}

void
app_srq_open(struct app_srq *s, struct world *w, int side, uint32_t depth, uint32_t max_sge)
{
	must(local_wq_open(&s->wq, depth, rq_stride(max_sge)));
	s->srq = srq_create(w->nic[side], PD, s->wq.ring, s->wq.nb_slots, depth, max_sge, 0x50,
	                    NULL);
	assert(s->srq);
}

void
app_srq_close(struct app_srq *s)
{
	must(srq_destroy(s->srq));
	local_wq_close(&s->wq);
}

struct shm_qp_attr
app_attr(const struct app_qp *a, const struct app_qp *peer)
{
	uint8_t gid = a->world->conf.ipv6 ? 2 : 1;
	struct shm_qp_attr attr = {
		.path_mtu = 3,
		.port_num = 1,
		.timeout = 8,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 1,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.access = SHM_ACCESS_LOCAL_WRITE | SHM_ACCESS_REMOTE_WRITE |
	                  SHM_ACCESS_REMOTE_READ | SHM_ACCESS_REMOTE_ATOMIC,
		.qkey = 0x1234,
		.dest_qpn = peer->qp->qpn,
		.rq_psn = peer->side ? 0xfffff0 : 0x7ffffe,
		.sq_psn = a->side ? 0xfffff0 : 0x7ffffe,
		.av = {.sgid_index = gid, .hop_limit = 64},
	};

	memcpy(attr.av.dgid, peer->qp->nic->gids.entry[gid].ip.b, 16);
	return attr;
}

int
app_to(struct app_qp *a, const struct shm_qp_attr *attr, uint8_t state)
{
	return local_qp_to(a->qp, attr, state, a->world->now_ns);
}

static void
must_go_to(struct app_qp *a, const struct app_qp *peer, uint8_t state)
{
	struct shm_qp_attr attr = app_attr(a, peer);

	must(app_to(a, &attr, state));
}

bool
world_speaks_weft(void)
{
	const char *framing = getenv("WEFT_TEST_FRAMING");

	return framing && !strcmp(framing, "weft");
}

void
app_agree(struct app_qp *a, struct app_qp *b)
{
	uint32_t wire = a->qp->rel_ops->info.wire &
	                (WIRE_CE_ECHO | WIRE_TS | WIRE_SACK | WIRE_PATH | WIRE_TRIM);
	struct weft_terms t = {.window_pkts = a->world->conf.window_pkts,
	                       .max_msgs = 256,
	                       .tx_wire = wire,
	                       .rx_wire = wire};

	if ((!a->world->conf.weft && !world_speaks_weft()) || a->qp->type != SHM_QPT_RC)
		return;
	a->qp->framing = b->qp->framing = QP_PENDING;
	t.tx_first_psn = b->qp->attr.rq_psn;
	framing_weft(a->qp, &t, a->world->now_ns);
	t.tx_first_psn = a->qp->attr.rq_psn;
	framing_weft(b->qp, &t, a->world->now_ns);
}

void
app_connect(struct app_qp *a, struct app_qp *b)
{
	for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTS; state++) {
		must_go_to(a, b, state);
		must_go_to(b, a, state);
		if (state == SHM_QPS_RTR)
			app_agree(a, b);
	}
}

void
app_reg(struct local_mr *m, struct world *w, int side, void *buf, uint64_t len, uint32_t access)
{
	must(local_mr_open(m, w->nic[side], PD, buf, len, access));
}

static void
post_send(struct app_qp *a, const struct shm_send_wqe *wqe, const void *rest, size_t len)
{
	local_wq_put(&a->sq, wqe, sizeof(*wqe), rest, len);
	local_wq_publish(&a->sq);
	qp_doorbell(a->qp, a->world->now_ns);
}

void
app_post_send(struct app_qp *a, const struct shm_send_wqe *wqe, const struct shm_sge *sge)
{
	post_send(a, wqe, sge, wqe->nb_sge * sizeof(*sge));
}

void
app_post_inline(struct app_qp *a, struct shm_send_wqe wqe, const void *data, uint32_t len)
{
	wqe.flags |= SHM_SEND_INLINE;
	wqe.inline_len = len;
	post_send(a, &wqe, data, len);
}

static void
post_recv(struct local_wq *q, uint64_t wr_id, const struct shm_sge *sge, uint32_t nb_sge)
{
	const struct shm_recv_wqe wqe = {.wr_id = wr_id, .nb_sge = nb_sge};

	local_wq_put(q, &wqe, sizeof(wqe), sge, nb_sge * sizeof(*sge));
	local_wq_publish(q);
}

void
app_post_recv(struct app_qp *a, uint64_t wr_id, const struct shm_sge *sge, uint32_t nb_sge)
{
	post_recv(&a->rq, wr_id, sge, nb_sge);
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load(&a->rq.ring->need_bell))
		qp_doorbell(a->qp, a->world->now_ns);
}

void
app_srq_post(struct app_srq *s, uint64_t wr_id, const struct shm_sge *sge, uint32_t nb_sge)
{
	post_recv(&s->wq, wr_id, sge, nb_sge);
}

bool
app_wait(struct world *w, struct local_cq *c, struct shm_cqe *cqe, uint64_t turns)
{
	while (!local_poll(c, cqe)) {
		if (!turns--)
			return false;
		world_step(w);
	}
	return true;
}
