/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PATH_H
#define WEFT_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "hdr.h"
#include "qp.h"

/** A frame over IPv4 without extended headers and payload, bytes: for pace and window. */
#define FRAME_OVERHEAD (ETH_LEN + IPV4_LEN + UDP_LEN + BTH_LEN + ICRC_LEN + FCS_LEN)

/** Whether an address vector names a usable source and destination. */
bool path_is_valid(const struct nic *nic, const struct shm_av *av);
/** Why it does not, and what to do about it: a sentence. */
void path_explain(const struct nic *nic, const struct shm_av *av, char *why, size_t size);

/**
 * Lay out the outer headers towards an address vector. The neighbour is asked for at once.
 *
 * @return 0; -EINVAL if the vector names no usable source or destination, -ENOMEM if the neighbour
 *         table is full. The old path is kept then.
 */
int path_set(struct qp *qp, const struct shm_av *av, uint64_t now_ns);

/** Give the neighbour back. */
void path_drop(struct qp *qp);

/** Put the next hop's MAC into the path; false, and ask for it, while it is not known. */
bool path_renew(struct qp *qp, uint64_t now_ns);

/** Whether packets can leave: the next hop's MAC is known, and in the path. Asks for it if not. */
static inline bool
path_ready(struct qp *qp, uint64_t now_ns)
{
	const struct neigh *n = qp->neigh;

	return (n->valid && n->generation == qp->neigh_generation) || path_renew(qp, now_ns);
}

/**
 * Plan a packet that batch_out_fits allowed: take a buffer, write its headers, leave the payload to
 * the batch.
 *
 * @param w      payload_len bytes of payload are gathered afterwards, to out_pkt.payload.
 * @param sport  UDP source port.
 * @return       the packet, good until the next flush; NULL if the MAC is not known, the link
 *               is down or its MTU too small: the packet is as good as lost, and counted.
 */
struct out_pkt *path_plan(struct qp *qp, const struct wire_pkt *w, uint16_t sport, uint8_t ecn);

/** UDP source port of what no load balancer chooses: answers and datagrams. */
uint16_t path_sport(const struct qp *qp);

/** ECN bits of its data. */
uint8_t path_data_ecn(const struct qp *qp);

#endif
