/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "obj_rings.h"

/* Shared receive queues. */

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
	err = obj_may_add(client, OBJ_SRQ);
	if (err)
		return err;
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
		obj_forget(&s->obj);
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
