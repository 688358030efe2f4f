/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CONNECTIONS_H
#define WEFT_CONNECTIONS_H

/*
 * The devices that this process has open, for fork(): a child inherits descriptors and the arena,
 * but all of it is its parent's. It may leave them alone, or destroy what it sees, as programs do
 * at their exit; neither may show in the parent.
 */

struct weft;

void connections_add(struct weft *weft);
void connections_remove(struct weft *weft);

/** Around fork(): nobody opens or closes a device or changes a table of objects meanwhile. */
void connections_lock(void);
void connections_unlock(void);

/**
 * In the child, locked: to it all its devices are dead, their queues empty. Its descriptors keep
 * their numbers but lead nowhere, so that the daemon sees the end of a connection when the parent
 * closes it, however long the child lives. Makes only calls that are safe after fork().
 */
void connections_cut(void);

#endif
