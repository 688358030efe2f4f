/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

/* Rates and turns, through the whole stack and over a fake clock. */

#define MSG 65536u

/* Bytes that a tap saw arrive at side 1, by QP. */
struct meter {
	uint64_t bytes[1024];
	uint32_t qpn[1024], nb;
};

static void
tap(void *arg, const struct pkt *pkt)
{
	struct meter *m = arg;
	enum wire_bad bad;
	struct wire_pkt w;

	if (pkt->data[5] != 2 || wire_parse(pkt->data, pkt->len, &w, &bad) != WIRE_ROCE)
		return;
	for (uint32_t i = 0; i < m->nb; i++)
		if (m->qpn[i] == w.dest_qpn)
			m->bytes[i] += pkt->len + 4; /* the FCS */
}

static void
post(struct pair *p, struct app_qp *a, uint64_t wr_id)
{
	struct shm_send_wqe wqe = pair_wqe(p, SHM_WR_WRITE, wr_id, 0);
	struct shm_sge sge = pair_sge(p, 0, 0, MSG);

	app_post_send(a, &wqe, &sge);
}

Test(pace, a_qp_gets_the_rate_that_it_is_limited_to)
{
	static const uint32_t kbps[] = {100000, 1000, 2500000};

	for (size_t i = 0; i < sizeof(kbps) / sizeof(kbps[0]); i++) {
		struct meter meter = {.nb = 1};
		struct world_conf wc = {.tap = tap, .tap_arg = &meter};
		struct shm_qp_attr attr = {.rate_limit_kbps = kbps[i]};
		uint64_t turns = kbps[i] < 10000 ? 1000000 : 100000, start = 0, posted = 0,
			 done = 0;
		struct pair p;
		struct shm_cqe c;
		double rate;

		pair_open(&p, &wc, NULL);
		meter.qpn[0] = p.qp[1].qp->qpn;
		cr_assert_eq(qp_modify(p.qp[0].qp, &attr, SHM_QP_RATE_LIMIT, p.w.now_ns), 0);
		for (uint64_t t = 0; t < turns + turns / 10; t++) {
			while (posted - done < 8)
				post(&p, &p.qp[0], posted++);
			while (local_poll(&p.qp[0].scq, &c))
				done++;
			world_step(&p.w);
			if (t == turns / 10) {
				start = p.w.now_ns;
				meter.bytes[0] = 0;
			}
		}
		rate = (double)meter.bytes[0] * 8e6 / (double)(p.w.now_ns - start);
		cr_expect_float_eq(rate, kbps[i], 0.01 * kbps[i], "%g kb/s, want %u", rate,
		                   kbps[i]);
		cr_expect_eq(p.qp[0].qp->nic->stats.retransmits, 0, "%u kb/s: %lu repeats", kbps[i],
		             (unsigned long)p.qp[0].qp->nic->stats.retransmits);
		pair_close(&p);
	}
}

Test(pace, a_thousand_qps_with_equal_work_share_equally, .timeout = 120)
{
	enum { N = 1000 };
	static struct app_qp tx[N], rx[N];
	static struct meter meter;
	struct world_conf wc = {.tap = tap, .tap_arg = &meter, .nb_pkts = 16384, .depth = 4096};
	struct app_conf ac = {.depth = 8};
	double sum = 0, squares = 0, jain;
	struct pair p;

	pair_open(&p, &wc, NULL);
	meter.nb = 0;
	for (int i = 0; i < N; i++) {
		app_open(&tx[i], &p.w, 0, &ac);
		app_open(&rx[i], &p.w, 1, &ac);
		app_connect(&tx[i], &rx[i]);
	}
	world_run(&p.w, 20);
	for (int i = 0; i < N; i++) {
		meter.qpn[meter.nb++] = rx[i].qp->qpn;
		/* Some post more at once, and start sooner: that must buy them nothing. */
		for (int k = 0; k < (i % 3 ? 8 : 4); k++)
			post(&p, &tx[i], (uint64_t)k);
	}
	/* A turn of each is 500 turns of 32 packets. */
	world_run(&p.w, 6000);
	for (int i = 0; i < N; i++) {
		sum += (double)meter.bytes[i];
		squares += (double)meter.bytes[i] * (double)meter.bytes[i];
	}
	jain = sum * sum / (N * squares);
	cr_expect_gt(jain, 0.99, "%g", jain);
	cr_expect_gt(sum, 190e6);
	for (int i = 0; i < N; i++) {
		app_close(&tx[i]);
		app_close(&rx[i]);
	}
	pair_close(&p);
}
