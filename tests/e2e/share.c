/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * share DEVICE PEER QPS[/CONNECTED] BYTES DEPTH MS: a program with so many connected QPs from one
 * device to the other, QPS of them, spread evenly, with DEPTH WRITEs of BYTES outstanding all the
 * time. It says "ready", waits for its input to end, and after MS milliseconds prints how many
 * bytes were written since, and the time in ns that process $WEFTD_PID has had of the machine's
 * cores meanwhile.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "verbs.h"

#define BUFFER (1u << 20)
#define GID_INDEX 1 /* the first address of the conf */
#define TIMEOUT 20  /* 4.3 s */
#define MAX_QPS 16384

struct side {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	union ibv_gid gid;
	struct ibv_qp *qp[MAX_QPS];
};

static struct side sides[2];
static uint32_t nb_active, nb_qps, bytes, depth;

static void
open_side(struct side *s, const char *device)
{
	void *buffer = aligned_alloc(4096, BUFFER);

	must(buffer);
	memset(buffer, 7, BUFFER);
	s->ctx = verbs_open(device);
	must(s->ctx && ibv_query_gid(s->ctx, 1, GID_INDEX, &s->gid) == 0);
	s->pd = ibv_alloc_pd(s->ctx);
	s->cq = ibv_create_cq(s->ctx, (int)(nb_active * depth), NULL, NULL, 0);
	must(s->pd && s->cq);
	s->mr = ibv_reg_mr(s->pd, buffer, BUFFER, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	must(s->mr);
}

static void
post(uint32_t i)
{
	struct ibv_sge sge = {(uintptr_t)sides[0].mr->addr, bytes, sides[0].mr->lkey};
	struct ibv_send_wr wr = {
		.wr_id = i,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {(uintptr_t)sides[1].mr->addr, sides[1].mr->rkey},
	};
	struct ibv_send_wr *bad;

	must(ibv_post_send(sides[0].qp[i], &wr, &bad) == 0);
}

/* Keep all QPs busy with what has completed. Returns how much that was. */
static uint64_t
go_on(void)
{
	struct ibv_wc wc[64];
	uint64_t sum = 0;
	int n;

	while ((n = ibv_poll_cq(sides[0].cq, 64, wc)) > 0) {
		for (int i = 0; i < n; i++) {
			verbs_good(wc[i]);
			post((uint32_t)wc[i].wr_id);
		}
		sum += (uint64_t)n * bytes;
	}
	return sum;
}

static uint64_t
now_ns(clockid_t clock)
{
	struct timespec t = {0};

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static clockid_t
daemon_clock(void)
{
	const char *pid = getenv("WEFTD_PID");
	clockid_t clock;

	must(pid && clock_getcpuclockid(atoi(pid), &clock) == 0);
	return clock;
}

int
main(int argc, char **argv)
{
	uint64_t sum = 0, end, cpu_ns;

	if (argc != 7)
		return 2;
	nb_active = (uint32_t)atoi(argv[3]);
	nb_qps = strchr(argv[3], '/') ? (uint32_t)atoi(strchr(argv[3], '/') + 1) : nb_active;
	bytes = (uint32_t)atoi(argv[4]);
	depth = (uint32_t)atoi(argv[5]);
	must(nb_active > 0 && nb_active <= nb_qps && nb_qps <= MAX_QPS && bytes <= BUFFER);
	for (int i = 0; i < 2; i++)
		open_side(&sides[i], argv[1 + i]);
	for (uint32_t i = 0; i < nb_qps; i++) {
		for (int k = 0; k < 2; k++)
			sides[k].qp[i] = verbs_rc_qp(sides[k].pd, sides[k].cq, depth);
		for (int k = 0; k < 2; k++)
			verbs_connect_rc(sides[k].qp[i], sides[!k].qp[i]->qp_num, &sides[!k].gid,
			                 GID_INDEX, TIMEOUT);
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	for (uint32_t i = 0; i < nb_active * depth; i++)
		post(i % nb_active * (nb_qps / nb_active));
	cpu_ns = now_ns(daemon_clock());
	end = now_ns(CLOCK_MONOTONIC) + (uint64_t)atoi(argv[6]) * 1000000;
	while (now_ns(CLOCK_MONOTONIC) < end) {
		sum += go_on();
		/* Queues are deep: whoever shares the core, the daemon as well, gets it. */
		nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	}
	cpu_ns = now_ns(daemon_clock()) - cpu_ns;
	printf("%llu %llu\n", (unsigned long long)sum, (unsigned long long)cpu_ns);
	return 0;
}
