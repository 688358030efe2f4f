/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"
#include "hostile.h"
#include "prng.h"

/* ---- what they have in common ---- */

#define BYTES 65536u
enum { NB_QPS = 4, DEPTH = 16 };

/* An application that has what an honest one has: QPs 0 and 1 are connected, and 2 and 3. */
struct hostile {
	struct app app;
	struct prng rng;
	uint8_t gid_index, gid[16];
	uint32_t pd, cq;
	struct shm_ring_loc cq_ring;
	struct ctl_qp qp[NB_QPS];
	uint8_t *mapped; /* shared with the daemon by descriptor */
	int mapped_fd;
	uint8_t *plain; /* reached through /proc/self/mem */
	uint32_t mapped_key, plain_key;
};

static void
nap_us(uint32_t us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000L}, NULL);
}

static bool
is_over(void)
{
	return atomic_load(&board->stop);
}

/* The first IPv4 entry. */
static void
find_gid(struct hostile *h)
{
	for (uint32_t i = 0; i < 16; i++) {
		union ctl_msg msg = {.gid = {.index = i}};
		struct reply reply;

		if (ctl_request(h->app.sock, CTL_QUERY_GID, &msg, sizeof(msg.gid), -1, &reply) ==
		            0 &&
		    msg.gid.valid && msg.gid.gid[10] == 0xff) {
			h->gid_index = (uint8_t)i;
			memcpy(h->gid, msg.gid.gid, 16);
			return;
		}
	}
	_exit(2);
}

static uint32_t
reg(struct hostile *h, uint8_t *at, uint32_t backing)
{
	union ctl_msg msg = {
		.mr = {.pd = h->pd,
	               .access = SHM_ACCESS_LOCAL_WRITE | SHM_ACCESS_REMOTE_WRITE |
	                         SHM_ACCESS_REMOTE_READ | SHM_ACCESS_REMOTE_ATOMIC,
	               .va = (uintptr_t)at,
	               .length = BYTES,
	               .iova = (uintptr_t)at,
	               .nb_segs = 1,
	               .seg = {{.va = (uintptr_t)at, .length = BYTES, .backing = backing}}},
	};
	struct reply reply;

	if (ctl_request(h->app.sock, CTL_REG_MR, &msg, sizeof(msg.mr), -1, &reply) != 0)
		_exit(2);
	return msg.mr.key;
}

static void
create_queues(struct hostile *h)
{
	union ctl_msg msg = {.cq = {.nb_cqe = 256}};
	struct reply reply;

	if (ctl_request(h->app.sock, CTL_CREATE_CQ, &msg, sizeof(msg.cq), -1, &reply) != 0)
		_exit(2);
	h->cq = msg.cq.handle;
	h->cq_ring = msg.cq.ring;
	for (int i = 0; i < NB_QPS; i++)
		h->qp[i] = app_qp(&h->app, h->pd, h->cq);
}

static void
destroy_queues(struct hostile *h)
{
	for (int i = 0; i < NB_QPS; i++)
		app_handle(&h->app, CTL_DESTROY_QP, h->qp[i].qpn);
	app_handle(&h->app, CTL_DESTROY_CQ, h->cq);
}

static void
open_hostile(struct hostile *h, uint64_t seed)
{
	uint32_t backing;

	memset(h, 0, sizeof(*h));
	prng_seed(&h->rng, seed);
	app_open(&h->app, true);
	find_gid(h);
	h->pd = app_pd(&h->app);
	backing = app_backing(&h->app, BYTES, &h->mapped_fd);
	h->mapped = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, h->mapped_fd, 0);
	h->plain = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (h->mapped == MAP_FAILED || h->plain == MAP_FAILED)
		_exit(2);
	h->mapped_key = reg(h, h->mapped, backing);
	h->plain_key = reg(h, h->plain, 0);
	create_queues(h);
}

