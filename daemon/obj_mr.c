/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "obj_memory.h"

/* A region or a window. */
struct mr_obj {
	struct obj obj;
	struct pd *pd;
	struct mr *mr;
	struct mem mem;
	struct backing **backings; /* of each run, behind segs; NULL: /proc/self/mem */
	struct mem_seg segs[];
};

/* ---- memory without a backing ---- */

static bool
vm_read(const struct mem *mem, uint64_t va, void *dst, uint32_t len)
{
	const struct client *client = mem->owner;

	while (len > 0) {
		ssize_t n = pread(client->mem_fd, dst, len, (off_t)va);

		if (n <= 0)
			return false;
		dst = (uint8_t *)dst + n;
		va += (uint64_t)n;
		len -= (uint32_t)n;
	}
	return true;
}

static bool
vm_write(const struct mem *mem, uint64_t va, const void *src, uint32_t len)
{
	const struct client *client = mem->owner;

	while (len > 0) {
		ssize_t n = pwrite(client->mem_fd, src, len, (off_t)va);

		if (n <= 0)
			return false;
		src = (const uint8_t *)src + n;
		va += (uint64_t)n;
		len -= (uint32_t)n;
	}
	return true;
}

/*
 * A page that the application's userfaultfd guards is an error, no wait. What does wait is a page
 * of a mapped FUSE file, until that file system's server answers; no flag of ours avoids that, and
 * to look at the mapping first would not hold. Who may not mount FUSE file systems cannot use it.
 */
static const struct mem_ops vm_ops = {.read = vm_read, .write = vm_write};

/* ---- registrations ---- */

/* Pages are made in steps of so many bytes, and for so long at a registration. Our choice. */
#define POPULATE_STEP_BYTES (UINT64_C(4) << 20)
#define POPULATE_NS UINT64_C(100000000)

/*
 * Make the pages of a mapped run now, on this thread, so that the worker does not wait for them: as
 * far as there is time, for other applications wait, too. The worker makes what is left.
 */
static int
populate(const struct mem_seg *seg, uint64_t deadline_ns)
{
	uintptr_t mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
	uintptr_t at = (uintptr_t)seg->map & ~mask;
	uintptr_t end = ((uintptr_t)seg->map + seg->len + mask) & ~mask;

	while (at < end && worker_clock_ns() < deadline_ns) {
		size_t len = end - at < POPULATE_STEP_BYTES ? end - at : POPULATE_STEP_BYTES;

		/* EINVAL: older than Linux 5.14. */
		if (madvise((void *)at, len, MADV_POPULATE_WRITE) < 0)
			return errno == EINVAL                         ? 0
			       : errno == EFAULT || errno == EHWPOISON ? EFAULT
			                                               : ENOMEM;
		at += len;
	}
	return 0;
}

static struct mr_obj *
new_mr(struct client *client, struct pd *pd, uint32_t nb_segs)
{
	struct mr_obj *m =
		calloc(1, sizeof(*m) + nb_segs * (sizeof(m->segs[0]) + sizeof(m->backings[0])));

	if (!m)
		return NULL;
	m->obj.client = client;
	m->pd = pd;
	m->backings = (struct backing **)(void *)&m->segs[nb_segs];
	m->mem = (struct mem){.owner = client, .nb_segs = nb_segs, .segs = m->segs};
	return m;
}

static void
free_mr(struct mr_obj *m)
{
	for (uint32_t i = 0; i < m->mem.nb_segs; i++) {
		if (m->backings[i])
			m->backings[i]->obj.nb_refs--;
	}
	free(m);
}

/* One run of the request; the runs before it end at va. */
static int
take_seg(struct mr_obj *m, const struct ctl_seg *in, uint32_t i, uint64_t va, uint64_t deadline_ns)
{
	struct client *client = m->obj.client;
	struct mem_seg *seg = &m->segs[i];
	struct backing *b;

	if (in->va != va || in->length == 0 || in->va + in->length < in->va)
		return EINVAL;
	*seg = (struct mem_seg){.va = in->va, .len = in->length};
	if (in->backing == 0) {
		if (client->mem_fd < 0)
			return EOPNOTSUPP;
		/* Beyond are the kernel's addresses; and offsets of files are signed. */
		if (in->va + in->length > MR_MAX_BYTES)
			return EFAULT;
		m->mem.ops = &vm_ops;
		return 0;
	}
	b = obj_find(client, OBJ_BACKING, in->backing);
	if (!b || in->offset > b->len || in->length > b->len - in->offset)
		return EINVAL;
	seg->map = b->map + in->offset;
	m->backings[i] = b;
	b->obj.nb_refs++;
	return populate(seg, deadline_ns);
}

/* The runs cover [va, va + length) exactly. */
static int
take_segs(struct mr_obj *m, const struct ctl_mr *msg)
{
	uint64_t va = msg->va, deadline_ns = worker_clock_ns() + POPULATE_NS;

	for (uint32_t i = 0; i < msg->nb_segs; i++) {
		int err = take_seg(m, &msg->seg[i], i, va, deadline_ns);

		if (err)
			return err;
		va += msg->seg[i].length;
	}
	return va - msg->va == msg->length ? 0 : EINVAL;
}

