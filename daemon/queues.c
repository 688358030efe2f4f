/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "qp.h"
#include "session.h"

/*
 * Completion channels, CQs, SRQs and QPs: rings are laid out here, on the control thread; the rest
 * of each object is the NIC's, made and ended on its worker.
 */

struct channel {
	struct obj obj;
	struct mailbox mail;
};

/* A ring in the arena; bytes 0 = none. */
struct ring {
	uint64_t offset, bytes;
};

struct cq_obj {
	struct obj obj;
	struct cq *cq;
	struct channel *channel; /* NULL = none; then it has no notices */
	struct outbox_mark events, notices;
	struct ring ring;
};

struct srq_obj {
	struct obj obj;
	struct srq *srq;
	struct obj *pd;
	struct outbox_mark events;
	struct ring ring;
};

struct qp_obj {
	struct obj obj;
	struct qp *qp;
	struct obj *pd;
	struct cq_obj *send_cq, *recv_cq;
	struct srq_obj *srq;
	struct outbox_mark events;
	struct ring sq, rq;
	uint32_t bell;
};

/* ---- rings and doorbells ---- */

static uint32_t
slots_of(uint32_t entries)
{
	uint32_t slots = 1;

	while (slots < entries)
		slots *= 2;
	return slots;
}

/* A zeroed ring with so many slots; 0 slots: none. */
static int
new_ring(struct client *client, struct ring *ring, size_t header, uint32_t slots, uint32_t stride,
         struct shm_ring_loc *loc)
{
	uint64_t bytes = header + (uint64_t)slots * stride;
	int err;

	memset(loc, 0, sizeof(*loc));
	if (slots == 0)
		return 0;
	err = arena_alloc(&client->arena, bytes, &ring->offset);
	if (err)
		return -err;
	ring->bytes = bytes;
	*loc = (struct shm_ring_loc){.offset = ring->offset, .nb_slots = slots, .stride = stride};
	return 0;
}

static void
free_ring(struct client *client, const struct ring *ring)
{
	if (ring->bytes > 0)
		arena_free(&client->arena, ring->offset, ring->bytes);
}

static void *
ring_at(struct client *client, const struct ring *ring)
{
	return ring->bytes > 0 ? client->arena.base + ring->offset : NULL;
}

static int
take_bell(struct client *client, uint32_t *bell)
{
	for (uint32_t i = 0; i < WEFT_MAX_QP / 64; i++) {
		if (client->bells_used[i] == UINT64_MAX)
			continue;
		*bell = i * 64 + (uint32_t)__builtin_ctzll(~client->bells_used[i]);
		client->bells_used[i] |= UINT64_C(1) << *bell % 64;
		return 0;
	}
	return ENOMEM;
}

static void
free_bell(struct client *client, uint32_t bell)
{
	client->bells_used[bell / 64] &= ~(UINT64_C(1) << bell % 64);
}

/* ---- channels ---- */

static void
release_channel(struct obj *obj)
{
	struct channel *ch = container_of(obj, struct channel, obj);

	mailbox_close(&ch->mail);
	free(ch);
}

const struct obj_ops channel_ops = {.release = release_channel};

int
handle_new_channel(struct request *req)
{
	struct client *client = req->client;
	struct channel *ch;
	int peer_fd, err;

	/* Without a CQ it is of no use. */
	if (obj_count(client, OBJ_CHANNEL) >= WEFT_MAX_CQ)
		return ENOMEM;
	ch = calloc(1, sizeof(*ch));
	if (!ch)
		return ENOMEM;
	err = mailbox_open(&ch->mail, client, OUTBOX_COOKIES, &peer_fd);
	if (err)
		goto no_mailbox;
	err = obj_add(client, &ch->obj, OBJ_CHANNEL, 0);
	if (err)
		goto no_handle;
	req->msg->handle.handle = ch->obj.handle;
	req->msg->handle.zero = 0;
	request_give_fd(req, peer_fd, true);
	return 0;

no_handle:
	mailbox_close(&ch->mail);
	close(peer_fd);
no_mailbox:
	free(ch);
	return err;
}

