/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_FAKE_H
#define WEFT_FAKE_H

/*
 * A daemon for tests of the client half: a process that speaks abi.h and completes what is posted,
 * without moving data. SENDs complete a receive of the same QP. It can lie.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi_ctl.h"

/** What is wrong with the answer to fake_conf.lie_op. */
enum fake_lie {
	FAKE_HONEST,
	FAKE_SHORT, /**< the message ends early */
	FAKE_WRONG_OP,
	FAKE_WRONG_LEN, /**< hdr.len is not what came */
	FAKE_NEGATIVE,  /**< status below 0 */
	FAKE_NO_FDS,
	FAKE_MANY_FDS,
	FAKE_SILENT,   /**< closes the connection instead */
	FAKE_REFUSE,   /**< EACCES, the header alone */
	FAKE_BAD_RING, /**< a ring outside of the arena */
};

struct fake_conf {
	uint32_t version; /**< 0 = the right one */
	enum ctl_op lie_op;
	enum fake_lie lie;
	bool idle;       /**< does not complete anything */
	bool no_backing; /**< refuses CTL_NEW_BACKING */
};

struct fake {
	pid_t pid;
	char dir[64];
};

/** What the fake leaves at the end of each arena for the test to look at. */
struct fake_view {
	struct ctl_mr mr;     /**< the last registration */
	uint32_t nb_backings; /**< live ones */
	uint32_t nb_mrs;
	struct shm_qp_attr attr; /**< of the last CTL_MODIFY_QP */
	uint32_t mask;
	struct shm_send_wqe
		wqe; /**< the last one taken, with up to 4 entries or 64 bytes of data */
	uint8_t behind[64];
	uint32_t nb_wakes; /**< how often a bell rang */
};
#define FAKE_ARENA_BYTES (8u << 20)
#define FAKE_DEVICE "fake0"
#define FAKE_GID_INDEX 1
#define FAKE_IFINDEX 42 /**< of the interface that has it */

/** Start one and point WEFT_RUNTIME_DIR at its folder. */
void fake_start(struct fake *fake, const struct fake_conf *conf);
/** Kill it, as hard as can be. */
void fake_kill(struct fake *fake);
/** The view in an arena. */
static inline volatile struct fake_view *
fake_view(uint8_t *arena)
{
	return (volatile struct fake_view *)(arena + FAKE_ARENA_BYTES - 8192);
}

#endif
