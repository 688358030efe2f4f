/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab_cmd.h"
#include "sweep_merge.h"
#include "sweep_options.h"
#include "sweep_report.h"
#include "sweep_scenario.h"
#include "sweep_sum.h"
#include "sweep_table.h"
#include "sweep_work.h"

#define WHY_SIZE 4352

/* A sweep that is being done. */
struct sweep {
	struct sweep_options opt;
	const struct sweep_ops *ops;
	struct net net;
	struct journal_id id;
	char *out, *journal_path;
	bool is_broken; /* the other ranks don't know that this one ends */
	char why[WHY_SIZE];
};

/*
 * Cores for this process: those that it may run on, but not more than its share of the machine
 * beside the ranks that mpirun put there.
 */
static uint32_t
default_jobs(const struct net *net)
{
	uint32_t share = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN) / net->nb_here;
	uint32_t nb = 1;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		nb = (uint32_t)CPU_COUNT(&set);
	if (share == 0)
		share = 1;
	if (nb > share)
		nb = share;
	return nb < CREW_MAX ? nb : CREW_MAX;
}

/* A mistake in the file may come of a value. */
static void
tell_values(char *const *overrides)
{
	fputs("weft-lab sweep: that is with", stderr);
	for (; *overrides; overrides++)
		fprintf(stderr, " %s", *overrides);
	fputc('\n', stderr);
}

/* Mistakes are told before hours of work: each value once, the other parameters at their first. */
static bool
check_values(const struct sweep *s)
{
	const struct matrix *m = &s->opt.matrix;
	uint32_t stride = 1;
	bool ok = true;

	for (uint32_t i = m->nb_axes; ok && i-- > 0; stride *= m->axes[i].nb_values) {
		for (uint32_t k = i + 1 == m->nb_axes ? 0 : 1; ok && k < m->axes[i].nb_values;
		     k++) {
			char **overrides = matrix_overrides(m, k * stride);

			ok = overrides && s->ops->check(s->opt.scenario, overrides, stderr);
			if (overrides && !ok)
				tell_values(overrides);
			free(overrides);
		}
	}
	if (m->nb_axes == 0)
		ok = s->ops->check(s->opt.scenario, &(char *){NULL}, stderr);
	return ok;
}

static bool
choose_shard(struct sweep *s)
{
	struct sweep_options *opt = &s->opt;

	/* Under mpirun the ranks share; that Slurm started mpirun is of no matter. */
	if (!opt->has_shard && s->net.nb_ranks == 1 &&
	    !shard_of_slurm(&opt->shard, s->why, sizeof(s->why)))
		return false;
	s->out = opt->shard.is_of_slurm ? shard_path(opt->out, &opt->shard) : strdup(opt->out);
	if (!s->out || asprintf(&s->journal_path, "%s" MERGE_SUFFIX, s->out) < 0) {
		snprintf(s->why, sizeof(s->why), "no memory");
		return false;
	}
	s->id.shard = opt->shard.idx;
	s->id.nb_shards = opt->shard.nb;
	return true;
}

static bool
identify(struct sweep *s)
{
	int err = sweep_sum_scenario(s->opt.scenario, &s->opt.matrix, &s->id.scenario);

	if (err) {
		snprintf(s->why, sizeof(s->why), "%s: %s", s->opt.scenario,
		         err == -EINVAL ? "each cell reads it anew: a plain file, please"
		                        : strerror(-err));
		return false;
	}
	s->id.program = sweep_sum_program();
	return true;
}

/* What the ranks must agree on; all have the same command line. */
static uint64_t
sum_of(const struct journal_id *id)
{
	return sum_add(SUM_INIT, id, sizeof(*id));
}

