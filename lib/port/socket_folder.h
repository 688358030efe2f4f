/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_SOCKET_FOLDER_H
#define WEFT_PORT_SOCKET_FOLDER_H

#include <stddef.h>

/**
 * Whether the folder of a port's socket is there, and this process may make files in it.
 *
 * @param socket     absolute.
 * @param[out] why   what is wrong and what to do; untouched if all is well.
 * @return           0, -ENOENT or -EACCES.
 */
int socket_folder_check(const char *socket, char *why, size_t why_size);

#endif