int
handle_free_channel(struct request *req)
{
	return obj_destroy_handle(req, OBJ_CHANNEL);
}

/* ---- completion queues ---- */

struct cq_op {
	struct cq_obj *q;
	struct shm_cq *ring;
	uint32_t slots;
	uint64_t cookie;
	int err;
};

static void
resize_cq(void *arg, uint64_t now_ns)
{
	struct cq_op *op = arg;

	(void)now_ns;
	op->err = -cq_resize(op->q->cq, op->ring, op->slots);
}

static int
detach_cq(struct obj *obj)
{
	struct cq_obj *q = container_of(obj, struct cq_obj, obj);
	int err = -cq_destroy(q->cq);

	if (!err) {
		outbox_forget(&q->events);
		outbox_forget(&q->notices);
	}
	return err;
}

static void
release_cq(struct obj *obj)
{
	struct cq_obj *q = container_of(obj, struct cq_obj, obj);

	free_ring(obj->client, &q->ring);
	if (q->channel)
		q->channel->obj.nb_refs--;
	free(q);
}

void
cq_obj_notify(struct outbox_mark *events)
{
	mailbox_send(&container_of(events, struct cq_obj, events)->notices, 0);
}

const struct obj_ops cq_ops = {.detach = detach_cq, .release = release_cq};

int
handle_create_cq(struct request *req)
{
	struct client *client = req->client;
	struct ctl_cq *msg = &req->msg->cq;
	struct channel *ch = NULL;
	uint32_t slots;
	struct cq_obj *q;
	int err;

	if (msg->nb_cqe == 0 || msg->nb_cqe > WEFT_MAX_CQE)
		return EINVAL;
	if (msg->channel && !(ch = obj_find(client, OBJ_CHANNEL, msg->channel)))
		return EINVAL;
	if (obj_count(client, OBJ_CQ) >= WEFT_MAX_CQ)
		return ENOMEM;
	q = calloc(1, sizeof(*q));
	if (!q)
		return ENOMEM;
	slots = slots_of(msg->nb_cqe);
	err = new_ring(client, &q->ring, SHM_CQ_SLOTS, slots, sizeof(struct shm_cqe), &msg->ring);
	if (err)
		goto no_ring;
	err = obj_add(client, &q->obj, OBJ_CQ, 0);
	if (err)
		goto no_handle;
	outbox_mark_init(&q->events, &client->events.box, msg->cookie);
	outbox_mark_init(&q->notices, ch ? &ch->mail.box : NULL, msg->cookie);
	/* Nobody knows it yet: no need of the worker. */
	q->cq = cq_create(ring_at(client, &q->ring), slots, msg->channel, msg->cookie, &q->events);
	if (!q->cq) {
		err = ENOMEM;
		keytab_del(&client->objs[OBJ_CQ], q->obj.handle);
		goto no_handle;
	}
	q->channel = ch;
	if (ch)
		ch->obj.nb_refs++;
	msg->handle = q->obj.handle;
	msg->nb_cqe = slots;
	msg->zero = 0;
	return 0;

no_handle:
	free_ring(client, &q->ring);
no_ring:
	free(q);
	return err;
}

int
handle_resize_cq(struct request *req)
{
	struct client *client = req->client;
	struct ctl_cq *msg = &req->msg->cq;
	struct cq_obj *q = obj_find(client, OBJ_CQ, msg->handle);
	struct cq_op op = {.q = q};
	struct ring ring = {0};
	int err;

	if (!q || msg->nb_cqe == 0 || msg->nb_cqe > WEFT_MAX_CQE)
		return EINVAL;
	op.slots = slots_of(msg->nb_cqe);
	err = new_ring(client, &ring, SHM_CQ_SLOTS, op.slots, sizeof(struct shm_cqe), &msg->ring);
	if (err)
		return err;
	op.ring = ring_at(client, &ring);
	worker_call(client->device->worker, resize_cq, &op);
	if (op.err) {
		free_ring(client, &ring);
		return op.err;
	}
	free_ring(client, &q->ring);
	q->ring = ring;
	msg->nb_cqe = op.slots;
	return 0;
}

