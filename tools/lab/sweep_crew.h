/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWEEP_CREW_H
#define WEFT_LAB_SWEEP_CREW_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/**
 * @file
 * Child processes, each of which runs one cell: whatever becomes of it, a crash, an exit, a loop
 * without an end, only that cell is lost.
 *
 * A child dies with its parent, reads nothing, and what it writes to stderr is kept for its row.
 */

/**
 * What a cell does: in a child process, so it may do anything.
 *
 * @param overrides  texts "KEY=VALUE", and a NULL.
 * @param row        gets a line "NAME\tVALUE\n" for each number of the result.
 * @return           0, or anything else if there is no result; why is on stderr then.
 */
typedef int (*crew_cell)(const char *scenario, char *const *overrides, FILE *row);

#define CREW_MAX 1024
#define CREW_SAID_MAX 2048

struct crew_child {
	pid_t pid; /**< 0 = nobody */
	uint32_t cell;
	uint64_t deadline_ns; /**< of the monotonic clock; UINT64_MAX = never */
	bool is_late;         /**< was killed for it */
	int row_fd, said_fd;  /**< -1 = closed */
	char *row;            /**< results so far */
	uint32_t row_len;
	bool is_too_long;         /**< there were more */
	char said[CREW_SAID_MAX]; /**< the first of what it wrote to stderr */
	uint32_t said_len;
};

struct crew {
	crew_cell run;
	const char *scenario;
	uint64_t timeout_ns; /**< of real time for a cell; 0 = none */
	uint32_t nb_jobs;    /**< children at a time, 1 to CREW_MAX */
	struct crew_child *children;
	uint32_t nb_running;
};

/** A signal asked the program to end. */
extern volatile sig_atomic_t crew_is_told_to_stop;

/**
 * Make a crew; one in a program. SIGCHLD, SIGINT, SIGTERM and SIGHUP are its matter from now on.
 *
 * @return 0 or a negative errno.
 */
int crew_init(struct crew *crew, crew_cell run, const char *scenario, uint32_t nb_jobs,
              uint64_t timeout_ns);

/** Kill all children, free all. */
void crew_fini(struct crew *crew);

static inline bool
crew_has_room(const struct crew *crew)
{
	return crew->nb_running < crew->nb_jobs;
}

/**
 * Start a cell. There must be room.
 *
 * @param overrides  as matrix_overrides makes them; they stay the caller's.
 * @return           0 or a negative errno.
 */
int crew_start(struct crew *crew, uint32_t cell, char *const *overrides);

/**
 * Wait until a cell has ended, a signal asks to stop, or so many milliseconds are over.
 *
 * @param[out] row  its row (sweep_row.h), to be freed; NULL if none ended.
 * @return          0 or a negative errno.
 */
int crew_wait(struct crew *crew, uint32_t ms, char **row);

#endif
