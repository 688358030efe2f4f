/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any file may be called a scenario: none crashes the reader; it gives a scenario that a run can
 * rely on, or at least one line that says what is wrong, each with file and line.
 *
 * Inputs are lines of the shipped scenarios and words out of place, mutated. A first line "#=TEXT"
 * is also a key of the command line.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "scenario.h"

static uint64_t nb_inputs, nb_good;

static void
check_workload(const struct scenario *s, const struct workload *w)
{
	const char *key;
	char why[256];

	FUZZ_CHECK(w->ops && w->name[0] && memchr(w->name, '\0', sizeof(w->name)));
	FUZZ_CHECK(!w->ops->needs_file || w->cdf || w->trace);
	FUZZ_CHECK((w->own_params != NULL) == (w->ops->params != NULL));
	FUZZ_CHECK(w->verb < FLOW_NB_VERBS && w->index == (uint32_t)(w - s->workloads));
	FUZZ_CHECK(workload_check(w, &key, why, sizeof(why)) == 0);
	FUZZ_CHECK(s->conf.duration_ns != 0 || !workload_is_endless(w));
}

static void
check_switch(const struct lab_conf *c)
{
	FUZZ_CHECK(c->sw.lb && c->sw.lb->where == LB_SWITCH);
	for (int i = 0; i < QUEUES_NB; i++)
		FUZZ_CHECK(c->sw.queues[i].weight >= 0 && isfinite(c->sw.queues[i].weight) &&
		           c->sw.queues[i].kmin_bytes <= c->sw.queues[i].kmax_bytes);
	for (int i = 0; i < 64; i++)
		FUZZ_CHECK(c->sw.class_of_dscp[i] < QUEUES_NB);
}

/* What a run relies on. */
static void
check_scenario(const struct scenario *s)
{
	const struct lab_conf *c = &s->conf;
	uint32_t mtu = c->host.path_mtu_bytes;

	FUZZ_CHECK(c->plan == &s->plan && c->plan->nb_hosts >= 2 && c->plan->nb_links >= 1);
	FUZZ_CHECK(c->engines.set.rel && c->engines.set.cc && c->engines.set.lb &&
	           c->engines.rel_dgram);
	FUZZ_CHECK(c->engines.set.rel != c->engines.rel_dgram);
	FUZZ_CHECK(mtu >= 256 && mtu <= 4096 && (mtu & (mtu - 1)) == 0);
	FUZZ_CHECK(c->first_psn <= 0xffffff || c->first_psn == LAB_PSN_RANDOM);
	FUZZ_CHECK(c->nb_workloads >= 1 && c->nb_workloads <= SCENARIO_WORKLOADS_MAX);
	FUZZ_CHECK(c->nb_probes <= SCENARIO_PROBES_MAX);
	for (uint32_t i = 0; i < c->nb_workloads; i++)
		check_workload(s, &c->workloads[i]);
	for (uint32_t i = 0; c->faults && i < c->plan->nb_links; i++)
		FUZZ_CHECK(c->faults[i].tx.reorder_pkts >= 1 && c->faults[i].rx.reorder_pkts >= 1);
	check_switch(c);
}

/* Whether one of the lines is more than a warning; each begins with where it is. */
static bool
has_errors(const char *lines_out)
{
	bool found = false;

	for (const char *p = lines_out, *end; *p; p = end + 1) {
		const char *warning = strstr(p, ": warning: ");

		end = strchr(p, '\n');
		FUZZ_CHECK(end &&
		           (strncmp(p, "fuzz:", 5) == 0 || strncmp(p, "command line: ", 14) == 0));
		found |= !warning || warning > end;
	}
	return found;
}

