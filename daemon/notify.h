/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_NOTIFY_H
#define WEFT_NOTIFY_H

/**
 * Tell a service manager about us, if one wants to know: "READY=1", "STOPPING=1".
 * Source: sd_notify(3), whose protocol is one datagram to $NOTIFY_SOCKET.
 */
void notify_manager(const char *state);

#endif
