/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_OUTBOX_H
#define WEFT_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

/**
 * @file
 * Small messages to an application that may read them late or never: cookies on a completion
 * channel, events. Sending never blocks. What finds no room is remembered, each message once, and
 * sent later; so at most as many wait as there are different ones.
 *
 * The worker's, except where said. The other end of the socket is the application's.
 */

/** Of a message: a cookie has 8 bytes, a struct shm_event 16. */
#define OUTBOX_MSG_MAX 16
/** Messages that can wait. Objects of one application times kinds of events are fewer. */
#define OUTBOX_WAIT_MAX 8192u

struct outbox {
	int fd;            /**< own end of a SOCK_SEQPACKET pair; the control thread's to close */
	uint32_t msg_size; /**< bytes */
	uint32_t nb_waiting;
	uint32_t room; /**< messages that fit at waiting */
	uint8_t (*waiting)[OUTBOX_MSG_MAX];
	uint64_t nb_lost; /**< without memory to remember */
};

/** Make the pair. @return 0 and the application's end, or a negative errno. */
int outbox_open(struct outbox *box, uint32_t msg_size, int *peer_fd);
/** Close it; what waits is forgotten. */
void outbox_close(struct outbox *box);

/** @return true if the message was sent, false if it waits: call outbox_flush when fd is writable.
 */
bool outbox_send(struct outbox *box, const void *msg);

/** Send what waits. @return true if nothing waits any more. */
bool outbox_flush(struct outbox *box);

#endif
