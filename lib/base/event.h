/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_EVENT_H
#define WEFT_EVENT_H

/**
 * @file
 * What happened to a node, for operators: a line of the log, and for those who watch the same with
 * its kind and the node's name. What never changes after it was told once belongs to log.h alone.
 */

enum event_kind {
	EVENT_QP,     /**< a queue pair failed */
	EVENT_LINK,   /**< a link went down... */
	EVENT_UP,     /**< ...or came up: the same to those who watch, and no warning */
	EVENT_GID,    /**< an address came or went */
	EVENT_NEIGH,  /**< a neighbour answers no more */
	EVENT_CLIENT, /**< an application came or went */
	EVENT_LIMIT,  /**< an application was refused what is above a limit */
	EVENT_ORDER,  /**< an operator changed something */
	EVENT_DRAIN,  /**< a NIC is being drained, or that has ended */
	EVENT_NB,
};

/** Longest text in bytes, its NUL included; the rest of a longer one is cut. */
#define EVENT_TEXT_MAX 480

/**
 * Receives each event, on the thread that tells it; must not block. NULL: nobody. Set before any
 * other thread starts.
 *
 * @param node  that it is about; text does not repeat it.
 */
extern void (*event_fn)(enum event_kind kind, const char *node, const char *text);

/** Log "NODE: TEXT", at the level that the kind has, and give it to event_fn. */
__attribute__((format(printf, 3, 4))) void event_tell(enum event_kind kind, const char *node,
                                                      const char *fmt, ...);

/** "qp" */
const char *event_kind_text(enum event_kind kind);

#endif
