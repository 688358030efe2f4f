/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "conf_read.h"
#include "nearest.h"

/* The section [queue SWITCH/N]: what is so of one queue at all ports of a switch above it. */

static const struct conf_key queue_keys[] = {{NULL}};

static struct conf_switch *
find_switch(struct conf_reader *r, const char *name)
{
	struct nearest near = nearest_of(name);
	char why[2 * CONF_LINE_MAX];

	for (uint32_t i = 0; i < r->conf->nb_switches; i++) {
		struct conf_switch *sw = &r->conf->switches[i];

		if (strcmp(sw->name, name) == 0)
			return sw;
		nearest_offer(&near, sw->name);
	}
	/* Not if the switch was skipped, which was told. */
	if (!conf_is_partial(r)) {
		nearest_explain(&near, "switch above", why, sizeof(why));
		conf_error(r, r->line, "%s", why);
	}
	return NULL;
}

static void *
begin_queue(struct conf_reader *r, const char *title)
{
	char name[CONF_LINE_MAX], *slash;
	struct conf_switch *sw;
	uint8_t n;

	snprintf(name, sizeof(name), "%s", title);
	slash = strrchr(name, '/');
	if (slash)
		*slash = '\0';
	if (!slash || !conf_small(slash + 1, QUEUES_NB - 1, &n)) {
		conf_error(r, r->line, "[queue %s]: the name of a switch, '/', and 0 to %d, please",
		           title, QUEUES_NB - 1);
		return NULL;
	}
	sw = find_switch(r, name);
	if (!sw)
		return NULL;
	if (sw->queue_lines[n]) {
		conf_error(r, r->line, "section [queue %s] began at line %u already", title,
		           sw->queue_lines[n]);
		return NULL;
	}
	sw->queue_lines[n] = r->line;
	sw->fabric.queues[n] = sw->queue_default;
	if (n == sw->fabric.trim_queue)
		sw->fabric.queues[n].weight = CONF_WEIGHT_UNSAID;
	conf_add_table(r, switch_queue_descs, &sw->fabric.queues[n]);
	return &sw->fabric.queues[n];
}

const struct conf_section conf_queue_section = {"queue", "SWITCH/N", queue_keys, begin_queue};
