/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every reliability engine, on every framing that it can have, carries every operation of whole
 * host stacks over links that lose, double, trim, mark, overtake, delay and fall silent. An engine
 * is under test when reliability/engines.c lists it.
 *
 * A failure names the seed and a command that runs it alone, with a trace of its last events. The
 * seeds run from 1 on; one that once failed stays, with a line of its story.
 *
 * In the environment: WEFT_TEST_SUBJECT, the name of one; WEFT_TEST_SEED, one or FIRST-LAST.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rel_bad.h"
#include "rel_subjects.h"
#include "rel_world.h"

/* Of all subjects together, and of each in a long run: a sanitizer makes seeds slow. */
#ifdef __SANITIZE_ADDRESS__
#define NB_SEEDS 400
#define NB_SEEDS_LONG 2000
#else
#define NB_SEEDS 1800
#define NB_SEEDS_LONG 20000
#endif
/* Until a planted mistake is found. */
#define NB_SEEDS_PLANTED 40
/* For each kind of mischief. */
#define NB_SEEDS_MISCHIEF 12

static struct rel_trace trace;

/* This program: Criterion runs a test under another name. */
static const char *
program(void)
{
	static char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	return len > 0 ? path : "test_conformance_reliability";
}

static void
explain(const struct rel_subject *subject, uint64_t seed, const struct rel_verdict *v)
{
	fprintf(stderr,
	        "# %s, seed %llu: %s\n# WEFT_TEST_SUBJECT='%s' WEFT_TEST_SEED=%llu %s --filter "
	        "'*/every_engine*'\n",
	        subject->name, (unsigned long long)seed, v->why, subject->name,
	        (unsigned long long)seed, program());
}

/* What failed once, on subjects of this name. */
static const struct {
	const char *subject;
	uint64_t seed;
	const char *story;
} stories[] = {
	{"gbn over weft", 107,
         "a READ gave up while a long message was sent in front of its response"},
	{"gbn over weft", 126, "retries exhausted and no request begun: none said why"},
	{"sr over weft", 301, "what was refused before a fault completed well"},
	{"sr over weft", 219, "a QP that had failed acknowledged what it had given back"},
	{"sr over weft", 3522, "nothing was left to be sent again, and nothing new was opened"},
	{"sr over weft", 7735, "given up for one refused SSN, a lower one waited for ever"},
	{"gbn over rocev2", 1202, "the oracle knew no answer that a NAK overtakes"},
};

/* Seeds that somebody asks for: one, or all from one to another. */
static bool
asked_for(uint64_t *first, uint64_t *last)
{
	const char *text = getenv("WEFT_TEST_SEED");
	char *end;

	if (!text)
		return false;
	*first = *last = strtoull(text, &end, 0);
	if (*end == '-')
		*last = strtoull(end + 1, NULL, 0);
	return true;
}

/* A seed without a trace, which costs time; if it fails, again with one. */
static void
run(const struct rel_subject *subject, uint64_t seed, struct rel_watch *watch)
{
	struct rel_verdict v = rel_run(subject, seed, watch);
	struct rel_watch closer = {.trace = &trace};

	if (!v.is_bad)
		return;
	rel_run(subject, seed, &closer);
	rel_trace_print(&trace, getenv("WEFT_TEST_SEED") ? UINT64_MAX : 100, stderr);
	fputs(closer.failed, stderr);
	explain(subject, seed, &v);
	cr_assert_fail("%s, seed %llu: %s", subject->name, (unsigned long long)seed, v.why);
}

static void
progress(const struct rel_subject *subject, uint64_t nb_seeds, const struct rel_tally *t)
{
	const char *path = getenv("WEFT_TEST_PROGRESS");
	FILE *to = path ? fopen(path, "a") : NULL;

	if (!to)
		return;
	fprintf(to,
	        "%s: %llu seeds, %llu operations, %llu frames, %llu lost, %llu repeats, %llu "
	        "timeouts, %llu without a receive, %llu marked CE, %llu of the runs twice\n",
	        subject->name, (unsigned long long)nb_seeds, (unsigned long long)t->nb_ops,
	        (unsigned long long)t->nb_frames, (unsigned long long)t->nb_dropped,
	        (unsigned long long)t->nb_retransmits, (unsigned long long)t->nb_timeouts,
	        (unsigned long long)t->nb_rnr, (unsigned long long)t->nb_ce,
	        (unsigned long long)t->nb_again);
	fclose(to);
}

Test(conformance_reliability, what_failed_once_does_not_again)
{
	for (const struct rel_subject *s = rel_subjects(); s->name; s++)
		for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++) {
			struct rel_watch watch = {0};

			if (!strcmp(s->name, stories[i].subject))
				run(s, stories[i].seed, &watch);
		}
}

