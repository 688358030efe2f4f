/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_BOUNDS_H
#define WEFT_BOUNDS_H

#include <stdint.h>

/**
 * @file
 * Bounds that the numbers of a switch's conf are held against, from its size and its links.
 */

/**
 * The weight of a control queue against one data queue with which no header is lost: in the worst
 * incast, all ports but one send to that one.
 *
 * Enough, and not the least: (N-2)/(r-(N-1)) would do. Shares are of bytes; sizes are what the
 * scheduler counts, which is a frame with the overhead of the link.
 *
 * @param nb_ports      N, 1 or more.
 * @param data_bytes    of a packet before the cut.
 * @param header_bytes  after it, more than 0; r is the ratio of both.
 * @return              (N-1)/(r-(N-1)); INFINITY if r <= N-1: no weight is enough.
 * Source: Li et al., "Revisiting RDMA Reliability for Lossy Fabrics", SIGCOMM 2025.
 */
double trim_weight(uint32_t nb_ports, uint32_t data_bytes, uint32_t header_bytes);

/**
 * What arrives by a link after it was told to pause: two times the link's delay of frames, one that
 * the pause had to wait for, and one that the peer had begun.
 *
 * @param rate_bps  0 to 1.6e12; 0 = the link holds nothing.
 * @param delay_ns  one way, 0 to 1e9.
 * Source: IEEE 802.1Q, annex on buffer requirements of PFC, without the time of response.
 */
uint64_t headroom_need_bytes(uint64_t rate_bps, uint64_t delay_ns, uint32_t frame_bytes);

/**
 * A queue that begins to mark above this may make its senders pause before it has marked: if all
 * queues of the lossless classes are as long, and all of one port's came in by one other.
 *
 * @param shared_bytes  of the buffer: struct buffer.
 * @param nb_ports, nb_lossless, beta_dt  1 or more each.
 * Source: Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015,
 * section 4; its beta is eight times the inverse of beta_dt.
 */
uint64_t mark_before_pause_bytes(uint64_t shared_bytes, uint32_t nb_ports, uint32_t nb_lossless,
                                 uint32_t beta_dt);

/**
 * No queue of a lossless class is longer without a pause: all other ports send to it alone, and
 * each holds what it may.
 *
 * @param reserve_bytes  of the class at each port.
 * Source: as before; threshold of pauses: buffer.h.
 */
uint64_t pause_reach_bytes(uint64_t shared_bytes, uint64_t reserve_bytes, uint32_t nb_ports,
                           uint32_t beta_dt);

struct switch_conf;

/** What may be wrong with the marks of a lossless class. */
enum mark_doubt {
	MARKS_FIRST,   /**< nothing */
	MARKS_LATE,    /**< senders may be paused before the queue has marked */
	MARKS_IN_PART, /**< all senders are paused before it has marked all */
};

/**
 * Whether a queue marks before its senders are paused; MARKS_FIRST for one that never marks or
 * whose class is lossy.
 *
 * @param conf             switch_conf_check found nothing wrong with it.
 * @param[out] from_bytes  length from which on they may be, or all are, paused; 0 if no doubt.
 */
enum mark_doubt mark_doubt(const struct switch_conf *conf, uint32_t queue, uint64_t *from_bytes);

#endif
