/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_ADVICE_H
#define WEFT_ADVICE_H

#include "client.h"

/*
 * What a user is told on stderr when something is refused, beyond the errno that his program gets:
 * the cause, and what he can do. Each kind is told once per process, for programs may ask again
 * and again.
 */

/** A daemon's socket, or the folder of sockets, cannot be used; err is a negative errno. */
void advice_socket(const char *path, int err);
/** No daemon has a device of this name; known is what there is, separated by commas. */
void advice_device(const char *name, const char *known);
/** The GID table ends before this index. */
void advice_gid(const struct weft *weft, uint32_t index);
/** An address without a GRH: no GID was chosen. */
void advice_grh(void);
/** A registration was refused with this negative errno. */
void advice_registration(const struct weft *weft, const struct client_region *region, int err);
/** The daemon refused a request for a device with this reason: told once for each kind of request.
 */
void advice_refusal(const char *name, enum ctl_op op, const char *why);

#endif
