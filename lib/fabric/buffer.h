/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_BUFFER_H
#define WEFT_BUFFER_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * @file
 * The shared buffer of a switch: who may take how much of it. Numbers only; frames lie elsewhere.
 *
 * The total is divided into what egress queues and lossless ingress classes have for themselves
 * (reserve), what lossless classes have for frames on their way after a pause (headroom), and the
 * rest, which is shared. Every frame is charged once:
 *
 * - Lossy: to its egress queue, which may hold its reserve and, of the shared part, up to alpha
 *   times what is free of it.
 * - Lossless: to the ingress port and class that it came by: the reserve first, then shared up to
 *   the threshold (free part) / beta_DT, then headroom. It is dropped only if the headroom is full.
 *
 * Each frame takes a packet of the process as well, and short ones run out of packets before they
 * run out of bytes. So alpha and beta_DT hold for frames too: beyond its reserve a queue has at
 * most alpha times as many as could still be held, and a lossless class pauses at that / beta_DT.
 *
 * Sources: A. Choudhury and E. Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet
 * Switches", ToN 6(2), 1998 (alpha); switch-mmu.cc of alibaba-edu's HPCC simulator (order of
 * reserve, shared, headroom; pause and resume).
 */

/** Resume not before the shared part lies so far below the threshold. Source: HPCC simulator. */
#define BUFFER_RESUME_GAP_BYTES 3072

/** And as many frames: what those bytes are in frames of 1,024. */
#define BUFFER_RESUME_GAP_PKTS 3

/** The whole. */
struct buffer {
	uint32_t total_pkts; /**< frames of any size */
	uint32_t used_pkts;
	uint64_t total_bytes;
	uint64_t shared_bytes; /**< total - reserves - headrooms */
	uint64_t used_bytes;   /**< all frames that are held */
	uint64_t shared_used_bytes;
	uint64_t used_bytes_max; /**< high-water mark of used_bytes */
};

/** An egress queue's part. */
struct buffer_egress {
	uint64_t used_bytes;    /**< of lossy frames: what it is charged for */
	uint32_t used_pkts;     /**< lossy frames */
	uint64_t reserve_bytes; /**< its own */
	uint64_t alpha_1024;    /**< of the free shared part, in 1024ths, 1 to 2^20 */
};

/** An ingress port's part, of one class. */
struct buffer_ingress {
	uint64_t held_bytes; /**< of all frames that came by it, lossy too */
	uint64_t used_bytes; /**< of lossless ones: reserve and shared */
	uint32_t used_pkts;  /**< lossless frames, wherever they are charged */
	uint64_t headroom_used_bytes;
	uint64_t reserve_bytes;
	uint64_t headroom_bytes;
	uint64_t beta_dt; /**< the threshold is the free shared part / this, >= 1 */
	bool is_paused;   /**< what buffer_ingress_asks said last */
};

static inline uint64_t
buffer_beyond(uint64_t used, uint64_t reserve)
{
	return used > reserve ? used - reserve : 0;
}

/** What is free of the shared part. */
static inline uint64_t
buffer_shared_free(const struct buffer *b)
{
	return b->shared_bytes - b->shared_used_bytes;
}

/** Frames that could still be held. */
static inline uint32_t
buffer_free_pkts(const struct buffer *b)
{
	return b->total_pkts - b->used_pkts;
}

/** What lossless frames of one ingress class may hold of the shared part now. */
static inline uint64_t
buffer_pause_threshold(const struct buffer *b, const struct buffer_ingress *in)
{
	return buffer_shared_free(b) / in->beta_dt;
}

static inline void
buffer_hold(struct buffer *b, struct buffer_ingress *in, uint32_t bytes)
{
	in->held_bytes += bytes;
	b->used_pkts++;
	b->used_bytes += bytes;
	if (b->used_bytes > b->used_bytes_max)
		b->used_bytes_max = b->used_bytes;
}

static inline void
buffer_let_go(struct buffer *b, struct buffer_ingress *in, uint32_t bytes)
{
	assert(in->held_bytes >= bytes && b->used_bytes >= bytes && b->used_pkts > 0);
	in->held_bytes -= bytes;
	b->used_pkts--;
	b->used_bytes -= bytes;
}

/** Charge a lossy frame to its egress queue, if it may have it. There is a packet left for it. */
static inline bool
buffer_take_lossy(struct buffer *b, struct buffer_ingress *in, struct buffer_egress *out,
                  uint32_t bytes)
{
	uint64_t was = buffer_beyond(out->used_bytes, out->reserve_bytes);
	uint64_t is = buffer_beyond(out->used_bytes + bytes, out->reserve_bytes);

	if (is > 0) {
		uint64_t free = buffer_shared_free(b), pkts = out->used_pkts + UINT64_C(1);

		if (is - was > free || is << 10 > out->alpha_1024 * free ||
		    pkts << 10 > out->alpha_1024 * buffer_free_pkts(b))
			return false;
		b->shared_used_bytes += is - was;
	}
	out->used_bytes += bytes;
	out->used_pkts++;
	buffer_hold(b, in, bytes);
	return true;
}

/** A lossy frame has left. */
static inline void
buffer_give_lossy(struct buffer *b, struct buffer_ingress *in, struct buffer_egress *out,
                  uint32_t bytes)
{
	uint64_t was = buffer_beyond(out->used_bytes, out->reserve_bytes);

	assert(out->used_bytes >= bytes && out->used_pkts > 0);
	out->used_bytes -= bytes;
	out->used_pkts--;
	b->shared_used_bytes -= was - buffer_beyond(out->used_bytes, out->reserve_bytes);
	buffer_let_go(b, in, bytes);
}

/**
 * Charge a lossless frame to where it came from; false only if its headroom is full. There is a
 * packet left for it.
 */
bool buffer_take_lossless(struct buffer *b, struct buffer_ingress *in, uint32_t bytes);

/** A lossless frame has left: headroom is free first, then the shared part, then the reserve. */
void buffer_give_lossless(struct buffer *b, struct buffer_ingress *in, uint32_t bytes);

/** Whether the sender of a lossless class has to stop, by what is held of it now; in->is_paused. */
bool buffer_ingress_asks(const struct buffer *b, struct buffer_ingress *in);

#endif
