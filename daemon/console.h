/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CONSOLE_H
#define WEFT_CONSOLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture.h"
#include "control.h"
#include "events.h"
#include "list.h"
#include "report.h"
#include "tune.h"

/**
 * @file
 * The socket for operators, beside that of applications: weftctl, or anything that writes a line of
 * JSON and reads lines of JSON. All on the control thread.
 *
 * A request is a line: an object whose member "order" says what is wanted, its other members are
 * arguments. It is answered by one or more lines, each an object; all but the last have "more":
 * true. A refusal is a line with "error", a sentence. Requests of one connection are answered one
 * after the other, and nobody else waits for an operator who does not read: an answer is made in
 * pieces, each when the one before has left.
 */

/** Connections at a time. Source: our choice. */
#define CONSOLES_MAX 16
/** Bytes of a request, without its newline. Source: our choice. */
#define CONSOLE_LINE_MAX 4095
/** Who has not read anything for so long is dropped. Source: our choice. */
#define CONSOLE_SLOW_NS UINT64_C(10000000000)

struct consoles {
	struct control *control; /**< whose thread it is; the caller's */
	struct report report;    /**< what orders work on */
	struct watch listener;
	struct watch clock; /**< ticks once a second while anybody is there */
	struct events *events;
	struct watch events_watch;
	struct tune *tune;
	uint32_t nb_captures;
	struct list list;
	uint32_t nb;
	char socket_path[256];
};

struct order;

/** One connection. */
struct console {
	struct list link; /**< of operators.list */
	struct consoles *all;
	struct watch watch;
	pid_t pid;
	uid_t uid;

	char in[CONSOLE_LINE_MAX + 1];
	uint32_t in_len;
	bool in_ended; /**< nothing more will come */
	bool closing;  /**< close when out has left */

	char *out; /**< a line on its way; NULL = none */
	size_t out_len, out_sent;
	uint64_t moved_ns; /**< when some of it last left */

	const struct order *order; /**< being answered; NULL = none */
	bool waits;                /**< for consoles_kick */
	bool stopping;             /**< the order was told to stop */
	int pass_fd;               /**< goes with the next line, and is closed then; -1 = none */
	/** Of the order. */
	struct {
		json_t *args;
		struct report_walk walk;
		uint64_t client;       /**< the last that was told */
		uint64_t event;        /**< the last that was told */
		uint64_t nb_lost;      /**< what events.nb_lost was then */
		bool begun;            /**< the first line was told */
		struct device *device; /**< NULL = all */
		struct capture *capture;
		struct watch capture_watch;
		struct capture_stats capture_stats;
	} state;
};

/** Room for the sentence of a refusal, in which names from the request are quoted. */
#define ORDER_WHY_MAX 512
/** Bytes of a text argument. */
#define ORDER_TEXT_MAX 255

/** What an order says next. */
enum order_said {
	ORDER_MORE, /**< a line; ask again */
	ORDER_LAST, /**< the last line */
	ORDER_WAIT, /**< no line; ask again after consoles_kick */
};

/** Something that an operator can ask for. Table: orders.c. */
struct order {
	const char *name;
	const struct order_arg *args; /**< ends with a NULL name */
	/**
	 * Check the arguments beyond their types, begin.
	 *
	 * @param why  gets a sentence on refusal.
	 * @return     false: refused. Optional.
	 */
	bool (*begin)(struct console *con, char *why, size_t size);
	/** Make the next line. @param[out] line  a new reference; NULL = without memory. */
	enum order_said (*next)(struct console *con, json_t **line);
	/**
	 * The operator, who sends nothing more, wants no more than the end of the answer.
	 * Optional: without it the order ends.
	 */
	void (*stop)(struct console *con);
	/** Ended, or the operator went away. Optional. */
	void (*end)(struct console *con);
};

/** An argument of an order. */
struct order_arg {
	const char *name;
	enum { ARG_TEXT, ARG_NUMBER, ARG_FLAG } type;
	bool optional;
};

/**
 * Find what a request asks for.
 *
 * @param request  its arguments are checked for names and types.
 * @param why      gets a sentence if it is refused.
 */
const struct order *order_find(json_t *request, char *why, size_t size);

struct consoles_conf {
	const char
		*name; /**< of the daemon: the socket is NAME.ctl in the control socket's folder */
	gid_t gid;     /**< who may give orders beside the own user and root; -1 = nobody */
	struct report report;
	struct events *events;
	struct tune *tune;
};

/** @return 0 or a negative errno; what went wrong is logged. */
int consoles_open(struct consoles *cons, struct control *control, const struct consoles_conf *conf);
/** The same of one. It may be gone then. */
void console_kick(struct console *con);
/** There is something new: ask those again who wait. On the control thread. */
void consoles_kick(struct consoles *cons);

/** The workers still run. */
void consoles_close(struct consoles *cons);

#endif
