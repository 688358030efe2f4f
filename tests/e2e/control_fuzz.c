/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hostile applications: requests made of noise, requests that are almost right, rings and doorbells
 * full of noise, also while the daemon reads them, processes that are killed at any moment. The
 * daemon stays alive, serves others meanwhile, and nothing is left at the end. WEFT_SEED repeats a
 * run.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"

static _Thread_local uint64_t state;
/* Granted requests of all processes by operation: a fuzzer that gets nothing tests nothing. */
static _Atomic uint32_t *granted;

/* splitmix64 */
static uint64_t
rnd(void)
{
	uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint32_t
below(uint32_t n)
{
	return (uint32_t)(rnd() % n);
}

static void
noise(void *buf, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)buf)[i] = (uint8_t)rnd();
}

/* Any kind of descriptor that may come. */
static int
any_fd(void)
{
	int fd, pair[2];

	switch (below(8)) {
	case 0:
		return open("/proc/self/mem", O_RDWR);
	case 1:
		return open("/dev/null", O_RDWR);
	case 2:
		return eventfd(0, 0);
	case 3:
		return open("/", O_PATH | O_DIRECTORY);
	case 4:
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
			return -1;
		close(pair[0]);
		return pair[1];
	case 5:
		return open("/proc/self/mem", O_RDONLY);
	default:
		fd = memfd_create("fuzz", MFD_ALLOW_SEALING);
		if (fd >= 0 && ftruncate(fd, (off_t)below(20) * 2048) == 0)
			fcntl(fd, F_ADD_SEALS, (int)below(32));
		return fd;
	}
}

/* Messages of any content, length and number of descriptors; some are never answered for. */
static void
send_noise(uint32_t rounds)
{
	for (uint32_t i = 0; i < rounds; i++) {
		int sock = ctl_open_socket(), fds[10];
		uint32_t nb_msgs = 1 + below(5);

		for (uint32_t m = 0; m < nb_msgs; m++) {
			uint8_t buf[4096];
			size_t len = below(4) ? below(64) : below(sizeof(buf));
			uint32_t nb_fds = below(3) ? 0 : below(10);
			struct ctl_hdr hdr = {.op = (uint16_t)below(CTL_NB + 2),
			                      .len = (uint16_t)len};
			union ctl_msg answer;
			struct reply reply;

			noise(buf, len);
			if (len >= sizeof(hdr) && below(4))
				memcpy(buf, &hdr, sizeof(hdr));
			for (uint32_t k = 0; k < nb_fds; k++) {
				fds[k] = any_fd();
				if (fds[k] < 0)
					fds[k] = dup(STDERR_FILENO);
			}
			/* An empty message is the end of the conversation. */
			if (!ctl_send(sock, buf, len, fds, nb_fds))
				m = nb_msgs;
			for (uint32_t k = 0; k < nb_fds; k++)
				close(fds[k]);
			if (below(8) == 0 || m >= nb_msgs)
				continue;
			reply = ctl_receive(sock, &answer, sizeof(answer));
			close_fds(&reply);
			if (reply.len == 0)
				break;
		}
		close(sock);
	}
}

static const uint16_t sizes[CTL_NB] = {
	[CTL_LIST] = sizeof(struct ctl_hdr),
	[CTL_OPEN] = sizeof(struct ctl_open),
	[CTL_QUERY_PORT] = sizeof(struct ctl_hdr),
	[CTL_QUERY_GID] = sizeof(struct ctl_gid),
	[CTL_ALLOC_PD] = sizeof(struct ctl_hdr),
	[CTL_DEALLOC_PD] = sizeof(struct ctl_handle),
	[CTL_NEW_BACKING] = sizeof(struct ctl_backing),
	[CTL_ADD_BACKING] = sizeof(struct ctl_backing),
	[CTL_FREE_BACKING] = sizeof(struct ctl_handle),
	[CTL_REG_MR] = sizeof(struct ctl_mr),
	[CTL_DEREG_MR] = sizeof(struct ctl_handle),
	[CTL_ALLOC_MW] = sizeof(struct ctl_mw),
	[CTL_DEALLOC_MW] = sizeof(struct ctl_handle),
	[CTL_NEW_CHANNEL] = sizeof(struct ctl_hdr),
	[CTL_FREE_CHANNEL] = sizeof(struct ctl_handle),
	[CTL_CREATE_CQ] = sizeof(struct ctl_cq),
	[CTL_RESIZE_CQ] = sizeof(struct ctl_cq),
	[CTL_DESTROY_CQ] = sizeof(struct ctl_handle),
	[CTL_CREATE_SRQ] = sizeof(struct ctl_srq),
	[CTL_MODIFY_SRQ] = sizeof(struct ctl_srq),
	[CTL_QUERY_SRQ] = sizeof(struct ctl_srq),
	[CTL_DESTROY_SRQ] = sizeof(struct ctl_handle),
	[CTL_CREATE_QP] = sizeof(struct ctl_qp),
	[CTL_MODIFY_QP] = sizeof(struct ctl_qp_attr),
	[CTL_QUERY_QP] = sizeof(struct ctl_qp_attr),
	[CTL_DESTROY_QP] = sizeof(struct ctl_handle),
};

