/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_LINK_MEET_H
#define WEFT_PORT_LINK_MEET_H

#include <stdbool.h>

#include "link_conn.h"

/**
 * @file
 * How the two ends of a link find each other, again and again: whoever comes first listens, the
 * other calls. A thread does it, because it waits for others, touches files and maps memory; the
 * end's owner, a worker, only takes a link that is ready and gives it back when it is done with it.
 *
 * The end that listens holds a lock, makes the memory of each new link and seals it; the other
 * checks that. Both map it by themselves and keep it until they decide to drop it, so that a peer
 * which dies takes nothing away from under us. When the listening end dies, the other listens.
 */

struct link_meet;

/**
 * Begin to look for a peer. What goes wrong then is logged, once, and tried again.
 *
 * @param path  of the socket: absolute, up to LINK_PATH_MAX bytes. PATH.lock lies beside it.
 * @return      0 or a negative errno.
 */
int link_meet_start(const char *path, struct link_meet **meet);

/** Stop looking, and free everything. A link that was taken has been given back. */
void link_meet_stop(struct link_meet *meet);

/** A new link, now the caller's until it gives it back; NULL if there is none. */
struct link_conn *link_meet_take(struct link_meet *meet);

/** Whether link_meet_take has one. */
bool link_meet_has_news(const struct link_meet *meet);

/** Give a link back: the peer, if it lives, sees it end. */
void link_meet_give(struct link_meet *meet, struct link_conn *conn);

/** Readable when a link can be taken, the peer rang, or hung up. */
int link_meet_wait_fd(const struct link_meet *meet);

/** Take note of what made link_meet_wait_fd readable. conn: the one that was taken, or NULL. */
void link_meet_heard(struct link_meet *meet, struct link_conn *conn);

#endif
