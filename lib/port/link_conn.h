/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_LINK_CONN_H
#define WEFT_PORT_LINK_CONN_H

#include <stdatomic.h>
#include <stdbool.h>

#include "link_ring.h"

/** A link with a peer: memory with a ring for each direction, and a socket. */
struct link_conn {
	int fd; /**< SOCK_SEQPACKET: any message wakes the peer; its end is the peer's end */
	atomic_bool is_gone;   /**< the peer hung up; set by whoever sees it first */
	bool is_broken;        /**< the peer broke the rules of the ring */
	struct link_writer tx; /**< of the end's owner */
	struct link_reader rx;
	void *map;
};

/** Which end of the link this is; it writes the ring of this index. */
enum link_role { LINK_LISTENER, LINK_CALLER };

/**
 * Memory for a new link, zeroed, its size sealed.
 *
 * @return its descriptor or a negative errno.
 */
int link_memory_create(void);

/** Whether a peer's descriptor is such memory, which nobody can shorten: 0 or -EPROTO. */
int link_memory_check(int fd);

/**
 * Map a link's memory, all its pages present.
 *
 * @param fd, memory_fd  of the peer's socket, the link's on success; of the memory, the caller's.
 * @return               0 or a negative errno.
 */
int link_conn_create(int fd, int memory_fd, enum link_role role, struct link_conn **conn);

/** Hang up and unmap. NULL does nothing. */
void link_conn_free(struct link_conn *conn);

/** Wake the peer. */
void link_conn_ring(struct link_conn *conn);

#endif