/* What an application got so far, by kind; used again whether it still lives or not. */
enum kind { PD, BACKING, KEY, CHANNEL, CQ, SRQ, QPN, NB_KINDS };
static uint32_t handles[NB_KINDS][16];

static void
remember(enum kind kind, uint32_t handle)
{
	handles[kind][below(16)] = handle;
}

/* Mostly one that was given, sometimes of the wrong kind. */
static uint32_t
handle(enum kind kind)
{
	if (below(32) == 0)
		return (uint32_t)rnd();
	return handles[below(16) ? kind : below(NB_KINDS)][below(16)];
}

static uint32_t
small_or_wild(uint32_t usual)
{
	return below(16) ? below(usual + 1) : (uint32_t)rnd();
}

/* The path of a QP to a peer that may exist. */
static void
fill_attr(struct ctl_qp_attr *m)
{
	static const uint8_t gid[16] = {[10] = 0xff, 0xff, 10, 77, 0, 1};
	static const struct {
		uint8_t state;
		uint32_t mask;
	} steps[] = {
		{SHM_QPS_RESET, 1},     {SHM_QPS_INIT, 0x39}, {SHM_QPS_RTR, 0x129181},
		{SHM_QPS_RTS, 0x12e01}, {SHM_QPS_ERR, 1},     {SHM_QPS_SQD, 1},
		{SHM_QPS_INIT, 0x71},   {SHM_QPS_RTR, 1},     {SHM_QPS_RTS, 0x10001},
	};
	uint32_t step = below(sizeof(steps) / sizeof(steps[0]));

	m->qpn = handle(QPN);
	if (below(8) == 0) {
		noise(&m->attr, sizeof(m->attr));
		m->mask = (uint32_t)rnd();
		return;
	}
	m->mask = steps[step].mask;
	m->attr = (struct shm_qp_attr){
		.state = steps[step].state,
		.path_mtu = (uint8_t)(1 + below(5)),
		.port_num = 1,
		.timeout = (uint8_t)below(12),
		.retry_cnt = (uint8_t)below(8),
		.rnr_retry = (uint8_t)below(8),
		.max_rd_atomic = (uint8_t)below(17),
		.max_dest_rd_atomic = (uint8_t)below(17),
		.access = 15,
		.dest_qpn = handle(QPN),
		.rq_psn = 1,
		.sq_psn = 1,
		.av = {.sgid_index = (uint8_t)below(3), .hop_limit = 64},
	};
	memcpy(m->attr.av.dgid, gid, sizeof(gid));
	m->attr.av.dgid[15] = (uint8_t)(1 + below(3));
}

