/* SPDX-License-Identifier: BSD-3-Clause */
#include "crowd.h"

#include <stdlib.h>
#include <string.h>

#define GOOD_LEN 3000u
#define ALL 15

static void
open_end(struct crowd *c, int side)
{
	static const struct app_conf confs[CROWD_TYPES] = {
		{.type = SHM_QPT_RC, .depth = 16, .max_sge = 4, .cq_depth = 64},
		{.type = SHM_QPT_UC, .depth = 16, .max_sge = 4, .cq_depth = 64},
		{.type = SHM_QPT_UD, .depth = 16, .max_sge = 4, .cq_depth = 64},
	};
	struct crowd_end *e = &c->end[side];

	for (int t = 0; t < CROWD_TYPES; t++)
		app_open(&e->qp[t], &c->w, side, &confs[t]);
	e->block = malloc(CROWD_BUF + 2 * CROWD_GUARD);
	FUZZ_CHECK(e->block);
	memset(e->block, 0xa5, CROWD_BUF + 2 * CROWD_GUARD);
	e->buf = e->block + CROWD_GUARD;
	app_reg(&e->mr, &c->w, side, e->buf, CROWD_BUF, ALL | SHM_ACCESS_MW_BIND);
	e->window = mr_create_window(c->w.nic[side], PD, 2);
	app_open(&c->good[side], &c->w, side, NULL);
	app_reg(&c->good_mr[side], &c->w, side, c->good_buf[side], sizeof(c->good_buf[side]), ALL);
}

/* Both ends as if they had agreed on these parts of packets. */
static void
agree_on_options(struct crowd *c)
{
	static const uint32_t wires[] = {0, WIRE_TS, WIRE_CE_ECHO | WIRE_SACK,
	                                 WIRE_TS | WIRE_SACK | WIRE_ECT};
	static const uint8_t slots[] = {0, 0, 2, INT_SLOTS_MAX, 1};
	uint32_t n = c->nb_agreed++;

	for (int i = 0; i < 2; i++) {
		struct weft_terms *t = &c->end[i].qp[CROWD_RC].qp->terms;

		t->tx_wire = t->rx_wire = wires[n % 4];
		t->tx_slots = t->rx_slots = slots[n % 5];
		t->ack_delay_us = n % 3 ? 10 : 0;
	}
}

void
crowd_connect(struct crowd *c, int type)
{
	struct shm_qp_attr reset = {.state = SHM_QPS_RESET};

	for (int i = 0; i < 2; i++)
		FUZZ_CHECK(!qp_modify(c->end[i].qp[type].qp, &reset, SHM_QP_STATE, c->w.now_ns));
	app_connect(&c->end[0].qp[type], &c->end[1].qp[type]);
	if (type == CROWD_RC && world_speaks_weft())
		agree_on_options(c);
}

void
crowd_open(struct crowd *c, const struct world_conf *conf)
{
	struct world_conf w = conf ? *conf : (struct world_conf){0};

	memset(c, 0, sizeof(*c));
	if (!w.nb_pkts)
		w.nb_pkts = 512;
	world_open(&c->w, &w);
	open_end(c, 0);
	open_end(c, 1);
	app_connect(&c->good[0], &c->good[1]);
	for (int t = 0; t < CROWD_TYPES; t++)
		crowd_connect(c, t);
	crowd_run(c, 20);
}

static uint8_t
good_byte(uint64_t nb)
{
	return (uint8_t)(nb * 11 + 3);
}

/* One message at a time: SEND, WRITE and READ by turns. */
static void
post_good(struct crowd *c)
{
	static const uint8_t ops[] = {SHM_WR_SEND, SHM_WR_WRITE, SHM_WR_READ};
	uint8_t op = ops[c->nb_sent % 3], *mine = c->good_buf[0], *theirs = c->good_buf[1];
	struct shm_send_wqe wqe = {.wr_id = c->nb_sent,
	                           .op = op,
	                           .flags = SHM_SEND_SIGNALED,
	                           .nb_sge = 1,
	                           .remote_addr = (uintptr_t)theirs,
	                           .rkey = c->good_mr[1].mr->key};
	struct shm_sge sge = {(uintptr_t)mine, GOOD_LEN, c->good_mr[0].mr->key};
	struct shm_sge into = {(uintptr_t)theirs, GOOD_LEN, c->good_mr[1].mr->key};

	memset(op == SHM_WR_READ ? theirs : mine, good_byte(c->nb_sent), GOOD_LEN);
	memset(op == SHM_WR_READ ? mine : theirs, 0, GOOD_LEN);
	if (op == SHM_WR_SEND)
		app_post_recv(&c->good[1], c->nb_sent, &into, 1);
	app_post_send(&c->good[0], &wqe, &sge);
	c->nb_sent++;
}

static void
take_good(struct crowd *c)
{
	struct shm_cqe cqe;

	while (local_poll(&c->good[1].rcq, &cqe)) {
		FUZZ_CHECK(cqe.status == SHM_WC_SUCCESS && cqe.byte_len == GOOD_LEN);
		c->nb_got++;
	}
	while (local_poll(&c->good[0].scq, &cqe)) {
		FUZZ_CHECK(cqe.status == SHM_WC_SUCCESS && cqe.wr_id == c->nb_done);
		for (uint32_t i = 0; i < GOOD_LEN; i++)
			FUZZ_CHECK(c->good_buf[0][i] == good_byte(c->nb_done) &&
			           c->good_buf[1][i] == good_byte(c->nb_done));
		for (uint32_t i = GOOD_LEN; i < sizeof(c->good_buf[0]); i++)
			FUZZ_CHECK(!c->good_buf[0][i] && !c->good_buf[1][i]);
		c->nb_done++;
	}
}

void
crowd_run(struct crowd *c, uint32_t turns)
{
	while (turns--) {
		if (c->nb_sent == c->nb_done)
			post_good(c);
		world_step(&c->w);
		take_good(c);
	}
}

void
crowd_close(struct crowd *c)
{
	for (uint32_t i = 0; c->nb_done != c->nb_sent; i++) {
		FUZZ_CHECK(i < 100000);
		world_step(&c->w);
		take_good(c);
	}
	FUZZ_CHECK(c->nb_done && c->nb_got == (c->nb_done + 2) / 3);
	for (int i = 0; i < 2; i++) {
		struct crowd_end *e = &c->end[i];

		for (uint32_t k = 0; k < CROWD_GUARD; k++)
			FUZZ_CHECK(e->block[k] == 0xa5 &&
			           e->block[CROWD_GUARD + CROWD_BUF + k] == 0xa5);
		for (int t = 0; t < CROWD_TYPES; t++)
			app_close(&e->qp[t]);
		FUZZ_CHECK(!mr_destroy(c->w.nic[i], e->window));
		FUZZ_CHECK(!mr_destroy(c->w.nic[i], e->mr.mr));
		app_close(&c->good[i]);
		FUZZ_CHECK(!mr_destroy(c->w.nic[i], c->good_mr[i].mr));
		free(e->block);
	}
	world_close(&c->w);
}
