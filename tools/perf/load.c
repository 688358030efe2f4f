/* SPDX-License-Identifier: BSD-3-Clause */
#include "load.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine.h"
#include "fail.h"
#include "list.h"

#define PD 1
/* A completion is asked for so often, as perftest does... */
#define SIGNAL_EVERY 16
/* ...if this many of them fit the queue. */
#define SIGNALS_MIN 4
/* Latency samples of a test that counts seconds. */
#define MAX_SAMPLES UINT64_C(4000000)

static const uint8_t wr_ops[] = {
	[PERF_WRITE] = SHM_WR_WRITE,
	[PERF_READ] = SHM_WR_READ,
	[PERF_SEND] = SHM_WR_SEND,
	[PERF_ATOMIC] = SHM_WR_FETCH_ADD,
};

/* A write or send latency test goes back and forth; the client alone measures the others. */
static bool
is_pingpong(const struct perf_test *t)
{
	return t->is_lat && (t->op == PERF_WRITE || t->op == PERF_SEND);
}

static bool
sends(const struct load *l)
{
	return l->is_client || is_pingpong(&l->test);
}

static bool
receives(const struct load *l)
{
	return l->test.op == PERF_SEND && (!l->is_client || l->test.is_lat);
}

static uint32_t
signal_every(const struct perf_test *t)
{
	return t->is_checked || t->depth < SIGNAL_EVERY * SIGNALS_MIN ? 1 : SIGNAL_EVERY;
}

/* ---- one message ---- */

static uint8_t *
slot_of(const struct load *l, const struct load_qp *q, uint64_t i)
{
	return q->mem + i % l->nb_slots * l->slot_bytes;
}

static void
fail(struct load *l, const struct load_qp *q, uint8_t status)
{
	char reason[WEFT_REASON_LEN];

	if (l->why[0])
		return;
	qp_explain(q->app.qp, reason, sizeof(reason));
	snprintf(l->why, sizeof(l->why), "QP 0x%06x: completion with status %u: %s", q->app.qp->qpn,
	         status, reason);
}

static bool
has_room(const struct load *l, const struct load_qp *q)
{
	return q->nb_posted - q->nb_done < l->test.depth;
}

static void
put_one(struct load *l, struct load_qp *q)
{
	uint64_t i = q->nb_posted++;
	uint8_t *mem = slot_of(l, q, i);
	struct shm_send_wqe wqe = {
		.wr_id = i,
		.op = wr_ops[l->test.op],
		.nb_sge = 1,
		.remote_addr = q->remote_addr + (uint64_t)(mem - q->mem),
		.rkey = q->remote_rkey,
	};
	struct shm_sge sge = {(uintptr_t)mem, l->test.size, l->mr.mr->key};

	if (l->test.is_lat)
		wqe.remote_addr += l->slot_bytes;
	if (l->test.op == PERF_ATOMIC) {
		wqe.remote_addr = q->remote_addr;
		wqe.atomic.compare_add = 1;
	}
	if (q->nb_posted % signal_every(&l->test) == 0 || q->nb_posted == l->end || l->test.is_lat)
		wqe.flags = SHM_SEND_SIGNALED;
	local_put_send(&q->app, &wqe, &sge);
}

static void
put_recvs(struct load *l, struct load_qp *q)
{
	while (q->nb_recvs < l->end && q->nb_recvs - q->nb_received < l->test.depth) {
		uint8_t *mem = slot_of(l, q, q->nb_recvs);
		struct shm_sge sge = {(uintptr_t)mem, l->test.size, l->mr.mr->key};

		local_put_recv(&q->app, q->nb_recvs++, &sge);
	}
}

/* Completions of one QP. Returns whether there was any. */
static bool
poll_one(struct load *l, struct load_qp *q)
{
	struct shm_cqe cqe;
	bool any = false;

	while (local_poll(&q->app.cq, &cqe)) {
		any = true;
		if (cqe.status != SHM_WC_SUCCESS) {
			fail(l, q, cqe.status);
			return true;
		}
		if (cqe.op & SHM_WC_RECV)
			q->nb_received++;
		else
			q->nb_done = cqe.wr_id + 1;
	}
	return any;
}

/* ---- bandwidth ---- */

static void
note_peak(struct load *l, uint64_t now_ns)
{
	uint64_t ns = now_ns - l->peak_ns;
	double bps;

	if (ns < PERF_PEAK_NS)
		return;
	bps = 8e9 * (double)((l->nb_total - l->peak_total) * l->test.size) / (double)ns;
	if (bps > l->peak_bps)
		l->peak_bps = bps;
	l->peak_ns = now_ns;
	l->peak_total = l->nb_total;
}

