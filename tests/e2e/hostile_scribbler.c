/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "hostile_app.h"

/* Writes anything to every word that it shares with the daemon, while its queues work. */

static _Atomic uint32_t areas[2 + 2 * HOSTILE_QPS][2]; /* offset in the arena, bytes */

static void
tell_areas(const struct hostile *h)
{
	const struct shm_ring_loc *locs[2 * HOSTILE_QPS];

	atomic_store(&areas[0][1], sizeof(struct shm_bell));
	atomic_store(&areas[1][0], (uint32_t)h->cq_ring.offset);
	atomic_store(&areas[1][1], (uint32_t)SHM_CQ_SLOTS + h->cq_ring.nb_slots * 64);
	for (int i = 0; i < HOSTILE_QPS; i++) {
		locs[2 * i] = &h->qp[i].sq;
		locs[2 * i + 1] = &h->qp[i].rq;
	}
	for (int i = 0; i < 2 * HOSTILE_QPS; i++) {
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
	uint32_t nb = aim == AIM_NO_QUEUE ? 2 : 2 + 2 * HOSTILE_QPS;
	uint32_t area =
		aim == AIM_SLOTS ? 2 + prng_below(rng, 2 * HOSTILE_QPS) : prng_below(rng, nb);
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
	mmap(h->plain, HOSTILE_BYTES, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void *
scribble(void *arg)
{
	const struct hostile *h = arg;
	struct prng rng;

	prng_seed(&rng, (uintptr_t)arg ^ (uint64_t)time(NULL));
	for (uint32_t nb = 1; !hostile_is_over(); nb++) {
		uint32_t dice = prng_below(&rng, 32), nb_words = 1 + prng_below(&rng, 1000);
		enum aim aim = dice == 0 ? AIM_ALL : dice < 16 ? AIM_SLOTS : AIM_NO_QUEUE;

		/* In bursts: between them the queues work, and have something to lose. */
		for (uint32_t i = 0; i < nb_words; i++)
			mutate(h, &rng, aim);
		atomic_fetch_add(&board->nb_mutations, nb_words);
		if (nb % 64 == 0)
			shake_memory(h, &rng);
		if (nb % 4 == 0)
			hostile_nap_us(prng_below(&rng, 300));
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

	hostile_post_recvs(h, i ^ 1);
	hostile_post(h, i, wqe, sge, 1 + prng_below(&h->rng, HOSTILE_DEPTH));
}

void
scribbler_run(uint64_t seed)
{
	static struct hostile h;
	pthread_t thread;

	hostile_open(&h, seed);
	tell_areas(&h);
	if (pthread_create(&thread, NULL, scribble, &h))
		_exit(2);
	for (uint32_t round = 1; !hostile_is_over(); round++) {
		/* A CQ that overran is dead for good. */
		if (round % 8 == 0) {
			hostile_destroy_queues(&h);
			hostile_create_queues(&h);
			tell_areas(&h);
		}
		for (int i = 0; i < HOSTILE_QPS; i++)
			hostile_connect(&h, i, h.qp[i ^ 1].qpn);
		for (int i = 0; i < HOSTILE_QPS; i++)
			work(&h, i);
		hostile_nap_us(prng_below(&h.rng, 500));
		atomic_fetch_add(&board->nb_rounds, 1);
	}
	pthread_join(thread, NULL);
	app_close(&h.app);
	_exit(0);
}
