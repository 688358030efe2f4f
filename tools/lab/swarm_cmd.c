/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "lab_cmd.h"
#include "swarm_make.h"
#include "swarm_options.h"
#include "sweep_crew.h"

static int
print_scenarios(const struct swarm_conf *conf)
{
	struct sketch *s = malloc(sizeof(*s));

	if (!s)
		return LAB_EXIT_USAGE;
	for (uint64_t seed = conf->first; seed <= conf->last && !ferror(stdout); seed++) {
		swarm_make(seed, s);
		printf("%s# weft-lab swarm --seed %" PRIu64 "\n", seed > conf->first ? "\n" : "",
		       seed);
		sketch_write(s, stdout);
	}
	free(s);
	return LAB_EXIT_OK;
}

/* Below a million as it is. */
static void
print_many(double n, const char *of_what)
{
	if (n < 1e6)
		printf("%.0f %s, ", n, of_what);
	else
		printf("%.1f million %s, ", n / 1e6, of_what);
}

static void
print_sum(const struct swarm_result *r)
{
	double s = (double)r->wall_ns / 1e9;

	printf("%" PRIu64 " seeds in %.1f s, %.0f/s; ", r->nb_seeds, s, (double)r->nb_seeds / s);
	print_many((double)r->data_pkts, "data packets");
	print_many((double)r->nb_events, "events");
	printf("%" PRIu64 " cut short; %" PRIu32 " finding%s\n", r->nb_cut, r->nb_findings,
	       r->nb_findings == 1 ? "" : "s");
}

int
lab_cmd_swarm(int argc, char **argv)
{
	struct swarm_options opt;
	struct swarm_result *result;
	int code = swarm_options_parse(&opt, argc, argv), err;

	if (code >= 0)
		return code;
	if (opt.is_print)
		return print_scenarios(&opt.conf);
	result = malloc(sizeof(*result));
	if (!result)
		return LAB_EXIT_USAGE;
	printf("seeds from %" PRIu64 " on\n", opt.conf.first);
	fflush(stdout);
	err = swarm_run(&opt.conf, result);
	print_sum(result);
	code = result->nb_findings > 0 ? LAB_EXIT_VIOLATED : LAB_EXIT_OK;
	free(result);
	if (code == LAB_EXIT_OK && err)
		code = crew_is_told_to_stop ? 128 + crew_is_told_to_stop : LAB_EXIT_USAGE;
	return code;
}
