/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hostile_app.h"

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

	for (int i = 0; i < 200000 && !hostile_is_over() && atomic_load(&cq->ring.tail) == head;
	     i++)
		hostile_nap_us(50);
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
		hostile_nap_us(1000);
	hostile_open(&h, seed);
	while (!hostile_is_over()) {
		struct shm_cq *cq = (struct shm_cq *)(void *)(h.app.arena + h.cq_ring.offset);
		struct shm_send_wqe wqe = {.op = ops[prng_below(&h.rng, 3)],
		                           .flags = SHM_SEND_SIGNALED,
		                           .remote_addr = atomic_load(&board->addr),
		                           .rkey = guess(&h)};
		struct shm_sge sge = {(uintptr_t)h.mapped, 8, h.mapped_key};
		int status;

		hostile_connect(&h, 0, h.qp[1].qpn);
		hostile_connect(&h, 1, h.qp[0].qpn);
		hostile_post(&h, 0, wqe, sge, 1);
		status = first_status(&h);
		if (status < 0 && hostile_is_over())
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
	while (!hostile_is_over()) {
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
		(void)!ftruncate(fd, HOSTILE_BYTES);
		return fd;
	case 1: /* may shrink: the wrong seals */
		fd = memfd_create("bad", MFD_ALLOW_SEALING);
		(void)!ftruncate(fd, HOSTILE_BYTES);
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
		(void)!ftruncate(fd, HOSTILE_BYTES);
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
	while (!hostile_is_over()) {
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
			hostile_nap_us(100);
	}
	app_close(&app);
	_exit(0);
}
