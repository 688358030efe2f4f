/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <stdio.h>

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
	return atomic_load_explicit(&client->nb_objs[kind], memory_order_relaxed);
}

/* What an object counts as; and for those that share an account, how many there can be. */
static const struct {
	enum account_kind account;
	uint32_t max; /* 0 = as the account says */
	const char *name;
} kinds[OBJ_NB] = {
	[OBJ_QP] = {ACCOUNT_QPS},
	[OBJ_SRQ] = {ACCOUNT_OBJECTS, WEFT_MAX_SRQ, "SRQs"},
	[OBJ_MW] = {ACCOUNT_MRS},
	[OBJ_MR] = {ACCOUNT_MRS},
	[OBJ_CQ] = {ACCOUNT_OBJECTS, WEFT_MAX_CQ, "CQs"},
	/* Without a CQ a channel is of no use. */
	[OBJ_CHANNEL] = {ACCOUNT_OBJECTS, WEFT_MAX_CQ, "channels"},
	[OBJ_BACKING] = {ACCOUNT_MAPPINGS},
	[OBJ_PD] = {ACCOUNT_OBJECTS, WEFT_MAX_PD, "PDs"},
};

int
obj_may_add(struct client *client, enum obj_kind kind)
{
	char why[64];

	if (!kinds[kind].max || obj_count(client, kind) < kinds[kind].max)
		return account_check(&client->account, kinds[kind].account, 1);
	snprintf(why, sizeof(why), "a program has %u %s at most", kinds[kind].max,
	         kinds[kind].name);
	return account_refuse(&client->account, kinds[kind].account, why);
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
	if (!err) {
		account_add(&client->account, kinds[kind].account, 1);
		atomic_fetch_add(&client->nb_objs[kind], 1);
	}
	return -err;
}

void
obj_forget(struct obj *obj)
{
	keytab_del(&obj->client->objs[obj->kind], obj->handle);
	account_sub(&obj->client->account, kinds[obj->kind].account, 1);
	atomic_fetch_sub(&obj->client->nb_objs[obj->kind], 1);
}

static const struct obj_ops *const obj_ops[OBJ_NB] = {
	[OBJ_QP] = &qp_ops,           [OBJ_SRQ] = &srq_ops, [OBJ_MW] = &mr_ops,
	[OBJ_MR] = &mr_ops,           [OBJ_CQ] = &cq_ops,   [OBJ_CHANNEL] = &channel_ops,
	[OBJ_BACKING] = &backing_ops, [OBJ_PD] = &pd_ops,
};

struct end {
	struct obj *objs[OBJ_BATCH];
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
end_objs(const struct client *client, struct end *end)
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
		obj_forget(obj);
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

uint32_t
obj_destroy_some(struct client *client)
{
	struct end end = {0};
	uint32_t pos = 0;
	enum obj_kind kind = 0;
	int err;

	while (kind < OBJ_NB && client->objs[kind].nb_objs == 0)
		kind++;
	if (kind == OBJ_NB) {
		for (kind = 0; kind < OBJ_NB; kind++)
			keytab_fini(&client->objs[kind]);
		return 0;
	}
	while (end.nb_objs < OBJ_BATCH &&
	       (end.objs[end.nb_objs] = keytab_next(&client->objs[kind], &pos)))
		end.nb_objs++;
	err = end_objs(client, &end);
	assert(err == 0);
	return end.nb_objs;
}

/* ---- for reports ---- */

static struct client_view
view(const struct client *client)
{
	return (struct client_view){
		.number = client->number,
		.pid = client->account.pid,
		.uid = client->account.user->uid,
		.nic = client->account.device,
		.nb_qps = obj_count(client, OBJ_QP),
		.nb_mrs = obj_count(client, OBJ_MR),
		.nb_mws = obj_count(client, OBJ_MW),
		.nb_cqs = obj_count(client, OBJ_CQ),
		.nb_srqs = obj_count(client, OBJ_SRQ),
		.nb_pds = obj_count(client, OBJ_PD),
		.nb_channels = obj_count(client, OBJ_CHANNEL),
		.nb_mappings = obj_count(client, OBJ_BACKING),
		.memory_bytes = client->account.used[ACCOUNT_MEMORY],
	};
}

uint32_t
view_clients(void *arg, uint64_t after, struct client_view *views, uint32_t max)
{
	struct control *control = arg;
	uint32_t nb = 0;

	pthread_mutex_lock(&control->clients_lock);
	for (struct list *l = control->clients.next; l != &control->clients && nb < max;
	     l = l->next) {
		const struct client *client = container_of(l, struct client, link);

		if (client->number > after)
			views[nb++] = view(client);
	}
	pthread_mutex_unlock(&control->clients_lock);
	return nb;
}
