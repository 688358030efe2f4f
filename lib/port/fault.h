/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_FAULT_H
#define WEFT_PORT_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "param.h"
#include "pkt.h"
#include "port.h"
#include "stat.h"

/**
 * @file
 * A port around a port that loses, doubles, damages, overtakes and delays frames, each direction
 * by itself, and whose link goes down and up. One seed and the same calls give the same faults;
 * each kind of fault has dice of its own, so that switching one kind on leaves the pattern of the
 * others as it was.
 *
 * In the order in which a frame meets them: is the link down; is it lost or trimmed (all ways of
 * losing see every frame, whichever of them takes it); doubled; damaged; overtaken; delayed.
 */

enum fault_kind {
	/* of a share of the frames, by dice */
	FAULT_LOSS,      /**< gone */
	FAULT_DUPLICATE, /**< a copy follows at once, with a fate of its own */
	FAULT_CORRUPT,   /**< one bit anywhere in the frame is flipped */
	FAULT_REORDER,   /**< held back while 1 to reorder_pkts later frames pass */
	FAULT_TRIM,      /**< cut to header-only, trim.h */
	FAULT_NB_SHARES,
	/* lost for another reason */
	FAULT_BURST = FAULT_NB_SHARES, /**< in a bad time, struct fault_burst */
	FAULT_PATTERN,                 /**< its turn in the pattern */
	FAULT_QPN,                     /**< struct fault_qpn names it */
	FAULT_NO_TRIM,                 /**< FAULT_TRIM struck a frame that may not be trimmed */
	FAULT_DOWN,                    /**< the link was down */
	FAULT_NB,
};

/** Most frames of one direction that are held back or on their way. Our choice. */
#define FAULT_HELD_MAX_PKTS 2048
/** Most frames that one can be held back for. Our choice. */
#define FAULT_REORDER_MAX_PKTS 64

/**
 * Losses that come in bursts: good and bad times, which change from frame to frame. In the long run
 * p / (p + r) of all frames meet a bad time, and one lasts 1 / r frames on average. In netem's
 * words: gemodel P R 1-H 1-K. Shares in ppm. Source: E. N. Gilbert, "Capacity of a Burst-Noise
 * Channel", BSTJ 39(5), 1960; E. O. Elliott, BSTJ 42(5), 1963; tc-netem(8).
 */
struct fault_burst {
	uint32_t p_ppm;    /**< a bad time follows a frame in a good one; 0 = never, all is off */
	uint32_t r_ppm;    /**< a good time follows a frame in a bad one */
	uint32_t bad_ppm;  /**< a frame in a bad time is lost: 1-H */
	uint32_t good_ppm; /**< one in a good time is: 1-K */
};

/** Losses of one queue pair: the frames whose BTH has its number as the destination. */
struct fault_qpn {
	uint32_t qpn;       /**< 0 = off */
	uint32_t every;     /**< the n-th, 2n-th ... of them, sent again or not; 0 = none */
	uint32_t psn;       /**< those with this PSN... */
	uint32_t psn_times; /**< ...so many times: 1 = not when it is sent again; 0 = none */
};

/** What the frames of one direction suffer. All zero = nothing. */
struct fault_dir {
	uint32_t ppm[FAULT_NB_SHARES]; /**< how many of a million frames, 0 to 1000000 */
	uint32_t reorder_pkts; /**< 1 to FAULT_REORDER_MAX_PKTS if ppm[FAULT_REORDER] is not 0 */
	uint64_t reorder_ns;   /**< no frame is held back longer, whether others came or not */
	/**
	 * Frames take the time that a link of this rate needs for them and the 24 bytes between
	 * two; 0 = none. From LINK_RATE_MIN_BPS on, less counts as that.
	 */
	uint64_t rate_bps;
	uint64_t delay_ns; /**< of every frame, then */
	/**
	 * Of each frame's delay, evenly up and down, 0 to 1e9, not below 0 in all. A frame never
	 * leaves before the one in front of it: overtaking is FAULT_REORDER's.
	 */
	uint32_t jitter_ns;
	struct fault_burst burst;
	struct fault_qpn qpn;
	struct param_pattern pattern; /**< over and over; 1 = this frame is lost, 0 = not */
};

/** Times at which the link is down, both ways. All zero = never. */
struct fault_outage {
	bool now;          /**< it is, until told otherwise */
	uint64_t at_ns;    /**< from then on, counted from the start or the last change of these */
	uint64_t for_ns;   /**< for so long; 0 = never */
	uint64_t every_ns; /**< and again after so long; 0 = once; up to for_ns = it stays down */
};

struct fault_params {
	uint64_t seed;
	struct fault_dir tx, rx; /**< as the node behind the port sees it */
	struct fault_outage down;
};

/** The conf keys: fault_seed; fault_loss and so on for tx, fault_rx_loss and so on for rx. */
extern const struct param_desc fault_param_descs[];

/** Whether anything can happen to a frame. */
bool fault_any(const struct fault_params *params);

struct fault_stats {
	uint64_t tx[FAULT_NB], rx[FAULT_NB]; /**< frames hit, by enum fault_kind */
	uint64_t no_copy;                    /**< not doubled, because the pool was empty */
};

extern const struct stat_desc fault_stat_descs[];

/**
 * Make a layer that is around no port yet; from any thread. Nothing but port_fault_enclose may be
 * done with it. What tx_burst is handed counts as sent, whatever becomes of it. A layer without
 * faults costs one more call per burst.
 *
 * @param params  copied. Ranges as in fault_param_descs.
 * @param pool    for doubles; must live as long as the port.
 * @param port    on success the layer, the caller's until it closes it.
 * @return        0 or -ENOMEM.
 */
int port_fault_create(const struct fault_params *params, struct pkt_pool *pool, struct port **port);

/**
 * Put it around a port, on that one's thread. The port may be in use: the layer is the same to its
 * driver, its descriptor and statistics included.
 *
 * @param port   of port_fault_create, around nothing.
 * @param inner  the layer's own from now on, also closed by it.
 */
void port_fault_enclose(struct port *port, struct port *inner);

/** Both. @return 0 or -ENOMEM: then inner is still the caller's. */
int port_fault_wrap(struct port *inner, const struct fault_params *params, struct pkt_pool *pool,
                    struct port **port);

/** Whether it is such a layer. */
bool port_is_fault(const struct port *port);

/**
 * From now on this happens to frames. On the port's thread. A new seed throws the dice anew; what
 * else changed starts afresh, and the rest goes on.
 */
void port_fault_set(struct port *port, const struct fault_params *params);

/** Its counters. */
const struct fault_stats *port_fault_stats(const struct port *port);

#endif
