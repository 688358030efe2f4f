/* SPDX-License-Identifier: BSD-3-Clause */
#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim.h"

static void
put_device(struct shim_device *device)
{
	if (__atomic_sub_fetch(&device->nb_refs, 1, __ATOMIC_ACQ_REL) == 0)
		free(device);
}

static struct shim_device *
new_device(const char *name, uint64_t guid)
{
	struct shim_device *device = calloc(1, sizeof(*device));

	if (!device)
		return NULL;
	device->dev.node_type = IBV_NODE_CA;
	device->dev.transport_type = IBV_TRANSPORT_IB;
	snprintf(device->dev.name, sizeof(device->dev.name), "%s", name);
	snprintf(device->dev.dev_name, sizeof(device->dev.dev_name), "uverbs_%s", name);
	snprintf(device->dev.dev_path, sizeof(device->dev.dev_path),
	         "/sys/class/infiniband_verbs/uverbs_%s", name);
	snprintf(device->dev.ibdev_path, sizeof(device->dev.ibdev_path), "/sys/class/infiniband/%s",
	         name);
	device->guid = guid;
	device->nb_refs = 1;
	return device;
}

/** The list while it grows; always ends in NULL. */
struct device_list {
	struct ibv_device **devices;
	int nb;
	bool failed;
};

static bool
append(void *arg, const char *path, const struct ctl_list *found)
{
	struct device_list *list = arg;

	(void)path;
	for (uint32_t i = 0; i < found->nb_devices; i++) {
		struct ibv_device **grown =
			realloc(list->devices, ((size_t)list->nb + 2) * sizeof(*grown));
		struct shim_device *device;

		if (grown)
			list->devices = grown;
		device = grown ? new_device(found->device[i].name, found->device[i].guid) : NULL;
		if (!device) {
			list->failed = true;
			return true;
		}
		list->devices[list->nb++] = &device->dev;
		list->devices[list->nb] = NULL;
	}
	return false;
}

SHIM_EXPORT struct ibv_device **
ibv_get_device_list(int *nb)
{
	struct device_list list = {calloc(1, sizeof(*list.devices)), 0, false};
	int err;

	if (nb)
		*nb = 0;
	errno = 0;
	if (list.devices)
		client_discover(append, &list);
	err = !list.devices || list.failed      ? -ENOMEM
	      : list.nb == 0 && errno == EAGAIN ? -EAGAIN
	                                        : 0;
	if (err) {
		if (list.devices)
			ibv_free_device_list(list.devices);
		return shim_null(err);
	}
	if (nb)
		*nb = list.nb;
	return list.devices;
}

SHIM_EXPORT void
ibv_free_device_list(struct ibv_device **list)
{
	for (struct ibv_device **device = list; *device; device++)
		put_device((struct shim_device *)*device);
	free(list);
}

SHIM_EXPORT const char *
ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

SHIM_EXPORT __be64
ibv_get_device_guid(struct ibv_device *device)
{
	return htobe64(((struct shim_device *)device)->guid);
}

/** No kernel knows it, so it has no index. */
SHIM_EXPORT int
ibv_get_device_index(struct ibv_device *device)
{
	(void)device;
	return -1;
}

SHIM_EXPORT struct ibv_context *
ibv_open_device(struct ibv_device *device)
{
	struct shim_context *context = calloc(1, sizeof(*context));
	int err;

	if (!context)
		return NULL;
	err = client_open(device->name, &context->weft);
	if (err) {
		free(context);
		return shim_null(err);
	}
	shim_fill_ops(&context->v);
	context->v.context.device = device;
	context->v.context.cmd_fd = -1;
	context->v.context.async_fd = context->weft->events_fd;
	context->v.context.num_comp_vectors = 1;
	pthread_mutex_init(&context->v.context.mutex, NULL);
	__atomic_add_fetch(&((struct shim_device *)device)->nb_refs, 1, __ATOMIC_ACQ_REL);
	return &context->v.context;
}

SHIM_EXPORT int
ibv_close_device(struct ibv_context *ibcontext)
{
	struct shim_context *context = to_context(ibcontext);

	client_close(context->weft);
	put_device((struct shim_device *)ibcontext->device);
	pthread_mutex_destroy(&ibcontext->mutex);
	free(context);
	return 0;
}

SHIM_EXPORT const char *ibv_get_sysfs_path(void);
SHIM_EXPORT const char *
ibv_get_sysfs_path(void)
{
	const char *path = secure_getenv("SYSFS_PATH");

	return path ? path : "/sys";
}

SHIM_EXPORT int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);
/** First bytes of a file, without a final newline. @return their number, or -1. */
SHIM_EXPORT int
ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	char path[512];
	ssize_t len;
	int fd;

	if (size == 0 || (size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	len = read(fd, buf, size);
	close(fd);
	if (len <= 0)
		return -1;
	if (buf[len - 1] == '\n')
		buf[--len] = '\0';
	else if ((size_t)len < size)
		buf[len] = '\0';
	else
		return -1;
	return (int)len;
}

/* Objects of other processes: a connection is bound to one address space. */

SHIM_EXPORT struct ibv_context *
ibv_import_device(int cmd_fd)
{
	(void)cmd_fd;
	return shim_null(-EOPNOTSUPP);
}

SHIM_EXPORT struct ibv_pd *
ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	(void)context;
	(void)handle;
	return shim_null(-EOPNOTSUPP);
}

SHIM_EXPORT void
ibv_unimport_pd(struct ibv_pd *pd)
{
	(void)pd;
}

SHIM_EXPORT struct ibv_mr *
ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	(void)pd;
	(void)handle;
	return shim_null(-EOPNOTSUPP);
}

SHIM_EXPORT void
ibv_unimport_mr(struct ibv_mr *mr)
{
	(void)mr;
}

SHIM_EXPORT struct ibv_dm *
ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
	(void)context;
	(void)handle;
	return shim_null(-EOPNOTSUPP);
}

SHIM_EXPORT void
ibv_unimport_dm(struct ibv_dm *dm)
{
	(void)dm;
}

/* Remapped memory keeps its pages from a forked child by other means: nothing to prepare. */

SHIM_EXPORT int
ibv_fork_init(void)
{
	return 0;
}

SHIM_EXPORT enum ibv_fork_status
ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

SHIM_EXPORT int ibv_dontfork_range(void *base, size_t size);
SHIM_EXPORT int
ibv_dontfork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}

SHIM_EXPORT int ibv_dofork_range(void *base, size_t size);
SHIM_EXPORT int
ibv_dofork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}