static uint32_t
nb_subjects(void)
{
	uint32_t nb = 0;

	while (rel_subjects()[nb].name)
		nb++;
	return nb;
}

Test(conformance_reliability, every_engine_carries_every_operation)
{
	uint64_t nb_seeds = getenv("WEFT_TEST_LONG") ? NB_SEEDS_LONG : NB_SEEDS / nb_subjects();
	const char *only = getenv("WEFT_TEST_SUBJECT");
	uint64_t first = 1, last = nb_seeds;
	bool is_asked = asked_for(&first, &last);

	for (const struct rel_subject *s = rel_subjects(); s->name; s++) {
		struct rel_watch watch = {0};

		if (only && strcmp(only, s->name))
			continue;
		for (uint64_t n = first; n <= last; n++)
			run(s, n, &watch);
		progress(s, last - first + 1, &watch.tally);
		if (is_asked)
			continue;
		/* That the links were bad enough to say something. */
		cr_expect_gt(watch.tally.nb_retransmits, nb_seeds, "%s", s->name);
		cr_expect_gt(watch.tally.nb_timeouts, nb_seeds / 10, "%s", s->name);
		cr_expect_gt(watch.tally.nb_rnr, nb_seeds / 10, "%s", s->name);
	}
}

/* A run in a process of its own: a mistake may well end in an assert of the stack. */
static bool
is_found(const struct rel_subject *subject, uint64_t seed, char *why, size_t size)
{
	int ends[2], status;
	ssize_t len;
	pid_t child;

	cr_assert_eq(pipe(ends), 0);
	child = fork();
	cr_assert_neq(child, -1);
	if (child == 0) {
		struct rel_watch watch = {0};
		struct rel_verdict v;

		close(STDERR_FILENO); /* an assert's words are nobody's concern */
		v = rel_run(subject, seed, &watch);
		if (v.is_bad && write(ends[1], v.why, strlen(v.why)) < 0)
			_exit(2);
		_exit(v.is_bad);
	}
	close(ends[1]);
	len = read(ends[0], why, size - 1);
	why[len > 0 ? len : 0] = '\0';
	close(ends[0]);
	cr_assert_eq(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status))
		snprintf(why, size, "signal %d", WTERMSIG(status));
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static void
find(const struct rel_planted *p, enum framing framing)
{
	struct rel_subject subject = rel_plant(p, framing);
	bool found = false;
	char why[256] = "";
	uint64_t seed = 0;

	while (!found && seed < NB_SEEDS_PLANTED)
		found = is_found(&subject, ++seed, why, sizeof(why));
	cr_log_info("%s over %s: seed %llu: %s", p->name, framing_name(framing),
	            (unsigned long long)seed, why);
	cr_expect_eq(found, !p->is_good, "%s over %s: %s after %llu seeds%s%s", p->name,
	             framing_name(framing), found ? "found" : "not found", (unsigned long long)seed,
	             found ? ": " : "", why);
}

Test(conformance_reliability, each_planted_mistake_is_found)
{
	for (const struct rel_planted *p = rel_planted_engines; p->name; p++) {
		if (!p->needs_weft)
			find(p, FRAMING_ROCEV2);
		find(p, FRAMING_WEFT);
	}
}

/* A run may have no occasion for it, or an end that excuses it: of several one must be found. */
Test(conformance_reliability, the_oracle_sees_what_the_rig_does_wrong)
{
	for (int m = REL_NO_MISCHIEF + 1; m < REL_NB_MISCHIEFS; m++) {
		uint32_t nb_found = 0;

		for (uint64_t seed = 1; seed <= NB_SEEDS_MISCHIEF; seed++) {
			struct rel_watch watch = {.mischief = (enum rel_mischief)m};

			nb_found += rel_run(rel_subjects(), seed, &watch).is_bad;
		}
		cr_log_info("%s: found in %u of %u", rel_mischief_text((enum rel_mischief)m),
		            nb_found, NB_SEEDS_MISCHIEF);
		cr_expect_gt(nb_found, NB_SEEDS_MISCHIEF / 4, "%s: found in %u of %u",
		             rel_mischief_text((enum rel_mischief)m), nb_found, NB_SEEDS_MISCHIEF);
	}
}

Test(conformance_reliability, a_seed_is_one_run)
{
	for (const struct rel_subject *s = rel_subjects(); s->name; s++) {
		for (uint64_t seed = 1; seed <= 10; seed++) {
			struct rel_watch a = {0}, b = {0};

			rel_run(s, seed, &a);
			rel_run(s, seed, &b);
			cr_expect_eq(memcmp(&a.tally, &b.tally, sizeof(a.tally)), 0,
			             "%s, seed %llu", s->name, (unsigned long long)seed);
		}
	}
}
