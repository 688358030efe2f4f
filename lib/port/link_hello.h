/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_LINK_HELLO_H
#define WEFT_PORT_LINK_HELLO_H

#include <sys/types.h>

#include "link_conn.h"

/**
 * @file
 * The first words of two ends of a link: who listens offers memory, who calls takes it; or hears
 * that the link has both its ends. Each waits for the other for a short time only.
 */

/** Bytes of the longest path of a link: what sun_path holds. */
#define LINK_PATH_MAX 107

/** Processes at the ends of a link; 0 = in a name space that we do not see. */
struct link_pids {
	pid_t listener, caller;
};

/**
 * Call whoever listens at path.
 *
 * @return 0; -ENOENT, -ECONNREFUSED: nobody does; -EUSERS: there are two ends already, pids says
 *         which; -EAGAIN: no answer; another negative errno: link_hello_strerror.
 */
int link_hello_call(const char *path, struct link_conn **conn, struct link_pids *pids);

/** Answer a caller's socket, which is taken over. @return as link_hello_call. */
int link_hello_answer(int fd, struct link_conn **conn, struct link_pids *pids);

/** Tell a caller that the link has its ends: this process, and the peer of taken. Closes fd. */
void link_hello_refuse(int fd, const struct link_conn *taken);

/** What went wrong, and what to do about it. err is negative. */
const char *link_hello_strerror(int err);

#endif
