/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CAPTURE_H
#define WEFT_CAPTURE_H

#include <stdint.h>

#include "worker.h"

/**
 * @file
 * Copies of a node's frames as a capture file, written to a socket by a thread of its own. The
 * worker puts copies into a ring of bytes and never waits: what finds no room there is counted and
 * not in the file.
 */

struct capture;

struct capture_conf {
	struct worker *worker;
	const struct node *node; /**< of the worker */
	int port;                /**< only this one of its ports; -1 = all */
	uint32_t snaplen;        /**< bytes of each frame at most; 0 = all */
	uint64_t max_packets;    /**< ends after so many; 0 = no limit */
	uint64_t max_ns;         /**< ends after so long; 0 = no limit */
};

struct capture_stats {
	uint64_t nb_packets; /**< in the file */
	uint64_t nb_dropped; /**< seen, and not in the file */
};

/**
 * Begin.
 *
 * @param[out] reader_fd  where the file comes out, the caller's; its reader sees an end of file
 * when the capture has ended.
 * @return                0; -EBUSY if the node is being captured; or another negative errno.
 */
int capture_start(struct capture **capture, const struct capture_conf *conf, int *reader_fd);

/** Readable when the capture has ended by itself or after capture_stop. */
int capture_done_fd(const struct capture *capture);

/** Take no more frames; what was taken is still written. */
void capture_stop(struct capture *capture);

/** Free it; waits for its thread, which writes no more than it is at. */
void capture_free(struct capture *capture, struct capture_stats *stats);

#endif
