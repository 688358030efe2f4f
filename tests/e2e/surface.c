/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verbs that perftest and the pingpongs leave out. A program like any other: it knows
 * libibverbs only, and is run by weft-run.
 *
 * surface DEVICE DEVICE CASE    exit code 0 if the case holds
 * surface                       the cases' names
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "surface.h"

struct pair pair;
static struct end *const a = &pair.a, *const b = &pair.b;
static const char *dev_a, *dev_b;

void
open_pair(enum ibv_qp_type type)
{
	pair_open(&pair, dev_a, dev_b, type);
}

/** Every operation once, at both edges of buffers whose ends are not whole pages. */
static void
operations(void)
{
	static const uint64_t offsets[] = {0, 1, 4000, PAIR_BYTES - 5000, PAIR_BYTES - 3000};
	struct ibv_send_wr wr;

	open_pair(IBV_QPT_RC);
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		uint64_t at = offsets[i];

		memset(a->buffer, (int)i + 1, PAIR_BYTES);
		memset(b->buffer, 0, PAIR_BYTES);
		end_send(a, remote(IBV_WR_RDMA_WRITE, at, b->mr->rkey), at, 3000);
		must(end_poll_good(a).opcode == IBV_WC_RDMA_WRITE);
		must(memcmp(a->buffer + at, b->buffer + at, 3000) == 0);
		must(at == 0 || b->buffer[at - 1] == 0);
		must(at + 3000 == PAIR_BYTES || b->buffer[at + 3000] == 0);

		memset(b->buffer + at, 99, 3000);
		end_send(a, remote(IBV_WR_RDMA_READ, at, b->mr->rkey), at, 3000);
		must(end_poll_good(a).opcode == IBV_WC_RDMA_READ);
		must(memcmp(a->buffer + at, b->buffer + at, 3000) == 0);

		end_recv(b, 7, at, 3000);
		wr = simple(IBV_WR_SEND_WITH_IMM);
		wr.imm_data = 0x01020304;
		memset(a->buffer, 0x77, 3000);
		end_send(a, wr, 0, 2999);
		end_poll_good(a);
		struct ibv_wc wc = end_poll_good(b);
		must(wc.wr_id == 7 && wc.byte_len == 2999 && wc.imm_data == 0x01020304);
		must(b->buffer[at + 2998] == 0x77 && b->buffer[at + 2999] == 99);
	}
	*(uint64_t *)(void *)(b->buffer + 64) = 40;
	wr = remote(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 0);
	wr.wr.atomic.remote_addr = (uintptr_t)b->buffer + 64;
	wr.wr.atomic.rkey = b->mr->rkey;
	wr.wr.atomic.compare_add = 2;
	end_send(a, wr, 64, 8);
	end_poll_good(a);
	must(*(uint64_t *)(void *)(b->buffer + 64) == 42);
	must(*(uint64_t *)(void *)(a->buffer + 64) == 40);
	pair_close(&pair);
}

/** The limit event comes once, names its SRQ, and arming above what is there raises it at once. */
static void
srq_limit(void)
{
	struct ibv_srq_attr attr = {.srq_limit = 5};
	struct ibv_async_event event;

	open_pair(IBV_QPT_RC);
	end_use_srq(b, 16);
	pair_connect(&pair);
	for (uint64_t i = 0; i < 8; i++)
		end_recv(b, i, 64 * i, 64);
	must(ibv_modify_srq(b->srq, &attr, IBV_SRQ_LIMIT) == 0);
	must(fcntl(b->context->async_fd, F_SETFL, O_NONBLOCK) == 0);
	for (uint64_t i = 0; i < 3; i++) {
		end_send(a, simple(IBV_WR_SEND), 0, 10);
		end_poll_good(a);
		must(end_poll_good(b).wr_id == i);
		while (ibv_get_async_event(b->context, &event) == 0) {
			must(event.event_type == IBV_EVENT_COMM_EST);
			ibv_ack_async_event(&event);
		}
	}
	must(errno == EAGAIN);
	end_send(a, simple(IBV_WR_SEND), 0, 10);
	end_poll_good(b);
	must(fcntl(b->context->async_fd, F_SETFL, 0) == 0);
	must(ibv_get_async_event(b->context, &event) == 0);
	must(event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && event.element.srq == b->srq);
	ibv_ack_async_event(&event);
	must(ibv_query_srq(b->srq, &attr) == 0 && attr.srq_limit == 0);
	attr.srq_limit = 10;
	must(ibv_modify_srq(b->srq, &attr, IBV_SRQ_LIMIT) == 0);
	must(ibv_get_async_event(b->context, &event) == 0);
	must(event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED);
	ibv_ack_async_event(&event);
	pair_close(&pair);
}

