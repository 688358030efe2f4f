/* SPDX-License-Identifier: BSD-3-Clause */
/* weftctl: ask a running weftd. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "nearest.h"

static const char usage[] =
	"usage: weftctl [OPTION] COMMAND [ARGUMENT]\n"
	"\n"
	"Asks a running weftd.\n"
	"\n"
	"commands:\n"
	"  nodes            NICs and switches\n"
	"  qps [NIC]        queue pairs: state, peer, PSNs, what is in flight, why one failed\n"
	"  qp NIC QPN       all about one\n"
	"  clients [NIC]    programs, and what each has\n"
	"  counters [NODE[/PORT]]\n"
	"                   those that are not 0; NODE may be 'worker'\n"
	"  events           what happened of late, and then what happens\n"
	"  set NIC|SWITCH/PORT|ENGINE KEY VALUE\n"
	"                   change a parameter while it runs\n"
	"  drain [NIC]      take no programs, finish what was posted, send programs away\n"
	"  resume [NIC]     take programs again\n"
	"  capture NODE[/PORT] FILE\n"
	"                   write its frames to FILE ('-': standard output) as pcapng\n"
	"  version          of the daemon\n"
	"\n"
	"options:\n"
	"  -s, --socket X   which daemon: its name, or the path of its socket\n"
	"  -j, --json       JSON instead of tables\n"
	"  -a, --all        counters that are 0, too\n"
	"  -p, --past       only events that have happened\n"
	"      --seconds N  end a capture after so long...\n"
	"      --packets N  ...or after so many packets\n"
	"      --snaplen N  keep so many bytes of each; 0 = all\n"
	"  -h, --help       this text\n"
	"  -V, --version    the version of weftctl\n"
	"\n"
	"exit code: 0; 1 refused or failed; 2 wrong command line; 3 no daemon answers\n"
	"\n"
	"environment:\n"
	"  WEFT_RUNTIME_DIR  folder of the daemons' sockets, instead of the user's and the "
	"system's\n";

struct options {
	const char *socket; /* NULL = the only daemon */
	bool json;
	bool all;
	bool past;
	const char *seconds, *packets, *snaplen; /* NULL = not given */
};

/* Values of long options without a letter. */
enum { OPT_SECONDS = 256, OPT_PACKETS, OPT_SNAPLEN };

#define MAX_ARGS 3

/* What a word of the command line becomes in the request. */
struct arg {
	const char *name;
	bool is_number;
	bool optional;
};

struct command {
	const char *name;
	show_fn *show;
	struct arg args[MAX_ARGS + 1];
	bool is_stream; /* JSON: a document for each line, as it comes */
	bool has_file;  /* the argument behind the others is for us */
};

static const struct command commands[] = {
	{"nodes", show_nodes, {{NULL}}},
	{"qps", show_qps, {{"nic", .optional = true}}},
	{"qp", show_qp, {{"nic"}, {"qpn", .is_number = true}}},
	{"clients", show_clients, {{"nic", .optional = true}}},
	{"counters", show_counters, {{"node", .optional = true}}},
	{"events", show_events, {{NULL}}, .is_stream = true},
	{"set", show_set, {{"target"}, {"key"}, {"value"}}},
	{"drain", show_drain, {{"nic", .optional = true}}, .is_stream = true},
	{"resume", show_resume, {{"nic", .optional = true}}},
	{"capture", NULL, {{"node"}}, .has_file = true},
	{"version", show_version, {{NULL}}},
};

#define NB_COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* @return an exit code, or -1 to go on. */
static int
parse_options(int argc, char **argv, struct options *opt)
{
	static const struct option longs[] = {
		{"socket", required_argument, NULL, 's'},
		{"json", no_argument, NULL, 'j'},
		{"all", no_argument, NULL, 'a'},
		{"past", no_argument, NULL, 'p'},
		{"seconds", required_argument, NULL, OPT_SECONDS},
		{"packets", required_argument, NULL, OPT_PACKETS},
		{"snaplen", required_argument, NULL, OPT_SNAPLEN},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "s:japhV", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			opt->socket = optarg;
			break;
		case 'j':
			opt->json = true;
			break;
		case 'a':
			opt->all = true;
			break;
		case 'p':
			opt->past = true;
			break;
		case OPT_SECONDS:
			opt->seconds = optarg;
			break;
		case OPT_PACKETS:
			opt->packets = optarg;
			break;
		case OPT_SNAPLEN:
			opt->snaplen = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return EXIT_SUCCESS;
		case 'V':
			puts("weftctl " WEFT_VERSION);
			return EXIT_SUCCESS;
		default:
			fputs("weftctl: try --help\n", stderr);
			return EXIT_USAGE;
		}
	}
	if (optind < argc)
		return -1;
	fputs("weftctl: a command, please: try --help\n", stderr);
	return EXIT_USAGE;
}

