/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "cpu.h"
#include "driven.h"
#include "engine.h"
#include "idle.h"

/*
 * A node that waits for room at a port wants a turn at once, and none is of use before there is
 * some. The port wakes us then; but the node may have deadlines as well, so we sleep no longer than
 * this.
 */
#define BLOCKED_NS 1000000

struct call {
	void (*fn)(void *arg, uint64_t now_ns);
	void *arg;
	sem_t done;
};

struct worker {
	struct worker_conf conf;
	struct driven *nodes;
	uint32_t nb_nodes;
	struct bells bells;
	struct idle idle;
	bool slept;      /* before this turn */
	bool is_blocked; /* a port had no room in this turn */
	int epoll_fd;

	/* from other threads */
	pthread_mutex_t caller;      /* one at a time */
	_Atomic(struct call *) call; /* NULL = none */
	atomic_bool asleep;
	atomic_bool stop;
	int wake_fd;
	pthread_t thread;
	bool running;
	int start_err;
	sem_t started;

	struct worker_stats stats;
};

const struct stat_desc worker_stat_descs[] = {
	{"turns", offsetof(struct worker_stats, turns)},
	{"idle_turns", offsetof(struct worker_stats, idle_turns)},
	{"yields", offsetof(struct worker_stats, yields)},
	{"slow_yields", offsetof(struct worker_stats, slow_yields)},
	{"sleeps", offsetof(struct worker_stats, sleeps)},
	{"calls", offsetof(struct worker_stats, calls)},
	{"doorbells", offsetof(struct worker_stats, doorbells)},
	{"paced_doorbells", offsetof(struct worker_stats, paced_doorbells)},
	{NULL},
};

uint64_t
worker_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* When somebody wants a turn by himself; up to now_ns = at once. */
static uint64_t
next_deadline(const struct worker *w, uint64_t now_ns)
{
	uint64_t next = bells_next_ns(&w->bells);

	if (w->is_blocked && next > now_ns + BLOCKED_NS)
		next = now_ns + BLOCKED_NS;
	for (uint32_t i = 0; i < w->nb_nodes; i++) {
		uint64_t t = driven_next_ns(&w->nodes[i], w->is_blocked, now_ns);

		if (t < next)
			next = t;
	}
	return next;
}

static bool
take_call(struct worker *w, uint64_t now_ns)
{
	struct call *call = atomic_load_explicit(&w->call, memory_order_acquire);

	if (!call)
		return false;
	atomic_store_explicit(&w->call, NULL, memory_order_relaxed);
	call->fn(call->arg, now_ns);
	w->stats.calls++;
	sem_post(&call->done);
	return true;
}

static bool
nodes_doze(const struct worker *w, bool dozing)
{
	bool waiting = false;

	for (uint32_t i = 0; i < w->nb_nodes; i++)
		waiting |= driven_doze(&w->nodes[i], dozing);
	return waiting;
}

/*
 * Sleep until somebody rings, calls, sends, or the deadline. Who rings first publishes, then looks
 * at need_wake; we first set need_wake, then look whether he published: one of us sees the other.
 */
static void
sleep_until(struct worker *w, uint64_t deadline_ns)
{
	struct epoll_event events[8];
	bool waiting;

	w->stats.sleeps++;
	bells_need_wake(&w->bells, true);
	atomic_store_explicit(&w->asleep, true, memory_order_relaxed);
	waiting = nodes_doze(w, true);
	atomic_thread_fence(memory_order_seq_cst);
	if (!waiting && !bells_rung(&w->bells) && !atomic_load(&w->call) &&
	    !atomic_load(&w->stop)) {
		uint64_t now_ns = worker_clock_ns();
		uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
		struct timespec timeout = {.tv_sec = (time_t)(left_ns / 1000000000u),
		                           .tv_nsec = (long)(left_ns % 1000000000u)};

		epoll_pwait2(w->epoll_fd, events, 8, deadline_ns == NEVER_NS ? NULL : &timeout,
		             NULL);
	}
	atomic_store_explicit(&w->asleep, false, memory_order_relaxed);
	bells_need_wake(&w->bells, false);
	nodes_doze(w, false);
	w->slept = true;
}

/* A turn had nothing to do. */
static void
idle(struct worker *w, uint64_t now_ns)
{
	uint64_t next_ns = next_deadline(w, now_ns);

	w->stats.idle_turns++;
	switch (idle_next(&w->idle, now_ns, next_ns)) {
	case IDLE_PAUSE:
		cpu_relax();
		break;
	case IDLE_STEP_ASIDE:
		sched_yield();
		break;
	case IDLE_YIELD:
		sched_yield();
		/* Since the turn began: the turn itself takes a fraction of a microsecond. */
		w->stats.slow_yields += idle_yielded(&w->idle, worker_clock_ns() - now_ns);
		w->stats.yields++;
		break;
	case IDLE_SLEEP:
		sleep_until(w, next_ns);
		break;
	}
}

