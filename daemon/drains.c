/* SPDX-License-Identifier: BSD-3-Clause */
#include "drains.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "event.h"
#include "session.h"

/* How often a drain is looked at. Source: our choice. */
#define LOOK_NS 10000000

static void
set_clock(struct control *control, bool on)
{
	const struct itimerspec off = {0}, often = {{0, LOOK_NS}, {0, LOOK_NS}};

	timerfd_settime(control->drain_clock.fd, 0, on ? &often : &off, NULL);
}

/* What was posted until now and is not done, beside what the drain has waited for in vain. */
static void
count_newer(struct device *device)
{
	struct drain all;

	device->cut_off = device->drain.nb_sends;
	device->cut_off_newer = 0;
	if (drain_begin(&all, device->worker, device->nic) != 0)
		return;
	if (all.nb_sends > device->cut_off)
		device->cut_off_newer = all.nb_sends - device->cut_off;
	drain_end(&all);
}

static void
send_away_clients(struct control *control, struct device *device)
{
	struct list *link = control->clients.next;

	while (link != &control->clients) {
		struct client *client = container_of(link, struct client, link);

		link = link->next;
		if (client->device != device || client_has_ended(client))
			continue;
		if (control->ending)
			client_destroy(client);
		else
			client_send_away(client, ECONNABORTED);
	}
}

/* Its QPs have nothing more to do, or the time is over. */
static void
finish(struct control *control, struct device *device)
{
	device->drain_ms = (worker_clock_ns() - device->drain_since_ns) / 1000000;
	device->cut_off_qps = device->drain.nb_qps;
	count_newer(device);
	if (device->cut_off + device->cut_off_newer == 0)
		event_tell(EVENT_DRAIN, device->name,
		           "drained after %" PRIu64 " ms, nothing was cut off", device->drain_ms);
	else
		event_tell(EVENT_DRAIN, device->name,
		           "drained after %" PRIu64 " ms, cut off: %" PRIu64
		           " sends of %u QPs from before, %" PRIu64 " that were posted since",
		           device->drain_ms, device->cut_off, device->cut_off_qps,
		           device->cut_off_newer);
	drain_end(&device->drain);
	device->drain_since_ns = 0;
	send_away_clients(control, device);
}

/* @param at_once  whether there is work or not. */
static void
look(struct control *control, bool at_once)
{
	uint64_t now_ns = worker_clock_ns();

	for (uint32_t i = 0; i < control->nb_devices; i++) {
		struct device *device = &control->devices[i];

		if (device->drain_since_ns == 0)
			continue;
		if (drain_look(&device->drain) == 0 || at_once ||
		    now_ns - device->drain_since_ns >= control->drain_ns)
			finish(control, device);
	}
	if (drains_busy(control, NULL))
		return;
	set_clock(control, false);
	control_drained(control);
}

static void
clock_ready(struct watch *watch, uint32_t events)
{
	uint64_t nb_ticks;

	(void)events;
	(void)!read(watch->fd, &nb_ticks, sizeof(nb_ticks));
	look(container_of(watch, struct control, drain_clock), false);
}

void
drains_finish(struct control *control)
{
	look(control, true);
}

int
drains_open(struct control *control)
{
	control->drain_clock.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	control->drain_clock.ready = clock_ready;
	if (control->drain_clock.fd < 0)
		return -errno;
	return control_watch(control, &control->drain_clock, EPOLLIN);
}

void
drains_close(struct control *control)
{
	if (control->drain_clock.fd >= 0)
		close(control->drain_clock.fd);
	for (uint32_t i = 0; i < control->nb_devices; i++)
		drain_end(&control->devices[i].drain);
}

static void
begin(struct device *device)
{
	if (device->drain_since_ns != 0)
		return;
	device->is_drained = true;
	device->drain_since_ns = worker_clock_ns();
	if (drain_begin(&device->drain, device->worker, device->nic) == 0)
		event_tell(EVENT_DRAIN, device->name, "draining: %" PRIu64 " sends of %u QPs to do",
		           device->drain.nb_sends, device->drain.nb_qps);
}

void
drains_begin(struct control *control, struct device *device)
{
	for (uint32_t i = 0; i < control->nb_devices; i++) {
		if (!device || device == &control->devices[i])
			begin(&control->devices[i]);
	}
	set_clock(control, true);
}

bool
drains_busy(const struct control *control, const struct device *device)
{
	for (uint32_t i = 0; i < control->nb_devices; i++) {
		if ((!device || device == &control->devices[i]) &&
		    control->devices[i].drain_since_ns != 0)
			return true;
	}
	return false;
}

void
drains_resume(struct control *control, struct device *device)
{
	for (uint32_t i = 0; i < control->nb_devices; i++) {
		struct device *d = &control->devices[i];

		if ((device && device != d) || !d->is_drained)
			continue;
		drain_end(&d->drain);
		d->drain_since_ns = 0;
		d->is_drained = false;
		event_tell(EVENT_DRAIN, d->name, "takes programs again");
	}
}
