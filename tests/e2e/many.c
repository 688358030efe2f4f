/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ten thousand connected QPs, and QPs that come and go: what the daemon whose
 * pid is WEFTD_PID pays for them. Its anonymous memory is counted: rings lie in
 * memory that it shares. many DEVICE DEVICE idle NB_QPS | rounds NB | bytes
 * NB_QPS
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "weft.h"

#define must(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__,      \
			        #condition, errno);                                                \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

enum { NB_ACTIVE = 1000, SLOT = 512, DEPTH = 16, BYTES_MAX = 2048 };

/* A sanitizer build has shadow memory and a heap of its own kind: only that it
 * works is looked at. */
#ifdef __SANITIZE_ADDRESS__
static const int counts_memory = 0;
#else
static const int counts_memory = 1;
#endif

struct end {
	struct weft *weft;
	struct weft_pd *pd;
	struct weft_cq *cq;
	struct weft_mr *mr;
	uint8_t *buf;
	struct weft_path path; /* to here, for the other end */
	uint8_t gid_index;
	struct weft_qp **qps;
};

static struct end ends[2];

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
open_end(struct end *e, const char *device, uint32_t nb_qps)
{
	int gid_index;

	must((e->weft = weft_open(device)) != NULL);
	must((e->pd = weft_pd_alloc(e->weft)) != NULL);
	must((e->cq = weft_cq_create(e->weft, NB_ACTIVE * 4, NULL, NULL)) != NULL);
	must((e->buf = weft_mem_alloc(e->weft, NB_ACTIVE * SLOT)) != NULL);
	must((e->mr = weft_mr_reg(e->pd, e->buf, NB_ACTIVE * SLOT,
	                          WEFT_LOCAL_WRITE | WEFT_REMOTE_WRITE)) != NULL);
	must((gid_index = weft_gid_default(e->weft, e->path.gid)) >= 0);
	e->gid_index = (uint8_t)gid_index;
	must((e->qps = calloc(nb_qps, sizeof(*e->qps))) != NULL);
}

static void
connect_to(struct weft_qp *qp, const struct end *own, const struct end *peer, struct weft_qp *to)
{
	struct weft_path path = peer->path;

	path.gid_index = own->gid_index;
	path.qpn = weft_qp_num(to);
	path.retries = path.rnr_retries = 7;
	must(weft_qp_connect(qp, &path, WEFT_REMOTE_WRITE, 0) == 0);
}

static void
connect_pair(uint32_t i)
{
	for (int k = 0; k < 2; k++) {
		struct weft_qp_init init = {.type = WEFT_RC,
		                            .max_send = DEPTH,
		                            .max_recv = DEPTH,
		                            .send_cq = ends[k].cq,
		                            .recv_cq = ends[k].cq};

		must((ends[k].qps[i] = weft_qp_create(ends[k].pd, &init)) != NULL);
	}
	connect_to(ends[0].qps[i], &ends[0], &ends[1], ends[1].qps[i]);
	connect_to(ends[1].qps[i], &ends[1], &ends[0], ends[0].qps[i]);
}

static void
destroy_pair(uint32_t i)
{
	for (int k = 0; k < 2; k++)
		must(weft_qp_destroy(ends[k].qps[i]) == 0);
}

/* Write one slot of the buffer through a pair. */
static void
write_slot(uint32_t i, uint32_t slot)
{
	struct weft_sge sge = {(uintptr_t)ends[0].buf + slot * SLOT, SLOT, weft_mr_key(ends[0].mr)};
	struct weft_send send = {.op = WEFT_WRITE,
	                         .flags = WEFT_SIGNALED,
	                         .sge = &sge,
	                         .nb_sge = 1,
	                         .remote_addr = (uintptr_t)ends[1].buf + slot * SLOT,
	                         .remote_key = weft_mr_key(ends[1].mr)};

	must(weft_post_send(ends[0].qps[i], &send, 1) == 1);
}

static void
wait_for(uint32_t nb)
{
	struct weft_completion done[16];

	while (nb > 0) {
		int n = weft_poll(ends[0].cq, done, 16);

		for (int i = 0; i < n; i++)
			must(done[i].status == WEFT_WC_SUCCESS);
		nb -= (uint32_t)n;
	}
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
	printf("%u QPs: %ld bytes each, and %ld of rings; the daemon has %ld MiB in "
	       "all\n",
	       nb_qps, (daemon_bytes("RssAnon:") - before) / (long)nb_qps,
	       (daemon_bytes("RssShmem:") - rings) / (long)nb_qps, daemon_bytes("VmRSS:") >> 20);
	for (uint32_t i = 0; i < nb_qps / 2; i++)
		destroy_pair(i);
}

int
main(int argc, char **argv)
{
	uint32_t nb = argc == 5 ? (uint32_t)strtoul(argv[4], NULL, 0) : 0;

	must(nb > 0 && getenv("WEFTD_PID"));
	for (int k = 0; k < 2; k++)
		open_end(&ends[k], argv[1 + k], nb);
	if (!strcmp(argv[3], "idle"))
		idle(nb);
	else if (!strcmp(argv[3], "rounds"))
		rounds(nb);
	else
		report(nb);
	for (int k = 0; k < 2; k++) {
		free(ends[k].qps);
		weft_close(ends[k].weft);
	}
	return 0;
}
