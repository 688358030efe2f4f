/* SPDX-License-Identifier: BSD-3-Clause */
#include "pause.h"

#include <assert.h>

static uint64_t
min_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void
pause_init(struct pause *p, struct pause_stats *stats, uint64_t watchdog_ns)
{
	*p = (struct pause){.stats = stats, .watchdog_ns = watchdog_ns};
}

/* When a held class will have been held for too long. */
static uint64_t
storm_ns(const struct pause *p, const struct pause_class *c)
{
	return p->watchdog_ns ? c->since_ns + p->watchdog_ns : UINT64_MAX;
}

static void
find_next(struct pause *p)
{
	p->next_ns = UINT64_MAX;
	for (uint32_t held = p->held; held; held &= held - 1) {
		const struct pause_class *c = &p->classes[__builtin_ctz(held)];

		p->next_ns = min_ns(p->next_ns, min_ns(c->until_ns, storm_ns(p, c)));
	}
}

/* Up to now it was paused, or up to its end: that time is counted once. */
static void
count_time(struct pause *p, uint32_t cls, uint64_t now_ns)
{
	struct pause_class *c = &p->classes[cls];
	uint64_t end_ns = min_ns(c->until_ns, now_ns);
	uint64_t ns;

	if (end_ns <= c->counted_ns)
		return;
	ns = end_ns - c->counted_ns + c->rest_ns;
	p->stats->duration_us[cls] += ns / 1000;
	c->rest_ns = (uint32_t)(ns % 1000);
	c->counted_ns = end_ns;
}

static void
let_go(struct pause *p, uint32_t cls, uint64_t now_ns)
{
	count_time(p, cls, now_ns);
	p->held &= (uint8_t) ~(1u << cls);
}

/* Whether a pause of a broken class is not to be obeyed: they still come. */
static bool
is_ignored(struct pause *p, uint32_t cls, uint64_t now_ns)
{
	struct pause_class *c = &p->classes[cls];
	uint64_t quiet_ns = now_ns - c->last_ns;

	if (!(p->broken >> cls & 1))
		return false;
	c->last_ns = now_ns;
	if (quiet_ns < p->watchdog_ns)
		return true;
	p->broken &= (uint8_t) ~(1u << cls);
	return false;
}

void
pause_receive(struct pause *p, uint32_t cls, uint64_t for_ns, uint64_t now_ns)
{
	struct pause_class *c = &p->classes[cls];
	bool is_held = p->held >> cls & 1;

	assert(cls < PAUSE_CLASSES);
	if (!for_ns) {
		p->stats->resumes[cls]++;
		if (!is_held)
			return;
	} else {
		p->stats->pauses[cls]++;
		if (is_ignored(p, cls, now_ns)) {
			p->stats->ignored[cls]++;
			return;
		}
	}
	if (is_held)
		count_time(p, cls, now_ns);
	else
		c->since_ns = now_ns;
	/* Between the end of the last pause and now it was open, though nobody looked. */
	c->counted_ns = now_ns;
	c->until_ns = now_ns + for_ns < now_ns ? UINT64_MAX : now_ns + for_ns;
	p->held |= (uint8_t)(1u << cls);
	find_next(p);
}

void
pause_receive_frame(struct pause *p, uint8_t classes, const uint16_t quanta[PAUSE_CLASSES],
                    uint64_t rate_bps, uint64_t now_ns)
{
	for (uint32_t cls = 0; cls < PAUSE_CLASSES; cls++)
		if (classes >> cls & 1)
			pause_receive(p, cls, pause_quanta_ns(quanta[cls], rate_bps), now_ns);
}

void
pause_clear(struct pause *p, uint64_t now_ns)
{
	for (uint32_t held = p->held; held; held &= held - 1)
		let_go(p, (uint32_t)__builtin_ctz(held), now_ns);
	p->broken = 0;
}

static void
break_storm(struct pause *p, uint32_t cls, uint64_t now_ns)
{
	let_go(p, cls, now_ns);
	p->broken |= (uint8_t)(1u << cls);
	p->classes[cls].last_ns = now_ns;
	p->stats->storms[cls]++;
}

uint8_t
pause_look(struct pause *p, uint64_t now_ns)
{
	for (uint32_t held = p->held; held; held &= held - 1) {
		uint32_t cls = (uint32_t)__builtin_ctz(held);
		const struct pause_class *c = &p->classes[cls];

		if (c->until_ns <= now_ns)
			let_go(p, cls, now_ns);
		else if (storm_ns(p, c) <= now_ns)
			break_storm(p, cls, now_ns);
		else
			count_time(p, cls, now_ns);
	}
	find_next(p);
	return p->held;
}
