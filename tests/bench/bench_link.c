/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a link between processes costs: CPU time per frame, copied in and copied out, when both ends
 * share a core and when each has its own; and how long a sleeping end takes to wake up for a frame.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "link.h"
#include "mem.h"
#include "timing.h"

enum { BURST = 32, NB_FRAMES = 200000, NB_WAKES = 2000, NB_PKTS = 256 };

struct end {
	struct port *port;
	struct pkt_pool *pool;
	uint32_t nb_frames; /* to send or receive */
	uint32_t len;
	double cpu_ns; /* of each */
};

static struct end ends[2];
static _Atomic uint64_t sent_ns;
static double wake_ns[NB_WAKES];

static uint64_t
clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t
send_burst(struct end *e, uint32_t n)
{
	struct pkt *pkts[BURST];
	uint32_t room = e->port->ops->tx_room(e->port);

	n = n < room ? n : room;
	n = n < BURST ? n : BURST;
	if (n == 0 || e->pool->alloc(e->pool, pkts, n) == 0)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		pkts[i]->len = e->len;
	return e->port->ops->tx_burst(e->port, pkts, n, clock_ns());
}

static uint32_t
receive_burst(struct end *e)
{
	struct pkt *pkts[BURST];
	uint32_t n = e->port->ops->rx_burst(e->port, pkts, BURST, clock_ns());

	pkt_free(pkts, n);
	return n;
}

static void *
send_all(void *arg)
{
	struct end *e = arg;
	uint64_t from_ns = timing_now_ns();

	for (uint32_t nb = 0, n; nb < e->nb_frames; nb += n) {
		n = send_burst(e, e->nb_frames - nb);
		if (n == 0)
			sched_yield();
	}
	e->cpu_ns = (double)(timing_now_ns() - from_ns) / e->nb_frames;
	return NULL;
}

static void *
receive_all(void *arg)
{
	struct end *e = arg;
	uint64_t from_ns = timing_now_ns();

	for (uint32_t nb = 0, n; nb < e->nb_frames; nb += n) {
		n = receive_burst(e);
		if (n == 0)
			sched_yield();
	}
	e->cpu_ns = (double)(timing_now_ns() - from_ns) / e->nb_frames;
	return NULL;
}

/* By turns, in one thread: what the cache of one core has to bear. */
static double
one_core(uint32_t len)
{
	uint64_t from_ns = timing_now_ns();

	ends[0].len = len;
	for (uint32_t nb = 0; nb < NB_FRAMES;) {
		send_burst(&ends[0], BURST);
		nb += receive_burst(&ends[1]);
	}
	while (receive_burst(&ends[1]) > 0)
		;
	return (double)(timing_now_ns() - from_ns) / NB_FRAMES;
}

static void
two_threads(uint32_t len, double *out_ns, double *in_ns, double *gbps)
{
	pthread_t threads[2];
	uint64_t from_ns = clock_ns();

	ends[0].len = len;
	ends[0].nb_frames = ends[1].nb_frames = NB_FRAMES;
	pthread_create(&threads[0], NULL, send_all, &ends[0]);
	pthread_create(&threads[1], NULL, receive_all, &ends[1]);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	*out_ns = ends[0].cpu_ns;
	*in_ns = ends[1].cpu_ns;
	*gbps = 8.0 * NB_FRAMES * len / (double)(clock_ns() - from_ns);
}

/* The receiver sleeps as a worker does. */
static void *
wake_up(void *arg)
{
	struct port *port = ends[1].port;
	struct pollfd p = {.fd = port->ops->wait_fd(port), .events = POLLIN};

	(void)arg;
	for (uint32_t nb = 0; nb < NB_WAKES;) {
		uint32_t n = receive_burst(&ends[1]);

		if (n > 0) {
			/* Of several at once, the first waited for longer: not seen. */
			for (; n > 0; n--)
				wake_ns[nb++] = (double)(clock_ns() - sent_ns);
			continue;
		}
		if (!port->ops->doze(port, true))
			poll(&p, 1, 1000);
		port->ops->doze(port, false);
	}
	return NULL;
}

static void
wakes(void)
{
	pthread_t thread;

	ends[0].len = 64;
	pthread_create(&thread, NULL, wake_up, NULL);
	for (uint32_t i = 0; i < NB_WAKES; i++) {
		usleep(300);
		sent_ns = clock_ns();
		send_burst(&ends[0], 1);
	}
	pthread_join(thread, NULL);
	qsort(wake_ns, NB_WAKES, sizeof(wake_ns[0]), timing_order);
	printf("\nwake-up of a sleeping end by a frame: median %.1f us, p99 %.1f us\n",
	       wake_ns[NB_WAKES / 2] / 1e3, wake_ns[NB_WAKES * 99 / 100] / 1e3);
}

int
main(void)
{
	static const uint32_t lens[] = {64, 1082, 4158};
	char dir[] = "/tmp/weft-bench-XXXXXX", path[64];

	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/x", dir);
	for (int i = 0; i < 2; i++) {
		ends[i].pool = pkt_pool_mem_create(NB_PKTS, 4224);
		if (port_link_open(path, ends[i].pool, &ends[i].port))
			return 1;
	}
	for (int i = 0; i < 2; i++) {
		while (ends[i].port->is_down) {
			receive_burst(&ends[i]);
			sched_yield();
		}
	}
	printf("CPU ns per frame; medians of %d runs\n", TIMING_RUNS);
	printf("%8s %16s %12s %12s %10s\n", "bytes", "one core, both", "two: in", "two: out",
	       "Gb/s");
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		double one[TIMING_RUNS], out[TIMING_RUNS], in[TIMING_RUNS], gbps[TIMING_RUNS];

		for (int k = 0; k < TIMING_RUNS; k++) {
			one[k] = one_core(lens[i]);
			two_threads(lens[i], &out[k], &in[k], &gbps[k]);
		}
		printf("%8u %16.0f %12.0f %12.0f %10.1f\n", lens[i], timing_median(one),
		       timing_median(out), timing_median(in), timing_median(gbps));
	}
	wakes();
	for (int i = 0; i < 2; i++) {
		ends[i].port->ops->close(ends[i].port);
		pkt_pool_mem_destroy(ends[i].pool);
	}
	return rmdir(dir) != 0;
}