int
handle_destroy_cq(struct request *req)
{
	return obj_destroy_handle(req, OBJ_CQ);
}

/* ---- shared receive queues ---- */

struct srq_op {
	struct srq_obj *s;
	const struct ctl_srq *msg;
	uint32_t limit; /* in: of modify; out: of query */
	int err;
};

static void
create_srq(void *arg, uint64_t now_ns)
{
	struct srq_op *op = arg;
	struct srq_obj *s = op->s;
	struct client *client = s->obj.client;
	const struct ctl_srq *msg = op->msg;

	(void)now_ns;
	s->srq = srq_create(client->device->nic, msg->pd, ring_at(client, &s->ring),
	                    msg->ring.nb_slots, msg->max_wr, msg->max_sge, msg->cookie, &s->events);
	op->err = s->srq ? 0 : ENOMEM;
}

static void
set_srq_limit(void *arg, uint64_t now_ns)
{
	struct srq_op *op = arg;

	(void)now_ns;
	op->err = -srq_set_limit(op->s->srq, op->limit);
}

static void
get_srq_limit(void *arg, uint64_t now_ns)
{
	struct srq_op *op = arg;

	(void)now_ns;
	op->limit = op->s->srq->limit;
}

static int
detach_srq(struct obj *obj)
{
	struct srq_obj *s = container_of(obj, struct srq_obj, obj);
	int err = -srq_destroy(s->srq);

	if (!err)
		outbox_forget(&s->events);
	return err;
}

static void
release_srq(struct obj *obj)
{
	struct srq_obj *s = container_of(obj, struct srq_obj, obj);

	free_ring(obj->client, &s->ring);
	s->pd->nb_refs--;
	free(s);
}

const struct obj_ops srq_ops = {.detach = detach_srq, .release = release_srq};

int
handle_create_srq(struct request *req)
{
	struct client *client = req->client;
	struct ctl_srq *msg = &req->msg->srq;
	struct obj *pd = obj_find(client, OBJ_PD, msg->pd);
	struct srq_op op = {.msg = msg};
	struct srq_obj *s;
	int err;

	if (!pd || msg->max_wr == 0 || msg->max_wr > WEFT_MAX_WR || msg->max_sge > WEFT_MAX_SGE)
		return EINVAL;
	if (obj_count(client, OBJ_SRQ) >= WEFT_MAX_SRQ)
		return ENOMEM;
	op.s = s = calloc(1, sizeof(*s));
	if (!s)
		return ENOMEM;
	outbox_mark_init(&s->events, &client->events.box, msg->cookie);
	err = new_ring(client, &s->ring, SHM_WQ_SLOTS, slots_of(msg->max_wr),
	               rq_stride(msg->max_sge), &msg->ring);
	if (err)
		goto no_ring;
	err = obj_add(client, &s->obj, OBJ_SRQ, 0);
	if (err)
		goto no_handle;
	worker_call(client->device->worker, create_srq, &op);
	if (op.err) {
		err = op.err;
		keytab_del(&client->objs[OBJ_SRQ], s->obj.handle);
		goto no_handle;
	}
	s->pd = pd;
	pd->nb_refs++;
	msg->handle = s->obj.handle;
	msg->limit = 0;
	return 0;

no_handle:
	free_ring(client, &s->ring);
no_ring:
	free(s);
	return err;
}

int
handle_modify_srq(struct request *req)
{
	struct ctl_srq *msg = &req->msg->srq;
	struct srq_op op = {.s = obj_find(req->client, OBJ_SRQ, msg->handle), .limit = msg->limit};

	if (!op.s)
		return EINVAL;
	worker_call(req->client->device->worker, set_srq_limit, &op);
	return op.err;
}

