/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Seconds between two lines of progress. */
#define PROGRESS_S 10

_Noreturn void
fuzz_fail(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, what);
	abort();
}

uint64_t
script_take(struct script *s, uint32_t bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | (s->at < s->len ? s->data[s->at++] : 0);
	return v;
}

uint32_t
script_below(struct script *s, uint32_t n)
{
	return (uint32_t)script_take(s, 1) % n;
}

/* ---- a program of its own ---- */

/* Which input it is that fails: said by whatever ends the process. */
static char present[256];
static const uint8_t *present_data;
static size_t present_len;

/* The input is kept, too: a seed means something else once the fuzzer has changed. */
static void
say_present(void)
{
	static const char kept[] = "it is kept in ./failed-input\n";
	int fd = open("failed-input", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	(void)!write(STDERR_FILENO, present, strlen(present));
	if (fd >= 0 && write(fd, present_data, present_len) == (ssize_t)present_len)
		(void)!write(STDERR_FILENO, kept, sizeof(kept) - 1);
}

static void
on_signal(int sig)
{
	say_present();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Of the sanitizers' library, where there is one. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

static void
tell_on_death(void)
{
	static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

	if (__sanitizer_set_death_callback) {
		__sanitizer_set_death_callback(say_present);
		signal(SIGABRT, on_signal);
		return;
	}
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], on_signal);
}

/* In memory of its own size, so that the address sanitizer sees one byte too far. */
static void
run_input(const uint8_t *data, size_t len)
{
	uint8_t *exact = malloc(len ? len : 1);

	if (!exact)
		exit(1);
	memcpy(exact, data, len);
	present_data = data;
	present_len = len;
	LLVMFuzzerTestOneInput(exact, len);
	free(exact);
}

static bool
run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	static uint8_t data[1 << 20];
	size_t len;

	if (!f) {
		perror(path);
		return false;
	}
	len = fread(data, 1, sizeof(data), f);
	fclose(f);
	snprintf(present, sizeof(present), "input %s\n", path);
	run_input(data, len);
	return true;
}

/* @return inputs run, -1 if one cannot be read. */
static int
run_path(const char *path)
{
	struct dirent **names;
	int nb = scandir(path, &names, NULL, alphasort), nb_run = 0;

	if (nb < 0)
		return run_file(path) ? 1 : -1;
	for (int i = 0; i < nb; i++) {
		char file[512];

		snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
		if (names[i]->d_name[0] != '.' && nb_run >= 0)
			nb_run = run_file(file) ? nb_run + 1 : -1;
		free(names[i]);
	}
	free(names);
	return nb_run;
}

static int
run_paths(int nb, char **paths)
{
	int nb_run = 0;

	for (int i = 0; i < nb; i++) {
		int n = run_path(paths[i]);

		if (n < 0)
			return 1;
		nb_run += n;
	}
	printf("%d inputs\n", nb_run);
	return nb_run > 0 ? 0 : 1;
}

struct progress {
	FILE *out; /* NULL = nobody wants to know */
	struct timespec begin;
	time_t next_s;
};

static double
seconds_since(const struct timespec *begin)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - begin->tv_sec) + (double)(now.tv_nsec - begin->tv_nsec) / 1e9;
}

static void
progress_begin(struct progress *p, bool is_long)
{
	const char *path = getenv("WEFT_TEST_PROGRESS");

	*p = (struct progress){.next_s = PROGRESS_S};
	clock_gettime(CLOCK_MONOTONIC, &p->begin);
	if (is_long || isatty(STDERR_FILENO))
		p->out = path ? fopen(path, "a") : stderr;
}

static void
progress_tell(struct progress *p, const struct fuzz *fuzz, uint64_t count, uint64_t seed)
{
	double seconds = p->out ? seconds_since(&p->begin) : 0;

	if (!p->out || seconds < (double)p->next_s)
		return;
	p->next_s = (time_t)seconds + PROGRESS_S;
	fprintf(p->out, "%s: %llu of %llu %s, %.0f/s, at seed %llu\n", fuzz->name,
	        (unsigned long long)*fuzz->nb_done, (unsigned long long)count, fuzz->unit,
	        (double)*fuzz->nb_done / seconds, (unsigned long long)seed);
	fflush(p->out);
}

static size_t
make_noise(struct prng *rng, uint8_t *buf, size_t max_len)
{
	size_t len = prng_below(rng, (uint32_t)max_len) + 1;

	for (size_t k = 0; k < len; k++)
		buf[k] = (uint8_t)(prng_next(rng) >> 32);
	return len;
}

static void
run_seeds(const struct fuzz *fuzz, uint64_t seed, uint64_t count, bool is_long)
{
	uint8_t *buf = malloc(fuzz->max_len);
	struct progress progress;
	struct prng rng;

	if (!buf)
		exit(1);
	progress_begin(&progress, is_long);
	while (*fuzz->nb_done < count) {
		snprintf(present, sizeof(present), "input of seed %llu\n",
		         (unsigned long long)seed);
		prng_seed(&rng, seed++);
		run_input(buf, fuzz->make ? fuzz->make(&rng, buf)
		                          : make_noise(&rng, buf, fuzz->max_len));
		progress_tell(&progress, fuzz, count, seed);
	}
	printf("%llu %s, seeds to %llu, %.1f s\n", (unsigned long long)*fuzz->nb_done, fuzz->unit,
	       (unsigned long long)seed - 1, seconds_since(&progress.begin));
	free(buf);
}

int
fuzz_main(int argc, char **argv, const struct fuzz *fuzz)
{
	struct stat st;
	bool is_long = getenv("WEFT_TEST_LONG") && argc > 3;
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint64_t count = argc > 2 ? strtoull(argv[is_long ? 3 : 2], NULL, 0) : 100000;

	tell_on_death();
	if (argc > 1 && stat(argv[1], &st) == 0)
		return run_paths(argc - 1, argv + 1);
	printf("seed %llu, %llu %s\n", (unsigned long long)seed, (unsigned long long)count,
	       fuzz->unit);
	fflush(stdout);
	run_seeds(fuzz, seed, count, is_long);
	return 0;
}
