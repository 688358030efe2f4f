/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "csv.h"
#include "human.h"
#include "json.h"
#include "lab_cmd.h"
#include "lab_log.h"
#include "log.h"
#include "outfile.h"
#include "pcap.h"
#include "plot.h"
#include "progress.h"
#include "run_options.h"
#include "scenario.h"
#include "summary.h"
#include "table.h"

/* weft-lab run and weft-lab check. */

/* Events between two looks at the progress: some milliseconds. Our choice. */
#define SLICE_EVENTS 16384

static double
seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- signals ---- */

static volatile sig_atomic_t stop_signal; /* 0 = none came */

static void
on_signal(int number)
{
	stop_signal = number;
}

/* The first ends the run, and what came of it is told; the second ends all. */
static void
catch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND}, before;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		sigaction(signals[i], NULL, &before);
		if (before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

static void
tell_signal(const struct lab *lab)
{
	char text[HUMAN_TEXT_MAX];

	fprintf(stderr, "weft-lab: stopped by SIG%s after %s of virtual time; only that is told\n",
	        sigabbrev_np(stop_signal),
	        human(value_real((double)lab_now_ps(lab) / PS_PER_NS), "ns", text));
}

/* ---- a run ---- */

/* To its end, with progress. */
static void
run(struct lab *lab, const struct scenario *s, const struct run_options *opt)
{
	struct progress p;
	uint64_t nb_ended, nb_known;

	progress_begin(&p, stderr, s->conf.duration_ns * PS_PER_NS, progress_clock_ns());
	while (!stop_signal && lab_run(lab, SLICE_EVENTS)) {
		if (opt->is_quiet)
			continue;
		lab_progress(lab, &nb_ended, &nb_known);
		progress_update(&p, lab_now_ps(lab), nb_ended, nb_known, progress_clock_ns());
	}
	progress_hide(&p);
	if (stop_signal)
		tell_signal(lab);
}

static void
tell_violation(const struct result *result)
{
	const struct violation *v = &result->violation;

	fprintf(stderr,
	        "weft-lab: a checker was violated: %s: %s\n"
	        "at %" PRIu64 ".%03" PRIu64 " ns of %s with seed %" PRIu64 "\n%s",
	        v->rule, v->what, v->at_ps / PS_PER_NS, v->at_ps % PS_PER_NS, result->scenario,
	        result->seed, v->history ? v->history : "");
}

/* Whether what is wanted can be written, before there is anything to be lost. */
static bool
can_write(const struct run_options *opt)
{
	return (!opt->csv || outfile_folder(opt->csv) == 0) &&
	       (!opt->plot || outfile_folder(opt->plot) == 0) &&
	       (!opt->json || outfile_check(opt->json) == 0);
}

static bool
print_table(const struct result *result, const struct summary *summary)
{
	errno = 0;
	table_print(stdout, result, summary);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	log_error("cannot write the table to standard output: %s", strerror(errno ? errno : EIO));
	return false;
}

/* All that was asked for; false if something could not be written, which was told. */
static bool
report(const struct result *result, const struct run_options *opt)
{
	struct summary summary;
	bool ok = true;

	if (summary_create(&summary, result) != 0) {
		fputs("weft-lab: no memory for the summary\n", stderr);
		return false;
	}
	if (!opt->is_quiet)
		ok &= print_table(result, &summary);
	if (opt->csv)
		ok &= csv_write(result, &summary, opt->csv) == 0;
	if (opt->json)
		ok &= json_write(result, &summary, opt->json) == 0;
	if (opt->plot)
		ok &= plot_write(result, opt->plot) == 0;
	summary_free(&summary);
	return ok;
}

/* A capture of it, if one is wanted; false after a message. */
static bool
begin_capture(struct lab *lab, const struct scenario *s, const struct run_options *opt,
              struct pcap **pcap)
{
	char why[256];
	uint32_t node;

	*pcap = NULL;
	if (!opt->pcap)
		return true;
	node = scenario_node(&s->plan, opt->pcap_node, why, sizeof(why));
	if (node == UINT32_MAX)
		fprintf(stderr, "weft-lab: --pcap: %s\n", why);
	else
		*pcap = pcap_open(opt->pcap, &s->plan, node);
	if (*pcap)
		lab_set_tap(lab, pcap_tap(*pcap));
	return *pcap != NULL;
}

static int
run_scenario(struct scenario *s, const struct run_options *opt)
{
	double wall_s = seconds(CLOCK_MONOTONIC), cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID);
	struct lab *lab = lab_create(&s->conf);
	int code = LAB_EXIT_USAGE;
	struct pcap *pcap;
	struct result result;

	if (!lab) {
		fprintf(stderr, "weft-lab: no memory for %u hosts and %u switches\n",
		        s->plan.nb_hosts, s->plan.nb_switches);
		return code;
	}
	if (can_write(opt) && begin_capture(lab, s, opt, &pcap)) {
		run(lab, s, opt);
		code = pcap && pcap_close(pcap) != 0 ? LAB_EXIT_USAGE : LAB_EXIT_OK;
		result = *lab_result(lab);
		result.scenario = s->path;
		result.cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_s;
		result.wall_s = seconds(CLOCK_MONOTONIC) - wall_s;
		if (!report(&result, opt))
			code = LAB_EXIT_USAGE;
		if (stop_signal)
			code = 128 + stop_signal;
		if (result.violation.rule) {
			tell_violation(&result);
			code = LAB_EXIT_VIOLATED;
		}
	}
	lab_destroy(lab);
	return code;
}

int
lab_cmd_run(int argc, char **argv)
{
	struct run_options opt;
	int code = run_options_parse(&opt, false, argc, argv);
	struct scenario *s;

	if (code >= 0)
		return code;
	lab_log_start();
	s = scenario_read(opt.scenario, opt.overrides, stderr);
	if (!s)
		return LAB_EXIT_USAGE;
	catch_signals();
	code = run_scenario(s, &opt);
	scenario_free(s);
	return code;
}

int
lab_cmd_check(int argc, char **argv)
{
	struct run_options opt;
	int code = run_options_parse(&opt, true, argc, argv);
	struct scenario *s;

	if (code >= 0)
		return code;
	s = scenario_read(opt.scenario, opt.overrides, stderr);
	if (!s)
		return LAB_EXIT_USAGE;
	printf("%s: %s of %u hosts, %u switches, %u links; %u workload%s\n", s->path,
	       plan_kind_names[s->plan.kind], s->plan.nb_hosts, s->plan.nb_switches,
	       s->plan.nb_links, s->conf.nb_workloads, s->conf.nb_workloads == 1 ? "" : "s");
	scenario_free(s);
	return LAB_EXIT_OK;
}
