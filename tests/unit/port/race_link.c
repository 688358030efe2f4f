/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two workers at the ends of a link that sleep whenever they can, and now and then one of the ends
 * is closed and opened again, under the thread sanitizer. A program of its own, because that
 * sanitizer does not start inside Criterion. Exits with 0 if every round's frames arrived once, in
 * order and whole; the sanitizer exits with 66 if it saw a race.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "link.h"
#include "mem.h"

enum { NB_ROUNDS = 4, NB_EACH = 2000, BURST = 32, ROOM_BYTES = 1600 };

static char path[64];
static _Atomic uint32_t nb_got[2];

struct end {
	struct port *port;
	struct pkt_pool *pool;
	uint32_t idx;
	uint32_t nb_sent;
};

static uint64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void
fail(const char *what, uint32_t value)
{
	fprintf(stderr, "race_link: %s: %u\n", what, value);
	_exit(1);
}

static uint32_t
receive(struct end *e)
{
	struct pkt *pkts[BURST];
	uint32_t n = e->port->ops->rx_burst(e->port, pkts, BURST, now());

	for (uint32_t i = 0; i < n; i++) {
		uint32_t number;

		memcpy(&number, pkts[i]->data, sizeof(number));
		if (number != nb_got[e->idx] || pkts[i]->len != 60 + number % 1500)
			fail("not the frame in turn", number);
		nb_got[e->idx]++;
	}
	pkt_free(pkts, n);
	return n;
}

static uint32_t
transmit(struct end *e)
{
	struct pkt *pkts[BURST];
	uint32_t n = e->port->ops->tx_room(e->port);

	n = n < BURST ? n : BURST;
	n = n < NB_EACH - e->nb_sent ? n : NB_EACH - e->nb_sent;
	if (n == 0 || e->pool->alloc(e->pool, pkts, n) == 0)
		return 0;
	for (uint32_t i = 0; i < n; i++, e->nb_sent++) {
		memset(pkts[i]->data, 0, 64);
		memcpy(pkts[i]->data, &e->nb_sent, sizeof(e->nb_sent));
		pkts[i]->len = 60 + e->nb_sent % 1500;
	}
	if (e->port->ops->tx_burst(e->port, pkts, n, now()) != n)
		fail("a promise was broken", n);
	return n;
}

/* As a worker does, but without patience: it sleeps after every turn that had nothing to do. */
static void *
serve(void *arg)
{
	struct end *e = arg;
	struct pollfd p = {.fd = e->port->ops->wait_fd(e->port), .events = POLLIN};
	uint64_t end_ns = now() + UINT64_C(60000000000);

	while (e->port->is_down)
		receive(e);
	while (nb_got[0] < NB_EACH || nb_got[1] < NB_EACH) {
		if (receive(e) + transmit(e) > 0)
			continue;
		if (!e->port->ops->doze(e->port, true) && poll(&p, 1, 1000) == 0 && now() > end_ns)
			fail("waited too long; have", nb_got[e->idx]);
		e->port->ops->doze(e->port, false);
		if (e->port->is_down)
			fail("the link went down; have", nb_got[e->idx]);
	}
	return NULL;
}

int
main(void)
{
	char dir[] = "/tmp/weft-race-XXXXXX";
	struct end ends[2];

	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/x", dir);
	for (uint32_t i = 0; i < 2; i++) {
		ends[i] =
			(struct end){.idx = i, .pool = pkt_pool_mem_create(4 * BURST, ROOM_BYTES)};
		if (port_link_open(path, ends[i].pool, &ends[i].port))
			return 1;
	}
	for (uint32_t round = 0; round < NB_ROUNDS; round++) {
		pthread_t threads[2];
		struct end *e = &ends[round % 2];

		for (int i = 0; i < 2; i++)
			pthread_create(&threads[i], NULL, serve, &ends[i]);
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		e->port->ops->close(e->port);
		while (!ends[!e->idx].port->is_down)
			receive(&ends[!e->idx]);
		if (port_link_open(path, e->pool, &e->port))
			return 1;
		for (int i = 0; i < 2; i++)
			nb_got[i] = ends[i].nb_sent = 0;
	}
	for (int i = 0; i < 2; i++) {
		ends[i].port->ops->close(ends[i].port);
		pkt_pool_mem_destroy(ends[i].pool);
	}
	if (rmdir(dir) < 0)
		fail("something was left behind", 0);
	puts("race_link: ok");
	return 0;
}
