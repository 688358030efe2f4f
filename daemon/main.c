/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "be.h"
#include "conf.h"
#include "conf_start.h"
#include "console.h"
#include "control.h"
#include "counters.h"
#include "eal.h"
#include "log.h"
#include "logs.h"
#include "nodes.h"
#include "notify.h"
#include "session.h"
#include "telemetry.h"

static const char usage[] =
	"usage: weftd [OPTION] CONF\n"
	"\n"
	"Runs the NICs and switches that CONF lists, in the foreground, until SIGTERM or SIGINT.\n"
	"SIGUSR1 makes it tell its counters.\n"
	"\n"
	"  -c, --check    say what is wrong with CONF and start nothing\n"
	"  -v, --verbose  say more, and print all counters at the end\n"
	"  -h, --help     this text\n"
	"  -V, --version  the version\n"
	"\n"
	"environment:\n"
	"  WEFT_RUNTIME_DIR  folder of the control socket, an absolute path; for a second copy\n"
	"                    of weft, or when the usual folder is in use; for programs too\n";

/* What the command line says. */
struct options {
	const char *conf_path;
	bool check;
	bool verbose;
};

/* Everything, so that shutdown undoes what start-up has done. */
struct daemon {
	struct conf *conf;
	struct device *devices;
	struct control control;
	struct nodes nodes;
	struct watch kernel; /* of nodes.kernel */
	struct consoles consoles;
	struct events events;
	struct tune tune;
};

/* @return an exit code, or -1 to go on. */
static int
parse_options(int argc, char **argv, struct options *opt)
{
	static const struct option longs[] = {
		{"check", no_argument, NULL, 'c'},
		{"verbose", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{0},
	};
	static const char shorts[] = "cvhV";
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			opt->check = true;
			break;
		case 'v':
			opt->verbose = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return EXIT_SUCCESS;
		case 'V':
			puts("weftd " WEFT_VERSION);
			return EXIT_SUCCESS;
		default:
			/* An unknown short option is in optopt, a long one in the word. */
			if (optopt && !strchr(shorts, optopt))
				fprintf(stderr, "weftd: unknown option '-%c' (try --help)\n",
				        optopt);
			else
				fprintf(stderr, "weftd: unknown option '%s' (try --help)\n",
				        argv[optind - 1]);
			return 2;
		}
	}
	if (optind != argc - 1) {
		fputs("weftd: one conf file, please: try --help\n", stderr);
		return 2;
	}
	opt->conf_path = argv[optind];
	return -1;
}

/* Before any thread: they inherit it. */
static void
set_up_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Each application costs half a dozen descriptors. */
static void
raise_file_limit(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
}

/* EUI-64, as the link-local address has it; host order. */
static uint64_t
guid_of(const uint8_t mac[6])
{
	return get_be64(gid_link_local(mac).ip.b + 8);
}

static int
make_devices(struct daemon *d)
{
	const struct conf *conf = d->conf;

	d->devices = calloc(conf->nb_nics ? conf->nb_nics : 1, sizeof(*d->devices));
	if (!d->devices)
		return -ENOMEM;
	for (uint32_t i = 0; i < conf->nb_nics; i++) {
		d->devices[i].name = conf->nics[i].name;
		d->devices[i].guid = guid_of(conf->nics[i].mac);
		list_init(&d->devices[i].clients);
	}
	return 0;
}

static void
tell_counters(void *arg)
{
	counters_log(arg);
}

static void
drained(void *arg)
{
	consoles_kick(arg);
}

static void
say_ready(const struct daemon *d)
{
	char text[CONF_TRIM_TEXT];

	for (uint32_t i = 0; i < d->conf->nb_switches; i++) {
		const struct conf_switch *sw = &d->conf->switches[i];

		log_info("switch %s: %u ports", sw->name, sw->nb_ports);
		if (conf_trim_text(sw, text, sizeof(text)))
			log_info("switch %s: %s", sw->name, text);
	}
	for (uint32_t i = 0; i < d->conf->nb_nics; i++)
		log_info("nic %s: %s, %s, %s, %s; path MTU %u (mtu %u)", d->conf->nics[i].name,
		         framing_wish_name(d->conf->nics[i].bind.framing),
		         d->conf->nics[i].bind.set.rel->info.name,
		         d->conf->nics[i].bind.set.cc->info.name,
		         d->conf->nics[i].bind.set.lb->info.name,
		         mtu_bytes(d->nodes.nics[i]->active_mtu), d->nodes.nics[i]->ip_mtu_bytes);
	log_info("ready at %s", d->control.socket_path);
	notify_manager("READY=1");
}