/* The key of the command line that an input has; NULL = none. */
static char *
override_of(const uint8_t *data, size_t len)
{
	const uint8_t *eol = memchr(data, '\n', len);
	size_t n = eol ? (size_t)(eol - data) : len;

	if (len < 2 || data[0] != '#' || data[1] != '=' || memchr(data, '\0', n))
		return NULL;
	return strndup((const char *)data + 2, n - 2);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	size_t size;
	char *errors, *override = override_of(data, len);
	const char *const overrides[] = {override, NULL};
	FILE *in, *out = open_memstream(&errors, &size);
	struct scenario *s;

	nb_inputs++;
	in = len > 0 ? fmemopen((void *)data, len, "r") : fopen("/dev/null", "r");
	if (!in || !out)
		abort();
	s = scenario_read_stream(in, "fuzz", overrides, out);
	fclose(in);
	fclose(out);
	FUZZ_CHECK((s == NULL) == has_errors(errors));
	if (s) {
		nb_good++;
		check_scenario(s);
	}
	scenario_free(s);
	free(errors);
	free(override);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
#define MAX_LINES 512
#define MAX_LEN 8192

static struct prng *prng;
static char *lines[MAX_LINES];
static uint32_t nb_lines;
/* Where each shipped file begins in lines. */
static uint32_t begins[16], nb_files;

static uint32_t
below(uint32_t n)
{
	return prng_below(prng, n);
}

static void
read_lines(const char *name)
{
	char path[512], *line = NULL;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/conf/lab/%s.scenario", getenv("WEFT_SOURCE_ROOT"), name);
	f = fopen(path, "r");
	if (!f) {
		perror(path);
		exit(1);
	}
	while (getline(&line, &room, f) > 0 && nb_lines < MAX_LINES) {
		/* Keys in comments are keys; the rest of these is the least interesting. */
		char *text = line + (line[0] == '#' && line[1] != ' ');

		if (text[0] != '#' && text[0] != '\n')
			lines[nb_lines++] = strdup(text);
	}
	free(line);
	fclose(f);
	begins[++nb_files] = nb_lines;
}

static size_t
add(char *buf, size_t len, const char *text)
{
	size_t n = strlen(text);

	if (len + n > MAX_LEN)
		return len;
	memcpy(buf + len, text, n);
	return len + n;
}

/* A key of the command line, perhaps of a section of the file. */
static size_t
add_override(char *buf)
{
	static const char *const words[] = {
		"#=seed=7\n",
		"#=topology.kind=fat-tree\n",
		"#=topology.k=6\n",
		"#=topology.hosts=2\n",
		"#=host.path_mtu=256\n",
		"#=queue.3.ecn_kmax=10K\n",
		"#=switch.pfc=3\n",
		"#=link.all.fault_loss=1%\n",
		"#=workload.flow.kind=uniform\n",
		"#=workload.x.kind=long\n",
		"#=engine.gbn.renak=1us\n",
		"#=probes=drops\n",
	};

	return below(3) ? 0 : add(buf, 0, words[below(sizeof(words) / sizeof(words[0]))]);
}

/* Shipped files or parts of them, some lines out of place; then a few bytes of it changed. */
static size_t
make(struct prng *rng, uint8_t *data)
{
	static const char odd[] = "[]=:#; \t\n\r\0%.,/0189GKaz_-\xff\xef";
	uint32_t start, nb, whole, nb_flips;
	char *buf = (char *)data;
	size_t len;

	prng = rng;
	len = add_override(buf);
	start = below(nb_lines);
	nb = 1 + below(40);
	whole = below(2 * nb_files);
	nb_flips = below(3) ? below(4) : below(60);
	if (whole < nb_files) {
		start = begins[whole];
		nb = begins[whole + 1] - start;
	}
	for (uint32_t i = 0; i < nb; i++)
		len = add(buf, len, lines[below(24) ? (start + i) % nb_lines : below(nb_lines)]);
	for (uint32_t i = 0; i < nb_flips && len > 1; i++) {
		uint32_t at = below((uint32_t)len);

		if (below(4) == 0) {
			memmove(buf + at, buf + at + 1, len - at - 1);
			len--;
		} else {
			buf[at] = odd[below(sizeof(odd))];
		}
	}
	return len;
}

int
main(int argc, char **argv)
{
	static const struct fuzz fuzz = {
		.name = "scenario",
		.unit = "files",
		.max_len = MAX_LEN,
		.make = make,
		.nb_done = &nb_inputs,
	};
	int code;

	read_lines("long");
	read_lines("incast");
	read_lines("permutation");
	read_lines("websearch");
	read_lines("allreduce");
	read_lines("all-to-all");
	code = fuzz_main(argc, argv, &fuzz);
	printf("%llu of them good\n", (unsigned long long)nb_good);
	for (uint32_t i = 0; i < nb_lines; i++)
		free(lines[i]);
	/* Mutants that nobody accepts would test nothing but the first check. */
	return code ? code : nb_good < nb_inputs / 1000;
}
#endif