/* A request that is almost right. */
static void
fill_request(enum ctl_op op, union ctl_msg *m)
{
	uint64_t va = (uint64_t)(uintptr_t)handles & ~UINT64_C(4095);

	switch (op) {
	case CTL_LIST:
	case CTL_QUERY_PORT:
	case CTL_ALLOC_PD:
	case CTL_NEW_CHANNEL:
	case CTL_NB:
		break;
	case CTL_OPEN:
		m->open = (struct ctl_open){.version = WEFT_ABI_VERSION, .device = "weft0"};
		break;
	case CTL_QUERY_GID:
		m->gid.index = small_or_wild(4);
		break;
	case CTL_DEALLOC_PD:
		m->handle.handle = handle(PD);
		break;
	case CTL_NEW_BACKING:
	case CTL_ADD_BACKING:
		m->backing.length = (uint64_t)below(64) * 4096 + (below(8) == 0);
		break;
	case CTL_FREE_BACKING:
		m->handle.handle = handle(BACKING);
		break;
	case CTL_REG_MR:
		m->mr = (struct ctl_mr){.pd = handle(PD),
		                        .access = small_or_wild(31),
		                        .va = va,
		                        .length = small_or_wild(8192),
		                        .iova = below(4) ? va : rnd(),
		                        .nb_segs = small_or_wild(2)};
		for (uint32_t i = 0; i < 2; i++) {
			m->mr.seg[i].va = i == 0 ? va : va + 4096;
			m->mr.seg[i].length = i == 0 && below(2) ? 4096 : small_or_wild(8192);
			m->mr.seg[i].offset = small_or_wild(4096);
			m->mr.seg[i].backing = below(2) ? 0 : handle(BACKING);
		}
		if (below(2)) {
			m->mr.nb_segs = 1;
			m->mr.seg[0].length = m->mr.length;
		}
		break;
	case CTL_DEREG_MR:
	case CTL_DEALLOC_MW:
		m->handle.handle = handle(KEY);
		break;
	case CTL_ALLOC_MW:
		m->mw = (struct ctl_mw){.pd = handle(PD), .type = below(4)};
		break;
	case CTL_FREE_CHANNEL:
		m->handle.handle = handle(CHANNEL);
		break;
	case CTL_CREATE_CQ:
	case CTL_RESIZE_CQ:
		m->cq = (struct ctl_cq){.handle = handle(CQ),
		                        .nb_cqe = small_or_wild(100),
		                        .channel = below(2) ? 0 : handle(CHANNEL),
		                        .cookie = rnd()};
		break;
	case CTL_DESTROY_CQ:
		m->handle.handle = handle(CQ);
		break;
	case CTL_CREATE_SRQ:
	case CTL_MODIFY_SRQ:
	case CTL_QUERY_SRQ:
		m->srq = (struct ctl_srq){.handle = handle(SRQ),
		                          .pd = handle(PD),
		                          .max_wr = small_or_wild(64),
		                          .max_sge = small_or_wild(4),
		                          .limit = small_or_wild(64)};
		break;
	case CTL_DESTROY_SRQ:
		m->handle.handle = handle(SRQ);
		break;
	case CTL_CREATE_QP:
		m->qp = (struct ctl_qp){.type = 2 + below(3),
		                        .pd = handle(PD),
		                        .send_cq = handle(CQ),
		                        .recv_cq = handle(CQ),
		                        .srq = below(2) ? 0 : handle(SRQ),
		                        .sq_sig_all = below(2),
		                        .cap = {small_or_wild(64), small_or_wild(64),
		                                small_or_wild(4), small_or_wild(4),
		                                small_or_wild(128)}};
		break;
	case CTL_MODIFY_QP:
	case CTL_QUERY_QP:
		fill_attr(&m->qp_attr);
		break;
	case CTL_DESTROY_QP:
		m->handle.handle = handle(QPN);
		break;
	}
}

static void
keep_result(enum ctl_op op, const union ctl_msg *m)
{
	static const struct {
		enum ctl_op op;
		enum kind kind;
	} rows[] = {
		{CTL_ALLOC_PD, PD},
		{CTL_NEW_CHANNEL, CHANNEL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].op == op)
			remember(rows[i].kind, m->handle.handle);
	}
	if (op == CTL_NEW_BACKING || op == CTL_ADD_BACKING)
		remember(BACKING, m->backing.handle);
	else if (op == CTL_REG_MR)
		remember(KEY, m->mr.key);
	else if (op == CTL_ALLOC_MW)
		remember(KEY, m->mw.key);
	else if (op == CTL_CREATE_CQ)
		remember(CQ, m->cq.handle);
	else if (op == CTL_CREATE_SRQ)
		remember(SRQ, m->srq.handle);
	else if (op == CTL_CREATE_QP)
		remember(QPN, m->qp.qpn);
}

/* Noise in the shared pages: of words that mean something, mostly small numbers. */
static void
scribble(struct app *app)
{
	uint64_t *words = (uint64_t *)(void *)app->arena;
	uint32_t span = below(4) ? 64 * 1024 : 4 << 20;

	for (uint32_t i = 0; i < 200; i++) {
		uint64_t x = below(2) ? below(64) : rnd();
		uint32_t k = handles[KEY][below(16)];

		/* A live key now and then, so that some work requests are good. */
		words[below(span / 8)] = below(4) ? x : (uint64_t)k << 32 | below(5000);
	}
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t bit = below(8) ? below(32) : below(WEFT_MAX_QP);

		atomic_fetch_or(&app->bell->bits[bit / 64], UINT64_C(1) << bit % 64);
		atomic_fetch_or(&app->bell->summary[bit / SHM_BELL_QPS], UINT64_C(1)
		                                                                 << bit / 64 % 64);
	}
	eventfd_write(app->bell_fd, 1);
}

