/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CONTROL_H
#define WEFT_CONTROL_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi_ctl.h"
#include "account.h"
#include "claim.h"
#include "closer.h"
#include "drain.h"
#include "keytab.h"
#include "list.h"
#include "nic.h"
#include "worker.h"

/**
 * @file
 * The control thread: one socket on which applications open a device and make their objects. It
 * does what is slow (memory, files) and asks the worker for the rest.
 */

/** Applications at a time; each open device is one. Source: our choice. */
#define CONTROL_MAX_CLIENTS 1024
/** QPs of one device: as many as large RNICs have. Source: our choice, far below 2^24 QPNs. */
#define CONTROL_MAX_QP_TOTAL 131072
static_assert(CONTROL_MAX_QP_TOTAL <= NIC_MAX_NEIGHS, "no application takes others' neighbours");
/** Mappings of applications' memory in all; the kernel allows 65,530 by default. */
#define CONTROL_MAX_BACKINGS 32768

/** A descriptor that the control thread waits for, in the struct of what it belongs to. */
struct watch {
	int fd;
	/** The thread may free what the watch belongs to. */
	void (*ready)(struct watch *watch, uint32_t events);
};

/** What CTL_OPEN opens: a NIC and who drives it. */
struct device {
	const char *name;
	uint64_t guid;
	struct nic *nic;
	struct worker *worker;
	struct list clients; /**< that have it open; the worker's */
	uint32_t nb_qps;
	struct claim claim;

	/* drains.h */
	_Atomic bool is_drained; /**< takes no programs and makes no QPs; reports read it */
	uint64_t drain_since_ns; /**< draining since then; 0 = not just now */
	struct drain drain;
	uint64_t drain_ms;      /**< how long the last one took */
	uint32_t cut_off_qps;   /**< that it waited for in vain */
	uint64_t cut_off;       /**< by the last drain: sends that were posted before it... */
	uint64_t cut_off_newer; /**< ...and since */
};

struct control {
	struct device *devices; /**< the caller's */
	uint32_t nb_devices;
	struct accounts accounts;
	uint64_t client_doorbells; /**< as in control_conf */
	bool userfaultfd;          /**< as in control_conf */

	int epoll_fd;
	struct watch signals;
	void (*tell_counters)(void *arg); /**< as in control_conf */
	void *tell_arg;
	struct watch listener;
	bool listening; /**< accepting: false while there are too many */
	int short_of;   /**< why the last connection could not be accepted, an errno; 0 = it was */
	bool stop;
	bool ending;       /**< when all is drained */
	uint64_t drain_ns; /**< as in control_conf */
	struct watch drain_clock;
	void (*drained)(void *arg); /**< as in control_conf */
	void *drained_arg;
	struct closer closer; /**< of descriptors that applications sent */
	struct claim claim;
	char dir[128]; /**< of sockets */
	char socket_path[256];

	struct list clients; /**< also those that have ended, until they have given all back */
	struct list ended;   /**< these */
	/** This thread changes the list and what a client has open only under it; others may read.
	 */
	pthread_mutex_t clients_lock;
	uint64_t nb_connections; /**< ever made */
	uint32_t nb_clients;
	uint32_t nb_backings;
	uint32_t next_handle;
	struct keytab pds; /**< of all clients: a PD's number is unique in the daemon */
};

struct control_conf {
	const char *name;             /**< of the daemon */
	gid_t gid;                    /**< who may connect beside the own user; -1 = everybody */
	struct account_limits limits; /**< memory 0 = half of the machine's */
	uint64_t client_doorbells;    /**< of one application per second; 0 = any */
	bool userfaultfd;             /**< lend /dev/userfaultfd to applications */
	struct device *devices;
	uint32_t nb_devices;
	uint64_t drain_ns;          /**< longest that a drain takes */
	void (*drained)(void *arg); /**< nothing is being drained any more */
	void *drained_arg;
	void (*tell_counters)(void *arg); /**< what SIGUSR1 asks for, on the control thread */
	void *tell_arg;
};

/**
 * Take the names, bind the socket. Nobody is served before control_run.
 *
 * SIGINT, SIGTERM, SIGHUP and SIGUSR1 must be blocked in all threads.
 *
 * @return 0 or a negative errno; what went wrong is logged.
 */
int control_open(struct control *control, const struct control_conf *conf);

/**
 * Serve until SIGINT, SIGTERM or SIGHUP and until all NICs are drained then, or until a second such
 * signal. The workers run.
 */
void control_run(struct control *control);

/** Destroy what applications have left, remove the socket. The workers still run. */
void control_close(struct control *control);

/** For drains.c: nothing is being drained any more. */
void control_drained(struct control *control);

/** For session.c: an application has ended, another may come. */
void control_client_gone(struct control *control);

/** @return 0 or a negative errno. events as of epoll. */
int control_watch(struct control *control, struct watch *watch, uint32_t events);
/** From any thread: wait once more for these events, of a watch with EPOLLONESHOT. */
void control_rearm(struct control *control, struct watch *watch, uint32_t events);
void control_unwatch(struct control *control, struct watch *watch);

#endif
