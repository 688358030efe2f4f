/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_CTL_H
#define WEFT_TEST_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi_ctl.h"

/*
 * For tests of the control socket: a weftd of their own, and requests byte by byte, as no library
 * of ours would send them. Any failure of the harness itself ends the test.
 */

/** Start $WEFTD (or $WEFT_TEST_DAEMON) $WEFT_CONF in a folder of its own and wait until it answers.
 */
void daemon_begin(void);
/** The same with more lines at the file's end, and a folder that every user may enter. */
void daemon_begin_with(const char *lines);
/** SIGTERM; true if it ended with 0 and left nothing behind. */
bool daemon_end(void);
/** SIGKILL; what it left behind is removed. */
void daemon_kill(void);
bool daemon_alive(void);
/** SIGSTOP, or SIGCONT. */
void daemon_pause(bool on);
/** Its memory, opened to read and write. */
int daemon_memory(void);
/** Open descriptors and mappings of the daemon, to see that nothing leaks. */
uint32_t daemon_fds(void);
/** Let it open no more descriptors, or as many as at first. */
void daemon_may_open(bool on);
uint32_t daemon_maps(void);
/** Wait until descriptors and mappings are as few as that; false after 5 s. */
bool daemon_settles(uint32_t nb_fds, uint32_t nb_maps);

/** TAP: one line per verdict; a false one is a failure. */
__attribute__((format(printf, 2, 3))) void verdict(bool ok, const char *fmt, ...);
/** The plan; the exit code of main. */
int verdicts_end(void);

/** A connection to the daemon. */
int ctl_open_socket(void);

/** What comes back. */
struct reply {
	ssize_t len; /**< 0 = the daemon hung up */
	int status;  /**< of the header */
	int fds[8];
	uint32_t nb_fds;
};

/** Send any bytes with any descriptors; false if the daemon has hung up. */
bool ctl_send(int fd, const void *msg, size_t len, const int *fds, uint32_t nb_fds);
/** Wait for an answer, 5 s at most; fds are the caller's, see close_fds. */
struct reply ctl_receive(int fd, void *msg, size_t size);
void close_fds(struct reply *reply);

/**
 * A well-formed request: fills the header, sends msg (of request bytes) and fd (-1 = none), writes
 * the answer to msg. @return the status, 0 to 4095; -1 if the daemon hung up.
 */
int ctl_request(int sock, enum ctl_op op, union ctl_msg *msg, size_t request, int fd,
                struct reply *reply);

/** An application that has opened weft0. */
struct app {
	int sock;
	int arena_fd, bell_fd, events_fd;
	uint8_t *arena;
	struct shm_bell *bell;
};
/** with_memory: passes its /proc/self/mem. */
void app_open(struct app *app, bool with_memory);
void app_close(struct app *app);

/** Shorthands that must succeed: a handle, key or QPN. */
uint32_t app_pd(struct app *app);
uint32_t app_cq(struct app *app, uint32_t nb_cqe, uint32_t channel);
struct ctl_qp app_qp(struct app *app, uint32_t pd, uint32_t cq);
/** fd: the sealed memfd, -1 to close it. */
uint32_t app_backing(struct app *app, uint64_t len, int *fd);

/** Status of a request that has but a handle. */
int app_handle(struct app *app, enum ctl_op op, uint32_t handle);

#endif