/* RESET to RTS; the daemon may refuse what the scribbler has spoilt meanwhile. */
static void
connect_qp(struct hostile *h, int i, uint32_t dest_qpn)
{
	static const struct {
		uint8_t state;
		uint32_t mask;
	} steps[] = {
		{SHM_QPS_RESET, 1},
		{SHM_QPS_INIT, 0x39},
		{SHM_QPS_RTR, 0x129181},
		{SHM_QPS_RTS, 0x12e01},
	};

	for (size_t k = 0; k < sizeof(steps) / sizeof(steps[0]); k++) {
		union ctl_msg msg = {.qp_attr = {.qpn = h->qp[i].qpn, .mask = steps[k].mask}};
		struct shm_qp_attr *attr = &msg.qp_attr.attr;
		struct reply reply;

		*attr = (struct shm_qp_attr){
			.state = steps[k].state,
			.path_mtu = SHM_MTU_1024,
			.port_num = 1,
			.timeout = 8,
			.retry_cnt = 2,
			.rnr_retry = 2,
			.min_rnr_timer = 1,
			.max_rd_atomic = 4,
			.max_dest_rd_atomic = 4,
			.access = 15,
			.dest_qpn = dest_qpn,
			.av = {.sgid_index = h->gid_index, .hop_limit = 64},
		};
		memcpy(attr->av.dgid, h->gid, 16);
		ctl_request(h->app.sock, CTL_MODIFY_QP, &msg, sizeof(msg.qp_attr), -1, &reply);
	}
}

static struct shm_wq *
wq_of(struct hostile *h, const struct shm_ring_loc *loc)
{
	return (struct shm_wq *)(void *)(h->app.arena + loc->offset);
}

static void
ring_bell(struct hostile *h, uint32_t bit)
{
	atomic_fetch_or(&h->app.bell->bits[bit / 64], UINT64_C(1) << bit % 64);
	atomic_fetch_or(&h->app.bell->summary[bit / SHM_BELL_QPS], UINT64_C(1) << bit / 64 % 64);
	eventfd_write(h->app.bell_fd, 1);
}

/* The next slot of a queue that was just reset: the daemon has set head to tail. */
static uint8_t *
slot_of(struct shm_wq *wq, const struct shm_ring_loc *loc, uint32_t idx)
{
	return (uint8_t *)wq + SHM_WQ_SLOTS + (size_t)(idx & (loc->nb_slots - 1)) * loc->stride;
}

/* So many requests like this one. */
static void
post(struct hostile *h, int i, struct shm_send_wqe wqe, struct shm_sge sge, uint32_t nb)
{
	const struct ctl_qp *qp = &h->qp[i];
	struct shm_wq *sq = wq_of(h, &qp->sq);
	uint32_t head = atomic_load(&sq->ring.head);

	wqe.nb_sge = 1;
	for (uint32_t k = 0; k < nb; k++) {
		uint8_t *slot = slot_of(sq, &qp->sq, head + k);

		wqe.wr_id = k;
		memcpy(slot, &wqe, sizeof(wqe));
		memcpy(slot + sizeof(wqe), &sge, sizeof(sge));
	}
	atomic_store(&sq->ring.tail, head + nb);
	ring_bell(h, qp->bell);
}

static void
post_recvs(struct hostile *h, int i)
{
	const struct ctl_qp *qp = &h->qp[i];
	struct shm_wq *rq = wq_of(h, &qp->rq);
	uint32_t head = atomic_load(&rq->ring.head);
	struct shm_recv_wqe wqe = {.nb_sge = 1};
	struct shm_sge sge = {(uintptr_t)h->plain, 8192, h->plain_key};

	for (uint32_t k = 0; k < DEPTH; k++) {
		uint8_t *slot = slot_of(rq, &qp->rq, head + k);

		memcpy(slot, &wqe, sizeof(wqe));
		memcpy(slot + sizeof(wqe), &sge, sizeof(sge));
	}
	atomic_store(&rq->ring.tail, head + DEPTH);
}

/* ---- writes anything to every shared word ---- */

static _Atomic uint32_t areas[2 + 2 * NB_QPS][2]; /* offset in the arena, bytes */

