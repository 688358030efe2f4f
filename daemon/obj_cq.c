/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "obj_rings.h"

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
	int peer_fd, err = obj_may_add(client, OBJ_CHANNEL);

	if (err)
		return err;
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

/* ---- completion queues ---- */

struct cq_op {
	struct cq_obj *q;
	struct cq_resize to;
	int err;
};

static void
resize_cq(void *arg, uint64_t now_ns)
{
	struct cq_op *op = arg;

	(void)now_ns;
	op->err = -cq_resize(op->q->cq, &op->to);
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
	err = obj_may_add(client, OBJ_CQ);
	if (err)
		return err;
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
		obj_forget(&q->obj);
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
	op.to.nb_slots = slots_of(msg->nb_cqe);
	err = new_ring(client, &ring, SHM_CQ_SLOTS, op.to.nb_slots, sizeof(struct shm_cqe),
	               &msg->ring);
	if (err)
		return err;
	op.to.ring = ring_at(client, &ring);
	do
		worker_call(client->device->worker, resize_cq, &op);
	while (op.err == EAGAIN);
	if (op.err) {
		free_ring(client, &ring);
		return op.err;
	}
	free_ring(client, &q->ring);
	q->ring = ring;
	msg->nb_cqe = op.to.nb_slots;
	return 0;
}