static uint32_t
must(struct app *app, enum ctl_op op, union ctl_msg *msg)
{
	struct reply reply;
	int status = ctl_request(app->sock, op, msg, sizes[op], -1, &reply);

	close_fds(&reply);
	granted[op] += status == 0;
	return status == 0;
}

/* A QP that is ready to send to itself, to another one of ours, or to nobody. */
static void
connect_qp(struct app *app)
{
	static const uint32_t masks[] = {0x39, 0x129181, 0x12e01};
	uint32_t pd = app_pd(app), cq = app_cq(app, 8, 0);
	struct ctl_qp qp = app_qp(app, pd, cq);
	union ctl_msg msg;

	remember(PD, pd);
	remember(CQ, cq);
	remember(QPN, qp.qpn);
	for (uint8_t i = 0; i < 3; i++) {
		fill_attr(&msg.qp_attr);
		msg.qp_attr.qpn = qp.qpn;
		msg.qp_attr.mask = masks[i];
		msg.qp_attr.attr.state = (uint8_t)(SHM_QPS_INIT + i);
		if (below(2))
			msg.qp_attr.attr.dest_qpn = qp.qpn;
		if (!must(app, CTL_MODIFY_QP, &msg))
			return;
	}
	/* A few requests that make sense, with keys that perhaps do. */
	for (uint32_t i = 0; i < 8; i++) {
		struct shm_wq *sq = (struct shm_wq *)(void *)(app->arena + qp.sq.offset);
		struct shm_send_wqe *wqe =
			(struct shm_send_wqe *)(void *)((uint8_t *)sq + SHM_WQ_SLOTS +
		                                        i * qp.sq.stride);
		struct shm_sge *sge = (struct shm_sge *)(void *)(wqe + 1);

		*wqe = (struct shm_send_wqe){
			.op = (uint8_t)below(SHM_WR_NB),
			.flags = (uint8_t)below(16),
			.nb_sge = (uint16_t)small_or_wild(2),
			.remote_addr = (uintptr_t)handles & ~UINT64_C(4095),
			.rkey = handle(KEY),
			.inline_len = small_or_wild(64),
		};
		for (uint32_t k = 0; k < 2; k++)
			sge[k] = (struct shm_sge){(uintptr_t)handles & ~UINT64_C(4095),
			                          small_or_wild(4096), handle(KEY)};
		atomic_store(&sq->ring.tail, i + 1);
	}
	atomic_fetch_or(&app->bell->bits[qp.bell / 64], UINT64_C(1) << qp.bell % 64);
	atomic_fetch_or(&app->bell->summary[qp.bell / SHM_BELL_QPS], UINT64_C(1)
	                                                                     << qp.bell / 64 % 64);
	eventfd_write(app->bell_fd, 1);
}

/* What it writes while the daemon reads: what was checked is no longer there. */
struct racer {
	struct app *app;
	uint64_t seed;
	atomic_bool stop;
	pthread_t thread;
};

static void *
race(void *arg)
{
	struct racer *racer = arg;

	state = racer->seed;
	while (!atomic_load(&racer->stop)) {
		scribble(racer->app);
		nanosleep(&(struct timespec){.tv_nsec = below(20000)}, NULL);
	}
	return NULL;
}

/* One hostile application, until its rounds are over or somebody kills it. */
static void
run_application(uint32_t rounds)
{
	struct app app;
	struct racer racer = {.app = &app, .seed = rnd()};
	bool has_racer = below(2);

	memset(handles, 0, sizeof(handles));
	app_open(&app, true);
	has_racer = has_racer && pthread_create(&racer.thread, NULL, race, &racer) == 0;
	for (uint32_t i = 0; i < rounds; i++) {
		/* Creations are a bit more likely, so that there is something to hurt. */
		static const enum ctl_op likely[] = {CTL_ALLOC_PD,   CTL_CREATE_CQ, CTL_CREATE_QP,
		                                     CTL_CREATE_SRQ, CTL_MODIFY_QP, CTL_MODIFY_QP,
		                                     CTL_MODIFY_QP,  CTL_REG_MR,    CTL_NEW_BACKING,
		                                     CTL_NEW_CHANNEL};
		enum ctl_op op = below(2) ? likely[below(sizeof(likely) / sizeof(likely[0]))]
		                          : (enum ctl_op)below(CTL_NB);
		union ctl_msg msg = {0};
		struct reply reply;
		int fd = op == CTL_ADD_BACKING || below(32) == 0 ? any_fd() : -1;

		fill_request(op, &msg);
		if (ctl_request(app.sock, op, &msg, sizes[op], fd, &reply) == 0) {
			keep_result(op, &msg);
			granted[op]++;
		} else if (reply.len == 0) {
			_exit(3);
		}
		close_fds(&reply);
		if (fd >= 0)
			close(fd);
		if (below(8) == 0)
			connect_qp(&app);
		if (below(4) == 0)
			scribble(&app);
	}
	atomic_store(&racer.stop, true);
	if (has_racer)
		pthread_join(racer.thread, NULL);
	if (below(2))
		app_close(&app);
}