/* All cells of the journal are done. */
static int
finish(struct sweep *s, struct journal *j)
{
	struct shard *shard = &s->opt.shard;
	uint32_t nb_failed;

	if (sweep_table_write(s->out, j, 1, s->why, sizeof(s->why)) < 0)
		return LAB_EXIT_USAGE;
	nb_failed = sweep_report_failures(stderr, j, 1, s->opt.scenario);
	if (nb_failed > 0)
		fprintf(stderr, "The same command with --retry does them again.\n");
	else if (shard->nb == 1)
		unlink(s->journal_path);
	if (!s->opt.is_quiet) {
		fprintf(stderr, "weft-lab sweep: %u cells in %s\n", j->nb_done, s->out);
		if (shard->nb > 1)
			fprintf(stderr,
			        "This is shard %u of 0 to %u; when all are there, 'weft-lab sweep "
			        "--merge -o FILE.csv PART.csv...' makes one of them.\n",
			        shard->idx, shard->nb - 1);
	}
	return nb_failed ? LAB_EXIT_VIOLATED : LAB_EXIT_OK;
}

static int
stopped(const struct sweep *s, const struct journal *j)
{
	fprintf(stderr,
	        "weft-lab sweep: stopped with %u of %u cells done; the same command goes on (%s)\n",
	        j->nb_done, j->nb_mine, s->journal_path);
	return 128 + crew_is_told_to_stop;
}

static int
lead(struct sweep *s, const struct work *work)
{
	struct journal j;
	int code = LAB_EXIT_USAGE;

	if (!check_values(s) || journal_open(&j, s->journal_path, &s->id, &s->opt.matrix,
	                                     s->opt.how, s->why, sizeof(s->why)) < 0) {
		work_dismiss(work);
		return code;
	}
	if (j.was_torn)
		fprintf(stderr,
		        "weft-lab sweep: the last line of %s was cut short: its cell is "
		        "done again\n",
		        s->journal_path);
	if (s->opt.retry)
		journal_retry(&j);
	if (j.nb_done > 0 && !s->opt.is_quiet)
		fprintf(stderr, "weft-lab sweep: %u of %u cells are done already\n", j.nb_done,
		        j.nb_mine);
	switch (work_lead(work, &j, s->why, sizeof(s->why))) {
	case WORK_DONE:
		code = finish(s, &j);
		break;
	case WORK_STOPPED:
		code = stopped(s, &j);
		s->is_broken = true;
		break;
	case WORK_FAILED:
		s->is_broken = true;
		break;
	}
	journal_close(&j);
	return code;
}

static int
follow(struct sweep *s, const struct work *work)
{
	switch (work_follow(work, s->why, sizeof(s->why))) {
	case WORK_DONE:
		return LAB_EXIT_OK;
	case WORK_STOPPED:
		s->is_broken = true;
		return 128 + crew_is_told_to_stop;
	case WORK_FAILED:
		s->is_broken = true;
		break;
	}
	return LAB_EXIT_USAGE;
}

static int
work(struct sweep *s)
{
	uint32_t nb_jobs = s->opt.nb_jobs ? s->opt.nb_jobs : default_jobs(&s->net);
	struct crew crew;
	struct work work = {
		.matrix = &s->opt.matrix,
		.crew = &crew,
		.net = &s->net,
		.id_sum = sum_of(&s->id),
		.is_quiet = s->opt.is_quiet,
	};
	int code;

	if (crew_init(&crew, s->ops->run, s->opt.scenario, nb_jobs, s->opt.timeout_ns) < 0) {
		snprintf(s->why, sizeof(s->why), "no memory");
		return LAB_EXIT_USAGE;
	}
	code = net_is_lead(&s->net) ? lead(s, &work) : follow(s, &work);
	crew_fini(&crew);
	return code;
}

static int
run(struct sweep *s)
{
	int code = LAB_EXIT_USAGE;
	bool is_open = net_open(&s->net, s->why, sizeof(s->why)) == 0;

	if (is_open && choose_shard(s) && identify(s))
		code = work(s);
	else
		s->is_broken = true;
	if (s->why[0])
		fprintf(stderr, "weft-lab sweep: %s\n", s->why);
	if (is_open && s->net.nb_ranks > 1) {
		if (s->is_broken)
			s->net.abort(code);
		else
			s->net.end();
	}
	free(s->journal_path);
	free(s->out);
	return code;
}

int
sweep_main(int argc, char **argv, const struct sweep_ops *ops)
{
	struct sweep s = {.ops = ops};
	int code = sweep_options_parse(&s.opt, argc, argv);

	if (code >= 0)
		return code;
	code = s.opt.is_merge ? sweep_merge(&s.opt) : run(&s);
	sweep_options_free(&s.opt);
	return code;
}
