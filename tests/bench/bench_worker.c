/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a worker costs beside its nodes: an idle turn with many applications, the way of a doorbell
 * to a worker that is awake and to one that sleeps, and the core's time while nobody does anything.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "timing.h"
#include "worker.h"

#define NB_RINGS 2000
#define MAX_CLIENTS 1000

static _Atomic uint64_t taken_ns;

/* A doorbell of our own: the NIC's needs a NIC. (qp.h and pthread.h do not go together.) */
void qp_doorbells(struct qp *const *qps, uint32_t n, uint64_t now_ns);

void
qp_doorbells(struct qp *const *qps, uint32_t n, uint64_t now_ns)
{
	(void)qps;
	(void)now_ns;
	if (n > 0)
		taken_ns = worker_clock_ns();
}

static struct worker *worker;
static struct bell_client *clients[MAX_CLIENTS];
static uint32_t nb_clients;

static void
add_clients(void *arg, uint64_t now_ns)
{
	uint32_t nb = *(const uint32_t *)arg;

	(void)now_ns;
	for (; nb_clients < nb; nb_clients++) {
		struct bell_client *c = calloc(1, sizeof(*c));

		c->page = aligned_alloc(4096, sizeof(*c->page));
		memset(c->page, 0, sizeof(*c->page));
		c->wake_fd = eventfd(0, 0);
		bell_set(c, 0, (struct qp *)c); /* any address */
		if (worker_add_client(worker, c) < 0)
			abort();
		clients[nb_clients] = c;
	}
}

static void
del_clients(void *arg, uint64_t now_ns)
{
	(void)arg;
	(void)now_ns;
	while (nb_clients > 0) {
		struct bell_client *c = clients[--nb_clients];

		worker_del_client(worker, c);
		close(c->wake_fd);
		free(c->page);
		free(c);
	}
}

static void
nap_ns(uint64_t ns)
{
	nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
	                             .tv_nsec = (long)(ns % 1000000000u)},
	          NULL);
}

struct usage {
	uint64_t turns, cpu_ns;
};

static void
read_usage(void *arg, uint64_t now_ns)
{
	struct usage *u = arg;

	(void)now_ns;
	u->cpu_ns = timing_now_ns();
	u->turns = worker_stats(worker)->turns;
}

static struct usage
usage_of(uint64_t ns)
{
	struct usage a, b;

	worker_call(worker, read_usage, &a);
	nap_ns(ns);
	worker_call(worker, read_usage, &b);
	return (struct usage){b.turns - a.turns, b.cpu_ns - a.cpu_ns};
}

/* As an application rings; until the worker has taken it. */
static uint64_t
ring_ns(struct bell_client *c)
{
	uint64_t start = worker_clock_ns();

	taken_ns = 0;
	atomic_fetch_or(&c->page->bits[0], 1);
	atomic_fetch_or(&c->page->summary[0], 1);
	if (c->page->need_wake)
		eventfd_write(c->wake_fd, 1);
	while (!taken_ns)
		;
	return taken_ns - start;
}

static void
bench_rings(const char *what, uint64_t pause_ns)
{
	static double ns[NB_RINGS];
	uint32_t nb = pause_ns > 1000000 ? NB_RINGS / 10 : NB_RINGS;

	for (uint32_t i = 0; i < nb; i++) {
		if (pause_ns)
			nap_ns(pause_ns);
		ns[i] = (double)ring_ns(clients[0]);
	}
	qsort(ns, nb, sizeof(ns[0]), timing_order);
	printf("%-44s %8.2f us  (99 %%: %.2f us)\n", what, ns[nb / 2] / 1e3,
	       ns[nb * 99 / 100] / 1e3);
}

static void
start(bool poll)
{
	const struct worker_conf conf = {.name = "bench", .poll = poll};

	worker = worker_create(&conf);
	if (!worker || worker_start(worker) < 0)
		abort();
}

static void
stop(void)
{
	worker_call(worker, del_clients, NULL);
	worker_stop(worker);
	worker_destroy(worker);
}

int
main(void)
{
	static const uint32_t counts[] = {0, 1, 10, 100, MAX_CLIENTS};
	struct usage u;

	start(true);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		worker_call(worker, add_clients, (void *)(uintptr_t)&counts[i]);
		u = usage_of(200000000);
		printf("idle turn, %4u silent applications            %8.1f ns\n", counts[i],
		       (double)u.cpu_ns / (double)u.turns);
	}
	bench_rings("doorbell, polling worker", 0);
	stop();

	start(false);
	worker_call(worker, add_clients, (void *)(uintptr_t)&counts[1]);
	bench_rings("doorbell, again and again", 0);
	bench_rings("doorbell, after 100 us", 100000);
	bench_rings("doorbell, asleep (after 5 ms)", 5000000);
	u = usage_of(2000000000);
	printf("core while nobody does anything               %8.4f %%\n",
	       (double)u.cpu_ns / 2e9 * 100);
	stop();
	return 0;
}