static pid_t
start_application(uint32_t rounds)
{
	uint64_t seed = rnd();
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	state = seed;
	run_application(rounds);
	_exit(0);
}

/* Some of them at a time; each is killed at some moment, or ends. */
static void
run_applications(uint32_t nb, bool kill_them)
{
	enum { TOGETHER = 4 };
	pid_t pids[TOGETHER] = {0};
	uint32_t nb_refused = 0;

	for (uint32_t i = 0; i < nb + TOGETHER; i++) {
		pid_t *pid = &pids[i % TOGETHER];
		int status = 0;

		if (*pid > 0) {
			if (kill_them) {
				nanosleep(&(struct timespec){.tv_nsec = below(20000000)}, NULL);
				kill(*pid, SIGKILL);
			}
			waitpid(*pid, &status, 0);
			nb_refused += WIFEXITED(status) && WEXITSTATUS(status) != 0;
		}
		*pid = i < nb ? start_application(kill_them ? 1000000 : 300) : 0;
	}
	verdict(nb_refused == 0, "%u hostile applications%s: none loses its connection", nb,
	        kill_them ? ", killed at any moment" : "");
}

/* Connections that say nothing, or never read an answer. */
static void
sit_on_connections(void)
{
	union ctl_msg msg = {.hdr = {.op = CTL_LIST, .len = sizeof(struct ctl_hdr)}};
	struct app app;
	int socks[200];
	uint32_t nb_sent = 0;

	for (uint32_t i = 0; i < 200; i++)
		socks[i] = ctl_open_socket();
	/* Until the daemon, whose answers nobody takes, has hung up. */
	while (nb_sent < 100000 && ctl_send(socks[0], &msg, sizeof(msg.hdr), NULL, 0))
		nb_sent++;
	verdict(nb_sent < 100000, "who takes no answers is sent away (%u requests)", nb_sent);
	app_open(&app, true);
	verdict(app_pd(&app) != 0, "others are served meanwhile");
	app_close(&app);
	for (uint32_t i = 0; i < 200; i++)
		close(socks[i]);
}

static void
check_granted(void)
{
	for (uint32_t op = 0; op < CTL_NB; op++) {
		/* Open was granted before and is refused a second time. */
		if (op != CTL_OPEN && granted[op] == 0)
			verdict(false, "operation %u was never granted", op);
	}
	verdict(true, "%u states of QPs changed", granted[CTL_MODIFY_QP]);
}

int
main(void)
{
	bool is_long = getenv("WEFT_TEST_LONG") != NULL;
	uint32_t nb_fds, nb_maps;

	state = getenv("WEFT_SEED") ? strtoull(getenv("WEFT_SEED"), NULL, 0) : (uint64_t)time(NULL);
	granted = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	printf("# WEFT_SEED=%llu\n", (unsigned long long)state);
	daemon_begin();
	nb_fds = daemon_fds();
	nb_maps = daemon_maps();
	send_noise(is_long ? 100000 : 2000);
	verdict(daemon_alive(), "alive after noise");
	sit_on_connections();
	verdict(daemon_settles(nb_fds, nb_maps), "nothing is left of them");
	run_applications(is_long ? 2000 : 40, false);
	verdict(daemon_alive(), "alive after hostile applications");
	run_applications(is_long ? 5000 : 150, true);
	verdict(daemon_alive(), "alive after killed ones");
	check_granted();
	verdict(daemon_settles(nb_fds, nb_maps), "no descriptor and no mapping is left");
	verdict(daemon_end(), "the daemon ends with 0 and removes its socket");
	return verdicts_end();
}
