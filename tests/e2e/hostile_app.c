/* SPDX-License-Identifier: BSD-3-Clause */
#include "hostile_app.h"

#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

void
hostile_nap_us(uint32_t us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000L}, NULL);
}

bool
hostile_is_over(void)
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
	               .length = HOSTILE_BYTES,
	               .iova = (uintptr_t)at,
	               .nb_segs = 1,
	               .seg = {{.va = (uintptr_t)at, .length = HOSTILE_BYTES, .backing = backing}}},
	};
	struct reply reply;

	if (ctl_request(h->app.sock, CTL_REG_MR, &msg, sizeof(msg.mr), -1, &reply) != 0)
		_exit(2);
	return msg.mr.key;
}

void
hostile_create_queues(struct hostile *h)
{
	union ctl_msg msg = {.cq = {.nb_cqe = 256}};
	struct reply reply;

	if (ctl_request(h->app.sock, CTL_CREATE_CQ, &msg, sizeof(msg.cq), -1, &reply) != 0)
		_exit(2);
	h->cq = msg.cq.handle;
	h->cq_ring = msg.cq.ring;
	for (int i = 0; i < HOSTILE_QPS; i++)
		h->qp[i] = app_qp(&h->app, h->pd, h->cq);
}

void
hostile_destroy_queues(struct hostile *h)
{
	for (int i = 0; i < HOSTILE_QPS; i++)
		app_handle(&h->app, CTL_DESTROY_QP, h->qp[i].qpn);
	app_handle(&h->app, CTL_DESTROY_CQ, h->cq);
}

void
hostile_open(struct hostile *h, uint64_t seed)
{
	uint32_t backing;

	memset(h, 0, sizeof(*h));
	prng_seed(&h->rng, seed);
	app_open(&h->app, true);
	find_gid(h);
	h->pd = app_pd(&h->app);
	backing = app_backing(&h->app, HOSTILE_BYTES, &h->mapped_fd);
	h->mapped = mmap(NULL, HOSTILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, h->mapped_fd, 0);
	h->plain = mmap(NULL, HOSTILE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	                -1, 0);
	if (h->mapped == MAP_FAILED || h->plain == MAP_FAILED)
		_exit(2);
	h->mapped_key = reg(h, h->mapped, backing);
	h->plain_key = reg(h, h->plain, 0);
	hostile_create_queues(h);
}

void
hostile_connect(struct hostile *h, int i, uint32_t dest_qpn)
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

void
hostile_post(struct hostile *h, int i, struct shm_send_wqe wqe, struct shm_sge sge, uint32_t nb)
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

void
hostile_post_recvs(struct hostile *h, int i)
{
	const struct ctl_qp *qp = &h->qp[i];
	struct shm_wq *rq = wq_of(h, &qp->rq);
	uint32_t head = atomic_load(&rq->ring.head);
	struct shm_recv_wqe wqe = {.nb_sge = 1};
	struct shm_sge sge = {(uintptr_t)h->plain, 8192, h->plain_key};

	for (uint32_t k = 0; k < HOSTILE_DEPTH; k++) {
		uint8_t *slot = slot_of(rq, &qp->rq, head + k);

		memcpy(slot, &wqe, sizeof(wqe));
		memcpy(slot + sizeof(wqe), &sge, sizeof(sge));
	}
	atomic_store(&rq->ring.tail, head + HOSTILE_DEPTH);
}
