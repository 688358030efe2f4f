/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_VIEW_H
#define WEFT_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "qp.h"

/**
 * @file
 * One QP as an operator sees it: a copy of what matters, so that nobody else needs to know how
 * struct qp lies in memory.
 */

/** What qp_explain writes at most. */
#define QP_VIEW_WHY_MAX WEFT_REASON_LEN

/** All as of one moment. PSNs as on the wire, 24 bits. */
struct qp_view {
	uint32_t qpn;
	uint8_t type;  /**< enum shm_qp_type */
	uint8_t state; /**< enum shm_qp_state */
	void *owner;   /**< as in qp_init; whose it is */

	/* connection; of UD QPs only own_ip, mtu and the engines can be there */
	bool has_path;
	struct ip_addr own_ip, peer_ip;
	uint32_t dest_qpn;
	uint32_t mtu;        /**< bytes; 0 = not known before RTR */
	const char *framing; /**< "rocev2", "weft" or "pending"; NULL = RC, not known before RTR */
	const char *rel, *cc, *lb; /**< those of the NIC before RTR */

	/* as requester; 0 before RTS */
	uint32_t psn_una; /**< oldest not acknowledged */
	uint32_t psn_nxt; /**< next to be sent for the first time */
	uint32_t inflight_pkts;
	uint64_t inflight_bytes; /**< packets that are in flight, headers included */
	uint32_t nb_sends;       /**< work requests posted and not complete */
	uint32_t nb_rd;          /**< READs and atomics that wait for their response */
	uint64_t rate_bps;
	uint64_t window_bytes; /**< UINT64_MAX = none */

	/* as responder */
	uint32_t psn_expected;
	uint32_t nb_recvs; /**< receives posted, SRQ not counted */

	/* since its last RESET */
	uint64_t nb_sent; /**< packets, those sent again included */
	uint64_t nb_retransmits;
	uint64_t nb_timeouts;
	uint64_t nb_rnr; /**< RNR NAKs that came back */

	enum qp_reason reason;     /**< why it failed */
	char why[QP_VIEW_WHY_MAX]; /**< the same as a sentence; "" = it has not */
};

/** Between two bursts, on the NIC's thread. */
void qp_view(const struct qp *qp, struct qp_view *view);

/**
 * The QPNs of a NIC in no particular order, up to max. On the NIC's thread.
 *
 * @return how many.
 */
uint32_t qp_list(const struct nic *nic, uint32_t *qpns, uint32_t max);

/** The sends that were posted to a QP until some moment. */
struct qp_work {
	uint32_t qpn;
	uint32_t end; /**< index of the first that was not, free running */
};

/** What was posted until now. @return false if there is no such QP. On the NIC's thread. */
bool qp_work_now(const struct nic *nic, uint32_t qpn, struct qp_work *work);

/**
 * How many of them are not complete; 0 too if the QP is gone, or in a state in which nothing is
 * sent. On the NIC's thread.
 */
uint32_t qp_work_left(const struct nic *nic, const struct qp_work *work);

/** "RTS"; "?" for a number that is no state. */
const char *qp_state_text(uint8_t state);
/** "RC" */
const char *qp_type_text(uint8_t type);

#endif
