/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab_cmd.h"
#include "sweep_crew.h"
#include "units.h"

static const char usage[] =
	"usage: weft-lab sweep SCENARIO [KEY=VALUE,VALUE...]... -o FILE.csv [OPTION...]\n"
	"       weft-lab sweep --merge -o FILE.csv PART.csv...\n"
	"\n"
	"Runs a scenario with every combination of values, each in a process of its own, and "
	"writes\n"
	"one line for each. KEY is as in weft-lab run: host.cc, topology.hosts, seed. A value "
	"A..B\n"
	"stands for all integers from A to B; a comma in a value is written '\\,'. The last key\n"
	"varies fastest.\n"
	"\n"
	"  -o, --out FILE       the CSV; what is done is kept in FILE.journal until all is\n"
	"      --seeds A..B     the same as seed=A..B after all other keys\n"
	"  -j, --jobs N         cells at a time, 1 to 1024; default: cores that it may use\n"
	"      --timeout TIME   longest that a cell may take, such as 10min; default: for ever\n"
	"  -q, --quiet          no progress\n"
	"  -h, --help           this text\n"
	"\n"
	"The same command again goes on where the last one was stopped or killed:\n"
	"      --retry          do the cells that failed again\n"
	"      --resume         go on even if weft-lab is another build than before\n"
	"      --fresh          forget what was done\n"
	"\n"
	"On many machines: 'mpirun weft-lab sweep ...' shares the cells between its processes. Or\n"
	"      --shard I/N      only the cells I, I + N, I + 2N...; in a Slurm job it is\n"
	"                       SLURM_PROCID/SLURM_NTASKS (counted through all elements of an\n"
	"                       array), and the name of FILE gets '.I-of-N'; 0/1 = all cells\n"
	"      --merge          make one CSV of the shards', which needs their journals beside "
	"them\n"
	"\n"
	"Ends with 1 if cells failed (their lines say why), 2 if nothing could be done.\n";

enum { SEEDS = 256, TIMEOUT, RETRY, RESUME, FRESH, SHARD, MERGE };

static const struct option longs[] = {
	{"out", required_argument, NULL, 'o'},  {"seeds", required_argument, NULL, SEEDS},
	{"jobs", required_argument, NULL, 'j'}, {"timeout", required_argument, NULL, TIMEOUT},
	{"quiet", no_argument, NULL, 'q'},      {"help", no_argument, NULL, 'h'},
	{"retry", no_argument, NULL, RETRY},    {"resume", no_argument, NULL, RESUME},
	{"fresh", no_argument, NULL, FRESH},    {"shard", required_argument, NULL, SHARD},
	{"merge", no_argument, NULL, MERGE},    {0},
};

static bool
tell(bool ok, const char *what, const char *text, const char *why)
{
	if (!ok)
		fprintf(stderr, "weft-lab sweep: %s '%s': %s\n", what, text, why);
	return ok;
}

static bool
parse_jobs(const char *text, uint32_t *nb)
{
	const char *why = "not in 1 to 1024";
	uint64_t value = 0;

	if (units_parse(UNITS_COUNT, text, &value, &why) == 0 && (value == 0 || value > CREW_MAX))
		value = 0;
	*nb = (uint32_t)value;
	return tell(value != 0, "--jobs", text, why);
}

static bool
parse_timeout(const char *text, uint64_t *ns)
{
	const char *why = "";
	bool ok = units_parse(UNITS_TIME, text, ns, &why) == 0;

	return tell(ok, "--timeout", text, why);
}

static bool
parse_one(struct sweep_options *opt, const char **seeds, int c)
{
	switch (c) {
	case 'o':
		opt->out = optarg;
		break;
	case 'j':
		return parse_jobs(optarg, &opt->nb_jobs);
	case 'q':
		opt->is_quiet = true;
		break;
	case SEEDS:
		*seeds = optarg;
		break;
	case TIMEOUT:
		return parse_timeout(optarg, &opt->timeout_ns);
	case RETRY:
		opt->retry = true;
		break;
	case RESUME:
		opt->how = JOURNAL_ANY_PROGRAM;
		break;
	case FRESH:
		opt->how = JOURNAL_FRESH;
		break;
	case SHARD:
		opt->has_shard = true;
		return tell(shard_parse(optarg, &opt->shard), "--shard", optarg,
		            "not I/N with I from 0 to N - 1");
	case MERGE:
		opt->is_merge = true;
		break;
	}
	return true;
}

/* A scenario, and its parameters. */
static bool
parse_words(struct sweep_options *opt, char *const *words, uint32_t nb, const char *seeds)
{
	char why[512];
	int err = 0;

	if (nb == 0) {
		fputs("weft-lab sweep: which scenario? Try --help\n", stderr);
		return false;
	}
	opt->scenario = words[0];
	for (uint32_t i = 1; i < nb && !err; i++)
		err = matrix_add(&opt->matrix, words[i], why, sizeof(why));
	if (!err && seeds)
		err = matrix_add_key(&opt->matrix, "seed", seeds, why, sizeof(why));
	if (err)
		fprintf(stderr, "weft-lab sweep: %s\n", err == -ENOMEM ? "no memory" : why);
	return !err;
}

static bool
parse_rest(struct sweep_options *opt, char *const *words, uint32_t nb, const char *seeds)
{
	if (!opt->out || *opt->out == '\0') {
		fputs("weft-lab sweep: where to? Say -o FILE.csv\n", stderr);
		return false;
	}
	if (!opt->is_merge)
		return parse_words(opt, words, nb, seeds);
	if (nb == 0 || seeds || opt->has_shard) {
		fputs("weft-lab sweep: --merge has the CSV files of shards and -o FILE.csv, and "
		      "nothing else\n",
		      stderr);
		return false;
	}
	opt->parts = words;
	opt->nb_parts = nb;
	return true;
}

int
sweep_options_parse(struct sweep_options *opt, int argc, char **argv)
{
	const char *seeds = NULL;
	int c;

	*opt = (struct sweep_options){.shard = {.nb = 1}};
	optind = 1;
	while ((c = getopt_long(argc, argv, "o:j:qh", longs, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			return LAB_EXIT_OK;
		}
		if (c == '?') {
			fputs("weft-lab sweep: try --help\n", stderr);
			return LAB_EXIT_USAGE;
		}
		if (!parse_one(opt, &seeds, c))
			return LAB_EXIT_USAGE;
	}
	if (parse_rest(opt, argv + optind, (uint32_t)(argc - optind), seeds))
		return -1;
	sweep_options_free(opt);
	return LAB_EXIT_USAGE;
}

void
sweep_options_free(struct sweep_options *opt)
{
	matrix_free(&opt->matrix);
}
