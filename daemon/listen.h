/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LISTEN_H
#define WEFT_LISTEN_H

#include <sys/types.h>

/**
 * Listen on a Unix socket, in place of whatever lies there: the caller holds the daemon's name, so
 * it is a dead daemon's.
 *
 * @param type  SOCK_STREAM or SOCK_SEQPACKET.
 * @param mode  who may connect.
 * @param gid   the socket's group; -1 = as the folder gives it.
 * @return      a descriptor that does not block, or a negative errno; what went wrong is logged.
 */
int listen_at(const char *path, int type, mode_t mode, gid_t gid);

#endif