static bool
stream_qp(struct load *l, struct load_qp *q, uint64_t now_ns)
{
	uint64_t done = sends(l) ? q->nb_done : q->nb_received, posted = q->nb_posted;
	bool any = poll_one(l, q), is_over = l->test.seconds && now_ns >= l->stop_ns;

	if (l->why[0])
		return true;
	if (receives(l)) {
		uint64_t recvs = q->nb_recvs;

		put_recvs(l, q);
		any |= recvs != q->nb_recvs;
	}
	while (sends(l) && !is_over && q->nb_posted < l->end && has_room(l, q))
		put_one(l, q);
	if (q->nb_posted != posted || any)
		local_ring(&q->app, now_ns);
	l->nb_total += (sends(l) ? q->nb_done : q->nb_received) - done;
	/* Of a test that counts seconds, what was posted last and not signalled is not waited for.
	 */
	return sends(l) ? (is_over ? q->nb_posted - q->nb_done < signal_every(&l->test)
	                           : q->nb_done >= l->end)
	                : q->nb_received >= l->end;
}

static bool
stream(struct load *l, uint64_t now_ns)
{
	uint64_t before = l->nb_total;
	bool is_done = true;

	for (uint32_t i = 0; i < l->test.nb_qps; i++)
		is_done &= stream_qp(l, &l->qps[i], now_ns);
	if (l->nb_total != before) {
		l->last_ns = now_ns;
		note_peak(l, now_ns);
	}
	return is_done;
}

/* ---- latency: one QP, one message at a time ---- */

static void
sample(struct load *l, uint64_t now_ns)
{
	uint64_t ns = now_ns - l->sent_ns;

	if (l->nb_samples < l->max_samples)
		l->samples_ns[l->nb_samples++] = is_pingpong(&l->test) ? ns / 2 : ns;
	l->last_ns = now_ns;
	l->nb_total++;
}

/* The last byte of a WRITE is looked at, as ib_write_lat does: it tells the message's number. */
static bool
has_arrived(const struct load *l, const struct load_qp *q, uint64_t i)
{
	const volatile uint8_t *last = slot_of(l, q, 0) + l->slot_bytes + l->test.size - 1;

	return *last == (uint8_t)(i + 1);
}

static void
send_one(struct load *l, struct load_qp *q, uint64_t now_ns)
{
	if (l->test.op == PERF_WRITE)
		q->mem[l->test.size - 1] = (uint8_t)(q->nb_posted + 1);
	l->sent_ns = now_ns;
	put_one(l, q);
}

/* Whether the peer's message, or the answer to ours, is here. */
static bool
is_answered(const struct load *l, const struct load_qp *q, uint64_t i)
{
	if (l->test.op == PERF_WRITE)
		return has_arrived(l, q, i);
	return (l->test.op == PERF_SEND ? q->nb_received : q->nb_done) > i;
}

static bool
bounce(struct load *l, uint64_t now_ns)
{
	struct load_qp *q = &l->qps[0];
	uint64_t posted = q->nb_posted, recvs = q->nb_recvs;

	poll_one(l, q);
	if (receives(l))
		put_recvs(l, q);
	if (l->is_client) {
		if (q->nb_posted > l->first && is_answered(l, q, q->nb_posted - 1) &&
		    l->nb_total < q->nb_posted)
			sample(l, now_ns);
		if (l->nb_total == q->nb_posted && q->nb_posted < l->end && has_room(l, q) &&
		    !(l->test.seconds && now_ns >= l->stop_ns))
			send_one(l, q, now_ns);
	} else if (is_pingpong(&l->test) && q->nb_posted < l->end && has_room(l, q) &&
	           is_answered(l, q, q->nb_posted)) {
		send_one(l, q, now_ns);
	}
	if (q->nb_posted != posted || q->nb_recvs != recvs)
		local_ring(&q->app, now_ns);
	return l->is_client && l->nb_total == q->nb_posted && q->nb_done == q->nb_posted &&
	       (q->nb_posted == l->end || (l->test.seconds && now_ns >= l->stop_ns));
}

/* ---- the node ---- */

static struct load *
load_of(const struct node *node)
{
	return (struct load *)(uintptr_t)node;
}

static void
load_tick(struct node *node, uint64_t now_ns)
{
	struct load *l = load_of(node);
	bool is_done;

	if (!l->is_running)
		return;
	is_done = l->test.is_lat ? bounce(l, now_ns) : stream(l, now_ns);
	if (!is_done && !l->why[0])
		return;
	l->spent_ns += l->last_ns - l->start_ns;
	l->is_running = false;
	sem_post(&l->done);
}

