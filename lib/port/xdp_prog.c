/* SPDX-License-Identifier: BSD-3-Clause */
#include "xdp_prog.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The program as compiled: an ELF file. */
static const uint8_t object[] = {
#include "weft_bpf.inc"
};

static const char *const prog_names[] = {
	[KERNEL_TAKE_ROCE] = "weft_roce",
	[KERNEL_TAKE_ALL] = "weft_all",
};

#define NB_PROGS (sizeof(prog_names) / sizeof(prog_names[0]))

/* A process that was killed may hold its interface for so long. Our choice. */
#define GOING_TRIES 100
#define GOING_NAP_NS 10000000

/* What it would print is in the errors that we return. */
static int
print_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

int
xdp_prog_load(struct xdp_prog *prog, enum kernel_take take)
{
	struct bpf_program *p;
	int err;

	*prog = (struct xdp_prog){.prog_fd = -1, .link_fd = -1};
	libbpf_set_print(print_nothing);
	prog->object = bpf_object__open_mem(object, sizeof(object), NULL);
	if (!prog->object)
		return -errno;
	for (size_t i = 0; i < NB_PROGS; i++) {
		p = bpf_object__find_program_by_name(prog->object, prog_names[i]);
		if (!p)
			return -ENOENT;
		bpf_program__set_autoload(p, i == (size_t)take);
	}
	err = bpf_object__load(prog->object);
	if (err)
		return err;
	p = bpf_object__find_program_by_name(prog->object, prog_names[take]);
	prog->prog_fd = bpf_program__fd(p);
	return 0;
}

int
xdp_prog_add_socket(struct xdp_prog *prog, uint32_t queue, int xsk_fd)
{
	int map_fd = bpf_object__find_map_fd_by_name(prog->object, "weft_sockets");

	return map_fd < 0 ? map_fd : bpf_map_update_elem(map_fd, &queue, &xsk_fd, BPF_ANY);
}

/* Name of the program that an interface has; false if it can't be told, or it has none. */
static bool
attached_name(const struct kernel_if *kif, char *name, size_t size)
{
	struct bpf_prog_info info = {0};
	uint32_t id = 0, len = sizeof(info);
	int fd, err;

	if (bpf_xdp_query_id((int)kif->index, 0, &id) != 0 || id == 0)
		return false;
	fd = bpf_prog_get_fd_by_id(id);
	if (fd < 0)
		return false;
	err = bpf_obj_get_info_by_fd(fd, &info, &len);
	close(fd);
	snprintf(name, size, "%s", info.name[0] ? info.name : "without a name");
	return err == 0;
}

static bool
is_one_of_ours(const char *name)
{
	for (size_t i = 0; i < NB_PROGS; i++)
		if (strcmp(name, prog_names[i]) == 0)
			return true;
	return false;
}

bool
xdp_prog_is_foreign(const struct kernel_if *kif, char name[XDP_PROG_NAME_LEN])
{
	return attached_name(kif, name, XDP_PROG_NAME_LEN) && !is_one_of_ours(name);
}

/* In the driver, where it has a place for programs and the interface's settings allow it. */
static int
try_attach(struct xdp_prog *prog, const struct kernel_if *kif)
{
	static const uint32_t modes[] = {XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = modes[i]);
		prog->link_fd = bpf_link_create(prog->prog_fd, (int)kif->index, BPF_XDP, &opts);
		prog->is_native = modes[i] == XDP_FLAGS_DRV_MODE;
		if (prog->link_fd >= 0 || errno == EBUSY || errno == EPERM)
			break;
	}
	return prog->link_fd < 0 ? -errno : 0;
}

int
xdp_prog_attach(struct xdp_prog *prog, const struct kernel_if *kif, char *why, size_t why_size)
{
	const struct timespec nap = {.tv_nsec = GOING_NAP_NS};
	char name[XDP_PROG_NAME_LEN] = "that cannot be looked at";
	int err;

	for (int i = 0; i < GOING_TRIES; i++) {
		err = try_attach(prog, kif);
		if ((err != -EBUSY && err != -EEXIST) ||
		    (attached_name(kif, name, sizeof(name)) && !is_one_of_ours(name)))
			break;
		nanosleep(&nap, NULL);
	}
	if (err == -EBUSY || err == -EEXIST) {
		snprintf(why, why_size,
		         "%s has an XDP program '%s' and can have only one; if it is not needed: "
		         "'ip link set %s xdp off'",
		         kif->name, name, kif->name);
		return -EBUSY;
	}
	if (err)
		snprintf(why, why_size, "%s: attach the XDP program: %s", kif->name,
		         strerror(-err));
	return err;
}

void
xdp_prog_close(struct xdp_prog *prog)
{
	if (!prog->object)
		return;
	if (prog->link_fd >= 0)
		close(prog->link_fd);
	bpf_object__close(prog->object);
	*prog = (struct xdp_prog){0};
}
