/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_XDP_PROG_H
#define WEFT_PORT_XDP_PROG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel_port.h"

struct bpf_object;

/** Our XDP program (xdp/weft.bpf.c), loaded and perhaps attached. All zero = not loaded. */
struct xdp_prog {
	struct bpf_object *object;
	int prog_fd; /**< of the program for these frames */
	int link_fd; /**< the attachment: it ends with the descriptor, however the process ends */
	bool is_native; /**< runs in the driver, else in the kernel's common code */
};

/** Receive queues of one interface that can have a socket. Source: the map in xdp/weft.bpf.c. */
#define XDP_PROG_QUEUES_MAX 64

/** Room for a program's name. */
#define XDP_PROG_NAME_LEN 64
/** Whether an interface has a program that is not ours. @param[out] name  its name then. */
bool xdp_prog_is_foreign(const struct kernel_if *kif, char name[XDP_PROG_NAME_LEN]);

/**
 * Load it. Needs CAP_BPF and CAP_NET_ADMIN.
 *
 * @return 0 or a negative errno.
 */
int xdp_prog_load(struct xdp_prog *prog, enum kernel_take take);

/** Frames of a receive queue go to this socket, once the program is attached. */
int xdp_prog_add_socket(struct xdp_prog *prog, uint32_t queue, int xsk_fd);

/**
 * Attach it: in the driver where that can, else in common code. A program of a daemon that is just
 * going is waited for; a foreign one is left where it is.
 *
 * @param why  on failure what is wrong and what to do about it, in one line.
 * @return     0, -EBUSY (a foreign program is attached, why names it) or another negative errno.
 */
int xdp_prog_attach(struct xdp_prog *prog, const struct kernel_if *kif, char *why, size_t why_size);

/** Detach and unload; also after a failure. */
void xdp_prog_close(struct xdp_prog *prog);

#endif
