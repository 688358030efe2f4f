/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "event.h"
#include "orders.h"

/* Captures: the file comes out of a socket that goes to the operator with the first line. */

/* At a time; each has a thread and 16 MB. Source: our choice. */
#define CAPTURES_MAX 4

/* A whole number within bounds; 0 if it was not given. */
static bool
number_arg(const struct console *con, const char *name, json_int_t max, uint64_t *value, char *why,
           size_t size)
{
	json_int_t number = json_integer_value(json_object_get(con->state.args, name));

	*value = (uint64_t)number;
	if (number >= 0 && number <= max)
		return true;
	snprintf(why, size, "%s: 0 to %" JSON_INTEGER_FORMAT, name, max);
	return false;
}

static void
capture_ready(struct watch *watch, uint32_t events)
{
	struct console *con = container_of(watch, struct console, state.capture_watch);

	(void)events;
	control_unwatch(con->all->control, watch);
	capture_free(con->state.capture, &con->state.capture_stats);
	con->state.capture = NULL;
	con->all->nb_captures--;
	if (con->waits)
		console_kick(con);
}

static bool
begin_capture(struct console *con, char *why, size_t size)
{
	const char *name = order_text(con, "node");
	struct capture_conf conf = {.worker = con->all->report.nodes->worker};
	uint64_t seconds, snaplen;
	int err;

	if (!(conf.node = order_node_port(con, name, &conf.port, why, size)) ||
	    !number_arg(con, "seconds", 1000000, &seconds, why, size) ||
	    !number_arg(con, "packets", INT64_MAX, &conf.max_packets, why, size) ||
	    !number_arg(con, "snaplen", 65535, &snaplen, why, size))
		return false;
	conf.max_ns = seconds * 1000000000u;
	conf.snaplen = (uint32_t)snaplen;
	err = con->all->nb_captures < CAPTURES_MAX
	              ? capture_start(&con->state.capture, &conf, &con->pass_fd)
	              : -EAGAIN;
	if (err) {
		con->state.capture = NULL;
		snprintf(why, size, "%s: %s", name,
		         err == -EBUSY    ? "it is being captured already"
		         : err == -EAGAIN ? "too many captures at a time"
		                          : strerror(-err));
		return false;
	}
	con->all->nb_captures++;
	con->state.capture_watch =
		(struct watch){.fd = capture_done_fd(con->state.capture), .ready = capture_ready};
	control_watch(con->all->control, &con->state.capture_watch, EPOLLIN);
	event_tell(EVENT_ORDER, name, "captured by pid %d, uid %u", (int)con->pid,
	           (unsigned int)con->uid);
	return true;
}

static enum order_said
next_capture(struct console *con, json_t **line)
{
	if (!con->state.begun) {
		con->state.begun = true;
		*line = json_pack("{s:s}", "capturing", order_text(con, "node"));
		return ORDER_MORE;
	}
	if (con->state.capture)
		return ORDER_WAIT;
	*line = json_pack("{s:I, s:I}", "packets", (json_int_t)con->state.capture_stats.nb_packets,
	                  "dropped", (json_int_t)con->state.capture_stats.nb_dropped);
	return ORDER_LAST;
}

static void
stop_capture(struct console *con)
{
	if (con->state.capture)
		capture_stop(con->state.capture);
}

static void
end_capture(struct console *con)
{
	if (!con->state.capture)
		return;
	control_unwatch(con->all->control, &con->state.capture_watch);
	capture_free(con->state.capture, &con->state.capture_stats);
	con->all->nb_captures--;
}

static const struct order_arg capture_args[] = {{"node", ARG_TEXT, false},
                                                {"seconds", ARG_NUMBER, true},
                                                {"packets", ARG_NUMBER, true},
                                                {"snaplen", ARG_NUMBER, true},
                                                {NULL}};

const struct order order_capture = {"capture",    capture_args, begin_capture,
                                    next_capture, stop_capture, end_capture};
