/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"
#include "mem.h" /* of lib/port */
#include "worker.h"

/* Long enough on any machine; a test that waits so long has failed. */
#define PATIENCE_NS UINT64_C(5000000000)

static _Atomic uint32_t nb_rung;

/* A doorbell of our own: the NIC's needs a NIC. (qp.h and pthread.h do not go together.) */
void qp_doorbells(struct qp *const *qps, uint32_t n, uint64_t now_ns);

void
qp_doorbells(struct qp *const *qps, uint32_t n, uint64_t now_ns)
{
	(void)qps;
	(void)now_ns;
	nb_rung += n;
}

/* A node that sends nb_to_send packets, counts what comes, and has one deadline. */
struct probe {
	struct node node;
	struct pkt_pool *pool;
	uint32_t nb_to_send;
	_Atomic uint32_t nb_received;
	_Atomic uint64_t deadline_ns;
	_Atomic uint64_t ticked_ns; /* first tick at or after the deadline */
};

static _Atomic bool probe_is_up = true;

static void
probe_link(struct node *node, uint16_t port, bool up, uint64_t now_ns)
{
	(void)node;
	(void)port;
	(void)now_ns;
	probe_is_up = up;
}

static void
probe_receive(struct node *node, uint16_t port, struct pkt **pkts, uint32_t n, uint64_t now_ns)
{
	(void)port;
	(void)now_ns;
	pkt_free(pkts, n);
	((struct probe *)node)->nb_received += n;
}

static uint32_t
probe_send(struct node *node, uint16_t port, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	struct probe *p = (struct probe *)node;
	uint32_t n = p->nb_to_send < max ? p->nb_to_send : max;

	(void)port;
	(void)now_ns;
	n = n > 0 ? p->pool->alloc(p->pool, pkts, n) : 0;
	p->nb_to_send -= n;
	return n;
}

static void
probe_tick(struct node *node, uint64_t now_ns)
{
	struct probe *p = (struct probe *)node;

	if (now_ns < p->deadline_ns)
		return;
	p->deadline_ns = NEVER_NS;
	p->ticked_ns = now_ns;
}

static uint64_t
probe_next_ns(const struct node *node)
{
	const struct probe *p = (const struct probe *)node;

	return p->nb_to_send ? 0 : p->deadline_ns;
}

static const struct node_ops probe_ops = {
	.receive = probe_receive,
	.send = probe_send,
	.tick = probe_tick,
	.next_ns = probe_next_ns,
	.link = probe_link,
};

static struct worker *worker;
static struct probe probes[2];
static struct port *ends[2];

static void
start(void)
{
	const struct worker_conf conf = {.name = "test"};

	worker = worker_create(&conf);
	cr_assert_not_null(worker);
	cr_assert_eq(port_mem_create_pair(16, ends), 0);
	for (int i = 0; i < 2; i++) {
		probes[i].node = (struct node){.ops = &probe_ops, .name = "probe", .nb_ports = 1};
		probes[i].pool = pkt_pool_mem_create(64, 128);
		probes[i].deadline_ns = NEVER_NS;
		cr_assert_eq(worker_add_node(worker, &probes[i].node, &ends[i]), 0);
	}
}

static void
finish(void)
{
	worker_stop(worker);
	worker_destroy(worker);
	for (int i = 0; i < 2; i++) {
		ends[i]->ops->close(ends[i]);
		pkt_pool_mem_destroy(probes[i].pool);
	}
}

static void
nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

TestSuite(worker, .init = start, .fini = finish);

/* Until the worker has gone to sleep: it does not turn any more. */
static void
await_sleep(void)
{
	const volatile struct worker_stats *stats = worker_stats(worker);
	uint64_t until = worker_clock_ns() + PATIENCE_NS, turns;

	do {
		turns = stats->turns;
		for (int i = 0; i < 5; i++)
			nap();
	} while ((stats->sleeps == 0 || stats->turns != turns) && worker_clock_ns() < until);
	cr_assert_gt(stats->sleeps, 0);
}

Test(worker, moves_packets_between_its_nodes)
{
	uint64_t until = worker_clock_ns() + PATIENCE_NS;

	probes[0].nb_to_send = 1000;
	probes[1].nb_to_send = 500;
	cr_assert_eq(worker_start(worker), 0);
	while ((probes[1].nb_received < 1000 || probes[0].nb_received < 500) &&
	       worker_clock_ns() < until)
		nap();
	cr_expect_eq(probes[1].nb_received, 1000);
	cr_expect_eq(probes[0].nb_received, 500);
}

struct called {
	pthread_t thread;
	uint32_t nb_calls;
};

static void
be_called(void *arg, uint64_t now_ns)
{
	struct called *c = arg;

	cr_expect_gt(now_ns, 0);
	c->thread = pthread_self();
	c->nb_calls++;
}

Test(worker, calls_run_on_its_thread_and_are_done_on_return)
{
	struct called c = {0};

	cr_assert_eq(worker_start(worker), 0);
	for (uint32_t i = 1; i <= 1000; i++) {
		worker_call(worker, be_called, &c);
		cr_assert_eq(c.nb_calls, i);
	}
	cr_expect_not(pthread_equal(c.thread, pthread_self()));
	await_sleep();
	worker_call(worker, be_called, &c);
	cr_expect_eq(c.nb_calls, 1001, "a sleeper is woken");
}

Test(worker, sleeps_when_idle_and_wakes_up_for_a_deadline)
{
	uint64_t until, due;

	cr_assert_eq(worker_start(worker), 0);
	await_sleep();
	/* A second sleep of the same kind follows only what wakes it: a call, here. */
	due = worker_clock_ns() + 30000000;
	probes[0].deadline_ns = due;
	worker_call(worker, be_called, &(struct called){0});
	until = worker_clock_ns() + PATIENCE_NS;
	while (!probes[0].ticked_ns && worker_clock_ns() < until)
		nap();
	cr_expect_geq(probes[0].ticked_ns, due, "not early");
	cr_expect_geq(worker_stats(worker)->sleeps, 2, "and it did not poll for it");
}

