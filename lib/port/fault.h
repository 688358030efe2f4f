/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_FAULT_H
#define WEFT_PORT_FAULT_H

#include <stdint.h>

#include "param.h"
#include "pkt.h"
#include "port.h"
#include "stat.h"

/**
 * @file
 * A port around a port that loses, doubles, damages, overtakes and delays frames, each direction
 * by itself. One seed and the same calls give the same faults; each kind of fault has dice of its
 * own, so that switching one kind on leaves the pattern of the others as it was.
 */

enum fault_kind {
	FAULT_LOSS,      /**< gone */
	FAULT_DUPLICATE, /**< a copy follows at once, with a fate of its own */
	FAULT_CORRUPT,   /**< one bit anywhere in the frame is flipped */
	FAULT_REORDER,   /**< held back while 1 to reorder_pkts later frames pass */
	FAULT_NB,
};

/** Most frames of one direction that are held back or on their way. Our choice. */
#define FAULT_HELD_MAX_PKTS 2048
/** Most frames that one can be held back for. Our choice. */
#define FAULT_REORDER_MAX_PKTS 64

/** What the frames of one direction suffer. All zero = nothing. */
struct fault_dir {
	uint32_t ppm[FAULT_NB]; /**< how many of a million frames, 0 to 1000000, by enum fault_kind
	                         */
	uint32_t reorder_pkts;  /**< 1 to FAULT_REORDER_MAX_PKTS if ppm[FAULT_REORDER] is not 0 */
	uint64_t reorder_ns;    /**< no frame is held back longer, whether others came or not */
	uint64_t delay_ns;      /**< of every frame */
};

struct fault_params {
	uint64_t seed;
	struct fault_dir tx, rx; /**< as the node behind the port sees it */
};

/** The conf keys: fault_seed; fault_loss and so on for tx, fault_rx_loss and so on for rx. */
extern const struct param_desc fault_param_descs[];

struct fault_stats {
	uint64_t tx[FAULT_NB], rx[FAULT_NB]; /**< frames hit, by enum fault_kind */
	uint64_t no_copy;                    /**< not doubled, because the pool was empty */
};

extern const struct stat_desc fault_stat_descs[];

/**
 * Wrap a port. What tx_burst was handed counts as sent, whatever becomes of it.
 *
 * @param inner   the port's own from now on, also closed by it; still the caller's on failure.
 * @param params  copied. Ranges as in fault_param_descs.
 * @param pool    for doubles; must live as long as the port.
 * @param port    on success the port around it, the caller's until it closes it.
 * @return        0 or -ENOMEM.
 */
int port_fault_wrap(struct port *inner, const struct fault_params *params, struct pkt_pool *pool,
                    struct port **port);

/** From now on this happens to frames. On the port's thread. A new seed throws the dice anew. */
void port_fault_set(struct port *port, const struct fault_params *params);

/** Counters of a port that port_fault_wrap made. */
const struct fault_stats *port_fault_stats(const struct port *port);

#endif
