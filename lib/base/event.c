/* SPDX-License-Identifier: BSD-3-Clause */
#include "event.h"

#include <stdarg.h>
#include <stdio.h>

#include "log.h"

void (*event_fn)(enum event_kind kind, const char *node, const char *text);

static const struct {
	const char *text;
	enum log_level level;
} kinds[EVENT_NB] = {
	[EVENT_QP] = {"qp", LOG_LEVEL_WARN},           [EVENT_LINK] = {"link", LOG_LEVEL_WARN},
	[EVENT_UP] = {"link", LOG_LEVEL_INFO},         [EVENT_GID] = {"gid", LOG_LEVEL_INFO},
	[EVENT_NEIGH] = {"neighbour", LOG_LEVEL_WARN}, [EVENT_CLIENT] = {"client", LOG_LEVEL_DEBUG},
	[EVENT_LIMIT] = {"limit", LOG_LEVEL_WARN},     [EVENT_ORDER] = {"order", LOG_LEVEL_INFO},
	[EVENT_DRAIN] = {"drain", LOG_LEVEL_INFO},
};

void
event_tell(enum event_kind kind, const char *node, const char *fmt, ...)
{
	char text[EVENT_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_write(kinds[kind].level, "%s: %s", node, text);
	if (event_fn)
		event_fn(kind, node, text);
}

const char *
event_kind_text(enum event_kind kind)
{
	return kinds[kind].text;
}