static void
tell_areas(const struct hostile *h)
{
	const struct shm_ring_loc *locs[2 * NB_QPS];

	atomic_store(&areas[0][1], sizeof(struct shm_bell));
	atomic_store(&areas[1][0], (uint32_t)h->cq_ring.offset);
	atomic_store(&areas[1][1], (uint32_t)SHM_CQ_SLOTS + h->cq_ring.nb_slots * 64);
	for (int i = 0; i < NB_QPS; i++) {
		locs[2 * i] = &h->qp[i].sq;
		locs[2 * i + 1] = &h->qp[i].rq;
	}
	for (int i = 0; i < 2 * NB_QPS; i++) {
		atomic_store(&areas[2 + i][0], (uint32_t)locs[i]->offset);
		atomic_store(&areas[2 + i][1],
		             (uint32_t)SHM_WQ_SLOTS + locs[i]->nb_slots * locs[i]->stride);
	}
}

/* What a burst of mutations is aimed at; a word of a ring's header is soon the end of its QP. */
enum aim { AIM_ALL, AIM_SLOTS, AIM_NO_QUEUE };

static volatile uint64_t *
pick_word(const struct hostile *h, struct prng *rng, enum aim aim)
{
	uint32_t nb = aim == AIM_NO_QUEUE ? 2 : 2 + 2 * NB_QPS;
	uint32_t area = aim == AIM_SLOTS ? 2 + prng_below(rng, 2 * NB_QPS) : prng_below(rng, nb);
	uint32_t offset = atomic_load_explicit(&areas[area][0], memory_order_relaxed);
	uint32_t bytes = atomic_load_explicit(&areas[area][1], memory_order_relaxed);
	uint32_t at = prng_below(rng, bytes / 8) * 8;

	if (aim == AIM_SLOTS && at < SHM_WQ_SLOTS)
		at += SHM_WQ_SLOTS;
	return (volatile uint64_t *)(void *)(h->app.arena + offset + at);
}

/* One word: noise, a small number, one bit, a key, one more, an address. */
static void
mutate(const struct hostile *h, struct prng *rng, enum aim aim)
{
	volatile uint64_t *word = pick_word(h, rng, aim);
	uint64_t r = prng_next(rng);

	r = r >> 18 & 0x3fff;
	switch (r % 6) {
	case 0:
		*word = prng_next(rng);
		break;
	case 1:
		*word = r >> 8;
		break;
	case 2:
		*word ^= UINT64_C(1) << (r >> 3 & 63);
		break;
	case 3:
		*word = (uint64_t)h->mapped_key << 32 | (r >> 3);
		break;
	case 4:
		*(volatile uint32_t *)word += 1;
		break;
	default:
		*word = (uintptr_t)h->plain + (r >> 3);
		break;
	}
}

/* Memory that was registered goes and comes, its pages too. */
static void
shake_memory(const struct hostile *h, struct prng *rng)
{
	if (prng_below(rng, 2)) {
		fallocate(h->mapped_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		          (off_t)prng_below(rng, 16) * 4096, 8192);
		return;
	}
	munmap(h->plain + prng_below(rng, 16) * 4096, 4096);
	mmap(h->plain, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
	     0);
}

static void *
scribble(void *arg)
{
	const struct hostile *h = arg;
	struct prng rng;

	prng_seed(&rng, (uintptr_t)arg ^ (uint64_t)time(NULL));
	for (uint32_t nb = 1; !is_over(); nb++) {
		uint32_t dice = prng_below(&rng, 32), nb_words = 1 + prng_below(&rng, 1000);
		enum aim aim = dice == 0 ? AIM_ALL : dice < 16 ? AIM_SLOTS : AIM_NO_QUEUE;

		/* In bursts: between them the queues work, and have something to lose. */
		for (uint32_t i = 0; i < nb_words; i++)
			mutate(h, &rng, aim);
		atomic_fetch_add(&board->nb_mutations, nb_words);
		if (nb % 64 == 0)
			shake_memory(h, &rng);
		if (nb % 4 == 0)
			nap_us(prng_below(&rng, 300));
		else
			sched_yield();
	}
	return NULL;
}

