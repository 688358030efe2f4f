/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "obj_rings.h"

/* Queue pairs. */

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

struct qp_op {
	struct qp_obj *q;
	struct client *client;
	struct qp_init init;
	struct ctl_qp_attr *attr; /* in: of modify; out: of query */
	int err;
	char why[sizeof(((struct request *)0)->why)]; /* modify was refused */
};

static void
create_qp(void *arg, uint64_t now_ns)
{
	struct qp_op *op = arg;

	(void)now_ns;
	op->q->qp = qp_create(op->client->device->nic, &op->init);
	op->err = op->q->qp ? 0 : errno;
	if (op->q->qp)
		bell_set(&op->client->bells, op->q->bell, op->q->qp);
}

static void
modify_qp(void *arg, uint64_t now_ns)
{
	struct qp_op *op = arg;

	op->err = -qp_modify(op->q->qp, &op->attr->attr, op->attr->mask, now_ns);
	if (op->err)
		snprintf(op->why, sizeof(op->why), "%s", op->q->qp->nic->refusal);
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

	bell_set(&obj->client->bells, q->bell, NULL);
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
	if (!shm_qp_cap_ok(&msg->cap))
		return EINVAL;
	if (client->device->is_drained)
		return device_refuse_drained(req, client->device);
	err = obj_may_add(client, OBJ_QP);
	while (client->device->nb_qps >= CONTROL_MAX_QP_TOTAL && clients_give_back(client->control))
		;
	if (!err && client->device->nb_qps >= CONTROL_MAX_QP_TOTAL)
		err = account_refuse(&client->account, ACCOUNT_QPS,
		                     "the device has all it can have");
	if (err)
		return err;
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
		.client = &client->turns,
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
	if (op.err)
		memcpy(req->why, op.why, sizeof(op.why));
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

void
whose_qp(const void *qp_owner, pid_t *pid, uid_t *uid)
{
	const struct outbox_mark *mark = qp_owner;
	const struct client *client = container_of(mark->box, struct mailbox, box)->client;

	*pid = client->account.pid;
	*uid = client->account.user->uid;
}