static const struct command *
find_command(const char *name)
{
	struct nearest near = nearest_of(name);
	char why[256];

	for (size_t i = 0; i < NB_COMMANDS; i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
		nearest_offer(&near, commands[i].name);
	}
	nearest_explain(&near, "command", why, sizeof(why));
	fprintf(stderr, "weftctl: %s; try --help\n", why);
	return NULL;
}

static json_t *
arg_value(const struct arg *arg, const char *word)
{
	unsigned long number;
	char *end;

	if (!arg->is_number)
		return json_string(word);
	errno = 0;
	number = strtoul(word, &end, 0);
	if (errno || *end || end == word || *word == '-')
		return NULL;
	return json_integer((json_int_t)number);
}

static bool
put_arg(json_t *request, const struct arg *arg, const char *word)
{
	if (json_object_set_new(request, arg->name, arg_value(arg, word)) == 0)
		return true;
	fprintf(stderr, "weftctl: %s '%s': not a %s\n", arg->name, word,
	        arg->is_number ? "whole number" : "text in UTF-8");
	return false;
}

/* false after a message. */
static bool
put_args(json_t *request, const struct command *command, char **words)
{
	const struct arg *arg = command->args;

	for (; arg->name && *words; arg++, words++) {
		if (!put_arg(request, arg, *words))
			return false;
	}
	if (arg->name && !arg->optional) {
		fprintf(stderr, "weftctl: %s needs a %s: try --help\n", command->name, arg->name);
		return false;
	}
	if (command->has_file && !*words) {
		fprintf(stderr, "weftctl: %s needs a FILE: try --help\n", command->name);
		return false;
	}
	if (command->has_file)
		words++;
	if (*words)
		fprintf(stderr, "weftctl: %s: '%s' is too much: try --help\n", command->name,
		        *words);
	return !*words;
}

/* NULL after a message. */
static json_t *
make_request(const struct command *command, const struct options *opt, char **words)
{
	json_t *request = json_pack("{s:s}", "order", command->name);
	const struct {
		struct arg arg;
		const char *word;
	} limits[] = {
		{{"seconds", .is_number = true}, opt->seconds},
		{{"packets", .is_number = true}, opt->packets},
		{{"snaplen", .is_number = true}, opt->snaplen},
	};
	bool good = put_args(request, command, words);

	for (size_t i = 0; good && i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (!limits[i].word)
			continue;
		good = command->has_file;
		if (good)
			good = put_arg(request, &limits[i].arg, limits[i].word);
		else
			fprintf(stderr, "weftctl: --%s is for capture: try --help\n",
			        limits[i].arg.name);
	}
	if (good && opt->past)
		json_object_set_new(request, "follow", json_false());
	if (good)
		return request;
	json_decref(request);
	return NULL;
}

/* Arrays of a further line go behind those that are there. */
static void
merge(json_t *whole, json_t *line)
{
	const char *key;
	json_t *value, *before;

	json_object_foreach(line, key, value)
	{
		before = json_object_get(whole, key);
		if (json_is_array(before) && json_is_array(value))
			json_array_extend(before, value);
		else
			json_object_set(whole, key, value);
	}
}

static void
print(const json_t *document, size_t flags)
{
	json_dumpf(document, stdout, flags);
	putchar('\n');
	fflush(stdout);
}

static int
run(const struct command *command, const struct options *opt, const json_t *request)
{
	json_t *whole = json_object(), *line = NULL;
	bool is_first = true, more = true;
	struct ask ask;
	int code = ask_open(&ask, opt->socket);

	if (!code)
		code = ask_send(&ask, request);
	if (!code && command->is_stream)
		ask_patiently(&ask);
	for (; !code && more; is_first = false) {
		code = ask_next(&ask, &line, &more);
		if (code)
			break;
		if (opt->json && command->is_stream)
			print(line, JSON_COMPACT);
		else if (opt->json)
			merge(whole, line);
		else
			command->show(line, is_first, opt->all);
		json_decref(line);
	}
	if (!code && opt->json && !command->is_stream)
		print(whole, JSON_INDENT(2));
	json_decref(whole);
	ask_close(&ask);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		perror("weftctl: output");
		return EXIT_REFUSED;
	}
	return code;
}

int
main(int argc, char **argv)
{
	struct options opt = {0};
	int code = parse_options(argc, argv, &opt);
	const struct command *command;
	json_t *request;

	if (code >= 0)
		return code;
	command = find_command(argv[optind]);
	request = command ? make_request(command, &opt, argv + optind + 1) : NULL;
	if (!request)
		return EXIT_USAGE;
	code = command->has_file ? capture_to(argv[argc - 1], opt.socket, opt.json, request)
	                         : run(command, &opt, request);
	json_decref(request);
	return code;
}
