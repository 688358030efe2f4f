/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_FAULT_LANE_H
#define WEFT_PORT_FAULT_LANE_H

#include "fault.h"
#include "link_clock.h"
#include "prng.h"

/*
 * Between the files of the fault layer: fault.c (the port), fault_lane.c (one direction: who is
 * doubled, damaged, held back, and the line in which all leave), fault_loss.c (who is lost or
 * trimmed), fault_outage.c (when the link is down) and fault_params.c (keys and counters).
 */

/* What shares are of. */
#define MILLION 1000000

/* Each kind's dice, by enum fault_kind as far as it throws any, and that of the delay. */
enum { FAULT_DIE_JITTER = FAULT_BURST + 1, FAULT_NB_DICE };

/** Overtaken by frames that must still come. */
struct fault_held {
	struct pkt *pkt;
	uint32_t nb_later; /**< so many, >= 1 */
	uint64_t due_ns;   /**< or until then */
};

/** One direction. */
struct fault_lane {
	struct fault_dir dir;
	bool is_clean; /**< dir is nothing */
	bool is_cut;   /**< the link is down */
	/* of losses */
	bool is_bad;         /**< a bad time of dir.burst */
	uint32_t pattern_at; /**< the next frame's place in the pattern */
	uint32_t nb_qpn;     /**< frames of dir.qpn since the last that was lost */
	uint32_t nb_psn;     /**< times that its PSN was lost */

	struct prng dice[FAULT_NB_DICE];
	struct fault_held held[FAULT_REORDER_MAX_PKTS];
	uint32_t nb_held;
	struct pkt_queue line; /**< a frame leaves when it and all before it are due */
	/* of dir.rate_bps */
	struct link_clock clock;
	uint32_t nb_granted; /**< room that was said last, and nobody has come for */
	bool is_pressed;     /**< whoever sends has used all room: it has missed what time passed */
	struct pkt_pool *pool;
	uint64_t *hits; /**< of struct fault_stats, by enum fault_kind */
	uint64_t *no_copy;
};

/** Whether frames may pass it by. */
static inline bool
fault_lane_is_idle(const struct fault_lane *lane)
{
	return lane->is_clean && !lane->is_cut && !lane->line.head && lane->nb_held == 0;
}

/** Whether anything can happen to a frame. */
bool fault_dir_any(const struct fault_dir *dir);

/**
 * The two ways of a link, as its params say; both all zero.
 *
 * @param stats  gets the hits; it and pool must live as long.
 */
void fault_lanes_init(struct fault_lane *tx, struct fault_lane *rx,
                      const struct fault_params *params, struct pkt_pool *pool,
                      struct fault_stats *stats);
/** Throw their dice anew. */
void fault_lanes_seed(struct fault_lane *tx, struct fault_lane *rx, uint64_t seed);
/** From now on this happens. What is the same as before goes on. */
void fault_lane_set(struct fault_lane *lane, const struct fault_dir *dir);
/** One frame comes in. */
void fault_lane_push(struct fault_lane *lane, struct pkt *p, uint64_t now_ns);
/** Those that are due come out, up to max. */
uint32_t fault_lane_pop(struct fault_lane *lane, struct pkt **pkts, uint32_t max, uint64_t now_ns);
/** So many more may come in, if limit may be inside. Doubles may exceed it, each frame by one. */
uint32_t fault_lane_room(const struct fault_lane *lane, uint32_t limit, uint64_t now_ns);
/** Whoever sends is told that there is so much room. */
void fault_lane_grant(struct fault_lane *lane, uint32_t room);
/** And so many are about to come in. */
void fault_lane_taken(struct fault_lane *lane, uint32_t nb);
/**
 * When the next is due, or may come in; NEVER_NS = neither.
 *
 * @param now_ns  of the last turn.
 */
uint64_t fault_lane_next_ns(const struct fault_lane *lane, uint64_t now_ns);
/** Free all that is inside. @return how many. */
uint32_t fault_lane_clear(struct fault_lane *lane);
/** The link goes down, and all that is inside is lost; or it comes up. */
void fault_lane_cut(struct fault_lane *lane, bool is_cut);

/** Whether a frame is lost, and counted as that, or trimmed. Each way hears of each frame. */
bool fault_lane_loses(struct fault_lane *lane, struct pkt *p);
/** Throw the dice of one kind. */
bool fault_lane_throws(struct fault_lane *lane, enum fault_kind kind, uint32_t ppm);

/** Whether the link is down at a time since the times began to count. */
bool fault_outage_is_on(const struct fault_outage *outage, uint64_t since_ns);
/** When that is different next; NEVER_NS = it stays so. */
uint64_t fault_outage_next_ns(const struct fault_outage *outage, uint64_t since_ns);

#endif
