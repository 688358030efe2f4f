/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stack alone: two NICs back to back over in-memory ports in one thread, a fake clock, 64 QPs
 * that WRITE one way. Both ends' whole work per data packet, as a multiple of what no stack avoids.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limit.h"
#include "timing.h"
#include "world.h"

#define NB_QPS 64
#define DEPTH 16

struct row {
	uint32_t mtu, msg_len;
	uint64_t nb_msgs;
};

struct flow {
	struct app_qp tx, rx;
	uint64_t posted, done;
};

static void
connect(struct flow *f, uint8_t mtu_code)
{
	struct app_qp *ends[2] = {&f->tx, &f->rx};
	struct shm_qp_attr attr[2] = {app_attr(&f->tx, &f->rx), app_attr(&f->rx, &f->tx)};

	for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTS; state++)
		for (int i = 0; i < 2; i++) {
			attr[i].path_mtu = mtu_code;
			attr[i].timeout = 14;
			if (app_to(ends[i], &attr[i], state))
				abort();
			if (i && state == SHM_QPS_RTR)
				app_agree(&f->tx, &f->rx);
		}
}

static void
post(struct flow *f, const struct local_mr mr[2], uint64_t off, uint32_t len, uint64_t id)
{
	struct shm_sge sge = {mr[0].seg.va + off, len, mr[0].mr->key};
	struct shm_send_wqe wqe = {.wr_id = id,
	                           .op = SHM_WR_WRITE,
	                           .flags = SHM_SEND_SIGNALED,
	                           .nb_sge = 1,
	                           .remote_addr = mr[1].seg.va + off,
	                           .rkey = mr[1].mr->key};

	app_post_send(&f->tx, &wqe, &sge);
	f->posted++;
}

/* Keep every QP busy until each has written nb_msgs messages. */
static void
pump(struct world *w, struct flow *flows, const struct local_mr mr[2], const struct row *row,
     uint64_t buf_len)
{
	uint64_t left = NB_QPS * row->nb_msgs;
	struct shm_cqe cqe;

	while (left) {
		for (int i = 0; i < NB_QPS; i++) {
			struct flow *f = &flows[i];
			uint64_t slots = buf_len / NB_QPS / row->msg_len;

			while (f->posted < row->nb_msgs && f->posted - f->done < DEPTH)
				post(f, mr,
				     ((uint64_t)i * slots + (slots ? f->posted % slots : 0)) %
				             (buf_len / row->msg_len) * row->msg_len,
				     row->msg_len, f->posted);
			while (local_poll(&f->tx.scq, &cqe)) {
				if (cqe.status)
					abort();
				f->done++;
				left--;
			}
		}
		world_run(w, 8);
	}
	for (int i = 0; i < NB_QPS; i++)
		flows[i].posted = flows[i].done = 0;
}

static void
measure(const struct row *row)
{
	static const uint64_t buf_len = 256 * 1024;
	static struct flow flows[NB_QPS];
	struct world w;
	struct local_mr mr[2];
	uint8_t *buf[2], code = 1;
	double ns[TIMING_RUNS], median, limit,
		pkts = (double)((row->msg_len + row->mtu - 1) / row->mtu);

	while (mtu_bytes(code) < row->mtu)
		code++;
	world_open(&w, NULL);
	for (int i = 0; i < 2; i++) {
		buf[i] = aligned_alloc(4096, buf_len);
		memset(buf[i], i, buf_len);
		app_reg(&mr[i], &w, i, buf[i], buf_len, 15);
	}
	for (int i = 0; i < NB_QPS; i++) {
		app_open(&flows[i].tx, &w, 0, NULL);
		app_open(&flows[i].rx, &w, 1, NULL);
		connect(&flows[i], code);
	}
	pump(&w, flows, mr, row, buf_len);
	for (int r = 0; r < TIMING_RUNS; r++) {
		uint64_t t = timing_now_ns();

		pump(&w, flows, mr, row, buf_len);
		ns[r] = (double)(timing_now_ns() - t) /
		        ((double)NB_QPS * (double)row->nb_msgs * pkts);
	}
	median = timing_median(ns);
	limit = limit_ns(row->mtu < row->msg_len ? row->mtu : row->msg_len);
	printf("%6u %8u %10.1f %10.1f %8.2f\n", row->mtu, row->msg_len, median, limit,
	       median / limit);
	for (int i = 0; i < NB_QPS; i++) {
		app_close(&flows[i].tx);
		app_close(&flows[i].rx);
	}
	for (int i = 0; i < 2; i++) {
		mr_destroy(w.nic[i], mr[i].mr);
		free(buf[i]);
	}
	world_close(&w);
}

/* bench_stack [ROW]: all rows, or one, to be profiled. */
int
main(int argc, char **argv)
{
	static const struct row rows[] = {
		{4096, 65536, 200},
		{1024, 65536, 50},
		{4096, 64, 10000},
	};

	printf("stack alone, both ends, %d QPs, WRITE, median of %d\n", NB_QPS, TIMING_RUNS);
	printf("%6s %8s %10s %10s %8s\n", "MTU", "message", "ns/packet", "limit", "ratio");
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (argc < 2 || (uint32_t)atoi(argv[1]) == i)
			measure(&rows[i]);
	return 0;
}
