/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SCHED_H
#define WEFT_SCHED_H

#include "list.h"

#include <stdbool.h>
#include <stdint.h>

/**
 * @file
 * Which of thousands of senders may put a packet on the port now: pace and turns.
 *
 * An entity (a QP, or whatever embeds one) that has work is in its group's active list if its pace
 * allows a packet now, else in a calendar until it does: a ring of slots of time, each of which is
 * emptied as a whole when it is due. What lies further ahead than one round is filed again when its
 * slot comes up. Groups (clients of a NIC) with active entities are served in turns by deficit
 * round robin, and so are the entities of a group within its turns: a group's share of the port
 * does not grow with the number of its entities. Each entity is of one of eight classes, and a
 * class can be closed for a while: its entities keep their places, the others go on, and nothing
 * has to be done for each entity or again and again. The scheduler knows no window and no work; its
 * user says so:
 *
 *     while (room on the port && (e = sched_next(&s, now_ns))) {
 *             do {
 *                     send one packet of e; sched_sent(e, bytes, rate_bps, now_ns);
 *             } while (e has work && sched_may_send(e, now_ns));
 *             sched_done(&s, e, e has work, now_ns);
 *     }
 *
 * Pace: the next packet's time is the last one's ideal time plus bytes / rate, so that lateness of
 * the driver's loop or of a turn does not add up. What was missed while waiting with work is caught
 * up in a burst of at most SCHED_BURST_BYTES or SCHED_BURST_NS, whichever is longer; beyond that it
 * is gone. Time without work earns nothing.
 *
 * Sources: M. Shreedhar and G. Varghese, "Efficient Fair Queuing Using Deficit Round Robin",
 * SIGCOMM 1995; A. Saeed et al., "Carousel", SIGCOMM 2017 (one calendar paces all). Numbers: our
 * choice.
 */

/** What an entity may send in one turn; the packet that uses it up is sent whole. */
#define SCHED_QUANTUM_BYTES 16384
/**
 * What a packet costs its group beside its bytes. Groups share a worker's time, not only the port:
 * one QP's WRITEs of 64 KB took 520 ns per 4 KB packet, 64 B ones 380 ns each and those of 1,000
 * QPs 560 (tests/bench/share.sh, both ends and a switch), while a byte takes 0.06. Without it, who
 * sends small packets would have most of the time.
 */
#define SCHED_PKT_COST_BYTES 8192
/**
 * What a turn costs its group if it is another entity's than the one before, whose state must be
 * fetched: 4 KB packets of 1,000 QPs took 0.13 to 0.27 us longer than those of one, so a turn of
 * four 0.5 to 1 us.
 */
#define SCHED_TURN_COST_BYTES 16384
/** What a group's packets may cost in one turn: four of 4 KB, or six small ones. */
#define SCHED_GROUP_QUANTUM_BYTES 49152
/** Most that is caught up after a stall: bytes, or time if that is more bytes. */
#define SCHED_BURST_BYTES 65536
#define SCHED_BURST_NS 20000
/** Longest packet that sched_sent accounts. */
#define SCHED_PKT_BYTES_MAX 65536
/** Slower rates are served as this one. */
#define SCHED_RATE_MIN_BPS 1000
/** A rate that does not limit. */
#define SCHED_UNPACED 0

/** Slots of the calendar: 4096 of 256 ns make a round of 1.05 ms. */
#define SCHED_SLOTS 4096

/** Classes of entities. */
#define SCHED_CLASSES 8

enum sched_state {
	SCHED_ENT_IDLE,    /**< no work */
	SCHED_ENT_QUEUED,  /**< waits for its time in the calendar, then for its turn */
	SCHED_ENT_RUNNING, /**< between sched_next and sched_done */
};

/** Senders that share turns, embedded in their owner's struct. Set up by sched_group_init. */
struct sched_group {
	/** In sched.groups, or sched.shut, while an entity is active or has its turn. */
	struct list link;
	struct list active[SCHED_CLASSES]; /**< entities whose pace allows a packet, by class */
	const struct sched_ent *last;      /**< that had a turn; only to be compared */
	int32_t deficit;     /**< cost left of this turn, in bytes; a debt if negative */
	uint8_t active_mask; /**< bit per class: has active entities */
	bool is_shut;        /**< it is in sched.shut */
};

/** One sender, embedded in its owner's struct. Set up by sched_ent_init. */
struct sched_ent {
	struct list link;          /**< in its group's active list or in a slot of the calendar */
	struct sched_group *group; /**< whose turns it shares */
	uint64_t next_ns;          /**< ideal time of the next packet */
	uint64_t rate_bps;         /**< that the next two were computed for */
	uint64_t ns_per_byte;      /**< 8 / rate, in 2^-24 ns */
	uint64_t burst_ns;         /**< how far next_ns may lie back */
	uint32_t next_frac;        /**< of next_ns, in 2^-24 ns */
	int32_t deficit;           /**< bytes left of this turn; a debt if negative */
	uint8_t state;             /**< enum sched_state */
	bool woken;                /**< sched_wake came while RUNNING */
	uint8_t cls;               /**< 0 to SCHED_CLASSES - 1; changed by sched_set_class */
	uint32_t order;            /**< of becoming active, free running */
};