static void
work(struct hostile *h, int i)
{
	static const uint8_t ops[] = {SHM_WR_WRITE, SHM_WR_SEND,      SHM_WR_READ,
	                              SHM_WR_SEND,  SHM_WR_FETCH_ADD, SHM_WR_WRITE_IMM};
	uint8_t op = ops[prng_below(&h->rng, sizeof(ops))];
	bool mapped = prng_below(&h->rng, 2);
	struct shm_send_wqe wqe = {.op = op,
	                           .flags = SHM_SEND_SIGNALED,
	                           .remote_addr = (uintptr_t)(mapped ? h->plain : h->mapped),
	                           .rkey = mapped ? h->plain_key : h->mapped_key};
	struct shm_sge sge = {(uintptr_t)(mapped ? h->mapped : h->plain),
	                      op == SHM_WR_FETCH_ADD ? 8 : prng_below(&h->rng, 9000),
	                      mapped ? h->mapped_key : h->plain_key};

	post_recvs(h, i ^ 1);
	post(h, i, wqe, sge, 1 + prng_below(&h->rng, DEPTH));
}

void
scribbler_run(uint64_t seed)
{
	static struct hostile h;
	pthread_t thread;

	open_hostile(&h, seed);
	tell_areas(&h);
	if (pthread_create(&thread, NULL, scribble, &h))
		_exit(2);
	for (uint32_t round = 1; !is_over(); round++) {
		/* A CQ that overran is dead for good. */
		if (round % 8 == 0) {
			destroy_queues(&h);
			create_queues(&h);
			tell_areas(&h);
		}
		for (int i = 0; i < NB_QPS; i++)
			connect_qp(&h, i, h.qp[i ^ 1].qpn);
		for (int i = 0; i < NB_QPS; i++)
			work(&h, i);
		nap_us(prng_below(&h.rng, 500));
		atomic_fetch_add(&board->nb_rounds, 1);
	}
	pthread_join(thread, NULL);
	app_close(&h.app);
	_exit(0);
}

/* ---- guesses keys ---- */

/* The right key, which is of another protection domain; nearly the right one; any. */
static uint32_t
guess(struct hostile *h)
{
	uint32_t key = atomic_load(&board->key);

	switch (prng_below(&h->rng, 4)) {
	case 0:
		return key;
	case 1:
		return key + prng_below(&h->rng, 512) - 256;
	default:
		return (uint32_t)prng_next(&h->rng);
	}
}

/* The status of the first entry of the CQ; -1: none within 10 s. */
static int
first_status(struct hostile *h)
{
	struct shm_cq *cq = (struct shm_cq *)(void *)(h->app.arena + h->cq_ring.offset);
	struct shm_cqe *slots = (struct shm_cqe *)(void *)((uint8_t *)cq + SHM_CQ_SLOTS);
	uint32_t head = atomic_load(&cq->ring.head);

	for (int i = 0; i < 200000 && !is_over() && atomic_load(&cq->ring.tail) == head; i++)
		nap_us(50);
	if (atomic_load(&cq->ring.tail) == head)
		return -1;
	return slots[head & (h->cq_ring.nb_slots - 1)].status;
}

void
guesser_run(uint64_t seed)
{
	static const uint8_t ops[] = {SHM_WR_WRITE, SHM_WR_READ, SHM_WR_FETCH_ADD};
	static struct hostile h;

	while (!atomic_load(&board->key))
		nap_us(1000);
	open_hostile(&h, seed);
	while (!is_over()) {
		struct shm_cq *cq = (struct shm_cq *)(void *)(h.app.arena + h.cq_ring.offset);
		struct shm_send_wqe wqe = {.op = ops[prng_below(&h.rng, 3)],
		                           .flags = SHM_SEND_SIGNALED,
		                           .remote_addr = atomic_load(&board->addr),
		                           .rkey = guess(&h)};
		struct shm_sge sge = {(uintptr_t)h.mapped, 8, h.mapped_key};
		int status;

		connect_qp(&h, 0, h.qp[1].qpn);
		connect_qp(&h, 1, h.qp[0].qpn);
		post(&h, 0, wqe, sge, 1);
		status = first_status(&h);
		if (status < 0 && is_over())
			break;
		atomic_fetch_add(&board->nb_guesses, 1);
		atomic_fetch_add(&board->nb_right, status != SHM_WC_REM_ACCESS_ERR);
		atomic_store(&cq->ring.head, atomic_load(&cq->ring.tail));
	}
	app_close(&h.app);
	_exit(0);
}

