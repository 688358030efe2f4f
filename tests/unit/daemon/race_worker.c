/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker among threads: some call functions on it, some ring as applications do and come and go
 * meanwhile, and it sleeps and wakes. Under the thread sanitizer where there is one, as
 * race_rings: all that is the worker's is plain memory here. Exits with 0 if every call was made
 * once and every ring was heard; the sanitizer exits with 66 if it saw a race.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"
#include "rings.h"
#include "worker.h"

enum { NB_CALLERS = 2, NB_CALLS = 3000, NB_APPS = 2, NB_RINGS = 3000, NB_VISITS = 20 };

struct qp;
void qp_doorbells(struct qp *const *qps, uint32_t n, uint64_t now_ns);

/* What an application shares: a message behind a number that is published, as in a ring. */
struct app {
	struct bell_client client;
	struct shm_bell page;
	uint64_t message[NB_RINGS + 1];
	_Atomic uint32_t tail;
	uint32_t head; /* the worker's */
	_Atomic uint32_t nb_heard;
	struct worker *worker;
	int err;
};

static uint64_t nb_called; /* the worker's */
static uint64_t nb_ticks;  /* the worker's */

static void
must(bool holds, const char *what)
{
	if (holds)
		return;
	printf("%s\n", what);
	exit(1);
}

static void
nap_us(long us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

/* Doorbells of our own: a "QP" is an application here. */
static void
hear(struct app *app)
{
	uint32_t tail = atomic_load_explicit(&app->tail, memory_order_acquire);

	for (; app->head != tail; app->head++)
		must(app->message[app->head] == app->head * UINT64_C(7), "a message is not whole");
	atomic_store_explicit(&app->nb_heard, app->head, memory_order_relaxed);
}

void
qp_doorbells(struct qp *const *qps, uint32_t n, uint64_t now_ns)
{
	(void)now_ns;
	for (uint32_t i = 0; i < n; i++)
		hear((struct app *)(void *)qps[i]);
}

/* ---- a node without packets ---- */

static void
no_receive(struct node *node, uint16_t port, struct pkt **pkts, uint32_t n, uint64_t now_ns)
{
	(void)node;
	(void)port;
	(void)now_ns;
	pkt_free(pkts, n);
}

static uint32_t
no_send(struct node *node, uint16_t port, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	(void)node;
	(void)port;
	(void)pkts;
	(void)max;
	(void)now_ns;
	return 0;
}

static void
tick(struct node *node, uint64_t now_ns)
{
	(void)node;
	(void)now_ns;
	nb_ticks++;
}

static uint64_t
next_ns(const struct node *node)
{
	(void)node;
	return NEVER_NS;
}

static const struct node_ops ops = {
	.receive = no_receive, .send = no_send, .tick = tick, .next_ns = next_ns};

/* ---- who calls ---- */

static void
add_one(void *arg, uint64_t now_ns)
{
	uint64_t *seen = arg;

	(void)now_ns;
	nb_ticks++;
	*seen = ++nb_called;
}

static void *
call(void *arg)
{
	uint64_t last = 0, seen = 0;

	for (int i = 0; i < NB_CALLS; i++) {
		worker_call(arg, add_one, &seen);
		must(seen > last, "a call was made twice or not at all");
		last = seen;
		if (i % 64 == 0)
			nap_us(1500); /* long enough for the worker to fall asleep */
	}
	return NULL;
}

/* ---- applications ---- */

static void
come(void *arg, uint64_t now_ns)
{
	struct app *app = arg;

	(void)now_ns;
	bell_set(&app->client, 5, (struct qp *)(void *)app);
	app->err = worker_add_client(app->worker, &app->client);
}

static void
leave(void *arg, uint64_t now_ns)
{
	struct app *app = arg;

	(void)now_ns;
	/* What was rung and not heard yet goes with it: hear it now, as a last look. */
	hear(app);
	worker_del_client(app->worker, &app->client);
}

static void
visit(struct app *app)
{
	uint32_t first = atomic_load(&app->tail);

	worker_call(app->worker, come, app);
	must(app->err == 0, "no room for an application");
	for (uint32_t i = first; i < first + NB_RINGS / NB_VISITS; i++) {
		app->message[i] = i * UINT64_C(7);
		atomic_store_explicit(&app->tail, i + 1, memory_order_release);
		ring_bell(&app->page, 5, app->client.wake_fd);
		if (i % 50 == 0)
			nap_us(1500);
	}
	/* Each ring is heard without another one. */
	for (int i = 0; i < 50000 && atomic_load(&app->nb_heard) != atomic_load(&app->tail); i++)
		nap_us(100);
	must(atomic_load(&app->nb_heard) == atomic_load(&app->tail), "a ring was not heard");
	worker_call(app->worker, leave, app);
}

static void *
be_an_app(void *arg)
{
	for (int i = 0; i < NB_VISITS; i++)
		visit(arg);
	return NULL;
}

int
main(void)
{
	static struct app apps[NB_APPS];
	struct worker_conf conf = {.name = "race"};
	struct node node = {.ops = &ops, .name = "node"};
	struct worker *worker = worker_create(&conf);
	pthread_t threads[NB_CALLERS + NB_APPS];

	must(worker && worker_add_node(worker, &node, NULL) == 0, "a worker");
	must(worker_start(worker) == 0, "it starts");
	for (int i = 0; i < NB_CALLERS; i++)
		pthread_create(&threads[i], NULL, call, worker);
	for (int i = 0; i < NB_APPS; i++) {
		apps[i].worker = worker;
		apps[i].client.page = &apps[i].page;
		apps[i].client.wake_fd = eventfd(0, EFD_CLOEXEC);
		pthread_create(&threads[NB_CALLERS + i], NULL, be_an_app, &apps[i]);
	}
	for (int i = 0; i < NB_CALLERS + NB_APPS; i++)
		pthread_join(threads[i], NULL);
	worker_stop(worker);
	must(nb_called == NB_CALLERS * NB_CALLS, "every call is made once");
	must(nb_ticks >= nb_called && worker_stats(worker)->sleeps > 0, "it slept");
	for (int i = 0; i < NB_APPS; i++)
		close(apps[i].client.wake_fd);
	worker_destroy(worker);
	return 0;
}
