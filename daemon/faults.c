/* SPDX-License-Identifier: BSD-3-Clause */
#include "faults.h"

struct change {
	struct port **port;
	const struct fault_params *params;
	struct port *layer; /* for a port that has none */
	bool is_done;
};

static void
apply(void *arg, uint64_t now_ns)
{
	struct change *c = arg;

	(void)now_ns;
	c->is_done = true;
	if (c->layer) {
		port_fault_enclose(c->layer, *c->port);
		*c->port = c->layer;
	} else if (port_is_fault(*c->port)) {
		port_fault_set(*c->port, c->params);
	} else {
		c->is_done = false;
	}
}

int
faults_set(const struct nodes *nodes, struct port **port, const struct fault_params *params)
{
	struct change change = {port, params, NULL, false};
	int err;

	worker_call(nodes->worker, apply, &change);
	if (change.is_done)
		return 0;
	err = port_fault_create(params, nodes->pool, &change.layer);
	if (!err)
		worker_call(nodes->worker, apply, &change);
	return err;
}
