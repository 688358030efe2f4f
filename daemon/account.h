/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_ACCOUNT_H
#define WEFT_ACCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "keytab.h"
#include "stat.h"

/**
 * @file
 * What each program, and each user in all his programs, has of the daemon, and may have.
 *
 * A user is a uid; root is one like the others: in a container everybody is. What is refused is
 * counted, and told in the log in one line that names the key of the conf file to change. The
 * control thread's.
 */

enum account_kind {
	ACCOUNT_CLIENTS,  /**< connections to the control socket; a program's open device is one */
	ACCOUNT_QPS,      /**< queue pairs */
	ACCOUNT_MRS,      /**< memory regions and windows */
	ACCOUNT_OBJECTS,  /**< PDs, completion channels, CQs, SRQs */
	ACCOUNT_MAPPINGS, /**< runs of a program's memory that the daemon has mapped */
	ACCOUNT_MEMORY,   /**< bytes that a program shares with the daemon: mappings and rings */
	ACCOUNT_NB,
};

/** Keys of [daemon]. One program is one client, so the first has none. */
struct account_limits {
	uint64_t of_client[ACCOUNT_NB];
	uint64_t of_user[ACCOUNT_NB];
};

/** What was refused, by kind. */
struct account_stats {
	uint64_t refused[ACCOUNT_NB];
};

extern const struct stat_desc account_stat_descs[];

struct accounts {
	struct account_limits limits;
	/**
	 * Before somebody is refused: get back something of what is on its way back. Called on the
	 * control thread; closes accounts of others. @return false if there is no more. Optional.
	 */
	bool (*reclaim)(void *arg);
	void *reclaim_arg;
	struct keytab users; /**< uid -> struct account_user */
	struct account_stats stats;
	uint64_t quiet_ns;    /**< when so many lines may be written again as at first */
	uint64_t nb_left_out; /**< lines since the last that was written */
};

/** A user, while he has clients. */
struct account_user {
	uid_t uid;
	uint64_t used[ACCOUNT_NB];
	bool told; /**< that he may have no more clients, since he had one less */
};

/** One client's. */
struct account {
	struct accounts *all;
	struct account_user *user;
	pid_t pid;
	const char *device; /**< NULL: none is open yet */
	_Atomic uint64_t used[ACCOUNT_NB];
	bool told[ACCOUNT_NB]; /**< that it may have no more, since it last got one */
	char why[200]; /**< of the last refusal: "refused a QP: ..."; whoever asks clears it */
};

void accounts_init(struct accounts *accounts, const struct account_limits *limits);
/** All accounts are closed. */
void accounts_fini(struct accounts *accounts);

/** A client comes. @return 0, EAGAIN (its user has too many), or ENOMEM. */
int account_open(struct account *account, struct accounts *accounts, pid_t pid, uid_t uid);
/** It ends, and has given back all that it had. */
void account_close(struct account *account);

/** Whether a client may have so much more, bytes or objects. @return 0 or ENOMEM. */
int account_check(struct account *account, enum account_kind kind, uint64_t amount);
/** It has so much more; account_check said that it may. */
void account_add(struct account *account, enum account_kind kind, uint64_t amount);
void account_sub(struct account *account, enum account_kind kind, uint64_t amount);

/** The most that a client may ever have of a kind. */
uint64_t account_most(const struct account *account, enum account_kind kind);

/** It rings more often than so many times per second may be: tell it. */
void account_too_fast(struct account *account, uint64_t rings_per_s);

/** Something of this kind was refused for another reason: count it, and tell why. @return ENOMEM.
 */
int account_refuse(struct account *account, enum account_kind kind, const char *why);

#endif