/* A message that only shows in memory wakes nobody: then there is no sleep. */
static uint64_t
load_next_ns(const struct node *node)
{
	const struct load *l = load_of(node);

	if (!l->is_running)
		return NEVER_NS;
	if (is_pingpong(&l->test) && l->test.op == PERF_WRITE)
		return 0;
	return l->test.seconds ? l->stop_ns : NEVER_NS;
}

static const struct node_ops load_ops = {.tick = load_tick, .next_ns = load_next_ns};

/* ---- set-up ---- */

uint64_t
load_round(const struct perf_test *t)
{
	uint64_t most = PERF_MAX_MEMORY / 64 / t->nb_qps / ((t->size + 63) & ~63u);

	if (!t->is_checked || (t->iters && t->iters < most))
		return t->iters ? t->iters : UINT64_MAX;
	return most ? most : 1;
}

/* Compared messages have a slot each; others share one, and of a ping-pong each direction has one.
 */
static uint32_t
slots(const struct perf_test *t)
{
	return t->is_checked ? (uint32_t)load_round(t) : 1;
}

uint64_t
load_memory(const struct perf_test *t)
{
	return (uint64_t)t->nb_qps * (slots(t) + t->is_lat) * ((t->size + 63) & ~63u);
}

static uint64_t
samples(const struct perf_test *t)
{
	if (!t->is_lat)
		return 0;
	return t->iters && t->iters < MAX_SAMPLES ? t->iters : MAX_SAMPLES;
}

uint64_t
load_needs(const struct perf_test *t)
{
	return load_memory(t) + t->nb_qps * (sizeof(struct load_qp) + local_qp_bytes(t->depth)) +
	       samples(t) * sizeof(uint64_t);
}

void
load_init(struct load *l, struct nic *nic)
{
	*l = (struct load){.node = {.ops = &load_ops, .name = "load"}, .nic = nic};
	sem_init(&l->done, 0, 0);
}

int
load_plan(struct load *l, const struct perf_test *test, bool is_client)
{
	void *mem;

	l->test = *test;
	l->is_client = is_client;
	l->slot_bytes = (test->size + 63) & ~63u;
	l->nb_slots = slots(test);
	l->mem_bytes = load_memory(test);
	mem = mmap(NULL, l->mem_bytes, PROT_READ | PROT_WRITE,
	           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (mem == MAP_FAILED)
		return -ENOMEM;
	l->mem = mem;
	l->qps = calloc(test->nb_qps, sizeof(*l->qps));
	l->max_samples = samples(test);
	if (l->max_samples)
		l->samples_ns = malloc(l->max_samples * sizeof(*l->samples_ns));
	return l->qps && (l->samples_ns || !test->is_lat) ? 0 : -ENOMEM;
}

void
load_fini(struct load *l)
{
	if (l->mem)
		munmap(l->mem, l->mem_bytes);
	free(l->qps);
	free(l->samples_ns);
	sem_destroy(&l->done);
}

int
load_open(struct load *l)
{
	const uint64_t part = l->mem_bytes / l->test.nb_qps;
	int err = local_mr_open(&l->mr, l->nic, PD, l->mem, l->mem_bytes,
	                        SHM_ACCESS_LOCAL_WRITE | SHM_ACCESS_REMOTE_WRITE |
	                                SHM_ACCESS_REMOTE_READ | SHM_ACCESS_REMOTE_ATOMIC);

	for (uint32_t i = 0; i < l->test.nb_qps && !err; i++) {
		const struct local_qp_conf conf = {
			.type = SHM_QPT_RC, .depth = l->test.depth, .pd = PD, .cookie = i};
		struct load_qp *q = &l->qps[i];

		q->mem = l->mem + i * part;
		q->psn = (uint32_t)nic_random(l->nic) & 0xffffff;
		err = local_qp_open(&q->app, l->nic, &conf);
	}
	return err;
}

void
load_close(struct load *l)
{
	/* A round that the peer gave up is still running here. */
	l->is_running = false;
	for (uint32_t i = 0; l->qps && i < l->test.nb_qps; i++)
		local_qp_close(&l->qps[i].app);
	local_mr_close(&l->mr, l->nic);
}

void
load_prepare(struct load *l, uint64_t first, uint64_t end, uint64_t now_ns)
{
	l->first = first;
	l->end = end;
	for (uint32_t i = 0; i < l->test.nb_qps; i++) {
		struct load_qp *q = &l->qps[i];

		if (!receives(l))
			continue;
		put_recvs(l, q);
		local_ring(&q->app, now_ns);
	}
}

void
load_go(struct load *l, uint64_t now_ns)
{
	l->start_ns = l->last_ns = l->peak_ns = now_ns;
	l->peak_total = l->nb_total;
	l->stop_ns = now_ns + (uint64_t)l->test.seconds * 1000000000u;
	l->is_running = true;
}

void
load_stop(struct load *l)
{
	l->is_running = false;
}
