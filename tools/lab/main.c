/* SPDX-License-Identifier: BSD-3-Clause */
/* weft-lab: hosts, switches and engines of weft under a virtual clock. */
#include <stdio.h>
#include <string.h>

#include "lab_cmd.h"
#include "nearest.h"

static const char usage[] =
	"usage: weft-lab COMMAND ...\n"
	"\n"
	"Runs hosts, switches and links of a scenario, weft-scenario(5), under a virtual clock: "
	"the\n"
	"stack and the engines of weftd, and what came of it as tables, files and figures.\n"
	"\n";

static const char options[] = "\n"
			      "  -h, --help     all options of all commands\n"
			      "  -V, --version  the version\n";

static const struct {
	const char *name, *what;
	int (*run)(int argc, char **argv);
} commands[] = {
	{"run", "a scenario: a table of what came of it, files, figures", lab_cmd_run},
	{"check", "what is wrong with a scenario; runs nothing", lab_cmd_check},
	{"sweep", "every combination of values of some keys, into one CSV", lab_cmd_sweep},
	{"swarm", "random scenarios, until one breaks a rule", lab_cmd_swarm},
};

#define NB_COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* Messages of getopt begin with its full name. */
static int
start(size_t i, int argc, char **argv)
{
	char name[32];

	snprintf(name, sizeof(name), "weft-lab %s", commands[i].name);
	argv[0] = name;
	return commands[i].run(argc, argv);
}

static void
print_usage(FILE *out)
{
	fputs(usage, out);
	for (size_t i = 0; i < NB_COMMANDS; i++)
		fprintf(out, "  %-6s %s\n", commands[i].name, commands[i].what);
	fputs(options, out);
}

static int
help(void)
{
	print_usage(stdout);
	for (size_t i = 0; i < NB_COMMANDS; i++) {
		char option[] = "--help", *argv[] = {NULL, option, NULL};

		putchar('\n');
		start(i, 2, argv);
	}
	return LAB_EXIT_OK;
}

static int
unknown(const char *word)
{
	const char *names[NB_COMMANDS];
	char why[256];

	for (size_t i = 0; i < NB_COMMANDS; i++)
		names[i] = commands[i].name;
	nearest_list(word, "command", names, NB_COMMANDS, why, sizeof(why));
	fprintf(stderr, "weft-lab: %s; try weft-lab --help\n", why);
	return LAB_EXIT_USAGE;
}

int
main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;

	if (!word) {
		print_usage(stderr);
		return LAB_EXIT_USAGE;
	}
	if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
		return help();
	if (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0) {
		puts("weft-lab " WEFT_VERSION);
		return LAB_EXIT_OK;
	}
	for (size_t i = 0; i < NB_COMMANDS; i++)
		if (strcmp(commands[i].name, word) == 0)
			return start(i, argc - 1, argv + 1);
	return unknown(word);
}