int
handle_query_srq(struct request *req)
{
	struct ctl_srq *msg = &req->msg->srq;
	struct srq_op op = {.s = obj_find(req->client, OBJ_SRQ, msg->handle)};

	if (!op.s)
		return EINVAL;
	worker_call(req->client->device->worker, get_srq_limit, &op);
	msg->limit = op.limit;
	msg->max_wr = op.s->srq->wq.max_wr;
	msg->max_sge = op.s->srq->wq.max_sge;
	return 0;
}

int
handle_destroy_srq(struct request *req)
{
	return obj_destroy_handle(req, OBJ_SRQ);
}

/* ---- queue pairs ---- */

struct qp_op {
	struct qp_obj *q;
	struct client *client;
	struct qp_init init;
	struct ctl_qp_attr *attr; /* in: of modify; out: of query */
	int err;
};

static void
create_qp(void *arg, uint64_t now_ns)
{
	struct qp_op *op = arg;

	(void)now_ns;
	op->q->qp = qp_create(op->client->device->nic, &op->init);
	op->err = op->q->qp ? 0 : errno;
	if (op->q->qp)
		op->client->bells.qps[op->q->bell] = op->q->qp;
}

static void
modify_qp(void *arg, uint64_t now_ns)
{
	struct qp_op *op = arg;

	op->err = -qp_modify(op->q->qp, &op->attr->attr, op->attr->mask, now_ns);
}

static void
query_qp(void *arg, uint64_t now_ns)
{
	struct qp_op *op = arg;

	(void)now_ns;
	qp_query(op->q->qp, &op->attr->attr, op->attr->reason, sizeof(op->attr->reason));
}

static int
detach_qp(struct obj *obj)
{
	struct qp_obj *q = container_of(obj, struct qp_obj, obj);

	obj->client->bells.qps[q->bell] = NULL;
	qp_destroy(q->qp);
	outbox_forget(&q->events);
	return 0;
}

static void
release_qp(struct obj *obj)
{
	struct qp_obj *q = container_of(obj, struct qp_obj, obj);
	struct client *client = obj->client;

	free_ring(client, &q->sq);
	free_ring(client, &q->rq);
	free_bell(client, q->bell);
	q->pd->nb_refs--;
	q->send_cq->obj.nb_refs--;
	q->recv_cq->obj.nb_refs--;
	if (q->srq)
		q->srq->obj.nb_refs--;
	client->device->nb_qps--;
	free(q);
}

const struct obj_ops qp_ops = {.detach = detach_qp, .release = release_qp};

static bool
cap_ok(const struct shm_qp_cap *cap)
{
	return cap->max_send_wr <= WEFT_MAX_WR && cap->max_recv_wr <= WEFT_MAX_WR &&
	       cap->max_send_sge <= WEFT_MAX_SGE && cap->max_recv_sge <= WEFT_MAX_SGE &&
	       cap->max_inline <= WEFT_MAX_INLINE;
}

/* The rings of a QP; with an SRQ it has no receive queue. */
static int
new_qp_rings(struct client *client, struct qp_obj *q, struct ctl_qp *msg, struct qp_init *init)
{
	int err;

	if (q->srq)
		msg->cap.max_recv_wr = msg->cap.max_recv_sge = 0;
	init->sq_slots = msg->cap.max_send_wr ? slots_of(msg->cap.max_send_wr) : 0;
	init->rq_slots = msg->cap.max_recv_wr ? slots_of(msg->cap.max_recv_wr) : 0;
	init->sq_stride = sq_stride(msg->cap.max_send_sge, msg->cap.max_inline);
	init->rq_stride = rq_stride(msg->cap.max_recv_sge);
	err = new_ring(client, &q->sq, SHM_WQ_SLOTS, init->sq_slots, init->sq_stride, &msg->sq);
	if (!err)
		err = new_ring(client, &q->rq, SHM_WQ_SLOTS, init->rq_slots, init->rq_stride,
		               &msg->rq);
	if (err)
		return err;
	init->sq = ring_at(client, &q->sq);
	init->rq = ring_at(client, &q->rq);
	init->cap = msg->cap;
	return 0;
}

