/* SPDX-License-Identifier: BSD-3-Clause */
#include "crash.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/*
 * Programs whose daemon is killed while they are in one call or another. Each must be told, by that
 * call, by the fatal event, and by one flushed completion for each request; then all can be
 * destroyed, the memory is still theirs, and the same process can work with the next daemon.
 */

static struct pair pair;

static void
begin(void)
{
	pair_open(&pair, crash_dev[0], crash_dev[1], IBV_QPT_RC);
	memset(pair.a.buffer, 0x5a, PAIR_BYTES);
}

static void
ready(void)
{
	atomic_fetch_add(&board->nb_ready, 1);
}

/* This program knows now. */
static void
told(void)
{
	uint64_t ns = crash_now_ns() - atomic_load(&board->kill_ns);
	uint64_t max = atomic_load(&board->told_ns);

	must(atomic_load(&board->kill_ns));
	while (ns > max && !atomic_compare_exchange_weak(&board->told_ns, &max, ns))
		;
}

/* The device tells of its end, once, to whoever waits for events. */
static void
expect_fatal(struct ibv_context *context)
{
	struct pollfd p = {.fd = context->async_fd, .events = POLLIN};
	struct ibv_async_event event;

	do {
		must(poll(&p, 1, 10000) == 1);
		must(ibv_get_async_event(context, &event) == 0);
		ibv_ack_async_event(&event);
	} while (event.event_type == IBV_EVENT_COMM_EST);
	must(event.event_type == IBV_EVENT_DEVICE_FATAL);
}

/* So many requests are outstanding: each is flushed, unless it was done before. */
static void
expect_flushed(struct end *end, uint32_t nb)
{
	uint32_t nb_flushed = 0;

	for (uint32_t i = 0; i < nb; i++)
		nb_flushed += end_poll(end).status == IBV_WC_WR_FLUSH_ERR;
	must(nb_flushed > 0 && end_is_quiet(end));
}

static void
end(void)
{
	must(!ibv_alloc_pd(pair.a.context) && errno == ENODEV);
	for (uint32_t i = 0; i < PAIR_BYTES; i += 4096)
		must(pair.a.buffer[i] == 0x5a);
	memset(pair.a.buffer, 1, PAIR_BYTES);
	pair_close(&pair);
}

/* Posts without a pause. */
static void
post_and_poll(void)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
	uint32_t nb_out = 0;
	struct ibv_wc wc;

	begin();
	wr.wr.rdma.remote_addr = (uintptr_t)pair.b.buffer;
	wr.wr.rdma.rkey = pair.b.mr->rkey;
	ready();
	for (;;) {
		for (; nb_out < 32; nb_out++)
			end_send(&pair.a, wr, 0, 8192);
		wc = end_poll(&pair.a);
		nb_out--;
		if (wc.status != IBV_WC_SUCCESS)
			break;
	}
	must(wc.status == IBV_WC_WR_FLUSH_ERR);
	told();
	for (; nb_out > 0; nb_out--)
		must(end_poll(&pair.a).status == IBV_WC_WR_FLUSH_ERR);
	expect_fatal(pair.a.context);
	if (!crash_dev1_lives)
		expect_fatal(pair.b.context);
	end();
}

static void
sleep_on_a_channel(void)
{
	struct ibv_cq *cq;
	void *user;

	begin();
	for (uint64_t i = 0; i < 8; i++)
		end_recv(&pair.a, i, 0, 64);
	must(ibv_req_notify_cq(pair.a.cq, 0) == 0);
	ready();
	must(ibv_get_cq_event(pair.a.channel, &cq, &user) == 0 && cq == pair.a.cq);
	told();
	ibv_ack_cq_events(cq, 1);
	expect_flushed(&pair.a, 8);
	expect_fatal(pair.a.context);
	end();
}

static void
wait_for_events(void)
{
	struct ibv_async_event event;

	begin();
	for (uint64_t i = 0; i < 4; i++)
		end_recv(&pair.a, i, 0, 64);
	ready();
	must(ibv_get_async_event(pair.a.context, &event) == 0);
	told();
	must(event.event_type == IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
	expect_flushed(&pair.a, 4);
	end();
}

static void
register_memory(void)
{
	begin();
	ready();
	for (uint32_t i = 0;; i++) {
		size_t bytes = i % 2 ? 70000 : 1 << 20;
		uint8_t *buf = malloc(bytes);
		struct ibv_mr *mr;

		must(buf);
		memset(buf, (int)i, bytes);
		mr = ibv_reg_mr(pair.a.pd, buf, bytes, IBV_ACCESS_LOCAL_WRITE);
		must(mr || errno == ENODEV);
		for (size_t k = 0; k < bytes; k += 1000)
			must(buf[k] == (uint8_t)i);
		if (mr)
			must(ibv_dereg_mr(mr) == 0);
		memset(buf, 0, bytes);
		free(buf);
		if (!mr)
			break;
	}
	told();
	expect_fatal(pair.a.context);
	end();
}

static void
create_and_destroy(void)
{
	struct ibv_cq *cq;

	begin();
	ready();
	for (;;) {
		struct ibv_qp_init_attr init = {.cap = {16, 16, 1, 1, 0}, .qp_type = IBV_QPT_RC};
		struct ibv_qp *qp;

		cq = ibv_create_cq(pair.a.context, 64, NULL, NULL, 0);
		if (!cq)
			break;
		init.send_cq = init.recv_cq = cq;
		qp = ibv_create_qp(pair.a.pd, &init);
		must(qp || errno == ENODEV);
		if (qp)
			must(ibv_destroy_qp(qp) == 0);
		must(ibv_destroy_cq(cq) == 0);
	}
	must(errno == ENODEV);
	told();
	expect_fatal(pair.a.context);
	end();
}

/* Changes its QP's state all the time; a call that fails leaves it as it was. */
static void
change_states(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
	int err;

	begin();
	ready();
	do {
		attr.qp_state = IBV_QPS_RESET;
		err = ibv_modify_qp(pair.a.qp, &attr, IBV_QP_STATE);
		attr.qp_state = IBV_QPS_ERR;
		if (!err)
			err = ibv_modify_qp(pair.a.qp, &attr, IBV_QP_STATE);
	} while (!err);
	must(err == ENODEV);
	told();
	expect_fatal(pair.a.context);
	end();
}

const struct crash_role crash_roles[] = {
	{"posting and polling", post_and_poll},
	{"asleep on a channel", sleep_on_a_channel},
	{"waiting for events", wait_for_events},
	{"registering memory", register_memory},
	{"creating and destroying", create_and_destroy},
	{"changing states", change_states},
};
const uint32_t crash_nb_roles = sizeof(crash_roles) / sizeof(crash_roles[0]);
