/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "obj_memory.h"

/* ---- protection domains ---- */

/* A PD's number is what regions and QPs compare: unique in the daemon, not only in the client. */
int
handle_alloc_pd(struct request *req)
{
	struct client *client = req->client;
	struct control *control = client->control;
	struct pd *pd;
	uint32_t handle;
	int err = obj_may_add(client, OBJ_PD);

	if (err)
		return err;
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return ENOMEM;
	do {
		handle = ++control->next_handle;
		err = handle ? keytab_put(&control->pds, handle, pd) : -EEXIST;
	} while (err == -EEXIST);
	if (err) {
		free(pd);
		return -err;
	}
	err = obj_add(client, &pd->obj, OBJ_PD, handle);
	if (err) {
		keytab_del(&control->pds, handle);
		free(pd);
		return err;
	}
	req->msg->handle.handle = handle;
	req->msg->handle.zero = 0;
	return 0;
}

static void
release_pd(struct obj *obj)
{
	keytab_del(&obj->client->control->pds, obj->handle);
	free(container_of(obj, struct pd, obj));
}

const struct obj_ops pd_ops = {.release = release_pd};

/* ---- backings ---- */

/* Whether the application may have so much more mapped. @return 0 or ENOMEM. */
static int
may_map(struct client *client, uint64_t len)
{
	int err = obj_may_add(client, OBJ_BACKING);

	while (client->control->nb_backings >= CONTROL_MAX_BACKINGS &&
	       clients_give_back(client->control))
		;
	if (!err && client->control->nb_backings >= CONTROL_MAX_BACKINGS)
		err = account_refuse(&client->account, ACCOUNT_MAPPINGS,
		                     "the daemon has all that the kernel lets it have");
	return err ? err : account_check(&client->account, ACCOUNT_MEMORY, len);
}

/* Map a sealed file as a new backing; the file is not needed afterwards. */
static int
add_backing(struct client *client, int fd, uint64_t len, uint32_t *handle)
{
	struct backing *b = calloc(1, sizeof(*b));
	int err = ENOMEM;

	if (!b)
		return ENOMEM;
	b->len = len;
	b->map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (b->map == MAP_FAILED) {
		err = errno;
		goto fail;
	}
	err = obj_add(client, &b->obj, OBJ_BACKING, 0);
	if (err) {
		munmap(b->map, len);
		goto fail;
	}
	account_add(&client->account, ACCOUNT_MEMORY, len);
	client->control->nb_backings++;
	*handle = b->obj.handle;
	return 0;
fail:
	free(b);
	return err;
}

static void
release_backing(struct obj *obj)
{
	struct backing *b = container_of(obj, struct backing, obj);

	account_sub(&obj->client->account, ACCOUNT_MEMORY, b->len);
	obj->client->control->nb_backings--;
	munmap(b->map, b->len);
	free(b);
}

const struct obj_ops backing_ops = {.release = release_backing};

int
handle_new_backing(struct request *req)
{
	struct ctl_backing *msg = &req->msg->backing;
	uint64_t len = msg->length;
	int fd, err;

	if (len == 0 || len % (uint64_t)sysconf(_SC_PAGESIZE) || len > INT64_MAX)
		return EINVAL;
	err = may_map(req->client, len);
	if (err)
		return err;
	fd = memfd_create("weft-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return errno;
	if (ftruncate(fd, (off_t)len) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		err = errno;
	else
		err = add_backing(req->client, fd, len, &msg->handle);
	if (err) {
		close(fd);
		return err;
	}
	msg->zero = 0;
	request_give_fd(req, fd, true);
	return 0;
}

int
handle_add_backing(struct request *req)
{
	struct ctl_backing *msg = &req->msg->backing;
	struct statfs fs;
	struct stat st;
	int seals, err;

	if (req->fd < 0 || (fcntl(req->fd, F_GETFL) & (O_ACCMODE | O_PATH)) != O_RDWR)
		return EBADF;
	seals = fcntl(req->fd, F_GET_SEALS);
	/* Not hugetlbfs: without a reserve its pages may be missing when we touch them. */
	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstatfs(req->fd, &fs) < 0 ||
	    fs.f_type != TMPFS_MAGIC || fstat(req->fd, &st) < 0)
		return EBADF;
	if (st.st_size <= 0 || st.st_size % sysconf(_SC_PAGESIZE))
		return EINVAL;
	err = may_map(req->client, (uint64_t)st.st_size);
	if (err)
		return err;
	msg->length = (uint64_t)st.st_size;
	msg->zero = 0;
	return add_backing(req->client, req->fd, msg->length, &msg->handle);
}