struct mr_op {
	struct mr_obj *m;
	const struct ctl_mr *reg; /* NULL: a window */
	uint32_t type;            /* of the window */
	uint32_t key;             /* out: of a window it changes, on the worker, with each bind */
	int err;
};

static void
create_mr(void *arg, uint64_t now_ns)
{
	struct mr_op *op = arg;
	struct mr_obj *m = op->m;
	struct nic *nic = m->obj.client->device->nic;
	const struct ctl_mr *r = op->reg;

	(void)now_ns;
	if (r)
		m->mr = mr_create(nic, r->pd, r->access, r->va, r->iova, r->length, &m->mem);
	else
		m->mr = mr_create_window(nic, m->pd->obj.handle, op->type);
	op->err = m->mr ? 0 : errno;
	if (m->mr)
		op->key = m->mr->key;
}

static int
detach_mr(struct obj *obj)
{
	return -mr_destroy(obj->client->device->nic, container_of(obj, struct mr_obj, obj)->mr);
}

static void
release_mr(struct obj *obj)
{
	struct mr_obj *m = container_of(obj, struct mr_obj, obj);

	m->pd->obj.nb_refs--;
	free_mr(m);
}

/* EBUSY if windows are bound to it. */
const struct obj_ops mr_ops = {.detach = detach_mr, .release = release_mr};

static void
forget_mr(void *arg, uint64_t now_ns)
{
	struct mr_op *op = arg;

	(void)now_ns;
	detach_mr(&op->m->obj);
}

/* Make the worker's half, and put the whole under its key. */
static int
add_mr(struct client *client, struct mr_op *op, enum obj_kind kind)
{
	struct worker *worker = client->device->worker;
	struct mr_obj *m = op->m;
	int err;

	worker_call(worker, create_mr, op);
	if (op->err)
		return op->err;
	err = obj_add(client, &m->obj, kind, op->key >> 8);
	if (err) {
		worker_call(worker, forget_mr, op);
		return err;
	}
	m->pd->obj.nb_refs++;
	return 0;
}

/* What this daemon grants; other bits are hints, and ignored. */
#define ACCESS_KNOWN                                                                               \
	(SHM_ACCESS_LOCAL_WRITE | SHM_ACCESS_REMOTE_WRITE | SHM_ACCESS_REMOTE_READ |               \
	 SHM_ACCESS_REMOTE_ATOMIC | SHM_ACCESS_MW_BIND | SHM_ACCESS_ZERO_BASED)

int
handle_reg_mr(struct request *req)
{
	struct client *client = req->client;
	struct ctl_mr *msg = &req->msg->mr;
	struct pd *pd = obj_find(client, OBJ_PD, msg->pd);
	struct mr_op op = {.reg = msg};
	int err;

	msg->access &= ACCESS_KNOWN;
	if (!pd || msg->nb_segs == 0 || msg->nb_segs > WEFT_MAX_SEGS || msg->length == 0 ||
	    msg->length > MR_MAX_BYTES || msg->va + msg->length < msg->va ||
	    msg->iova + msg->length < msg->iova)
		return EINVAL;
	if ((msg->access & (SHM_ACCESS_REMOTE_WRITE | SHM_ACCESS_REMOTE_ATOMIC)) &&
	    !(msg->access & SHM_ACCESS_LOCAL_WRITE))
		return EINVAL;
	err = obj_may_add(client, OBJ_MR);
	if (err)
		return err;
	op.m = new_mr(client, pd, msg->nb_segs);
	if (!op.m)
		return ENOMEM;
	err = take_segs(op.m, msg);
	if (!err)
		err = add_mr(client, &op, OBJ_MR);
	if (err) {
		free_mr(op.m);
		return err;
	}
	msg->key = op.key;
	return 0;
}

int
handle_dereg_mr(struct request *req)
{
	uint32_t key = req->msg->handle.handle;
	struct mr_obj *m = obj_find(req->client, OBJ_MR, key >> 8);

	return m && m->mr->key == key ? obj_destroy(&m->obj) : EINVAL;
}

int
handle_alloc_mw(struct request *req)
{
	struct client *client = req->client;
	struct ctl_mw *msg = &req->msg->mw;
	struct mr_op op = {.type = msg->type};
	struct pd *pd = obj_find(client, OBJ_PD, msg->pd);
	int err;

	if (!pd || (msg->type != 1 && msg->type != 2))
		return EINVAL;
	err = obj_may_add(client, OBJ_MW);
	if (err)
		return err;
	op.m = new_mr(client, pd, 0);
	if (!op.m)
		return ENOMEM;
	err = add_mr(client, &op, OBJ_MW);
	if (err) {
		free_mr(op.m);
		return err;
	}
	msg->key = op.key;
	msg->zero = 0;
	return 0;
}

/* The low 8 bits of a window's key change with each bind: the rest names it. */
int
handle_dealloc_mw(struct request *req)
{
	struct mr_obj *m = obj_find(req->client, OBJ_MW, req->msg->handle.handle >> 8);

	return m ? obj_destroy(&m->obj) : EINVAL;
}
