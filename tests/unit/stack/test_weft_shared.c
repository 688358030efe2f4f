/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "pair.h"
#include "peer.h"
#include "sr.h"

/*
 * A QP of a shared receive queue ends in the middle of SENDs that come in any order: each receive
 * is completed, or still there for another QP, and none is both.
 */

#define NB_RECVS 24

enum how { TO_ERR, TO_RESET, DESTROY, NB_HOWS };

struct shared {
	struct pair p; /* its side 1 has the queue */
	struct app_srq srq;
	uint32_t nb_done, nb_flushed;
	bool seen[NB_RECVS]; /* completed, either way */
};

static void
attach(struct shared *s)
{
	app_open(&s->p.qp[1], &s->p.w, 1, &(struct app_conf){.srq = &s->srq});
}

static void
open_shared(struct shared *s, const struct reliability_ops *rel, uint64_t seed)
{
	static const struct fault_dir bad = {
		.ppm = {[FAULT_LOSS] = 50000, [FAULT_REORDER] = 400000},
		.reorder_pkts = 8,
		.reorder_ns = 5000};
	struct shm_qp_attr attr = peer_attr(); /* a timeout of 66 us */

	*s = (struct shared){0};
	pair_make(&s->p, &(struct world_conf){.weft = true, .rel = rel}, NULL);
	app_close(&s->p.qp[1]);
	app_srq_open(&s->srq, &s->p.w, 1, NB_RECVS, 1);
	attach(s);
	for (uint64_t id = 0; id < NB_RECVS; id++) {
		struct shm_sge sge = pair_sge(&s->p, 1, id * 4096, 4096);

		app_srq_post(&s->srq, id, &sge, 1);
	}
	pair_connect(&s->p, &attr);
	world_run(&s->p.w, 20); /* the MACs */
	world_spoil(&s->p.w, &(struct fault_params){.seed = seed, .tx = bad, .rx = bad});
}

static void
close_shared(struct shared *s)
{
	app_close(&s->p.qp[1]);
	app_srq_close(&s->srq);
	app_open(&s->p.qp[1], &s->p.w, 1, NULL); /* for pair_close */
	pair_close(&s->p);
}

/* Two packets, or one: what is overtaken may lack some of its packets or all. */
static uint32_t
len_of(uint32_t i)
{
	return i % 3 ? 500 : 1500;
}

/* Message i comes from its own place. */
static void
send_so_many(struct shared *s, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++)
		pair_post(&s->p, SHM_WR_SEND, i, i * 16, 0, len_of(i));
}

/*
 * Completions of receives: those of messages that came have their bytes, and are in the order in
 * which they were taken, which behind a QP that ended is that of posting, too.
 */
static uint32_t
take_recvs(struct shared *s)
{
	uint32_t nb_came = 0;
	int64_t last = -1;
	struct shm_cqe c;

	while (local_poll(&s->p.qp[1].rcq, &c)) {
		cr_assert_lt(c.wr_id, NB_RECVS);
		cr_expect_not(s->seen[c.wr_id], "receive %lu twice", (unsigned long)c.wr_id);
		s->seen[c.wr_id] = true;
		if (c.status != SHM_WC_SUCCESS) {
			cr_expect_eq(c.status, SHM_WC_WR_FLUSH_ERR);
			s->nb_flushed++;
			continue;
		}
		cr_expect_gt((int64_t)c.wr_id, last);
		last = (int64_t)c.wr_id;
		cr_expect_eq(c.byte_len, len_of(nb_came));
		cr_expect_eq(memcmp(s->p.buf[1] + 4096 * c.wr_id, s->p.buf[0] + 16 * nb_came,
		                    c.byte_len),
		             0, "receive %lu", (unsigned long)c.wr_id);
		nb_came++;
	}
	s->nb_done += nb_came;
	return nb_came;
}

static void
change(struct shared *s, int side, uint8_t state)
{
	struct shm_qp_attr attr = {.state = state};

	cr_assert_eq(qp_modify(s->p.qp[side].qp, &attr, SHM_QP_STATE, s->p.w.now_ns), 0);
}

static void
end(struct shared *s, enum how how)
{
	switch (how) {
	case TO_ERR:
		change(s, 1, SHM_QPS_ERR);
		take_recvs(s);
		cr_expect_eq(pair_events(SHM_EVENT_QP_LAST_WQE_REACHED), 1);
		change(s, 1, SHM_QPS_RESET);
		break;
	case TO_RESET:
		change(s, 1, SHM_QPS_RESET);
		break;
	case DESTROY:
		app_close(&s->p.qp[1]);
		attach(s);
		break;
	case NB_HOWS:
		break;
	}
	cr_expect_eq(take_recvs(s), 0);
}

/* The next connection gets those that are left. @return how many. */
static uint32_t
rest_of(struct shared *s)
{
	struct shm_qp_attr attr = peer_attr();
	struct shm_cqe c;

	world_run(&s->p.w, 200); /* what is under way */
	change(s, 0, SHM_QPS_RESET);
	while (local_poll(&s->p.qp[0].scq, &c))
		;
	pair_expect_rest(&s->p.w, 0, 1);
	pair_connect(&s->p, &attr);
	send_so_many(s, NB_RECVS);
	world_run(&s->p.w, 3000);
	return take_recvs(s);
}

/* Receives that a message has begun to fill, or filled, and that are not delivered. */
static uint32_t
nb_begun(const struct shared *s)
{
	const struct weft_in *in = &s->p.qp[1].qp->win;
	uint32_t nb = 0;

	for (uint64_t ssn = in->essn; in->rx && ssn < in->bssn; ssn++)
		nb += in->rx->recvs[weft_recv_slot(in, ssn)].is_touched;
	return nb;
}

Test(weft_shared, each_receive_of_a_qp_that_ends_is_completed_or_left_to_another, .timeout = 60)
{
	static const struct reliability_ops *const rels[] = {NULL, &sr_ops};
	uint32_t nb_ended = 0, nb_left = 0;

	for (uint32_t i = 0; i < 100 * NB_HOWS; i++) {
		enum how how = i % NB_HOWS;
		uint32_t begun, left;
		struct shared s;

		open_shared(&s, rels[i & 1], i);
		send_so_many(&s, NB_RECVS);
		world_run(&s.p.w, 2 + i / NB_HOWS % 12);
		take_recvs(&s);
		begun = nb_begun(&s);
		end(&s, how);
		cr_expect_eq(s.nb_flushed, how == TO_ERR ? begun : 0, "seed %u", i);
		left = rest_of(&s);
		cr_expect_eq(s.nb_done + begun, NB_RECVS, "seed %u: %u and %u", i, s.nb_done,
		             begun);
		nb_ended += begun;
		nb_left += left;
		close_shared(&s);
	}
	cr_expect_gt(nb_ended, 100);
	cr_expect_gt(nb_left, 1000);
}
