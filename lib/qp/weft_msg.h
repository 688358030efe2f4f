/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_WEFT_MSG_H
#define WEFT_WEFT_MSG_H

#include <stdbool.h>
#include <stdint.h>

#include "qp.h"

/**
 * @file
 * Messages of the peer's stream that are open, and which of them a packet is of.
 */

/** A stream packet on its way through the checks. */
struct weft_arrival {
	const struct wire_pkt *w;
	uint64_t psn, msn;
	uint32_t idx;          /**< of the packet in its message */
	bool has_told_first;   /**< where its message begins, which was not known */
	struct weft_rx_msg *m; /**< its slot, or fresh */
	struct weft_rx_msg fresh;
};

/** Whether a packet (w, psn and msn are set) can be what it says; a->m is its message then. */
bool weft_msg_find(struct qp *qp, struct weft_arrival *a);

/** The packet is dropped: what it told of its message is not to be believed. */
void weft_msg_forget(const struct weft_arrival *a);

/** The packet was taken: from now on its message has a slot. */
void weft_msg_open(struct weft_in *in, struct weft_arrival *a);

/** The slot of an open message; NULL if nothing of it is here. */
static inline struct weft_rx_msg *
weft_msg_slot_of(const struct weft_in *in, uint64_t msn)
{
	uint32_t slot = weft_msg_slot(in, msn);

	if (!in->rx || !(in->rx->msgs_used[slot / 64] >> slot % 64 & 1))
		return NULL;
	return in->rx->msgs[slot].rel.msn == msn ? &in->rx->msgs[slot] : NULL;
}

/** Bring nearer what a packet of this message (24 bits) will touch of a QP that is near. */
static inline void
weft_msg_prefetch(const struct weft_in *in, uint32_t msn)
{
	const struct weft_rx *rx = in->rx;

	if (!rx)
		return;
	__builtin_prefetch(rx->msgs_used);
	__builtin_prefetch(&rx->msgs[weft_msg_slot(in, msn)]);
}

/** A message is done: its slot is free. */
void weft_msg_close(struct weft_in *in, uint64_t msn);

#endif
