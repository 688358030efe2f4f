/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * incast DESTINATION SOURCE...: from each source device one QP to the destination, and all write 16
 * MiB each at once, in WRITEs of 64 KiB. Every byte is compared. Prints the payload's rate in Gb/s.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "verbs.h"

#define BYTES (16u << 20)
#define PIECE (64u << 10)
#define NB_PIECES (BYTES / PIECE)
#define DEPTH 4
#define GID_INDEX 1 /* the first address of the conf */
#define TIMEOUT 14  /* 67 ms */
#define MAX_SOURCES 31

struct side {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	union ibv_gid gid;
};

static struct source {
	struct side side;
	struct ibv_qp *qp, *peer;
	uint32_t nb_posted, nb_done;
} sources[MAX_SOURCES];
static struct side dst;
static uint8_t *data, *arrived;

static void
open_side(struct side *s, const char *device, void *buffer, size_t bytes)
{
	s->ctx = verbs_open(device);
	must(s->ctx && ibv_query_gid(s->ctx, 1, GID_INDEX, &s->gid) == 0);
	s->pd = ibv_alloc_pd(s->ctx);
	s->cq = ibv_create_cq(s->ctx, 64, NULL, NULL, 0);
	must(s->pd && s->cq);
	s->mr = ibv_reg_mr(s->pd, buffer, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	must(s->mr);
}

static void
post(struct source *s, uint32_t idx)
{
	uint64_t offset = (uint64_t)s->nb_posted++ * PIECE;
	struct ibv_sge sge = {(uintptr_t)data + offset, PIECE, s->side.mr->lkey};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {(uintptr_t)arrived + (uint64_t)idx * BYTES + offset, dst.mr->rkey},
	};
	struct ibv_send_wr *bad;

	must(ibv_post_send(s->qp, &wr, &bad) == 0);
}

/* Whether a source has work left. */
static int
go_on(struct source *s, uint32_t idx)
{
	struct ibv_wc wc;

	while (s->nb_posted < NB_PIECES && s->nb_posted - s->nb_done < DEPTH)
		post(s, idx);
	while (ibv_poll_cq(s->side.cq, 1, &wc) > 0) {
		verbs_good(wc);
		s->nb_done++;
	}
	return s->nb_done < NB_PIECES;
}

static double
now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int
main(int argc, char **argv)
{
	uint32_t n = (uint32_t)argc - 2;
	int busy = 1;
	double start;

	if (argc < 3 || n > MAX_SOURCES)
		return 2;
	data = aligned_alloc(4096, BYTES);
	arrived = aligned_alloc(4096, (size_t)n * BYTES);
	must(data && arrived);
	for (uint32_t i = 0; i < BYTES; i++)
		data[i] = (uint8_t)(i * 2654435761u >> 24);
	memset(arrived, 0, (size_t)n * BYTES);
	open_side(&dst, argv[1], arrived, (size_t)n * BYTES);
	for (uint32_t i = 0; i < n; i++) {
		struct source *s = &sources[i];

		open_side(&s->side, argv[2 + i], data, BYTES);
		s->qp = verbs_rc_qp(s->side.pd, s->side.cq, DEPTH);
		s->peer = verbs_rc_qp(dst.pd, dst.cq, DEPTH);
		verbs_connect_rc(s->peer, s->qp->qp_num, &s->side.gid, GID_INDEX, TIMEOUT);
		verbs_connect_rc(s->qp, s->peer->qp_num, &dst.gid, GID_INDEX, TIMEOUT);
	}
	start = now_s();
	while (busy) {
		busy = 0;
		for (uint32_t i = 0; i < n; i++)
			busy |= go_on(&sources[i], i);
		/* Whoever shares the core, the daemon as well, gets it. */
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	}
	printf("%.3f\n", (double)n * BYTES * 8e-9 / (now_s() - start));
	for (uint32_t i = 0; i < n; i++)
		must(memcmp(arrived + (size_t)i * BYTES, data, BYTES) == 0);
	return 0;
}
