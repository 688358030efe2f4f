/* SPDX-License-Identifier: BSD-3-Clause */
/* What a forked child sees of its parent's devices, and what the parent sees of the child. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "client.h"
#include "fake.h"

static struct fake daemon_;
static struct weft *weft;
static struct weft_channel channel;
static struct weft_cq cq;
static struct weft_srq srq;
static struct weft_qp qp;
static struct weft_mr mr;
static uint8_t buffer[4096];

static void
start(const struct fake_conf *conf)
{
	struct client_qp_init init = {
		.type = SHM_QPT_RC, .send_cq = &cq, .recv_cq = &cq, .cap = {4, 4, 1, 1, 0}};
	const struct client_region region = {1, SHM_ACCESS_LOCAL_WRITE, (uintptr_t)buffer,
	                                     sizeof(buffer), (uintptr_t)buffer};
	uint32_t max_wr = 4, max_sge = 1;

	fake_start(&daemon_, conf);
	cr_assert_eq(client_open(NULL, &weft), 0);
	cr_assert_eq(client_channel_init(&channel, weft), 0);
	cr_assert_eq(client_cq_init(&cq, weft, 16, &channel), 0);
	cr_assert_eq(client_srq_init(&srq, weft, 1, &max_wr, &max_sge), 0);
	cr_assert_eq(client_qp_init(&qp, weft, &init), 0);
	cr_assert_eq(client_mr_init(&mr, weft, &region), 0);
	qp.state = SHM_QPS_RTS;
}

/** @return 0 if all that stands is destroyed without complaint. */
static int
destroy_all(void)
{
	int err = client_mr_fini(&mr) | client_qp_fini(&qp) | client_srq_fini(&srq) |
	          client_cq_fini(&cq) | client_channel_fini(&channel);

	client_close(weft);
	return err;
}

/** Post one request. @return false if the queue is full. */
static bool
post(uint64_t wr_id)
{
	struct shm_send_wqe *wqe;

	ring_lock(&qp.sq.lock);
	wqe = ring_wq_slot(&qp.sq, 0);
	if (wqe) {
		*wqe = (struct shm_send_wqe){
			.wr_id = wr_id, .op = SHM_WR_WRITE, .flags = SHM_SEND_SIGNALED};
		client_qp_sent(&qp, 1);
	}
	ring_unlock(&qp.sq.lock);
	return wqe;
}

/** Take one completion; false if there is none. */
static bool
poll_one(struct shm_cqe *out)
{
	const struct shm_cqe *cqe;

	ring_lock(&cq.lock);
	cqe = ring_cq_peek(&cq.ring);
	if (cqe) {
		*out = *cqe;
		client_cq_took(weft, cqe);
		ring_cq_pop(&cq.ring);
		ring_cq_publish(&cq.ring);
	}
	ring_unlock(&cq.lock);
	return cqe;
}

/** The exit code of a child that runs this; -1 if it ends otherwise, or hangs. */
static int
in_child(int (*run)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		alarm(20);
		_exit(run());
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/** Number of the first thing that is not so. */
#define must(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			return __LINE__ & 0xff;                                                    \
	} while (0)

static struct stat parents[3];

/** Whether any descriptor leads to a socket of the parent's connection. */
static bool
holds_a_socket(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *file;
	bool found = false;
	struct stat st;

	while ((file = readdir(dir))) {
		for (int i = 0; i < 3 && fstat(atoi(file->d_name), &st) == 0; i++)
			found |= st.st_ino == parents[i].st_ino && st.st_dev == parents[i].st_dev;
	}
	closedir(dir);
	return found;
}

static int
use_and_destroy_all(void)
{
	struct client_event event;
	struct weft_cq *armed;
	struct weft *own;
	struct shm_cqe cqe;

	must(!client_alive(weft));
	must(ctl_call_handle(weft, CTL_ALLOC_PD, 0) == -ENODEV);
	must(!holds_a_socket());
	/* The parent's requests are not this process's. */
	must(!poll_one(&cqe) && !client_cq_flush(&cq, &cqe));
	must(post(7) && !poll_one(&cqe));
	must(client_cq_flush(&cq, &cqe) && cqe.wr_id == 7);
	must(cqe.status == SHM_WC_WR_FLUSH_ERR);
	must(client_event_next(weft, &event) == 0 && event.type == CLIENT_EVENT_FATAL);
	must(client_event_next(weft, &event) == -ENODEV);
	must(client_channel_next(&channel, &armed) == -ENODEV);
	must(destroy_all() == 0);
	/* A device of its own is another matter. */
	must(client_open(NULL, &own) == 0);
	must(client_alive(own));
	client_close(own);
	return 0;
}

Test(fork, a_child_has_dead_devices_and_the_parent_living_ones)
{
	const struct fake_conf idle = {.idle = true};

	for (int busy = 0; busy < 2; busy++) {
		struct shm_cqe cqe;
		time_t end = time(NULL) + 5;

		start(busy ? NULL : &idle);
		fstat(weft->ctl_fd, &parents[0]);
		fstat(weft->events_fd, &parents[1]);
		fstat(channel.fd, &parents[2]);
		cr_assert(holds_a_socket());
		cr_assert(post(1) && post(2));
		cr_expect_eq(in_child(use_and_destroy_all), 0);
		cr_expect(client_alive(weft));
		cr_expect_eq(fake_view(weft->arena)->nb_mrs, 1, "the child destroyed nothing");
		for (uint64_t next = 1; busy && next <= 2 && time(NULL) < end;) {
			if (poll_one(&cqe))
				cr_expect_eq(cqe.wr_id, next++);
		}
		cr_expect_eq(atomic_load(&qp.sq.done), busy ? 2 : 0);
		cr_expect_eq(destroy_all(), 0);
		fake_kill(&daemon_);
	}
}

static _Atomic bool going;

static void *
post_and_poll(void *arg)
{
	struct shm_cqe cqe;
	uint64_t nb_posted = 0, nb_seen = 0;

	(void)arg;
	while (going || nb_seen < nb_posted) {
		nb_posted += going && post(nb_posted);
		if (poll_one(&cqe))
			cr_assert_eq(cqe.wr_id, nb_seen++);
	}
	return NULL;
}

static int
destroy_all_in_child(void)
{
	struct shm_cqe cqe;

	/* Whoever held these locks is not here. */
	must(post(1));
	must(!poll_one(&cqe));
	must(destroy_all() == 0);
	return 0;
}

Test(fork, a_child_is_born_while_another_thread_is_at_work, .timeout = 60)
{
	pthread_t thread;

	start(NULL);
	going = true;
	pthread_create(&thread, NULL, post_and_poll, NULL);
	for (int i = 0; i < 30; i++)
		cr_assert_eq(in_child(destroy_all_in_child), 0, "child %d", i);
	going = false;
	pthread_join(thread, NULL);
	cr_expect(client_alive(weft));
	cr_expect_eq(destroy_all(), 0);
	fake_kill(&daemon_);
}