/** One port's scheduler. Not to be moved once initialised. */
struct sched {
	struct list groups;    /**< in the order of their turns; the first has its own */
	struct list shut;      /**< groups whose active entities are all of closed classes */
	uint8_t closed;        /**< bit per class: may not send */
	uint32_t nb_activated; /**< free running */
	uint64_t now_tick;     /**< slots up to here were emptied */
	uint64_t first_tick;   /**< no used slot lies before; UINT64_MAX = none is used */
	uint64_t used[SCHED_SLOTS / 64]; /**< bit per slot: has entities */
	struct list slots[SCHED_SLOTS];
};

void sched_init(struct sched *s, uint64_t now_ns);

/** Make a group without entities. They must be removed before its memory is freed. */
void sched_group_init(struct sched_group *g);

/** Make an idle, unpaced entity of class 0. It must be removed before its memory is freed. */
void sched_ent_init(struct sched_ent *e, struct sched_group *group);

/** Close these classes, and no others, from now on; bit per class. A turn that runs goes on. */
void sched_close(struct sched *s, uint8_t closed);

/** Move an entity to a class, wherever it is; behind those of this class if it is active. */
void sched_set_class(struct sched *s, struct sched_ent *e, uint8_t cls, uint64_t now_ns);

/** Whether an entity may not send because its class is closed. */
static inline bool
sched_is_closed(const struct sched *s, const struct sched_ent *e)
{
	return s->closed >> e->cls & 1;
}

/**
 * An entity has work. Nothing happens if it is queued already.
 *
 * Within the entity's own turn it is remembered: sched_done then queues it, whatever `more` says.
 */
void sched_wake(struct sched *s, struct sched_ent *e, uint64_t now_ns);

/**
 * Give the turn to the next entity that may send.
 *
 * @param now_ns  not before that of an earlier call.
 * @return        an entity for which sched_may_send is true; its turn ends with sched_done or
 *                sched_remove. NULL if none may send now: ask again at sched_next_ns.
 */
struct sched_ent *sched_next(struct sched *s, uint64_t now_ns);

/** The entity of a group that became active first, of these classes, each of which has one; NULL of
 * no class. */
static inline struct sched_ent *
sched_first(const struct sched_group *g, uint32_t classes)
{
	struct sched_ent *first = NULL;

	for (; classes; classes &= classes - 1) {
		const struct list *active = &g->active[__builtin_ctz(classes)];
		struct sched_ent *e = container_of(active->next, struct sched_ent, link);

		if (!first || (int32_t)(e->order - first->order) < 0)
			first = e;
	}
	return first;
}

/** Who probably comes next, to be looked at and no more; NULL if that is not known. */
static inline struct sched_ent *
sched_peek(const struct sched *s)
{
	const struct list *first = s->groups.next, *next = first->next;
	const struct sched_group *g;

	if (first == &s->groups)
		return NULL;
	/* One entity's turn uses up its group's, more often than not. */
	g = container_of(next != &s->groups ? next : first, struct sched_group, link);
	return sched_first(g, g->active_mask & ~(uint32_t)s->closed);
}

/**
 * Account one packet that was sent.
 *
 * @param bytes     the whole frame, 0 to SCHED_PKT_BYTES_MAX.
 * @param rate_bps  present rate of the entity, or SCHED_UNPACED. A change costs a division.
 */
void sched_sent(struct sched_ent *e, uint32_t bytes, uint64_t rate_bps, uint64_t now_ns);

/** Whether one more packet fits the pace and this turn. */
static inline bool
sched_may_send(const struct sched_ent *e, uint64_t now_ns)
{
	return e->deficit > 0 && e->next_ns <= now_ns;
}

/**
 * End of a turn.
 *
 * @param more  it has work that only pace or turns hold back (not a closed window: what opens that
 *              calls sched_wake).
 */
void sched_done(struct sched *s, struct sched_ent *e, bool more, uint64_t now_ns);

/** Take an entity out, wherever it is; it is idle then. Its pace is kept. */
void sched_remove(struct sched *s, struct sched_ent *e);

/**
 * When sched_next wants to be called: 0 = now, NEVER (UINT64_MAX) = after a sched_wake.
 *
 * It may name a time at which nobody may send yet, but never one too late.
 */
uint64_t sched_next_ns(const struct sched *s);

#endif
