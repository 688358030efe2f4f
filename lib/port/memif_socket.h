/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_MEMIF_SOCKET_H
#define WEFT_PORT_MEMIF_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Whether a memif can use this socket file, which DPDK's driver answers with "Operation not
 * permitted" at best. A file that a server left behind when it was killed is removed.
 *
 * @param path       absolute.
 * @param is_server  that makes the file; a client looks for it until it is there.
 * @param[out] why   what is wrong and what to do.
 * @return           0, -ENOENT (its folder), -EADDRINUSE, -EEXIST (no socket), or another negative
 *                   errno.
 */
int memif_socket_check(const char *path, bool is_server, char *why, size_t why_size);

#endif
