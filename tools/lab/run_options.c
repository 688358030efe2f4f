/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "lab_cmd.h"

static const char run_usage[] =
	"usage: weft-lab run SCENARIO [[SECTION.]KEY=VALUE ...] [OPTION ...]\n"
	"\n"
	"Runs a scenario and prints a table of what came of it. Keys stand in place of the "
	"file's:\n"
	"topology.hosts=16, host.cc=fixed, engine.gbn.renak=4us, workload.NAME.bytes=2M; without "
	"a\n"
	"section it is one of [lab]: duration=5ms. SCENARIO - is standard input. Ends with 1 if a\n"
	"checker was violated, 2 if there is a mistake in the scenario or the command line, 130\n"
	"after ^C, which ends the run; what came of it until then is told.\n"
	"\n"
	"  -s, --seed N          the same as seed=N\n"
	"  -c, --csv DIR         also write everything as CSV files into this folder\n"
	"  -j, --json FILE       also write everything as JSON\n"
	"  -p, --plot DIR        also draw the standard figures into this folder (gnuplot)\n"
	"  -w, --pcap NODE=FILE  also write all frames of a node, such as h3 or leaf0, as pcapng\n"
	"  -q, --quiet           no table, no progress\n"
	"  -h, --help            this text\n";

static const char check_usage[] =
	"usage: weft-lab check SCENARIO [[SECTION.]KEY=VALUE ...]\n"
	"\n"
	"Reads a scenario, tells of all mistakes and doubts, and runs nothing.\n"
	"\n"
	"  -h, --help            this text\n";

static const struct option longs[] = {
	{"seed", required_argument, NULL, 's'}, {"csv", required_argument, NULL, 'c'},
	{"json", required_argument, NULL, 'j'}, {"plot", required_argument, NULL, 'p'},
	{"pcap", required_argument, NULL, 'w'}, {"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},       {0},
};

static const struct option check_longs[] = {
	{"help", no_argument, NULL, 'h'},
	{0},
};

static bool
parse_seed(struct run_options *opt, const char *text)
{
	if (snprintf(opt->seed, sizeof(opt->seed), "seed=%s", text) < (int)sizeof(opt->seed))
		return true;
	fprintf(stderr, "weft-lab: --seed '%s' is no number of up to 2^53\n", text);
	return false;
}

static bool
parse_pcap(struct run_options *opt, const char *text)
{
	const char *equals = strchr(text, '=');
	size_t len = equals ? (size_t)(equals - text) : 0;

	if (len == 0 || len >= sizeof(opt->pcap_node) || !equals[1]) {
		fprintf(stderr, "weft-lab: --pcap '%s' is not NODE=FILE\n", text);
		return false;
	}
	if (opt->pcap) {
		fprintf(stderr, "weft-lab: --pcap once, please: one node of a run is captured\n");
		return false;
	}
	memcpy(opt->pcap_node, text, len);
	opt->pcap_node[len] = '\0';
	opt->pcap = equals + 1;
	return true;
}

/* false: it is wrong, and that was told. */
static bool
parse_one(struct run_options *opt, int c)
{
	switch (c) {
	case 's':
		return parse_seed(opt, optarg);
	case 'c':
		opt->csv = optarg;
		return true;
	case 'j':
		opt->json = optarg;
		return true;
	case 'p':
		opt->plot = optarg;
		return true;
	case 'w':
		return parse_pcap(opt, optarg);
	case 'q':
		opt->is_quiet = true;
		return true;
	}
	return false;
}

/* What is left: the scenario, and keys. */
static bool
take_words(struct run_options *opt, int nb, char **words)
{
	int n = 0;

	if (nb > RUN_OVERRIDES_MAX) {
		fprintf(stderr, "weft-lab: more than %d keys\n", RUN_OVERRIDES_MAX - 1);
		return false;
	}
	opt->scenario = words[0];
	for (int i = 1; i < nb; i++)
		opt->overrides[n++] = words[i];
	/* The last of a key counts. */
	if (opt->seed[0])
		opt->overrides[n++] = opt->seed;
	return true;
}

int
run_options_parse(struct run_options *opt, bool is_check, int argc, char **argv)
{
	int c;

	*opt = (struct run_options){0};
	optind = 0; /* all anew: main's help asks several commands */
	while ((c = getopt_long(argc, argv, is_check ? "h" : "s:c:j:p:w:qh",
	                        is_check ? check_longs : longs, NULL)) != -1) {
		if (c == 'h') {
			fputs(is_check ? check_usage : run_usage, stdout);
			return LAB_EXIT_OK;
		}
		if (c == '?') {
			fprintf(stderr, "%s: try --help\n", argv[0]);
			return LAB_EXIT_USAGE;
		}
		if (!parse_one(opt, c))
			return LAB_EXIT_USAGE;
	}
	if (optind == argc) {
		fputs(is_check ? check_usage : run_usage, stderr);
		return LAB_EXIT_USAGE;
	}
	return take_words(opt, argc - optind, argv + optind) ? -1 : LAB_EXIT_USAGE;
}
