/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TESTS_JUDGE_H
#define WEFT_TESTS_JUDGE_H

#include "crowd.h"

/*
 * Looks at a NIC from outside, before and after frames that it receives: each frame is either
 * dropped, counted by exactly one reason and without any effect, or leaves a trace; and what it
 * wrote to the attacked memory is its payload, where it may be.
 */

/** What one QP shows of a packet that it took. */
struct judge_qp {
	uint64_t rx_cum, tx_una, hold_ns, rx_length;
	uint64_t rx_va; /**< WRITE: where the next packet's payload goes */
	uint32_t fifo_tail, msn, state, nb_cqes, nb_rnr;
	bool have_recv, cnp_due, comm_est;
	/* of the weft framing */
	uint64_t emsn, essn, bssn, fault_msn, hold_until_ns;
	uint32_t nb_msgs, nb_refused, nb_unacked;
	bool ack_due, has_rds;
};

struct judge {
	const struct crowd *crowd;
	int side;
	uint8_t block[CROWD_BUF + 2 * CROWD_GUARD];
	struct nic_stats stats;
	struct neigh_stats neigh;
	struct judge_qp qp[CROWD_TYPES];
};

/** Before the frames. */
void judge_begin(struct judge *j, const struct crowd *crowd, int side);
/** After exactly this frame. */
void judge_one(const struct judge *j, const uint8_t *frame, uint32_t len);
/** After n frames. */
void judge_many(const struct judge *j, uint32_t n);

#endif