/* ---- asks without end ---- */

void
flooder_run(uint64_t seed)
{
	struct prng rng;

	prng_seed(&rng, seed);
	while (!is_over()) {
		union ctl_msg msg = {.hdr = {.op = CTL_LIST, .len = sizeof(struct ctl_hdr)}};
		struct app app;
		int sock = ctl_open_socket();

		/* Answers are not read: the daemon sends such away. */
		for (uint32_t i = 0; i < 300 && ctl_send(sock, &msg, sizeof(msg.hdr), NULL, 0); i++)
			atomic_fetch_add(&board->nb_requests, 1);
		close(sock);
		app_open(&app, false);
		for (uint32_t i = 0; i < 300; i++) {
			struct reply reply;

			msg = (union ctl_msg){0};
			ctl_request(app.sock, i % 2 ? CTL_ALLOC_PD : CTL_QUERY_PORT, &msg,
			            sizeof(msg.hdr), -1, &reply);
			atomic_fetch_add(&board->nb_requests, 1);
			for (int k = 0; k < 64; k++)
				atomic_store(&app.bell->bits[k], ~UINT64_C(0));
			atomic_store(&app.bell->summary[0], ~UINT64_C(0));
			eventfd_write(app.bell_fd, 1 + prng_below(&rng, 1000));
		}
		app_close(&app);
	}
	_exit(0);
}

/* ---- passes descriptors that are not what they seem ---- */

/* None of these may become a backing: each could change its size, or is no memory. */
static int
bad_fd(struct prng *rng)
{
	int pair[2], fd = -1;

	switch (prng_below(rng, 8)) {
	case 0: /* may shrink: nothing sealed */
		fd = memfd_create("bad", MFD_ALLOW_SEALING);
		(void)!ftruncate(fd, BYTES);
		return fd;
	case 1: /* may shrink: the wrong seals */
		fd = memfd_create("bad", MFD_ALLOW_SEALING);
		(void)!ftruncate(fd, BYTES);
		fcntl(fd, F_ADD_SEALS, F_SEAL_GROW);
		return fd;
	case 2: /* empty */
		fd = memfd_create("bad", MFD_ALLOW_SEALING);
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
		return fd;
	case 3:
		return open("/proc/self/mem", O_RDWR);
	case 4:
		return open("/", O_PATH | O_DIRECTORY);
	case 5:
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0) {
			close(pair[0]);
			fd = pair[1];
		}
		return fd;
	case 6: /* a file on disk, cut while it is looked at */
		fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
		(void)!ftruncate(fd, BYTES);
		return fd;
	default:
		return eventfd(0, 0);
	}
}

void
smuggler_run(uint64_t seed)
{
	struct prng rng;
	struct app app;

	prng_seed(&rng, seed);
	app_open(&app, true);
	while (!is_over()) {
		union ctl_msg msg = {0};
		struct reply reply;
		int fd = bad_fd(&rng), status;

		if (fd < 0)
			continue;
		status = ctl_request(app.sock, CTL_ADD_BACKING, &msg, sizeof(msg.backing), fd,
		                     &reply);
		(void)!ftruncate(fd, 0);
		close(fd);
		close_fds(&reply);
		atomic_fetch_add(&board->nb_requests, 1);
		if (status == 0)
			atomic_fetch_add(&board->nb_granted, 1);
		else if (status < 0)
			_exit(3);
		if (prng_below(&rng, 64) == 0)
			nap_us(100);
	}
	app_close(&app);
	_exit(0);
}
