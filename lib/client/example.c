/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An RDMA WRITE from one device of this machine to another. In real life the other end is another
 * program, and the two tell each other path, address and key by a socket of their own.
 *   cc example.c $(pkg-config --cflags --libs weft) && ./a.out weft0 weft1
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

enum { SIZE = 1 << 20 };

struct end {
	struct weft *weft;
	struct weft_cq *cq;
	struct weft_qp *qp;
	struct weft_path path; /* to here, for the other end */
	char *buffer;
	uint32_t key;
	int gid_index;
};

static void
check(int good, const char *what)
{
	if (!good) {
		perror(what);
		exit(1);
	}
}

static void
set_up(struct end *end, const char *device)
{
	const unsigned access = WEFT_LOCAL_WRITE | WEFT_REMOTE_WRITE;
	struct weft_qp_init init = {.type = WEFT_RC, .max_send = 8, .max_recv = 8};
	struct weft_pd *pd;
	struct weft_mr *mr;

	check((end->weft = weft_open(device)) != NULL, device);
	check((pd = weft_pd_alloc(end->weft)) != NULL, "pd");
	check((end->buffer = weft_mem_alloc(end->weft, SIZE)) != NULL, "memory");
	check((mr = weft_mr_reg(pd, end->buffer, SIZE, access)) != NULL, "registration");
	end->key = weft_mr_key(mr);
	check((end->cq = weft_cq_create(end->weft, 16, NULL, NULL)) != NULL, "cq");
	init.send_cq = init.recv_cq = end->cq;
	check((end->qp = weft_qp_create(pd, &init)) != NULL, "qp");
	check((end->gid_index = weft_gid_default(end->weft, end->path.gid)) >= 0, "address");
	end->path.qpn = weft_qp_num(end->qp);
}

static void
connect_to(struct end *end, struct weft_path peer)
{
	peer.gid_index = (uint8_t)end->gid_index;
	peer.retries = peer.rnr_retries = 7;
	errno = -weft_qp_connect(end->qp, &peer, WEFT_REMOTE_WRITE, 0);
	check(errno == 0, "connect");
}

static struct weft_completion
wait_for(struct end *end)
{
	struct weft_completion done;

	while (weft_poll(end->cq, &done, 1) == 0)
		;
	printf("%s, %u bytes\n", weft_status_str(done.status), done.bytes);
	check(done.status == WEFT_WC_SUCCESS, "completion");
	return done;
}

int
main(int argc, char **argv)
{
	struct end a = {0}, b = {0};
	struct weft_sge from;
	struct weft_send send = {
		.op = WEFT_WRITE_IMM, .flags = WEFT_SIGNALED, .imm = 42, .sge = &from, .nb_sge = 1};

	set_up(&a, argc > 1 ? argv[1] : "weft0");
	set_up(&b, argc > 2 ? argv[2] : "weft1");
	connect_to(&a, b.path);
	connect_to(&b, a.path);
	memset(a.buffer, 0x5a, SIZE);
	from = (struct weft_sge){(uintptr_t)a.buffer, SIZE, a.key};
	send.remote_addr = (uintptr_t)b.buffer;
	send.remote_key = b.key;
	check(weft_post_recv(b.qp, &(struct weft_recv){.wr_id = 1}, 1) == 1, "post");
	check(weft_post_send(a.qp, &send, 1) == 1, "post");
	wait_for(&a);
	check(wait_for(&b).imm == 42, "immediate");
	check(memcmp(a.buffer, b.buffer, SIZE) == 0, "what was written and what is there differ");
	weft_close(a.weft);
	weft_close(b.weft);
	return 0;
}
