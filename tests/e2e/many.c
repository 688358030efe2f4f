/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ten thousand connected QPs, and QPs that come and go: what the daemon whose pid is WEFTD_PID pays
 * for them. Its anonymous memory is counted: rings lie in memory that it shares.
 *
 *   many DEVICE DEVICE idle NB_QPS | rounds NB | bytes NB_QPS
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "native.h"

enum { NB_ACTIVE = 1000, SLOT = 512, DEPTH = 16, BYTES_MAX = 2048 };

/* A sanitizer build has shadow memory and a heap of its own kind: only that it works is looked at.
 */
#ifdef __SANITIZE_ADDRESS__
static const int counts_memory = 0;
#else
static const int counts_memory = 1;
#endif

static struct native ends[2];
static struct weft_qp **qps[2];

/* Anonymous bytes of the daemon. */
static long
daemon_bytes(const char *what)
{
	char path[64], line[128];
	long kb = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/status", getenv("WEFTD_PID"));
	must((f = fopen(path, "r")) != NULL);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, what, strlen(what)))
			kb = strtol(line + strlen(what), NULL, 10);
	fclose(f);
	must(kb >= 0);
	return kb * 1024;
}

static int
daemon_fds(void)
{
	char path[64];
	int nb = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fd", getenv("WEFTD_PID"));
	must((dir = opendir(path)) != NULL);
	while (readdir(dir))
		nb++;
	closedir(dir);
	return nb;
}

static void
connect_pair(uint32_t i)
{
	for (int k = 0; k < 2; k++)
		qps[k][i] = native_qp(&ends[k], DEPTH);
	for (int k = 0; k < 2; k++) {
		const struct weft_path path = native_path(&ends[k], &ends[!k], qps[!k][i]);

		native_connect(qps[k][i], &path);
	}
}

static void
destroy_pair(uint32_t i)
{
	for (int k = 0; k < 2; k++)
		must(weft_qp_destroy(qps[k][i]) == 0);
}

/* Write one slot of the buffer through a pair. */
static void
write_slot(uint32_t i, uint32_t slot)
{
	const struct weft_send send = {.op = WEFT_WRITE,
	                               .remote_addr = (uintptr_t)ends[1].buf + slot * SLOT,
	                               .remote_key = weft_mr_key(ends[1].mr)};

	native_post(&ends[0], qps[0][i], send, slot * SLOT, SLOT);
}

static void
wait_for(uint32_t nb)
{
	for (; nb > 0; nb--)
		must(native_wait(&ends[0]) == WEFT_WC_SUCCESS);
}

/* Data over a thousand of the pairs, spread among all. */
static void
move_data(uint32_t nb_pairs, int seed)
{
	uint32_t nb = nb_pairs < NB_ACTIVE ? nb_pairs : NB_ACTIVE;

	for (uint32_t i = 0; i < nb * SLOT; i++)
		ends[0].buf[i] = (uint8_t)((i * 2654435761u >> 13) + (uint32_t)seed);
	for (uint32_t i = 0; i < nb; i++)
		write_slot((uint32_t)((uint64_t)i * nb_pairs / nb), i);
	wait_for(nb);
	must(memcmp(ends[0].buf, ends[1].buf, nb * SLOT) == 0);
}

/* Whether the daemon's memory falls to so much within 20 s. */
static int
settles(long bytes)
{
	const struct timespec nap = {.tv_nsec = 100000000};

	for (int i = 0; i < 200 && daemon_bytes("RssAnon:") > bytes; i++)
		nanosleep(&nap, NULL);
	return daemon_bytes("RssAnon:") <= bytes;
}

static void
idle(uint32_t nb_qps)
{
	uint32_t nb_pairs = nb_qps / 2;
	long before = daemon_bytes("RssAnon:"), fresh;

	for (uint32_t i = 0; i < nb_pairs; i++)
		connect_pair(i);
	fresh = daemon_bytes("RssAnon:");
	for (int k = 0; k < 3; k++)
		move_data(nb_pairs, k);
	if (counts_memory) {
		must(settles(before + (long)nb_qps * BYTES_MAX));
		printf("%ld bytes per QP that never worked, %ld per idle one\n",
		       (fresh - before) / (long)nb_qps,
		       (daemon_bytes("RssAnon:") - before) / (long)nb_qps);
	}
	for (uint32_t i = 0; i < nb_pairs; i++)
		destroy_pair(i);
}

static void
rounds(uint32_t nb)
{
	long before = 0;
	int fds = 0;

	for (uint32_t i = 0; i < nb; i++) {
		if (i == nb / 10) {
			before = daemon_bytes("RssAnon:");
			fds = daemon_fds();
		}
		connect_pair(0);
		write_slot(0, i % NB_ACTIVE);
		wait_for(1);
		destroy_pair(0);
	}
	must(daemon_fds() == fds);
	if (counts_memory)
		must(settles(before + (1 << 20)));
	printf("%ld bytes more after %u rounds\n", daemon_bytes("RssAnon:") - before, nb);
}

/* For docs/performance.md: so many QPs, and what the daemon has in all. */
static void
report(uint32_t nb_qps)
{
	long before = daemon_bytes("RssAnon:"), rings = daemon_bytes("RssShmem:");

	for (uint32_t i = 0; i < nb_qps / 2; i++)
		connect_pair(i);
	printf("%u QPs: %ld bytes each, and %ld of rings; the daemon has %ld MiB in all\n", nb_qps,
	       (daemon_bytes("RssAnon:") - before) / (long)nb_qps,
	       (daemon_bytes("RssShmem:") - rings) / (long)nb_qps, daemon_bytes("VmRSS:") >> 20);
	for (uint32_t i = 0; i < nb_qps / 2; i++)
		destroy_pair(i);
}

int
main(int argc, char **argv)
{
	uint32_t nb = argc == 5 ? (uint32_t)strtoul(argv[4], NULL, 0) : 0;

	must(nb > 0 && getenv("WEFTD_PID"));
	for (int k = 0; k < 2; k++) {
		native_open(&ends[k], argv[1 + k], NB_ACTIVE * SLOT, NB_ACTIVE * 4);
		must((qps[k] = calloc(nb, sizeof(*qps[k]))) != NULL);
	}
	if (!strcmp(argv[3], "idle"))
		idle(nb);
	else if (!strcmp(argv[3], "rounds"))
		rounds(nb);
	else
		report(nb);
	for (int k = 0; k < 2; k++) {
		free(qps[k]);
		native_close(&ends[k]);
	}
	return 0;
}