/** A QP that is reset in the middle of things starts anew: nothing of before is seen again. */
static void
reset_and_again(void)
{
	open_pair(IBV_QPT_RC);
	for (uint64_t round = 0; round < 50; round++) {
		for (uint64_t i = 0; i < 20; i++) {
			struct ibv_send_wr wr = remote(IBV_WR_RDMA_WRITE, 0, b->mr->rkey);

			wr.wr_id = round << 32 | i;
			end_recv(a, round << 32, 0, 64);
			end_send(a, wr, 0, 20000);
		}
		if (round % 2)
			usleep(300);
		pair_connect(&pair);
		must(end_is_quiet(a));
		end_send(a, remote(IBV_WR_RDMA_WRITE, 0, b->mr->rkey), 0, 8);
		must(end_poll_good(a).wr_id == 1);
	}
	pair_close(&pair);
}

/** In the error state everything is flushed, in order, and what is posted later as well. */
static void
flush(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	open_pair(IBV_QPT_RC);
	for (uint64_t i = 0; i < 10; i++)
		end_recv(a, 100 + i, 0, 64);
	must(ibv_modify_qp(a->qp, &attr, IBV_QP_STATE) == 0);
	for (uint64_t i = 0; i < 5; i++) {
		struct ibv_send_wr wr = simple(IBV_WR_SEND);

		wr.wr_id = i;
		wr.send_flags = 0;
		end_send(a, wr, 0, 10);
		end_recv(a, 110 + i, 0, 64);
	}
	for (uint64_t next_send = 0, next_recv = 100; next_send < 5 || next_recv < 115;) {
		struct ibv_wc wc = end_poll(a);

		must(wc.status == IBV_WC_WR_FLUSH_ERR);
		must(wc.wr_id < 100 ? wc.wr_id == next_send++ : wc.wr_id == next_recv++);
	}
	must(end_is_quiet(a));
	pair_close(&pair);
}

/** A CQ changes its size while completions arrive. */
static void
resize_under_load(void)
{
	uint64_t posted = 0, done = 0;

	open_pair(IBV_QPT_RC);
	for (int round = 0; round < 30; round++) {
		while (posted - done < 40) {
			struct ibv_send_wr wr = remote(IBV_WR_RDMA_WRITE, 0, b->mr->rkey);

			wr.wr_id = posted++;
			end_send(a, wr, 0, 64);
		}
		must(ibv_resize_cq(a->cq, round % 2 ? 4 * PAIR_DEPTH : 100) == 0);
		while (done < posted - 10)
			must(end_poll_good(a).wr_id == done++);
	}
	while (done < posted)
		must(end_poll_good(a).wr_id == done++);
	pair_close(&pair);
}

/** UD: the answer finds its way by what came in front of the message. */
static void
answer_by_header(void)
{
	struct ibv_send_wr wr = simple(IBV_WR_SEND);
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};
	struct ibv_ah *there, *back;
	struct ibv_wc wc;

	open_pair(IBV_QPT_UD);
	attr.grh.dgid = b->gid;
	attr.grh.sgid_index = (uint8_t)a->gid_index;
	attr.grh.hop_limit = 64;
	there = ibv_create_ah(a->pd, &attr);
	must(there);
	end_recv(a, 5, 0, 200);
	end_recv(b, 6, 0, 200);
	memset(a->buffer + 1000, 3, 100);
	wr.wr.ud.ah = there;
	wr.wr.ud.remote_qpn = b->qp->qp_num;
	wr.wr.ud.remote_qkey = 0x1234;
	end_send(a, wr, 1000, 100);
	must(end_poll_good(a).wr_id == 1);
	wc = end_poll_good(b);
	must(wc.byte_len == 140 && (wc.wc_flags & IBV_WC_GRH) && wc.src_qp == a->qp->qp_num);
	must((wc.sl & 7) == 2 && b->buffer[40] == 3 && b->buffer[139] == 3);
	back = ibv_create_ah_from_wc(b->pd, &wc, (struct ibv_grh *)(void *)b->buffer, 1);
	must(back);
	wr.wr.ud.ah = back;
	wr.wr.ud.remote_qpn = wc.src_qp;
	end_send(b, wr, 40, 50);
	end_poll_good(b);
	must(end_poll_good(a).byte_len == 90);
	must(ibv_destroy_ah(there) == 0 && ibv_destroy_ah(back) == 0);
	pair_close(&pair);
}

enum { NB_THREADS = 4, NB_EACH = 2000 };
static _Atomic uint32_t nb_polled;

static void *
post_many(void *arg)
{
	uint64_t slot = *(uint64_t *)arg;

	for (uint32_t i = 0; i < NB_EACH; i++) {
		struct ibv_send_wr wr = remote(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 0);

		wr.wr.atomic.remote_addr = (uintptr_t)b->buffer + 64;
		wr.wr.atomic.rkey = b->mr->rkey;
		wr.wr.atomic.compare_add = 1;
		end_send(a, wr, 64 + 8 * slot, 8);
	}
	return NULL;
}

static void *
poll_many(void *arg)
{
	struct ibv_wc wc[8];

	(void)arg;
	while (nb_polled < NB_THREADS * NB_EACH) {
		int nb = ibv_poll_cq(a->cq, 8, wc);

		must(nb >= 0);
		for (int i = 0; i < nb; i++)
			must(wc[i].status == IBV_WC_SUCCESS);
		nb_polled += (uint32_t)nb;
	}
	return NULL;
}

