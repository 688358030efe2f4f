/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine.h"
#include "fault_lane.h"

bool
fault_outage_is_on(const struct fault_outage *o, uint64_t since_ns)
{
	if (o->now)
		return true;
	if (o->for_ns == 0 || since_ns < o->at_ns)
		return false;
	since_ns -= o->at_ns;
	if (o->every_ns)
		since_ns %= o->every_ns;
	return since_ns < o->for_ns;
}

uint64_t
fault_outage_next_ns(const struct fault_outage *o, uint64_t since_ns)
{
	uint64_t begin_ns = o->at_ns;

	if (o->now || o->for_ns == 0)
		return NEVER_NS;
	if (since_ns < begin_ns)
		return begin_ns;
	if (o->every_ns && o->for_ns >= o->every_ns)
		return NEVER_NS;
	if (o->every_ns)
		begin_ns = since_ns - (since_ns - begin_ns) % o->every_ns;
	if (since_ns - begin_ns < o->for_ns)
		return begin_ns + o->for_ns;
	return o->every_ns ? begin_ns + o->every_ns : NEVER_NS;
}
