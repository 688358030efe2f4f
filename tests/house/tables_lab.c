/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of scenarios, apart because headers of lib/sim are called as some of the daemon's. */
#include <stdio.h>

#include "fault.h"
#include "scenario.h"
#include "switch.h"
#include "tables.h"

/* Whether it is a key of the daemon's, too. */
static bool
is_shared(const struct param_desc *d)
{
	static const struct param_desc *const tables[] = {switch_param_descs, switch_queue_descs,
	                                                  switch_port_descs, fault_param_descs};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		const struct param_desc *other = param_find(tables[i], d->name);

		if (other && other->source == d->source)
			return true;
	}
	return false;
}

static void
print_key(const char *section, const char *name, const struct param_desc *d)
{
	if (d && !is_shared(d))
		print_number("lab", section, d);
	else
		printf("lab\t%s\t%s\t-\t-\t-\n", section, name);
}

bool
print_lab(void)
{
	return scenario_each_key(print_key);
}
