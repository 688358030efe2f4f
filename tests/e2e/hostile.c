/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hostile applications around a well-behaved pair: one overwrites every word that it shares with
 * the daemon while its queues work, one guesses keys, one floods control socket and doorbells, one
 * passes descriptors that are not what they seem. The daemon stays alive and gives none of them
 * anything, the pair's data stay intact, and it gets on. WEFT_SEED repeats a run, as far as
 * processes that race can be repeated.
 */
#include "hostile.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"

struct board *board;

static void
nap_ms(uint32_t ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

static pid_t
start(void (*run)(uint64_t seed), uint64_t seed)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (run)
		run(seed);
	neighbour_run();
}

/* Whether it ended by itself and well. */
static bool
ended_well(pid_t pid)
{
	int status = -1;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Bytes per second of the neighbour, over some time. */
static double
rate(uint32_t ms)
{
	uint64_t before = atomic_load(&board->nb_bytes);

	nap_ms(ms);
	return (double)(atomic_load(&board->nb_bytes) - before) * 1000 / ms;
}

static void
tell(const char *format, uint64_t n)
{
	const char *path = getenv("WEFT_TEST_PROGRESS");
	FILE *f = path ? fopen(path, "a") : NULL;

	if (!f)
		return;
	fprintf(f, format, (unsigned long long)n);
	fclose(f);
}

/* Until so many words were overwritten; at least some seconds, so that all have had their turn. */
static double
let_them(uint64_t nb_mutations)
{
	double sum = 0;
	uint32_t nb = 0;

	while (nb < 4 || atomic_load(&board->nb_mutations) < nb_mutations) {
		sum += rate(1000);
		nb++;
		if (nb % 10 == 0)
			tell("hostile: %llu mutations\n", atomic_load(&board->nb_mutations));
		if (!daemon_alive())
			break;
	}
	return sum / nb;
}

int
main(void)
{
	static void (*const runs[])(uint64_t seed) = {scribbler_run, scribbler_run, guesser_run,
	                                              flooder_run, smuggler_run};
	enum { NB = sizeof(runs) / sizeof(runs[0]) };
	uint64_t nb_mutations = getenv("WEFT_TEST_LONG") ? 100000000 : 2000000;
	uint64_t seed =
		getenv("WEFT_SEED") ? strtoull(getenv("WEFT_SEED"), NULL, 0) : (uint64_t)time(NULL);
	uint32_t nb_fds, nb_maps, nb_bad = 0;
	pid_t neighbour, pids[NB];
	double alone, among;

	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	             0);
	printf("# WEFT_SEED=%llu\n", (unsigned long long)seed);
	fflush(stdout);
	daemon_begin();
	nb_fds = daemon_fds();
	nb_maps = daemon_maps();
	neighbour = start(NULL, 0);
	while (!atomic_load(&board->nb_bytes) && waitpid(neighbour, NULL, WNOHANG) == 0)
		nap_ms(10);
	alone = rate(500);
	for (uint32_t i = 0; i < NB; i++)
		pids[i] = start(runs[i], seed + i);
	among = let_them(nb_mutations);
	verdict(daemon_alive(), "alive after %llu mutations in %llu rounds",
	        (unsigned long long)atomic_load(&board->nb_mutations),
	        (unsigned long long)atomic_load(&board->nb_rounds));
	verdict(among > 0, "a neighbour goes on: %.1f MB/s, alone %.1f MB/s", among / 1e6,
	        alone / 1e6);
	atomic_store(&board->stop, true);
	verdict(ended_well(neighbour), "its data are intact");
	for (uint32_t i = 0; i < NB; i++)
		nb_bad += !ended_well(pids[i]);
	verdict(nb_bad == 0, "the hostile are served to the end");
	verdict(atomic_load(&board->nb_guesses) > 0 && atomic_load(&board->nb_right) == 0,
	        "%llu keys guessed, %llu of them good for anything",
	        (unsigned long long)atomic_load(&board->nb_guesses),
	        (unsigned long long)atomic_load(&board->nb_right));
	verdict(atomic_load(&board->nb_granted) == 0, "%llu requests, no bad descriptor accepted",
	        (unsigned long long)atomic_load(&board->nb_requests));
	verdict(daemon_settles(nb_fds, nb_maps), "no descriptor and no mapping is left");
	verdict(daemon_end(), "the daemon ends with 0 and removes its socket");
	return verdicts_end();
}
