/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "eal.h"
#include "log.h"
#include "logs.h"
#include "nodes.h"
#include "options.h"
#include "run.h"

/* The NIC's driver: nothing is shared, so nobody is to be woken; what fails shows in completions.
 */
static void
notify(void *owner, uint32_t channel, uint64_t cookie)
{
	(void)owner;
	(void)channel;
	(void)cookie;
}

static void
event(void *owner, uint32_t type, uint64_t cookie)
{
	(void)owner;
	(void)type;
	(void)cookie;
}

static uint64_t
unguessable(void)
{
	uint64_t x;

	arc4random_buf(&x, sizeof(x));
	return x;
}

static const struct nic_driver driver = {.notify = notify, .event = event, .random = unguessable};

static bool
start(struct nodes *nodes, struct load *load, const struct options *opt)
{
	int err = nodes_open(nodes, opt->conf, &driver);

	if (err)
		return false;
	load_init(load, nodes->nics[0]);
	err = worker_add_node(nodes->worker, &load->node, NULL);
	if (!err)
		err = nodes_start(nodes);
	if (!err && nodes->kernel)
		err = kernel_thread_start(nodes->kernel);
	return !err;
}

static bool
run(struct nodes *nodes, const struct options *opt)
{
	static struct load load;
	bool ok;

	if (!start(nodes, &load, opt))
		return false;
	ok = perf_run(opt, nodes, &load);
	if (opt->verbose)
		counters_print(nodes, stderr);
	nodes_stop(nodes);
	return ok;
}

int
main(int argc, char **argv)
{
	static struct nodes nodes;
	struct options opt;
	struct eal_conf eal;
	int code = options_parse(&opt, argc, argv);

	if (code >= 0)
		return code;
	logs_start(opt.verbose);
	if (!opt.verbose)
		log_level_max = LOG_LEVEL_WARN; /* the table is what there is to say */
	code = EXIT_FAILURE;
	eal = nodes_eal_conf(opt.conf, opt.verbose);
	if (eal_start(&eal) == 0) {
		if (run(&nodes, &opt))
			code = EXIT_SUCCESS;
		nodes_free(&nodes);
		eal_stop();
	}
	conf_free(opt.conf);
	return code;
}
