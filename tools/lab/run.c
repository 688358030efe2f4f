/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "csv.h"
#include "json.h"
#include "lab_cmd.h"
#include "lab_log.h"
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

/* To its end, with progress. */
static void
run(struct lab *lab, const struct scenario *s, const struct run_options *opt)
{
	struct progress p;
	uint64_t nb_ended, nb_known;

	progress_begin(&p, stderr, s->conf.duration_ns * PS_PER_NS, progress_clock_ns());
	while (lab_run(lab, SLICE_EVENTS)) {
		if (opt->is_quiet)
			continue;
		lab_progress(lab, &nb_ended, &nb_known);
		progress_update(&p, lab_now_ps(lab), nb_ended, nb_known, progress_clock_ns());
	}
	progress_hide(&p);
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
		table_print(stdout, result, &summary);
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
	if (begin_capture(lab, s, opt, &pcap)) {
		run(lab, s, opt);
		code = pcap && pcap_close(pcap) != 0 ? LAB_EXIT_USAGE : LAB_EXIT_OK;
		result = *lab_result(lab);
		result.scenario = s->path;
		result.cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_s;
		result.wall_s = seconds(CLOCK_MONOTONIC) - wall_s;
		if (!report(&result, opt))
			code = LAB_EXIT_USAGE;
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
	int code = run_options_parse(&opt, argc, argv);
	struct scenario *s;

	if (code >= 0)
		return code;
	lab_log_start();
	s = scenario_read(opt.scenario, opt.overrides, stderr);
	if (!s)
		return LAB_EXIT_USAGE;
	code = run_scenario(s, &opt);
	scenario_free(s);
	return code;
}

int
lab_cmd_check(int argc, char **argv)
{
	struct run_options opt;
	int code = run_options_parse(&opt, argc, argv);
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
