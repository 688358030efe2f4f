/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asks for what cannot be had, once, for messages.sh to look at what a user is told.
 *
 * misuse SITUATION DEVICE DEVICE    exit code 0 if it was refused as expected
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "weft.h"

#define BYTES 65536u
#define ALL (WEFT_LOCAL_WRITE | WEFT_REMOTE_WRITE | WEFT_REMOTE_READ)

#define must(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__,      \
			        #condition, errno);                                                \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

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

static const char *devices[2];

static void
open_end(struct end *end, int side)
{
	struct weft_qp_init init = {.type = WEFT_RC, .max_send = 8, .max_recv = 8};

	must((end->weft = weft_open(devices[side])));
	must((end->pd = weft_pd_alloc(end->weft)));
	must((end->buf = weft_mem_alloc(end->weft, BYTES)));
	must((end->mr = weft_mr_reg(end->pd, end->buf, BYTES, ALL)));
	must((end->cq = weft_cq_create(end->weft, 16, NULL, NULL)));
	init.send_cq = init.recv_cq = end->cq;
	must((end->qp = weft_qp_create(end->pd, &init)));
	end->gid_index = weft_gid_default(end->weft, end->path.gid);
	must(end->gid_index >= 0);
	end->path.qpn = weft_qp_num(end->qp);
}

static int
connect_to(struct end *end, struct weft_path peer, int gid_index)
{
	peer.gid_index = (uint8_t)gid_index;
	peer.timeout = 8;
	peer.retries = 3;
	return weft_qp_connect(end->qp, &peer, WEFT_REMOTE_WRITE | WEFT_REMOTE_READ, 0);
}

/* A request that fails with this status. */
static void
send_fails(struct end *end, struct weft_send send, enum weft_status status)
{
	struct weft_sge sge = {(uintptr_t)end->buf, 100, weft_mr_key(end->mr)};
	struct weft_completion done;

	send.flags = WEFT_SIGNALED;
	send.sge = &sge;
	send.nb_sge = 1;
	must(weft_post_send(end->qp, &send, 1) == 1);
	while (weft_poll(end->cq, &done, 1) == 0)
		;
	must(done.status == status);
}

static void
connected(struct end *a, struct end *b)
{
	open_end(a, 0);
	open_end(b, 1);
	must(connect_to(a, b->path, a->gid_index) == 0);
	must(connect_to(b, a->path, b->gid_index) == 0);
}

/* ---- situations ---- */

static void
device(void)
{
	must(!weft_open("nothing0") && errno == ENODEV);
}

static void
socket_refused(void)
{
	must(!weft_open(NULL) && errno == ENODEV);
}

static void
gid(void)
{
	struct end a = {0};
	uint8_t none[16];

	open_end(&a, 0);
	must(weft_gid(a.weft, 200, none) == -EINVAL);
}

static void
path(void)
{
	struct end a = {0};

	open_end(&a, 0);
	must(connect_to(&a, a.path, 200) == -EINVAL);
}

static void
unmapped(void)
{
	struct end a = {0};
	void *gap;

	open_end(&a, 0);
	gap = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(gap != MAP_FAILED && munmap(gap, BYTES) == 0);
	must(!weft_mr_reg(a.pd, gap, BYTES, WEFT_LOCAL_WRITE));
}

static void
rights(void)
{
	struct end a = {0};

	open_end(&a, 0);
	must(!weft_mr_reg(a.pd, a.buf, BYTES, WEFT_REMOTE_WRITE) && errno == EINVAL);
}

static void
unreachable(void)
{
	struct end a = {0};
	struct weft_path nobody;

	open_end(&a, 0);
	nobody = a.path;
	nobody.gid[15] = 99;
	must(connect_to(&a, nobody, a.gid_index) == 0);
	send_fails(&a, (struct weft_send){.op = WEFT_WRITE}, WEFT_WC_RETRY_EXCEEDED);
}

static void
silent(void)
{
	struct end a = {0}, b = {0};

	connected(&a, &b);
	must(weft_qp_destroy(b.qp) == 0);
	send_fails(&a, (struct weft_send){.op = WEFT_WRITE}, WEFT_WC_RETRY_EXCEEDED);
}

static void
no_receives(void)
{
	struct end a = {0}, b = {0};

	connected(&a, &b);
	send_fails(&a, (struct weft_send){.op = WEFT_SEND}, WEFT_WC_RNR_RETRY_EXCEEDED);
}

static void
wrong_key(void)
{
	struct end a = {0}, b = {0};
	struct weft_send send = {.op = WEFT_WRITE};

	connected(&a, &b);
	send.remote_addr = (uintptr_t)b.buf;
	send.remote_key = weft_mr_key(b.mr) ^ 0x100;
	send_fails(&a, send, WEFT_WC_REMOTE_ACCESS);
}

static const struct {
	const char *name;
	void (*run)(void);
} situations[] = {
	{"device", device},
	{"socket", socket_refused},
	{"gid", gid},
	{"path", path},
	{"unmapped", unmapped},
	{"rights", rights},
	{"unreachable", unreachable},
	{"silent", silent},
	{"no_receives", no_receives},
	{"wrong_key", wrong_key},
};

int
main(int argc, char **argv)
{
	must(argc == 4);
	devices[0] = argv[2];
	devices[1] = argv[3];
	for (size_t i = 0; i < sizeof(situations) / sizeof(situations[0]); i++) {
		if (strcmp(argv[1], situations[i].name) == 0) {
			situations[i].run();
			return 0;
		}
	}
	return 2;
}
