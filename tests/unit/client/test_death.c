/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>

#include "client.h"
#include "fake.h"

static struct fake daemon_;
static struct weft *weft;
static struct weft_channel channel;
static struct weft_cq cq;
static struct weft_qp qp;

/** A QP whose daemon completes nothing. */
static void
start(void)
{
	const struct fake_conf conf = {.idle = true};
	struct client_qp_init init = {
		.type = SHM_QPT_RC, .send_cq = &cq, .recv_cq = &cq, .cap = {4, 4, 1, 1, 0}};

	fake_start(&daemon_, &conf);
	cr_assert_eq(client_open(NULL, &weft), 0);
	cr_assert_eq(client_channel_init(&channel, weft), 0);
	cr_assert_eq(client_cq_init(&cq, weft, 16, &channel), 0);
	cr_assert_eq(client_qp_init(&qp, weft, &init), 0);
	qp.state = SHM_QPS_RTS;
}

static void
post(uint64_t send_id, uint64_t recv_id)
{
	struct shm_send_wqe *send = ring_wq_slot(&qp.sq, 0);
	struct shm_recv_wqe *recv = ring_wq_slot(&qp.rq, 0);

	cr_assert(send && recv);
	*send = (struct shm_send_wqe){.wr_id = send_id, .op = SHM_WR_READ};
	*recv = (struct shm_recv_wqe){.wr_id = recv_id};
	client_qp_sent(&qp, 1);
	client_qp_received(&qp, 1);
}

Test(death, everything_outstanding_is_flushed_once)
{
	uint32_t seen = 0;
	struct shm_cqe cqe;

	start();
	post(1, 11);
	post(2, 12);
	cr_expect_not(client_cq_flush(&cq, &cqe), "it still lives");
	fake_kill(&daemon_);
	cr_expect_not(client_alive(weft));
	post(3, 13);
	while (client_cq_flush(&cq, &cqe)) {
		cr_expect_eq(cqe.status, SHM_WC_WR_FLUSH_ERR);
		cr_expect_eq(cqe.op, cqe.wr_id > 10 ? SHM_WC_RECV : SHM_WC_READ);
		cr_expect_eq(cqe.qpn, qp.qpn);
		cr_assert_lt(cqe.wr_id, 32);
		cr_expect_not(seen >> cqe.wr_id & 1, "twice");
		seen |= 1u << cqe.wr_id;
	}
	cr_expect_eq(seen, 0x380e);
	client_close(weft);
}

/** Everything that two posted pairs left is flushed, once, whatever the shared indices say. */
static void
expect_four_flushed(uint32_t rubbish)
{
	uint32_t seen = 0;
	struct shm_cqe cqe;

	for (int n = 0; client_cq_flush(&cq, &cqe); n++) {
		cr_assert_lt(n, 4, "0x%x", rubbish);
		cr_assert(cqe.wr_id == 1 || cqe.wr_id == 2 || cqe.wr_id == 11 || cqe.wr_id == 12);
		seen |= 1u << cqe.wr_id;
	}
	cr_expect_eq(seen, 0x1806, "0x%x", rubbish);
}

Test(death, is_flushed_by_the_programs_own_indices)
{
	static const uint32_t rubbish[] = {0, 1, 5, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff};

	for (size_t i = 0; i < sizeof(rubbish) / sizeof(rubbish[0]); i++) {
		struct shm_ring *rings[3];

		start();
		rings[0] = &qp.sq.shm->ring;
		rings[1] = &qp.rq.shm->ring;
		rings[2] = &cq.ring.shm->ring;
		post(1, 11);
		post(2, 12);
		fake_kill(&daemon_);
		cr_expect_not(client_alive(weft));
		for (size_t k = 0; k < 3; k++) {
			atomic_store(&rings[k]->head, rubbish[i]);
			atomic_store(&rings[k]->tail, rubbish[i]);
		}
		/* What the ring of completions holds by its own account is no more than its slots.
		 */
		for (uint32_t n = 0; ring_cq_peek(&cq.ring); n++) {
			cr_assert_leq(n, cq.ring.mask);
			ring_cq_pop(&cq.ring);
		}
		expect_four_flushed(rubbish[i]);
		client_close(weft);
	}
}

Test(death, requests_of_an_srq_are_flushed_from_where_the_daemon_was)
{
	static const struct {
		uint32_t head, nb_flushed;
	} rows[] = {{0, 3}, {1, 2}, {3, 0}, {4, 3}, {0x80000000, 3}, {0xffffffff, 3}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t max_wr = 4, max_sge = 1, nb = 0;
		struct weft_srq srq = {0};
		struct weft_qp second = {0};
		struct client_qp_init init = {
			.type = SHM_QPT_RC, .send_cq = &cq, .recv_cq = &cq, .cap = {4, 0, 1, 0, 0}};
		struct shm_cqe cqe;

		start();
		cr_assert_eq(client_srq_init(&srq, weft, 0, &max_wr, &max_sge), 0);
		init.srq = &srq;
		cr_assert_eq(client_qp_init(&second, weft, &init), 0);
		for (uint64_t n = 0; n < 3; n++) {
			struct shm_recv_wqe *recv = ring_wq_slot(&srq.rq, 0);

			*recv = (struct shm_recv_wqe){.wr_id = n};
			ring_wq_publish(&srq.rq, 1);
		}
		fake_kill(&daemon_);
		cr_expect_not(client_alive(weft));
		atomic_store(&srq.rq.shm->ring.head, rows[i].head);
		atomic_store(&srq.rq.shm->ring.tail, 0x5eed);
		while (client_cq_flush(&cq, &cqe) && nb < 10)
			cr_expect_eq(cqe.wr_id, 3 - rows[i].nb_flushed + nb++, "row %zu", i);
		cr_expect_eq(nb, rows[i].nb_flushed, "row %zu", i);
		/* There is room for four again, and no request comes twice. */
		for (uint32_t n = 0; n < max_wr; n++)
			cr_expect_not_null(ring_wq_slot(&srq.rq, n), "row %zu", i);
		cr_expect_not(client_cq_flush(&cq, &cqe), "row %zu", i);
		client_close(weft);
	}
}