static void
run(struct worker *w)
{
	while (!atomic_load_explicit(&w->stop, memory_order_relaxed)) {
		uint64_t now_ns = worker_clock_ns();
		uint32_t work = take_call(w, now_ns);
		uint32_t rung = bells_take(&w->bells, w->slept, now_ns);

		work += rung;
		w->stats.doorbells += rung;
		w->stats.paced_doorbells = w->bells.nb_waits;
		w->slept = false;
		w->is_blocked = false;
		for (uint32_t i = 0; i < w->nb_nodes; i++)
			work += driven_turn(&w->nodes[i], &w->is_blocked, now_ns);
		w->stats.turns++;
		if (work > 0)
			idle_busy(&w->idle, now_ns);
		else
			idle(w, now_ns);
	}
}

static void *
thread_main(void *arg)
{
	struct worker *w = arg;

	pthread_setname_np(pthread_self(), w->conf.name);
	/* Timeouts of a sleep are meant as they are said. */
	prctl(PR_SET_TIMERSLACK, 1);
	w->start_err = w->conf.thread_start ? w->conf.thread_start() : 0;
	sem_post(&w->started);
	if (w->start_err == 0) {
		run(w);
		if (w->conf.thread_end)
			w->conf.thread_end();
	}
	return NULL;
}

/* Edges are enough for what is looked at before each sleep; EPOLLIN alone for what is not. */
static int
watch(struct worker *w, int fd, uint32_t edge)
{
	struct epoll_event event = {.events = EPOLLIN | edge};

	return epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

struct worker *
worker_create(const struct worker_conf *conf)
{
	struct worker *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->conf = *conf;
	idle_init(&w->idle, conf->poll);
	pthread_mutex_init(&w->caller, NULL);
	sem_init(&w->started, 0, 0);
	w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	w->wake_fd = eventfd(0, EFD_CLOEXEC);
	if (w->epoll_fd < 0 || w->wake_fd < 0 || watch(w, w->wake_fd, EPOLLET) < 0) {
		worker_destroy(w);
		return NULL;
	}
	return w;
}

void
worker_destroy(struct worker *w)
{
	if (!w)
		return;
	assert(!w->running && w->bells.nb_clients == 0);
	if (w->epoll_fd >= 0)
		close(w->epoll_fd);
	if (w->wake_fd >= 0)
		close(w->wake_fd);
	sem_destroy(&w->started);
	pthread_mutex_destroy(&w->caller);
	free(w->nodes);
	free(w);
}

int
worker_add_node(struct worker *w, struct node *node, struct port **ports)
{
	struct driven *p = realloc(w->nodes, (w->nb_nodes + 1) * sizeof(*p));

	assert(!w->running);
	if (!p)
		return -ENOMEM;
	w->nodes = p;
	w->nodes[w->nb_nodes++] = (struct driven){.node = node, .ports = ports};
	for (uint16_t i = 0; i < node->nb_ports; i++) {
		const struct port *port = ports[i];
		int fd = port->ops->wait_fd ? port->ops->wait_fd(port) : -1;
		int err = fd < 0 ? 0 : watch(w, fd, 0);

		if (err)
			return err;
	}
	return 0;
}

int
worker_start(struct worker *w)
{
	int err;

	assert(!w->running);
	err = pthread_create(&w->thread, NULL, thread_main, w);
	if (err)
		return -err;
	sem_wait(&w->started);
	if (w->start_err) {
		pthread_join(w->thread, NULL);
		return w->start_err;
	}
	w->running = true;
	return 0;
}

static void
wake(struct worker *w)
{
	static const uint64_t one = 1;

	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&w->asleep, memory_order_relaxed))
		(void)!write(w->wake_fd, &one, sizeof(one));
}

void
worker_stop(struct worker *w)
{
	if (!w->running)
		return;
	atomic_store(&w->stop, true);
	wake(w);
	pthread_join(w->thread, NULL);
	w->running = false;
}

void
worker_call(struct worker *w, void (*fn)(void *arg, uint64_t now_ns), void *arg)
{
	struct call call = {.fn = fn, .arg = arg};

	assert(w->running && !pthread_equal(pthread_self(), w->thread));
	sem_init(&call.done, 0, 0);
	pthread_mutex_lock(&w->caller);
	atomic_store_explicit(&w->call, &call, memory_order_release);
	wake(w);
	while (sem_wait(&call.done) < 0)
		;
	pthread_mutex_unlock(&w->caller);
	sem_destroy(&call.done);
}

int
worker_add_client(struct worker *w, struct bell_client *client)
{
	int err = bells_add(&w->bells, client);

	if (err)
		return err;
	err = watch(w, client->wake_fd, EPOLLET);
	if (err)
		bells_del(&w->bells, client);
	return err;
}

void
worker_del_client(struct worker *w, struct bell_client *client)
{
	epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, client->wake_fd, NULL);
	bells_del(&w->bells, client);
}

static struct driven *
find_node(struct worker *w, const struct node *node)
{
	for (uint32_t i = 0; i < w->nb_nodes; i++) {
		if (w->nodes[i].node == node)
			return &w->nodes[i];
	}
	assert(!"a node of this worker");
	return NULL;
}

int
worker_tap(struct worker *w, const struct node *node, struct tap *tap)
{
	struct driven *d = find_node(w, node);

	if (d->tap)
		return -EBUSY;
	d->tap = tap;
	return 0;
}

void
worker_untap(struct worker *w, const struct node *node, struct tap *tap)
{
	struct driven *d = find_node(w, node);

	if (d->tap == tap)
		d->tap = NULL;
}

const struct worker_stats *
worker_stats(const struct worker *w)
{
	return &w->stats;
}
