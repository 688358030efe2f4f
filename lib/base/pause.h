/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PAUSE_H
#define WEFT_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "stat.h"

/**
 * @file
 * Priority flow control as its receiver keeps it: which of eight classes may not be sent now, and
 * for how long still. Source: IEEE 802.1Qbb (PFC), 802.1Q clause 36.
 *
 * A pause frame is believed, as it must be, so whoever can send frames on a link can silence it.
 * A watchdog bounds that: a class that its sender has not found open once for so long has been
 * caught by a storm. From then on its pauses are ignored until none has come for as long again.
 * Resumes count for nothing here unless the sender finds the class open before the next pause.
 */

/** Classes of a link: priorities of IEEE 802.1Q. */
#define PAUSE_CLASSES 8

/** Our choice, as others have it: long for a fabric, short for whoever waits. */
#define PAUSE_WATCHDOG_NS 100000000

/** Counters of one port, by class. */
struct pause_stats {
	uint64_t pauses[PAUSE_CLASSES];      /**< frames that paused a class, also ignored ones */
	uint64_t resumes[PAUSE_CLASSES];     /**< frames that opened it */
	uint64_t duration_us[PAUSE_CLASSES]; /**< how long it was paused */
	uint64_t storms[PAUSE_CLASSES];      /**< broken by the watchdog */
	uint64_t ignored[PAUSE_CLASSES];     /**< pauses after that, which were not obeyed */
};

/** Rows of a stat table for such a member of a struct, with the names that ethtool has. */
#define PAUSE_STAT_ROWS(type, member)                                                              \
	PAUSE_STAT_CLASS(type, member, 0), PAUSE_STAT_CLASS(type, member, 1),                      \
		PAUSE_STAT_CLASS(type, member, 2), PAUSE_STAT_CLASS(type, member, 3),              \
		PAUSE_STAT_CLASS(type, member, 4), PAUSE_STAT_CLASS(type, member, 5),              \
		PAUSE_STAT_CLASS(type, member, 6), PAUSE_STAT_CLASS(type, member, 7)
#define PAUSE_STAT_CLASS(type, member, n)                                                          \
	{"rx_prio" #n "_pause", offsetof(type, member.pauses[n])},                                 \
		{"rx_prio" #n "_pause_resume", offsetof(type, member.resumes[n])},                 \
		{"rx_prio" #n "_pause_duration", offsetof(type, member.duration_us[n])},           \
		{"rx_prio" #n "_pause_storm", offsetof(type, member.storms[n])},                   \
	{                                                                                          \
		"rx_prio" #n "_pause_ignored", offsetof(type, member.ignored[n])                   \
	}

/** What one port was told, and by whom it was heard. */
struct pause {
	struct pause_stats *stats;
	uint64_t watchdog_ns; /**< 0 = none */
	uint8_t held;         /**< classes that the sender has not found open since their pause */
	uint8_t broken;       /**< classes whose pauses are ignored */
	uint64_t next_ns;     /**< of the held ones: when the first opens or is to be broken */
	struct pause_class {
		uint64_t until_ns;   /**< paused before */
		uint64_t since_ns;   /**< held from then on */
		uint64_t counted_ns; /**< its time is in the counter up to here */
		uint64_t last_ns;    /**< broken: of the last pause */
		uint32_t rest_ns;    /**< not yet a whole microsecond of the counter */
	} classes[PAUSE_CLASSES];
};

/**
 * Nothing is paused.
 *
 * @param stats        the caller's, must live as long; only added to.
 * @param watchdog_ns  0 = no watchdog.
 */
void pause_init(struct pause *p, struct pause_stats *stats, uint64_t watchdog_ns);

/**
 * A pause frame names a class.
 *
 * @param cls      0 to PAUSE_CLASSES - 1.
 * @param for_ns   from now on, whatever was said before; 0 = it is open again.
 * @param now_ns   of a clock that never runs back, as in the functions below.
 */
void pause_receive(struct pause *p, uint32_t cls, uint64_t for_ns, uint64_t now_ns);

/** The same of all classes that a frame names, by bit, each for so many quanta. rate_bps > 0. */
void pause_receive_frame(struct pause *p, uint8_t classes, const uint16_t quanta[PAUSE_CLASSES],
                         uint64_t rate_bps, uint64_t now_ns);

/** Let all classes go at once, the broken ones too: the link went down. */
void pause_clear(struct pause *p, uint64_t now_ns);

/** What pause_mask does while a class is held. */
uint8_t pause_look(struct pause *p, uint64_t now_ns);

/**
 * Bit i = class i must not be sent now. The sender asks before it sends, as a rule once a turn, and
 * could send what is not in the answer: such a class counts as found open.
 */
static inline uint8_t
pause_mask(struct pause *p, uint64_t now_ns)
{
	return p->held ? pause_look(p, now_ns) : 0;
}

/** When pause_mask may have something new to say; UINT64_MAX = not before the next frame. */
static inline uint64_t
pause_next_ns(const struct pause *p)
{
	return p->held ? p->next_ns : UINT64_MAX;
}

/** Time of so many quanta: 512 bit times of the link each. rate_bps > 0; rounded up. */
static inline uint64_t
pause_quanta_ns(uint16_t quanta, uint64_t rate_bps)
{
	return (quanta * UINT64_C(512000000000) + rate_bps - 1) / rate_bps;
}

#endif
