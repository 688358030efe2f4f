/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "drains.h"
#include "event.h"
#include "orders.h"

/* Orders that change how the daemon works. Each is an event that names who gave it. */

static const struct order_arg nic_optional[] = {{"nic", ARG_TEXT, true}, {NULL}};

/* ---- set ---- */

static bool
begin_set(struct console *con, char *why, size_t size)
{
	const char *target = order_text(con, "target");
	const char *key = order_text(con, "key"), *value = order_text(con, "value");

	if (tune_set(con->all->tune, target, key, value, why, size) != 0)
		return false;
	event_tell(EVENT_ORDER, target, "%s = %s, set by pid %d, uid %u", key, value, (int)con->pid,
	           (unsigned int)con->uid);
	json_object_set_new(con->state.args, "effect", json_string(why));
	return true;
}

static enum order_said
next_set(struct console *con, json_t **line)
{
	json_object_del(con->state.args, "order");
	*line = json_pack("{s:O}", "set", con->state.args);
	return ORDER_LAST;
}

static const struct order_arg set_args[] = {
	{"target", ARG_TEXT, false}, {"key", ARG_TEXT, false}, {"value", ARG_TEXT, false}, {NULL}};

const struct order order_set = {"set", set_args, begin_set, next_set};

/* ---- drain ---- */

static bool
find_device(struct console *con, char *why, size_t size)
{
	struct control *control = con->all->control;
	const struct nic *nic;

	if (!order_nic(con, &nic, why, size))
		return false;
	for (uint32_t i = 0; nic && i < control->nb_devices; i++) {
		if (control->devices[i].nic == nic)
			con->state.device = &control->devices[i];
	}
	return true;
}

static bool
begin_drain(struct console *con, char *why, size_t size)
{
	if (!find_device(con, why, size))
		return false;
	event_tell(EVENT_ORDER, con->state.device ? con->state.device->name : "all NICs",
	           "drain, by pid %d, uid %u", (int)con->pid, (unsigned int)con->uid);
	drains_begin(con->all->control, con->state.device);
	return true;
}

/* An array of what make says of each device that the order is about. */
static json_t *
each_device(const struct console *con, json_t *(*make)(const struct device *device))
{
	const struct control *control = con->all->control;
	json_t *array = json_array();

	for (uint32_t i = 0; i < control->nb_devices; i++) {
		const struct device *device = &control->devices[i];

		if (!con->state.device || con->state.device == device)
			json_array_append_new(array, make(device));
	}
	return array;
}

static json_t *
json_name(const struct device *device)
{
	return json_string(device->name);
}

static json_t *
json_drained(const struct device *device)
{
	return json_pack("{s:s, s:I, s:i, s:I, s:I}", "nic", device->name, "ms",
	                 (json_int_t)device->drain_ms, "cut_off_qps", (int)device->cut_off_qps,
	                 "cut_off_sends", (json_int_t)device->cut_off, "cut_off_newer_sends",
	                 (json_int_t)device->cut_off_newer);
}

static enum order_said
next_drain(struct console *con, json_t **line)
{
	if (!con->state.begun) {
		con->state.begun = true;
		*line = json_pack("{s:o}", "draining", each_device(con, json_name));
		return ORDER_MORE;
	}
	if (drains_busy(con->all->control, con->state.device))
		return ORDER_WAIT;
	*line = json_pack("{s:o}", "drained", each_device(con, json_drained));
	return ORDER_LAST;
}

const struct order order_drain = {"drain", nic_optional, begin_drain, next_drain};

static bool
begin_resume(struct console *con, char *why, size_t size)
{
	if (!find_device(con, why, size))
		return false;
	drains_resume(con->all->control, con->state.device);
	return true;
}

static enum order_said
next_resume(struct console *con, json_t **line)
{
	*line = json_pack("{s:o}", "resumed", each_device(con, json_name));
	return ORDER_LAST;
}

const struct order order_resume = {"resume", nic_optional, begin_resume, next_resume};
