/* SPDX-License-Identifier: BSD-3-Clause */
#include "swarm_options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab_cmd.h"
#include "units.h"

#define SEED_MAX (UINT64_C(1) << 53)

static const char usage[] =
	"usage: weft-lab swarm [OPTION...]\n"
	"\n"
	"Runs random scenarios: fabrics, engines and their parameters, faults, messages, all from "
	"a\n"
	"seed. Where a checker is violated, or the program crashes or hangs, it prints the seed, "
	"and\n"
	"the scenario made as small as it can be, which weft-lab run runs.\n"
	"\n"
	"      --seeds A..B     these; default: from one that nobody knows before, for a minute\n"
	"      --seed N         this one\n"
	"      --time TIME      so long, such as 10min; default with seeds: until all are done\n"
	"  -j, --jobs N         scenarios at a time, 1 to 1024; default: cores that it may use\n"
	"      --timeout TIME   what takes longer hangs; default: 2min\n"
	"  -o, --out DIR        also write each into a file of this folder, as found and made "
	"smaller\n"
	"  -p, --print          only print the scenarios\n"
	"  -q, --quiet          no progress\n"
	"  -h, --help           this text\n"
	"\n"
	"Ends with 1 if anything was found.\n";

enum { SEEDS = 256, SEED, TIME, TIMEOUT };

static const struct option longs[] = {
	{"seeds", required_argument, NULL, SEEDS}, {"seed", required_argument, NULL, SEED},
	{"time", required_argument, NULL, TIME},   {"timeout", required_argument, NULL, TIMEOUT},
	{"jobs", required_argument, NULL, 'j'},    {"out", required_argument, NULL, 'o'},
	{"print", no_argument, NULL, 'p'},         {"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},          {0},
};

static bool
tell(bool ok, const char *what, const char *text, const char *why)
{
	if (!ok)
		fprintf(stderr, "weft-lab swarm: %s '%s': %s\n", what, text, why);
	return ok;
}

static bool
parse_seed(const char *text, uint64_t *seed)
{
	const char *why;

	return units_parse(UNITS_COUNT, text, seed, &why) == 0 && *seed <= SEED_MAX;
}

static bool
parse_seeds(const char *text, uint64_t *first, uint64_t *last)
{
	const char *dots = strstr(text, "..");
	char *from = dots ? strndup(text, (size_t)(dots - text)) : NULL;
	bool ok = from && parse_seed(from, first) && parse_seed(dots + 2, last) && *first <= *last;

	free(from);
	return ok;
}

static bool
parse_time(const char *what, const char *text, uint64_t *ns)
{
	const char *why = "";
	bool ok = units_parse(UNITS_TIME, text, ns, &why) == 0;

	return tell(ok, what, text, why);
}

static bool
parse_jobs(const char *text, uint32_t *nb)
{
	const char *why;
	uint64_t value;
	bool ok =
		units_parse(UNITS_COUNT, text, &value, &why) == 0 && value > 0 && value <= CREW_MAX;

	*nb = ok ? (uint32_t)value : 0;
	return tell(ok, "--jobs", text, "1 to 1024, please");
}

static bool
parse_one(struct swarm_options *opt, int c)
{
	struct swarm_conf *conf = &opt->conf;

	switch (c) {
	case SEEDS:
		return tell(parse_seeds(optarg, &conf->first, &conf->last), "--seeds", optarg,
		            "A..B, please, up to 2^53");
	case SEED:
		if (!tell(parse_seed(optarg, &conf->first), "--seed", optarg, "0 to 2^53, please"))
			return false;
		conf->last = conf->first;
		break;
	case TIME:
		return parse_time("--time", optarg, &conf->time_ns);
	case TIMEOUT:
		return parse_time("--timeout", optarg, &conf->timeout_ns);
	case 'j':
		return parse_jobs(optarg, &conf->nb_jobs);
	case 'o':
		conf->dir = optarg;
		break;
	case 'p':
		opt->is_print = true;
		break;
	case 'q':
		conf->is_quiet = true;
		break;
	}
	return true;
}

static uint32_t
cores(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) > CREW_MAX)
		return 1;
	return (uint32_t)CPU_COUNT(&set);
}

/* One that may be written into: what was found after hours shall have a place. */
static bool
make_folder(const char *dir)
{
	char inside[PATH_MAX];
	bool ok = mkdir(dir, 0777) == 0 || errno == EEXIST;

	if (ok && snprintf(inside, sizeof(inside), "%s/.", dir) < (int)sizeof(inside))
		ok = access(inside, W_OK | X_OK) == 0;
	if (!ok)
		fprintf(stderr, "weft-lab swarm: %s: %s\n", dir, strerror(errno));
	return ok;
}

/* What follows from what was not said; false after a message. */
static bool
finish(struct swarm_options *opt)
{
	struct swarm_conf *conf = &opt->conf;
	uint32_t fresh = 0;

	if (conf->nb_jobs == 0)
		conf->nb_jobs = cores();
	if (conf->last == UINT64_MAX) {
		if (getrandom(&fresh, sizeof(fresh), 0) != sizeof(fresh)) {
			perror("weft-lab swarm: getrandom");
			return false;
		}
		/* Far from the small ones that people choose. */
		conf->first = (UINT64_C(1) << 32) + fresh;
		conf->last = SEED_MAX;
		if (conf->time_ns == 0)
			conf->time_ns = UINT64_C(60000000000);
	}
	return !conf->dir || make_folder(conf->dir);
}

int
swarm_options_parse(struct swarm_options *opt, int argc, char **argv)
{
	int c;

	*opt = (struct swarm_options){
		.conf = {.last = UINT64_MAX,
	                 .timeout_ns = UINT64_C(120000000000),
	                 .findings_max = SWARM_FINDINGS_MAX,
	                 .finds_leaks = true,
	                 .out = stdout},
	};
	optind = 1;
	while ((c = getopt_long(argc, argv, "j:o:pqh", longs, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			return LAB_EXIT_OK;
		}
		if (c == '?') {
			fputs("weft-lab swarm: try --help\n", stderr);
			return LAB_EXIT_USAGE;
		}
		if (!parse_one(opt, c))
			return LAB_EXIT_USAGE;
	}
	if (optind < argc) {
		fprintf(stderr, "weft-lab swarm: '%s'? Try --help\n", argv[optind]);
		return LAB_EXIT_USAGE;
	}
	return finish(opt) ? -1 : LAB_EXIT_USAGE;
}