struct client_op {
	struct bell_client *client;
	int err;
};

static void
add_client(void *arg, uint64_t now_ns)
{
	struct client_op *op = arg;

	(void)now_ns;
	op->err = worker_add_client(worker, op->client);
}

static void
del_client(void *arg, uint64_t now_ns)
{
	(void)now_ns;
	worker_del_client(worker, ((struct client_op *)arg)->client);
}

Test(worker, a_doorbell_that_sees_need_wake_wakes_it)
{
	static const uint64_t one = 1;
	struct bell_client *c = calloc(1, sizeof(*c));
	struct client_op op = {.client = c};
	uint64_t until = worker_clock_ns() + PATIENCE_NS;

	c->page = aligned_alloc(64, sizeof(*c->page));
	memset(c->page, 0, sizeof(*c->page));
	c->wake_fd = eventfd(0, 0);
	bell_set(c, 9, (struct qp *)c); /* any address */
	cr_assert_eq(worker_start(worker), 0);
	worker_call(worker, add_client, &op);
	cr_assert_eq(op.err, 0);
	for (uint32_t i = 1; i <= 20; i++) {
		while (!c->page->need_wake && worker_clock_ns() < until)
			nap();
		atomic_fetch_or(&c->page->bits[0], 1u << 9);
		atomic_fetch_or(&c->page->summary[0], 1);
		if (c->page->need_wake)
			cr_assert_eq(write(c->wake_fd, &one, sizeof(one)), sizeof(one));
		while (nb_rung < i && worker_clock_ns() < until)
			;
		cr_assert_eq(nb_rung, i);
	}
	worker_call(worker, del_client, &op);
	close(c->wake_fd);
	free(c->page);
	free(c);
}

static int
refuse(void)
{
	return -EPERM;
}

Test(worker, an_error_of_the_new_thread_is_that_of_start)
{
	const struct worker_conf conf = {.name = "test", .thread_start = refuse};
	struct worker *w = worker_create(&conf);

	cr_expect_eq(worker_start(w), -EPERM);
	worker_destroy(w);
}

Test(worker, polls_for_ever_if_the_conf_says_so)
{
	const struct worker_conf conf = {.name = "test", .poll = true};
	struct worker *w = worker_create(&conf);

	cr_assert_eq(worker_start(w), 0);
	for (int i = 0; i < 20; i++)
		nap();
	worker_stop(w);
	cr_expect_eq(worker_stats(w)->sleeps, 0);
	cr_expect_eq(worker_stats(w)->yields, 0);
	cr_expect_gt(worker_stats(w)->turns, 1000);
	worker_destroy(w);
}

/* A port of somebody else: a byte in the pipe is a frame. */
struct pipe_port {
	struct port port;
	struct pkt_pool *pool;
	int fds[2];
	_Atomic bool down;
	_Atomic uint32_t nb_dozes;
	bool dozing;
};

static uint32_t
pipe_rx_burst(struct port *port, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	struct pipe_port *pp = (struct pipe_port *)port;
	char byte;

	(void)max;
	(void)now_ns;
	cr_assert_not(pp->dozing, "awake when it asks");
	port->is_down = pp->down;
	return read(pp->fds[0], &byte, 1) == 1 ? pp->pool->alloc(pp->pool, pkts, 1) : 0;
}

static uint32_t
pipe_tx_burst(struct port *port, struct pkt **pkts, uint32_t n, uint64_t now_ns)
{
	(void)port;
	(void)now_ns;
	pkt_free(pkts, n);
	return n;
}

static uint32_t
pipe_tx_room(struct port *port)
{
	(void)port;
	return UINT32_MAX;
}

static int
pipe_wait_fd(const struct port *port)
{
	return ((const struct pipe_port *)port)->fds[0];
}

static bool
pipe_doze(struct port *port, bool dozing)
{
	struct pipe_port *pp = (struct pipe_port *)port;

	pp->dozing = dozing;
	pp->nb_dozes += dozing;
	return false;
}

static const struct port_ops pipe_ops = {
	.rx_burst = pipe_rx_burst,
	.tx_burst = pipe_tx_burst,
	.tx_room = pipe_tx_room,
	.wait_fd = pipe_wait_fd,
	.doze = pipe_doze,
};

Test(worker, sleeps_until_a_port_has_a_frame_and_tells_its_node_of_the_link)
{
	struct pipe_port pp = {.port.ops = &pipe_ops, .pool = probes[0].pool};
	struct probe probe = {
		.node = {.ops = &probe_ops, .name = "piped", .nb_ports = 1},
		.deadline_ns = NEVER_NS,
	};
	struct port *port = &pp.port;
	uint64_t until = worker_clock_ns() + PATIENCE_NS;

	cr_assert_eq(pipe2(pp.fds, O_NONBLOCK), 0);
	cr_assert_eq(worker_add_node(worker, &probe.node, &port), 0);
	cr_assert_eq(worker_start(worker), 0);
	for (uint32_t i = 1; i <= 3; i++) {
		await_sleep();
		pp.down = i == 2;
		cr_assert_eq(write(pp.fds[1], "f", 1), 1);
		while (probe.nb_received < i && worker_clock_ns() < until)
			nap();
		cr_assert_eq(probe.nb_received, i);
		cr_expect_eq(probe_is_up, i != 2);
	}
	cr_expect_geq(pp.nb_dozes, 3);
	worker_stop(worker);
	close(pp.fds[0]);
	close(pp.fds[1]);
}
