/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hostile.h"
#include "weft.h"

/* A well-behaved program: WRITEs and READs between two devices, every byte compared. */

#define BYTES 65536u
#define CHUNK 16384u
#define ALL (WEFT_LOCAL_WRITE | WEFT_REMOTE_WRITE | WEFT_REMOTE_READ)

struct end {
	struct weft *weft;
	struct weft_pd *pd;
	struct weft_mr *mr;
	struct weft_cq *cq;
	struct weft_qp *qp;
	uint8_t *buf;
	struct weft_path path;
	int gid_index;
};

static void
check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "neighbour: %s\n", what);
	_exit(1);
}

static void
open_end(struct end *end, const char *device)
{
	struct weft_qp_init init = {.type = WEFT_RC, .max_send = 8, .max_recv = 8};

	check((end->weft = weft_open(device)), "open");
	check((end->pd = weft_pd_alloc(end->weft)), "pd");
	check((end->buf = weft_mem_alloc(end->weft, BYTES)), "memory");
	check((end->mr = weft_mr_reg(end->pd, end->buf, BYTES, ALL)), "registration");
	check((end->cq = weft_cq_create(end->weft, 16, NULL, NULL)), "cq");
	init.send_cq = init.recv_cq = end->cq;
	check((end->qp = weft_qp_create(end->pd, &init)), "qp");
	check((end->gid_index = weft_gid_default(end->weft, end->path.gid)) >= 0, "address");
	end->path.qpn = weft_qp_num(end->qp);
}

static void
close_end(struct end *end)
{
	check(weft_qp_destroy(end->qp) == 0 && weft_cq_destroy(end->cq) == 0, "destruction");
	check(weft_mr_dereg(end->mr) == 0 && weft_mem_free(end->weft, end->buf) == 0, "memory");
	check(weft_pd_free(end->pd) == 0, "pd");
	weft_close(end->weft);
}

static void
connect_to(struct end *end, struct weft_path peer)
{
	peer.gid_index = (uint8_t)end->gid_index;
	peer.retries = 7;
	check(weft_qp_connect(end->qp, &peer, WEFT_REMOTE_WRITE | WEFT_REMOTE_READ, 0) == 0,
	      "connect");
}

static void
transfer(struct end *a, struct weft_send send, uint64_t offset)
{
	struct weft_sge sge = {(uintptr_t)a->buf + offset, CHUNK, weft_mr_key(a->mr)};
	time_t limit = time(NULL) + 60;
	struct weft_completion done;

	send.flags = WEFT_SIGNALED;
	send.sge = &sge;
	send.nb_sge = 1;
	check(weft_post_send(a->qp, &send, 1) == 1, "post");
	while (weft_poll(a->cq, &done, 1) == 0)
		check(time(NULL) < limit, "nothing is done for a minute");
	check(done.status == WEFT_WC_SUCCESS, weft_status_str(done.status));
}

/* There and back; the half of the buffer that nobody uses stays as it is. */
static void
round_trip(struct end *a, struct end *b, uint64_t nb)
{
	struct weft_send send = {.remote_addr = (uintptr_t)b->buf,
	                         .remote_key = weft_mr_key(b->mr)};

	for (uint32_t i = 0; i < CHUNK; i++)
		a->buf[i] = (uint8_t)(nb * 13 + i * 7 + (i >> 8));
	send.op = WEFT_WRITE;
	transfer(a, send, 0);
	check(memcmp(a->buf, b->buf, CHUNK) == 0, "what was written differs");
	send.op = WEFT_READ;
	transfer(a, send, CHUNK);
	check(memcmp(a->buf, a->buf + CHUNK, CHUNK) == 0, "what was read differs");
	for (uint32_t i = BYTES / 2; i < BYTES; i++)
		check(a->buf[i] == 0 && b->buf[i] == 0, "somebody wrote here");
}

void
neighbour_run(void)
{
	struct end a = {0}, b = {0};

	open_end(&a, "weft0");
	open_end(&b, "weft1");
	connect_to(&a, b.path);
	connect_to(&b, a.path);
	atomic_store(&board->addr, (uintptr_t)a.buf + BYTES / 2);
	atomic_store(&board->key, weft_mr_key(a.mr));
	for (uint64_t nb = 0; !atomic_load(&board->stop); nb++) {
		round_trip(&a, &b, nb);
		atomic_fetch_add(&board->nb_bytes, 2 * CHUNK);
	}
	close_end(&a);
	close_end(&b);
	exit(0);
}
