/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a verbs call costs the application: rings in ordinary memory, no daemon. ns per call; median
 * of five runs of CPU time. The second column is the same once the process has had a second thread:
 * then locks are real.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"
#include "timing.h"

enum { NB_SLOTS = 1024, NB_CALLS = 2000000 };

static struct weft device;
static struct shim_context context = {.weft = &device};
static struct shim_qp qp;
static struct shim_cq cq;

static void *
zeroed(size_t bytes)
{
	void *mem = aligned_alloc(64, (bytes + 63) & ~(size_t)63);

	if (!mem)
		abort();
	return memset(mem, 0, bytes);
}

static struct ring_wq
new_wq(uint32_t stride)
{
	struct shm_wq *shm = zeroed(SHM_WQ_SLOTS + NB_SLOTS * stride);

	return (struct ring_wq){
		.shm = shm,
		.slots = (uint8_t *)shm + SHM_WQ_SLOTS,
		.mask = NB_SLOTS - 1,
		.stride = stride,
		.max_wr = NB_SLOTS,
		.max_sge = 4,
		.max_inline = 64,
	};
}

static void
set_up(void)
{
	struct shm_cq *shm = zeroed(SHM_CQ_SLOTS + NB_SLOTS * sizeof(struct shm_cqe));

	device.bell = zeroed(sizeof(*device.bell));
	device.slots = zeroed(CLIENT_MAX_OBJS * sizeof(*device.slots));
	device.ctl_fd = -1;
	qp.qp.context = &context.v.context;
	qp.weft = (struct weft_qp){
		.weft = &device,
		.sq = new_wq(128),
		.rq = new_wq(80),
		.type = SHM_QPT_RC,
		.state = SHM_QPS_RTS,
	};
	client_register(&device, &qp.weft.obj, CLIENT_QP);
	cq.cq.context = &context.v.context;
	cq.weft = (struct weft_cq){
		.weft = &device,
		.ring = {.shm = shm,
	                 .slots = (struct shm_cqe *)((uint8_t *)shm + SHM_CQ_SLOTS),
	                 .mask = NB_SLOTS - 1},
	};
	for (int i = 0; i < NB_SLOTS; i++)
		cq.weft.ring.slots[i].cookie = qp.weft.obj.cookie;
	if (!shim_fill_wr(&qp, 0))
		abort();
}

/** What the daemon and polling would do: everything is done. */
static void
take(struct ring_wq *wq)
{
	ring_wq_drop(wq);
	atomic_store(&device.bell->summary[0], 0);
	atomic_store(&device.bell->bits[0], 0);
}

static void
post_sends(uint32_t nb, uint32_t nb_per_call, unsigned flags)
{
	char data[64];
	struct ibv_sge sge = {(uintptr_t)data, 64, 1};
	struct ibv_send_wr wr[16], *bad;

	for (uint32_t i = 0; i < nb_per_call; i++)
		wr[i] = (struct ibv_send_wr){
			.next = i + 1 < nb_per_call ? &wr[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED | flags,
		};
	for (uint32_t i = 0; i < nb; i++) {
		if (i % 32 == 0)
			take(&qp.weft.sq);
		if (shim_post_send(&qp.qp, wr, &bad))
			abort();
	}
}

static void
post_send(uint32_t nb)
{
	post_sends(nb, 1, 0);
}

static void
post_send_inline(uint32_t nb)
{
	post_sends(nb, 1, IBV_SEND_INLINE);
}

static void
post_send_16(uint32_t nb)
{
	post_sends(nb, 16, 0);
}

static void
post_wr(uint32_t nb)
{
	struct ibv_qp_ex *ex = &qp.ex;

	for (uint32_t i = 0; i < nb; i++) {
		if (i % 32 == 0)
			take(&qp.weft.sq);
		ibv_wr_start(ex);
		ibv_wr_rdma_write(ex, 1, 2);
		ibv_wr_set_sge(ex, 1, 2, 64);
		if (ibv_wr_complete(ex))
			abort();
	}
}

static void
post_recv(uint32_t nb)
{
	struct ibv_sge sge = {1, 64, 1};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	for (uint32_t i = 0; i < nb; i++) {
		if (i % 32 == 0)
			take(&qp.weft.rq);
		if (shim_post_recv(&qp.qp, &wr, &bad))
			abort();
	}
}

static void
poll_in_batches(uint32_t nb, int batch)
{
	struct ibv_wc wc[32];

	for (uint32_t i = 0; i < nb; i++) {
		if (i % 16 == 0)
			atomic_fetch_add(&cq.weft.ring.shm->ring.tail, 16 * (uint32_t)batch);
		if (shim_poll_cq(&cq.cq, batch, wc) != batch)
			abort();
	}
}

static void
poll_one(uint32_t nb)
{
	poll_in_batches(nb, 1);
}

static void
poll_16(uint32_t nb)
{
	poll_in_batches(nb, 16);
}

static const struct {
	const char *what;
	void (*run)(uint32_t nb);
} rows[] = {
	{"post_send, 1 entry", post_send},
	{"post_send, 64 bytes inline", post_send_inline},
	{"post_send, 16 requests", post_send_16},
	{"wr_start, rdma_write, set_sge, complete", post_wr},
	{"post_recv, 1 entry", post_recv},
	{"poll_cq, 1 completion", poll_one},
	{"poll_cq, 16 completions", poll_16},
};

static void
measure(double medians[])
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double ns[TIMING_RUNS];

		rows[i].run(NB_CALLS / 10);
		for (int run = 0; run < TIMING_RUNS; run++) {
			uint64_t start = timing_now_ns();

			rows[i].run(NB_CALLS);
			ns[run] = (double)(timing_now_ns() - start) / NB_CALLS;
		}
		medians[i] = timing_median(ns);
	}
}

static void *
nothing(void *arg)
{
	return arg;
}

int
main(void)
{
	double alone[sizeof(rows) / sizeof(rows[0])], locked[sizeof(rows) / sizeof(rows[0])];
	pthread_t thread;

	set_up();
	measure(alone);
	if (pthread_create(&thread, NULL, nothing, NULL))
		return 1;
	measure(locked);
	pthread_join(thread, NULL);
	printf("ns per call                                  one thread   several\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		printf("  %-42s %10.1f %9.1f\n", rows[i].what, alone[i], locked[i]);
	return 0;
}