Test(death, idle_polling_notices_it)
{
	start();
	for (uint32_t i = 1; i <= 2 * CLIENT_LOOK_EVERY; i++)
		client_cq_idle(&cq, i);
	cr_expect_not(atomic_load(&weft->dead));
	fake_kill(&daemon_);
	for (uint32_t i = 1; i <= CLIENT_LOOK_EVERY; i++)
		client_cq_idle(&cq, i);
	cr_expect(atomic_load(&weft->dead));
	client_close(weft);
}

Test(death, a_sleeper_gets_each_armed_cq_and_then_the_end)
{
	struct weft_cq *got;

	start();
	ring_cq_arm(&cq.ring, SHM_ARM_ANY);
	fake_kill(&daemon_);
	cr_expect_eq(poll(&(struct pollfd){.fd = channel.fd, .events = POLLIN}, 1, 5000), 1);
	cr_assert_eq(client_channel_next(&channel, &got), 0);
	cr_expect_eq(got, &cq);
	cr_expect_eq(cq.obj.nb_comp_events, 1);
	cr_expect_eq(client_channel_next(&channel, &got), -ENODEV);
	client_close(weft);
}

Test(death, a_sleeper_in_a_loop_comes_to_the_end)
{
	struct weft_cq *got;
	struct shm_cqe cqe;

	start();
	post(1, 11);
	fake_kill(&daemon_);
	cr_expect_not(client_alive(weft));
	ring_cq_arm(&cq.ring, SHM_ARM_ANY);
	cr_assert_eq(client_channel_next(&channel, &got), 0);
	cr_expect(client_cq_flush(&cq, &cqe));
	/* There may be more: it is told once more. */
	ring_cq_arm(&cq.ring, SHM_ARM_ANY);
	cr_assert_eq(client_channel_next(&channel, &got), 0);
	cr_expect(client_cq_flush(&cq, &cqe));
	cr_expect_not(client_cq_flush(&cq, &cqe));
	ring_cq_arm(&cq.ring, SHM_ARM_ANY);
	cr_assert_eq(client_channel_next(&channel, &got), 0);
	cr_expect_not(client_cq_flush(&cq, &cqe));
	ring_cq_arm(&cq.ring, SHM_ARM_ANY);
	cr_expect_eq(client_channel_next(&channel, &got), -ENODEV);
	client_close(weft);
}

Test(death, is_one_fatal_event_and_then_the_end)
{
	struct client_event event;

	start();
	fake_kill(&daemon_);
	cr_expect_eq(client_event_next(weft, &event), 0);
	cr_expect_eq(event.type, CLIENT_EVENT_FATAL);
	cr_expect_null(event.obj);
	cr_expect_eq(client_event_next(weft, &event), -ENODEV);
	client_close(weft);
}

Test(death, every_call_ends_and_objects_can_be_destroyed)
{
	struct shm_qp_attr attr = {.state = SHM_QPS_ERR};
	struct weft_cq other = {0};

	start();
	fake_kill(&daemon_);
	cr_expect_eq(client_qp_modify(&qp, &attr, SHM_QP_STATE), -ENODEV);
	cr_expect_eq(client_cq_init(&other, weft, 1, NULL), -ENODEV);
	cr_expect_eq(client_cq_fini(&cq), -EBUSY, "a QP still uses it");
	cr_expect_eq(client_channel_fini(&channel), -EBUSY, "a CQ still uses it");
	cr_expect_eq(client_qp_fini(&qp), 0);
	cr_expect_eq(client_cq_fini(&cq), 0);
	cr_expect_eq(client_channel_fini(&channel), 0);
	client_close(weft);
}

Test(death, events_of_an_object_that_is_gone_are_skipped)
{
	struct weft_cq second = {0}, *got;
	uint64_t old_cookie;

	start();
	old_cookie = cq.obj.cookie;
	cr_assert_eq(client_qp_fini(&qp), 0);
	cr_assert_eq(client_cq_fini(&cq), 0);
	/* The next object takes the same place under another cookie. */
	cr_assert_eq(client_cq_init(&second, weft, 1, &channel), 0);
	cr_expect_neq(second.obj.cookie, old_cookie);
	ring_cq_arm(&second.ring, SHM_ARM_ANY);
	fake_kill(&daemon_);
	cr_expect_eq(client_channel_next(&channel, &got), 0);
	cr_expect_eq(got, &second);
	client_close(weft);
}
