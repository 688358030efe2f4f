/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CTL_H
#define WEFT_CTL_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

/*
 * weftctl: weftctl.c (command line), ask.c (which daemon, what it says), capture.c, show.c
 * (tables for people). What is said on the socket: daemon/console.h.
 */

/** Exit codes. */
enum { EXIT_REFUSED = 1, EXIT_USAGE = 2, EXIT_NO_DAEMON = 3 };

/** A connection to a daemon's socket for operators. */
struct ask {
	int fd;
	char path[256];
	char *buf; /**< what came, and was not taken as a line yet */
	size_t len, size;
	int came_fd; /**< a descriptor that came with it, -1 = none; who takes it sets -1 */
};

/**
 * Connect.
 *
 * @param which  path of a socket, or name of a daemon; NULL = the only one that runs.
 * @return       0, or EXIT_NO_DAEMON after a message.
 */
int ask_open(struct ask *ask, const char *which);
void ask_close(struct ask *ask);

/** From now on wait as long as it takes. */
void ask_patiently(struct ask *ask);

/** Send a request. @return 0, or EXIT_NO_DAEMON after a message. */
int ask_send(struct ask *ask, const json_t *request);

/**
 * Read one line of the answer.
 *
 * @param[out] line  a new reference.
 * @param[out] more  whether another follows.
 * @return           0; EXIT_REFUSED or EXIT_NO_DAEMON after a message.
 */
int ask_next(struct ask *ask, json_t **line, bool *more);

/** Nothing more will be sent: an answer that could go on for ever comes to its end. */
void ask_enough(struct ask *ask);

/** Carry out a capture. @param file  "-" = standard output. @return an exit code. */
int capture_to(const char *file, const char *socket, bool json, const json_t *request);

/** How a line of an answer is shown to people; is_first: no line was shown before. */
typedef void show_fn(const json_t *line, bool is_first, bool all);
show_fn show_version, show_nodes, show_counters, show_qps, show_qp, show_clients, show_events,
	show_set, show_drain, show_resume;

#endif
