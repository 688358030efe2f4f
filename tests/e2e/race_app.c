/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One application, many threads on one device: two post to a QP and poll one CQ, one sleeps on its
 * channel, one registers memory, one creates and destroys objects, one waits for events; at last
 * the daemon is killed under them all. For the thread sanitizer, in a build of which libweft.so and
 * the daemon have it too.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl.h"
#include "weft.h"

#define BYTES 65536u
#define ALL (WEFT_LOCAL_WRITE | WEFT_REMOTE_WRITE | WEFT_REMOTE_READ)
enum { NB_POSTERS = 2, NB_POSTS = 3000 };

static struct weft *weft;
static struct weft_pd *pd;
static struct weft_mr *mr;
static struct weft_channel *channel;
static struct weft_cq *cq;
static struct weft_qp *qp;
static uint8_t *buf;
static _Atomic uint32_t nb_done, nb_flushed, nb_bad;
static atomic_bool is_over;

/* Something did not hold; the test goes on. */
static void
expect(bool holds, const char *what)
{
	if (holds)
		return;
	printf("# %s (errno %d)\n", what, errno);
	atomic_fetch_add(&nb_bad, 1);
}

static void
must(bool holds, const char *what)
{
	if (holds)
		return;
	printf("Bail out! %s\n", what);
	exit(1);
}

static void
open_all(void)
{
	struct weft_qp_init init = {.type = WEFT_RC, .max_send = 64, .max_recv = 8};
	struct weft_path path = {.retries = 7};
	int gid_index;

	must((weft = weft_open("weft0")), "open");
	must((pd = weft_pd_alloc(weft)), "pd");
	must((buf = weft_mem_alloc(weft, BYTES)), "memory");
	must((mr = weft_mr_reg(pd, buf, BYTES, ALL)), "registration");
	must((channel = weft_channel_create(weft)), "channel");
	must((cq = weft_cq_create(weft, 256, channel, NULL)), "cq");
	init.send_cq = init.recv_cq = cq;
	must((qp = weft_qp_create(pd, &init)), "qp");
	must((gid_index = weft_gid_default(weft, path.gid)) >= 0, "address");
	path.gid_index = (uint8_t)gid_index;
	path.qpn = weft_qp_num(qp);
	must(weft_qp_connect(qp, &path, WEFT_REMOTE_WRITE | WEFT_REMOTE_READ, 0) == 0, "connect");
}

static void
poll_some(void)
{
	struct weft_completion done[8];
	int nb = weft_poll(cq, done, 8);

	for (int i = 0; i < nb; i++) {
		if (done[i].status == WEFT_WC_SUCCESS)
			atomic_fetch_add(&nb_done, 1);
		else if (done[i].status == WEFT_WC_FLUSHED)
			atomic_fetch_add(&nb_flushed, 1);
		else
			expect(false, "a status");
	}
}

/* WRITEs of the QP to itself, each thread within its own part of the buffer. */
static void *
post(void *arg)
{
	uint32_t part = *(const uint32_t *)arg;
	struct weft_sge sge = {(uintptr_t)buf + part * 8192, 100, weft_mr_key(mr)};
	struct weft_send send = {.op = WEFT_WRITE,
	                         .flags = WEFT_SIGNALED,
	                         .sge = &sge,
	                         .nb_sge = 1,
	                         .remote_addr = (uintptr_t)buf + part * 8192 + 4096,
	                         .remote_key = weft_mr_key(mr)};

	for (uint32_t i = 0; i < NB_POSTS;) {
		i += weft_post_send(qp, &send, 1) == 1;
		poll_some();
	}
	return NULL;
}

static void *
sleep_and_poll(void *arg)
{
	struct weft_cq *got;

	(void)arg;
	while (weft_cq_arm(cq, WEFT_ARM_ANY) == 0) {
		poll_some();
		if (weft_channel_wait(channel, &got) != 0)
			break;
	}
	return NULL;
}

static void *
wait_for_events(void *arg)
{
	struct weft_event event;
	bool fatal = false;

	(void)arg;
	while (!fatal && weft_event_wait(weft, &event) == 0)
		fatal = event.type == WEFT_EVENT_DEVICE_FATAL;
	expect(fatal, "the fatal event");
	return NULL;
}

static void *
register_memory(void *arg)
{
	(void)arg;
	for (uint32_t i = 0; !atomic_load(&is_over); i++) {
		uint8_t *mem = malloc(40000);
		struct weft_mr *r;

		must(mem, "memory");
		memset(mem, (int)i, 40000);
		r = weft_mr_reg(pd, mem, 40000, WEFT_LOCAL_WRITE);
		expect(r || errno == ENODEV, "registration");
		expect(mem[39999] == (uint8_t)i, "what was in the memory");
		if (r)
			expect(weft_mr_dereg(r) == 0, "its end");
		free(mem);
	}
	return NULL;
}

static void *
create_and_destroy(void *arg)
{
	struct weft_qp_init init = {.type = WEFT_RC, .max_send = 8, .max_recv = 8};

	(void)arg;
	while (!atomic_load(&is_over)) {
		struct weft_cq *c = weft_cq_create(weft, 16, channel, NULL);
		struct weft_qp *q;

		expect(c || errno == ENODEV, "cq");
		if (!c)
			continue;
		init.send_cq = init.recv_cq = c;
		q = weft_qp_create(pd, &init);
		expect(q || errno == ENODEV, "qp");
		if (q)
			expect(weft_qp_destroy(q) == 0, "end of a qp");
		expect(weft_cq_destroy(c) == 0, "end of a cq");
	}
	return NULL;
}

static void
close_all(void)
{
	expect(weft_qp_destroy(qp) == 0 && weft_cq_destroy(cq) == 0, "end of qp and cq");
	expect(weft_channel_destroy(channel) == 0, "end of the channel");
	expect(weft_mr_dereg(mr) == 0 && weft_mem_free(weft, buf) == 0, "end of the memory");
	expect(weft_pd_free(pd) == 0, "end of the pd");
	weft_close(weft);
}

int
main(void)
{
	static void *(*const others[])(void *) = {sleep_and_poll, wait_for_events, register_memory,
	                                          create_and_destroy};
	enum { NB_OTHERS = sizeof(others) / sizeof(others[0]) };
	uint32_t parts[NB_POSTERS];
	pthread_t posters[NB_POSTERS], threads[NB_OTHERS];

	daemon_begin();
	open_all();
	for (int i = 0; i < NB_OTHERS; i++)
		pthread_create(&threads[i], NULL, others[i], NULL);
	for (uint32_t i = 0; i < NB_POSTERS; i++) {
		parts[i] = i;
		pthread_create(&posters[i], NULL, post, &parts[i]);
	}
	for (int i = 0; i < NB_POSTERS; i++)
		pthread_join(posters[i], NULL);
	for (int i = 0; i < 100000 && atomic_load(&nb_done) < NB_POSTERS * NB_POSTS; i++) {
		poll_some();
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	}
	verdict(atomic_load(&nb_done) == NB_POSTERS * NB_POSTS, "each request is done once");
	daemon_kill();
	nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	atomic_store(&is_over, true);
	for (int i = 0; i < NB_OTHERS; i++)
		pthread_join(threads[i], NULL);
	close_all();
	verdict(atomic_load(&nb_bad) == 0 && atomic_load(&nb_flushed) == 0,
	        "all threads come to their end when the daemon is killed");
	return verdicts_end();
}