static void
fill_devices(struct daemon *d)
{
	for (uint32_t i = 0; i < d->conf->nb_nics; i++) {
		d->devices[i].nic = d->nodes.nics[i];
		d->devices[i].worker = d->nodes.worker;
		d->devices[i].nic->conf.owner = &d->devices[i];
	}
}

static void
kernel_ready(struct watch *watch, uint32_t events)
{
	(void)events;
	kernel_turn(container_of(watch, struct daemon, kernel)->nodes.kernel);
}

static int
watch_kernel(struct daemon *d)
{
	if (!d->nodes.kernel)
		return 0;
	d->kernel = (struct watch){.fd = kernel_fd(d->nodes.kernel), .ready = kernel_ready};
	return control_watch(&d->control, &d->kernel, EPOLLIN);
}

/* For operators, and for what reads DPDK's telemetry. */
static int
start_reports(struct daemon *d, const struct consoles_conf *conf)
{
	int err = consoles_open(&d->consoles, &d->control, conf);

	if (err)
		return err;
	err = telemetry_start(&d->consoles.report);
	if (err) {
		log_error("telemetry: %s", strerror(-err));
		consoles_close(&d->consoles);
	}
	return err;
}

/* Names first: whoever finds them taken has started nothing. */
static int
run(struct daemon *d, const struct options *opt)
{
	const struct conf *conf = d->conf;
	const struct control_conf control_conf = {
		.name = conf->daemon.name,
		.gid = conf->daemon.gid,
		.limits = conf->daemon.num.limits,
		.client_doorbells = conf->daemon.num.client_doorbells,
		.userfaultfd = conf->daemon.userfaultfd,
		.devices = d->devices,
		.nb_devices = conf->nb_nics,
		.tell_counters = tell_counters,
		.tell_arg = &d->nodes,
		.drain_ns = conf->daemon.num.drain_ns,
		.drained = drained,
		.drained_arg = &d->consoles,
	};
	const struct consoles_conf consoles_conf = {
		.name = conf->daemon.name,
		.gid = conf->daemon.operators_gid,
		.events = &d->events,
		.tune = &d->tune,
		.report = {.nodes = &d->nodes,
	                   .conf = conf,
	                   .whose = whose_qp,
	                   .is_drained = device_is_drained,
	                   .clients = view_clients,
	                   .clients_arg = &d->control},
	};
	struct eal_conf eal_conf = nodes_eal_conf(conf, opt->verbose);
	int err;

	d->tune.nodes = &d->nodes;
	d->tune.conf = d->conf;
	eal_conf.telemetry_dir = d->control.dir;
	eal_conf.telemetry_name = conf->daemon.name;
	err = control_open(&d->control, &control_conf);
	if (err)
		return err;
	err = eal_start(&eal_conf);
	if (err) {
		control_close(&d->control);
		return err;
	}
	err = nodes_open(&d->nodes, conf, &client_driver);
	d->nodes.refused = &d->control.accounts.stats;
	if (!err) {
		fill_devices(d);
		err = nodes_start(&d->nodes);
	}
	if (!err)
		err = watch_kernel(d);
	if (!err)
		err = start_reports(d, &consoles_conf);
	if (!err) {
		say_ready(d);
		control_run(&d->control);
		consoles_close(&d->consoles);
	}
	telemetry_stop();
	control_close(&d->control);
	if (opt->verbose && !err)
		counters_print(&d->nodes, stderr);
	nodes_stop(&d->nodes);
	nodes_free(&d->nodes);
	tune_fini(&d->tune);
	eal_stop();
	return err;
}

/* For --check: what was worked out and stands in no file. */
static void
tell_cuts(const struct conf *conf, const char *path)
{
	char text[CONF_TRIM_TEXT];

	for (uint32_t i = 0; i < conf->nb_switches; i++)
		if (conf_trim_text(&conf->switches[i], text, sizeof(text)))
			printf("%s: [switch %s]: %s\n", path, conf->switches[i].name, text);
}

int
main(int argc, char **argv)
{
	static struct daemon d;
	struct options opt = {0};
	int code = parse_options(argc, argv, &opt), err;

	if (code >= 0)
		return code;
	logs_start(opt.verbose);
	d.conf = conf_read(opt.conf_path, stderr);
	if (!d.conf)
		return EXIT_FAILURE;
	if (opt.check) {
		bool is_good = conf_start_check(d.conf, opt.conf_path, stderr);

		tell_cuts(d.conf, opt.conf_path);
		if (is_good)
			printf("%s: no mistakes\n", opt.conf_path);
		conf_free(d.conf);
		return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	set_up_signals();
	raise_file_limit();
	err = events_open(&d.events);
	if (!err)
		events_collect(&d.events);
	if (!err)
		err = make_devices(&d);
	if (!err)
		err = run(&d, &opt);
	events_close(&d.events);
	free(d.devices);
	conf_free(d.conf);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
