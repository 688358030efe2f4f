/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_OUTBOX_H
#define WEFT_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "list.h"

/**
 * @file
 * Small messages to an application that may read them late or never: cookies on a completion
 * channel, events. Sending never blocks, allocates or searches: what finds no room waits in a mark,
 * which lies in the struct of the object that the message is about. So nothing is lost, and memory
 * for what waits is bounded by the number of objects.
 *
 * The worker's, except where said. The other end of the socket is the application's.
 */

/** What the messages are. */
enum outbox_form {
	OUTBOX_COOKIES, /**< the object's cookie, 8 bytes; types are not sent */
	OUTBOX_EVENTS,  /**< struct shm_event */
};

struct outbox {
	int fd; /**< own end of a SOCK_SEQPACKET pair; the control thread's to close */
	enum outbox_form form;
	struct list waiting; /**< marks that have something to send */
};

/** Kinds of events of one object; a QP has six. */
#define OUTBOX_TYPES_MAX 8
/** Messages that one outbox_flush sends, so that a worker's turn stays short. Source: our choice.
 */
#define OUTBOX_FLUSH_MAX 32

/** What one object has to say in one outbox. */
struct outbox_mark {
	struct list link; /**< of outbox.waiting */
	struct outbox *box;
	uint64_t cookie;
	uint8_t types[OUTBOX_TYPES_MAX]; /**< that wait, each once, in the order of sending */
	uint8_t nb_types;
};

/** Make the pair. @return 0 and the application's end, or a negative errno. */
int outbox_open(struct outbox *box, enum outbox_form form, int *peer_fd);
/** Close it. Marks that wait must not be used any more, except to be forgotten. */
void outbox_close(struct outbox *box);

void outbox_mark_init(struct outbox_mark *mark, struct outbox *box, uint64_t cookie);

/**
 * Send a message of this object, or let it wait. One that waits already is not sent twice.
 *
 * @param type  0 to 255; an enum shm_event_type.
 * @return      true if nothing waits; false: call outbox_flush when fd is writable.
 */
bool outbox_send(struct outbox_mark *mark, uint32_t type);

/** Send what waits, or a part of it. @return true if nothing waits any more. */
bool outbox_flush(struct outbox *box);

/** What happened since has made this message untrue: it is not sent if it still waits. */
void outbox_cancel(struct outbox_mark *mark, uint32_t type);

/** The object ends: what it had to say is not sent any more. */
void outbox_forget(struct outbox_mark *mark);

#endif
