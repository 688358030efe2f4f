/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "pair.h"

/*
 * A driver that sleeps until stack_next_ns, or until a frame or a doorbell comes: nothing may be
 * late for it, nothing may be forgotten, and it may not spin.
 */

static void
turn(struct world *w, int i, uint64_t *nb_frames)
{
	struct pkt *pkts[STACK_BURST];
	struct port *port = w->port[i];
	uint32_t n = port->ops->rx_burst(port, pkts, STACK_BURST, w->now_ns);

	if (n)
		stack_rx(w->nic[i], pkts, n, w->now_ns);
	*nb_frames += n;
	stack_tick(w->nic[i], w->now_ns);
	n = stack_tx(w->nic[i], pkts, STACK_BURST, w->now_ns);
	*nb_frames += n;
	cr_assert_eq(port->ops->tx_burst(port, pkts, n, w->now_ns), n);
}

static uint64_t
next_ns(struct world *w)
{
	uint64_t next = NEVER_NS;

	for (int i = 0; i < 2; i++) {
		struct port *port = w->port[i];
		uint64_t at = stack_next_ns(w->nic[i]);

		next = at < next ? at : next;
		at = port->ops->next_ns ? port->ops->next_ns(port) : NEVER_NS;
		next = at < next ? at : next;
	}
	return next;
}

/* Until a completion is there. Returns turns in which there was nothing to do. */
static uint64_t
run(struct world *w, struct local_cq *cq, struct shm_cqe *cqe)
{
	uint64_t nb_idle = 0;

	while (!local_poll(cq, cqe)) {
		uint64_t nb_frames = 0, next;

		turn(w, 0, &nb_frames);
		turn(w, 1, &nb_frames);
		if (nb_frames) {
			w->now_ns += 1000;
			continue;
		}
		nb_idle++;
		if (atomic_load(&cq->ring->ring.tail) != cq->head)
			continue;
		next = next_ns(w);
		cr_assert_neq(next, NEVER_NS, "asleep with work");
		cr_assert_lt(nb_idle, 100000, "spins");
		w->now_ns = next > w->now_ns ? next : w->now_ns + 1;
	}
	return nb_idle;
}

static const struct {
	const char *name;
	uint32_t rate_kbps, loss_ppm, delay_ns;
	bool no_recv, no_peer;
	uint64_t most_idle;
	uint8_t status;
} rows[] = {
	{"plain", 0, 0, 0, false, false, 8, SHM_WC_SUCCESS},
	{"over a long link", 0, 0, 50000, false, false, 300, SHM_WC_SUCCESS},
	{"paced", 100000, 0, 0, false, false, 200, SHM_WC_SUCCESS},
	{"with losses", 0, 100000, 0, false, false, 300, SHM_WC_SUCCESS},
	{"no receive", 0, 0, 0, true, false, 80, SHM_WC_RNR_RETRY_EXC_ERR},
	{"no peer", 0, 0, 0, false, true, 80, SHM_WC_RETRY_EXC_ERR},
};

Test(wake, whoever_sleeps_until_told_misses_nothing)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world_conf wc = {.fault = {.seed = 3,
		                                  .tx.ppm[FAULT_LOSS] = rows[i].loss_ppm,
		                                  .tx.delay_ns = rows[i].delay_ns}};
		struct shm_qp_attr attr = {.state = SHM_QPS_ERR,
		                           .rate_limit_kbps = rows[i].rate_kbps};
		struct shm_cqe c;
		struct pair p;
		uint64_t nb_idle;

		pair_make(&p, &wc, NULL);
		struct shm_qp_attr to = app_attr(&p.qp[0], &p.qp[1]);
		to.rnr_retry = 5;
		pair_connect(&p, &to);
		if (rows[i].rate_kbps)
			qp_modify(p.qp[0].qp, &attr, SHM_QP_RATE_LIMIT, p.w.now_ns);
		if (rows[i].no_peer)
			qp_modify(p.qp[1].qp, &attr, SHM_QP_STATE, p.w.now_ns);
		if (!rows[i].no_recv)
			pair_recv(&p, 9, 0, 60000);
		pair_post(&p, SHM_WR_SEND, 1, 0, 0, 60000);
		nb_idle = run(&p.w, &p.qp[0].scq, &c);
		cr_expect_eq(c.status, rows[i].status, "%s: %u", rows[i].name, c.status);
		cr_expect_leq(nb_idle, rows[i].most_idle, "%s: %lu idle turns", rows[i].name,
		              (unsigned long)nb_idle);
		pair_close(&p);
	}
}

Test(wake, an_idle_stack_wants_no_turn)
{
	struct pair p;
	uint64_t nb_frames = 0;

	pair_open(&p, NULL, NULL);
	pair_post(&p, SHM_WR_WRITE, 1, 0, 0, 6000);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
	/* The timer that was armed looks once more and goes; MACs are refreshed after 30 s. */
	p.w.now_ns += 20000000;
	turn(&p.w, 0, &nb_frames);
	turn(&p.w, 1, &nb_frames);
	cr_expect_geq(next_ns(&p.w), p.w.now_ns + UINT64_C(1000000000));
	cr_expect_eq(nb_frames, 0);
	pair_close(&p);
}

Test(wake, one_ack_may_complete_more_than_a_batch_holds)
{
	struct app_conf ac = {.depth = 512};
	struct pair p;

	pair_open(&p, NULL, &ac);
	world_run(&p.w, 20);
	for (uint64_t i = 0; i < 250; i++)
		pair_post(&p, SHM_WR_WRITE, i, 0, 0, 8);
	for (uint64_t i = 0; i < 250; i++)
		pair_expect(&p, &p.qp[0].scq, i, SHM_WC_SUCCESS);
	pair_close(&p);
}