/** Several threads post to one QP and poll one CQ. */
static void
threads(void)
{
	pthread_t all[NB_THREADS + 2];
	uint64_t slots[NB_THREADS];

	open_pair(IBV_QPT_RC);
	*(uint64_t *)(void *)(b->buffer + 64) = 0;
	for (uint64_t i = 0; i < NB_THREADS; i++) {
		slots[i] = i;
		pthread_create(&all[i], NULL, post_many, &slots[i]);
	}
	pthread_create(&all[NB_THREADS], NULL, poll_many, NULL);
	pthread_create(&all[NB_THREADS + 1], NULL, poll_many, NULL);
	for (int i = 0; i < NB_THREADS + 2; i++)
		pthread_join(all[i], NULL);
	must(*(uint64_t *)(void *)(b->buffer + 64) == NB_THREADS * NB_EACH);
	pair_close(&pair);
}

/** Only what is solicited, or an error, wakes who asked for that. */
static void
solicited(void)
{
	struct ibv_send_wr wr = simple(IBV_WR_SEND);
	struct ibv_cq *cq;
	void *user;

	open_pair(IBV_QPT_RC);
	end_recv(b, 1, 0, 64);
	end_recv(b, 2, 0, 64);
	must(fcntl(b->channel->fd, F_SETFL, O_NONBLOCK) == 0);
	must(ibv_req_notify_cq(b->cq, 1) == 0);
	end_send(a, wr, 0, 8);
	end_poll_good(a);
	end_poll_good(b);
	usleep(20000);
	must(ibv_get_cq_event(b->channel, &cq, &user) == -1 && errno == EAGAIN);
	wr.send_flags |= IBV_SEND_SOLICITED;
	end_send(a, wr, 0, 8);
	end_poll_good(a);
	must(fcntl(b->channel->fd, F_SETFL, 0) == 0);
	must(ibv_get_cq_event(b->channel, &cq, &user) == 0 && cq == b->cq);
	ibv_ack_cq_events(cq, 1);
	end_poll_good(b);
	pair_close(&pair);
}

/**
 * The daemon (whose pid is in WEFTD_PID) dies: sleepers wake, each request is flushed once, the
 * device is fatally ill, and everything can still be destroyed.
 */
static void
daemon_dies(void)
{
	const char *victim = getenv("WEFTD_PID");
	uint64_t seen = 0;
	struct ibv_async_event event;
	struct ibv_cq *cq;
	void *user;

	must(victim);
	open_pair(IBV_QPT_RC);
	/* Nobody takes the sends: b has no receives, a waits for ever. */
	for (uint64_t i = 0; i < 8; i++) {
		struct ibv_send_wr wr = simple(IBV_WR_SEND);

		wr.wr_id = i;
		wr.send_flags = 0;
		end_recv(a, 16 + i, 0, 64);
		end_send(a, wr, 0, 64);
	}
	must(ibv_req_notify_cq(a->cq, 0) == 0);
	usleep(20000);
	must(kill(atoi(victim), SIGKILL) == 0);
	must(ibv_get_cq_event(a->channel, &cq, &user) == 0 && cq == a->cq);
	ibv_ack_cq_events(cq, 1);
	while (seen != 0xff00ff) {
		struct ibv_wc wc = end_poll(a);

		must(wc.status == IBV_WC_WR_FLUSH_ERR && wc.wr_id < 24);
		must(!(seen >> wc.wr_id & 1));
		seen |= UINT64_C(1) << wc.wr_id;
	}
	must(end_is_quiet(a));
	do {
		must(ibv_get_async_event(a->context, &event) == 0);
		ibv_ack_async_event(&event);
	} while (event.event_type == IBV_EVENT_COMM_EST);
	must(event.event_type == IBV_EVENT_DEVICE_FATAL);
	must(!ibv_alloc_pd(a->context) && errno == ENODEV);
	memset(a->buffer, 1, PAIR_BYTES);
	pair_close(&pair);
}

static const struct surface_case cases[] = {
	{"operations", operations},
	{"srq_limit", srq_limit},
	{"reset_and_again", reset_and_again},
	{"flush", flush},
	{"resize_under_load", resize_under_load},
	{"answer_by_header", answer_by_header},
	{"threads", threads},
	{"solicited", solicited},
	{"daemon_dies", daemon_dies},
	{NULL, NULL},
};

/** Run the case of this name; NULL = say all names. @return false if there is none. */
static bool
try_cases(const struct surface_case *all, const char *name)
{
	for (; all->name; all++) {
		if (!name) {
			puts(all->name);
		} else if (strcmp(name, all->name) == 0) {
			all->run();
			return true;
		}
	}
	return false;
}

int
main(int argc, char **argv)
{
	const char *name = argc < 4 ? NULL : argv[3];

	dev_a = name ? argv[1] : NULL;
	dev_b = name ? argv[2] : NULL;
	if (try_cases(cases, name) || try_cases(surface_memory, name) || !name)
		return 0;
	return 2;
}
