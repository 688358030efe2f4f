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
	"\n"
	"  -h, --help     this text\n"
	"  -V, --version  the version\n";

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{"run", lab_cmd_run},
	{"check", lab_cmd_check},
	{"sweep", lab_cmd_sweep},
	{"swarm", lab_cmd_swarm},
};

#define NB_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int
help(void)
{
	fputs(usage, stdout);
	for (size_t i = 0; i < NB_COMMANDS; i++) {
		char word[16], option[] = "--help", *argv[] = {word, option, NULL};

		snprintf(word, sizeof(word), "%s", commands[i].name);
		putchar('\n');
		commands[i].run(2, argv);
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
		fputs(usage, stderr);
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
			return commands[i].run(argc - 1, argv + 1);
	return unknown(word);
}
