/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PERF_TALK_H
#define WEFT_PERF_TALK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * @file
 * How the two ends agree: JSON objects, one a line, over the kernel's TCP. What comes is not
 * trusted: a line has a limit; its values are for terms.h to check.
 */

struct talk;

/**
 * Wait for a client on all addresses of this host.
 *
 * @param port  TCP.
 * @return      NULL after a message on stderr.
 */
struct talk *talk_accept(uint16_t port);
/** Connect to a server; tries for some seconds, as it may not be up yet. NULL after a message. */
struct talk *talk_connect(const char *host, uint16_t port);
void talk_close(struct talk *talk);

/** The own address of the connection, an IPv4 one mapped: 16 bytes. */
void talk_own_ip(const struct talk *talk, uint8_t ip[16]);
/** The peer's, as text. */
const char *talk_peer(const struct talk *talk);

/** Send an object, which is freed. @return false after a message on stderr. */
bool talk_say(struct talk *talk, json_t *object);
/** Say what went wrong here; the peer's talk_hear fails with it. */
void talk_fail(struct talk *talk, const char *why);
/**
 * Receive an object.
 *
 * @return the caller's to free; NULL after a message on stderr: the peer is gone, talks nonsense or
 * tells of an error.
 */
json_t *talk_hear(struct talk *talk);

#endif
