/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a run of weft-lab costs before it does anything: memory of an RLFT of 3,456 hosts in which
 * every host has a connected QP to another (so two, as each is also another's peer), and time from
 * the start of the program to its end of a scenario of 16 hosts. A flow of one packet each shows
 * that all is there.
 *   bench_lab_size WEFT-LAB
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "timing.h"

struct cost {
	double wall_ms, cpu_ms, peak_mb;
};

static double
ms(struct timeval t)
{
	return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

static struct cost
run(const char *lab, const char *scenario)
{
	uint64_t start_ns = timing_wall_ns();
	struct rusage used;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execl(lab, lab, "run", scenario, "--quiet", (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) != pid || status != 0) {
		fprintf(stderr, "%s run %s failed\n", lab, scenario);
		exit(1);
	}
	return (struct cost){
		.wall_ms = (double)(timing_wall_ns() - start_ns) / 1e6,
		.cpu_ms = ms(used.ru_utime) + ms(used.ru_stime),
		.peak_mb = (double)used.ru_maxrss / 1e3,
	};
}

static void
report(const char *lab, const char *name, const char *topology)
{
	char path[] = "/tmp/weft-bench-lab-XXXXXX";
	double wall_ms[TIMING_RUNS], cpu_ms[TIMING_RUNS], peak_mb[TIMING_RUNS];
	int fd = mkstemp(path);
	FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (!out) {
		perror(path);
		exit(1);
	}
	fprintf(out, "[topology]\n%s[workload ready]\nkind = permutation\nshift = 1\nbytes = 1K\n",
	        topology);
	fclose(out);
	for (uint32_t i = 0; i < TIMING_RUNS; i++) {
		struct cost c = run(lab, path);

		wall_ms[i] = c.wall_ms;
		cpu_ms[i] = c.cpu_ms;
		peak_mb[i] = c.peak_mb;
	}
	unlink(path);
	printf("%-24s peak %7.1f MB, wall %8.1f ms, CPU %8.1f ms\n", name, timing_median(peak_mb),
	       timing_median(wall_ms), timing_median(cpu_ms));
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: bench_lab_size WEFT-LAB\n");
		return 2;
	}
	report(argv[1], "16 hosts, star", "kind = star\nhosts = 16\n");
	report(argv[1], "16 hosts, fat tree", "kind = fat-tree\nk = 4\n");
	report(argv[1], "3,456 hosts, RLFT", "kind = rlft\nlevels = 3\nk = 24\n");
	return 0;
}
