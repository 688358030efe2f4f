/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>

#include "session.h"

/* What a client has, by handle, and how it ends. */

void *
obj_find(struct client *client, enum obj_kind kind, uint32_t handle)
{
	return keytab_get(&client->objs[kind], handle);
}

uint32_t
obj_count(const struct client *client, enum obj_kind kind)
{
	return client->objs[kind].nb_objs;
}

int
obj_add(struct client *client, struct obj *obj, enum obj_kind kind, uint32_t handle)
{
	int err;

	obj->client = client;
	obj->kind = kind;
	do {
		obj->handle = handle ? handle : ++client->control->next_handle;
		err = obj->handle ? keytab_put(&client->objs[kind], obj->handle, obj) : -EEXIST;
	} while (err == -EEXIST && !handle);
	assert(err != -EEXIST);
	return -err;
}

static const struct obj_ops *const obj_ops[OBJ_NB] = {
	[OBJ_QP] = &qp_ops,           [OBJ_SRQ] = &srq_ops, [OBJ_MW] = &mr_ops,
	[OBJ_MR] = &mr_ops,           [OBJ_CQ] = &cq_ops,   [OBJ_CHANNEL] = &channel_ops,
	[OBJ_BACKING] = &backing_ops, [OBJ_PD] = &pd_ops,
};

/* Objects of one kind that end together: one call of the worker for all of them. */
#define END_BATCH 64

struct end {
	struct obj *objs[END_BATCH];
	uint32_t nb_objs;
	int err; /* of the last that was refused */
};

static void
detach(void *arg, uint64_t now_ns)
{
	struct end *end = arg;

	(void)now_ns;
	for (uint32_t i = 0; i < end->nb_objs; i++) {
		int err = obj_ops[end->objs[i]->kind]->detach(end->objs[i]);

		if (err)
			end->err = err;
	}
}

/* Objects of one kind that nothing uses. If one is refused, it is the only one. */
static int
end_objs(struct client *client, struct end *end)
{
	const struct obj_ops *ops = obj_ops[end->objs[0]->kind];

	end->err = 0;
	if (ops->detach)
		worker_call(client->device->worker, detach, end);
	if (end->err) {
		assert(end->nb_objs == 1);
		return end->err;
	}
	for (uint32_t i = 0; i < end->nb_objs; i++) {
		struct obj *obj = end->objs[i];

		assert(obj->nb_refs == 0);
		keytab_del(&client->objs[obj->kind], obj->handle);
		ops->release(obj);
	}
	return 0;
}

int
obj_destroy(struct obj *obj)
{
	struct end end = {.objs = {obj}, .nb_objs = 1};

	return obj->nb_refs ? EBUSY : end_objs(obj->client, &end);
}

int
obj_destroy_handle(struct request *req, enum obj_kind kind)
{
	struct obj *obj = obj_find(req->client, kind, req->msg->handle.handle);

	return obj ? obj_destroy(obj) : EINVAL;
}

void
obj_destroy_all(struct client *client, enum obj_kind kind)
{
	const struct keytab *table = &client->objs[kind];

	while (table->nb_objs > 0) {
		struct end end = {0};
		uint32_t pos = 0;
		int err;

		while (end.nb_objs < END_BATCH &&
		       (end.objs[end.nb_objs] = keytab_next(table, &pos)))
			end.nb_objs++;
		err = end_objs(client, &end);
		assert(err == 0);
	}
	keytab_fini(&client->objs[kind]);
}