static void
forget_qp(void *arg, uint64_t now_ns)
{
	(void)now_ns;
	detach_qp(arg);
}

/* Make the NIC's half, and put the whole under its number. */
static int
add_qp(struct client *client, struct qp_op *op)
{
	struct qp_obj *q = op->q;
	int err;

	worker_call(client->device->worker, create_qp, op);
	if (op->err)
		return op->err;
	err = obj_add(client, &q->obj, OBJ_QP, q->qp->qpn);
	if (err) {
		worker_call(client->device->worker, forget_qp, &q->obj);
		return err;
	}
	return 0;
}

int
handle_create_qp(struct request *req)
{
	struct client *client = req->client;
	struct ctl_qp *msg = &req->msg->qp;
	struct qp_op op = {.client = client};
	struct qp_obj *q;
	int err;

	if (msg->type != SHM_QPT_RC && msg->type != SHM_QPT_UC && msg->type != SHM_QPT_UD)
		return EOPNOTSUPP;
	if (!cap_ok(&msg->cap))
		return EINVAL;
	if (obj_count(client, OBJ_QP) >= WEFT_MAX_QP ||
	    client->device->nb_qps >= CONTROL_MAX_QP_TOTAL)
		return ENOMEM;
	op.q = q = calloc(1, sizeof(*q));
	if (!q)
		return ENOMEM;
	q->pd = obj_find(client, OBJ_PD, msg->pd);
	q->send_cq = obj_find(client, OBJ_CQ, msg->send_cq);
	q->recv_cq = obj_find(client, OBJ_CQ, msg->recv_cq);
	q->srq = msg->srq ? obj_find(client, OBJ_SRQ, msg->srq) : NULL;
	err = EINVAL;
	if (!q->pd || !q->send_cq || !q->recv_cq || (msg->srq && !q->srq))
		goto no_bell;
	outbox_mark_init(&q->events, &client->events.box, msg->cookie);
	err = take_bell(client, &q->bell);
	if (err)
		goto no_bell;
	op.init = (struct qp_init){
		.type = (uint8_t)msg->type,
		.pd = msg->pd,
		.send_cq = q->send_cq->cq,
		.recv_cq = q->recv_cq->cq,
		.srq = q->srq ? q->srq->srq : NULL,
		.sq_sig_all = msg->sq_sig_all != 0,
		.cookie = msg->cookie,
		.owner = &q->events,
	};
	err = new_qp_rings(client, q, msg, &op.init);
	if (!err)
		err = add_qp(client, &op);
	if (err)
		goto no_qp;
	q->pd->nb_refs++;
	q->send_cq->obj.nb_refs++;
	q->recv_cq->obj.nb_refs++;
	if (q->srq)
		q->srq->obj.nb_refs++;
	client->device->nb_qps++;
	msg->qpn = q->qp->qpn;
	msg->bell = q->bell;
	msg->zero = 0;
	return 0;

no_qp:
	free_ring(client, &q->sq);
	free_ring(client, &q->rq);
	free_bell(client, q->bell);
no_bell:
	free(q);
	return err;
}

int
handle_modify_qp(struct request *req)
{
	struct ctl_qp_attr *msg = &req->msg->qp_attr;
	struct qp_op op = {.q = obj_find(req->client, OBJ_QP, msg->qpn), .attr = msg};

	if (!op.q)
		return EINVAL;
	worker_call(req->client->device->worker, modify_qp, &op);
	return op.err;
}

int
handle_query_qp(struct request *req)
{
	struct ctl_qp_attr *msg = &req->msg->qp_attr;
	struct qp_op op = {.q = obj_find(req->client, OBJ_QP, msg->qpn), .attr = msg};

	if (!op.q)
		return EINVAL;
	memset(&msg->attr, 0, sizeof(msg->attr));
	memset(msg->reason, 0, sizeof(msg->reason));
	worker_call(req->client->device->worker, query_qp, &op);
	return 0;
}

int
handle_destroy_qp(struct request *req)
{
	return obj_destroy_handle(req, OBJ_QP);
}
