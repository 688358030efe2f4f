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

#include "native.h"

#define BYTES 65536u

/* An end with one QP. */
struct end {
	struct native n;
	struct weft_qp *qp;
};

static const char *devices[2];

static void
open_end(struct end *end, int side)
{
	native_open(&end->n, devices[side], BYTES, 16);
	end->qp = native_qp(&end->n, 8);
}

/* Whoever waits in vain does not wait long. */
static struct weft_path
short_path(const struct end *from, const struct end *to)
{
	struct weft_path path = native_path(&from->n, &to->n, to->qp);

	path.timeout = 8;
	path.retries = 3;
	path.rnr_retries = 0;
	return path;
}

static void
connect_to(const struct end *from, const struct end *to)
{
	const struct weft_path path = short_path(from, to);

	native_connect(from->qp, &path);
}

static void
connected(struct end *a, struct end *b)
{
	open_end(a, 0);
	open_end(b, 1);
	connect_to(a, b);
	connect_to(b, a);
}

/* A request that fails with this status. */
static void
send_fails(const struct end *end, struct weft_send send, enum weft_status status)
{
	native_post(&end->n, end->qp, send, 0, 100);
	must(native_wait(&end->n) == status);
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
	must(weft_gid(a.n.weft, 200, none) == -EINVAL);
}

static void
path(void)
{
	struct end a = {0};
	struct weft_path own;

	open_end(&a, 0);
	own = short_path(&a, &a);
	own.gid_index = 200;
	must(weft_qp_connect(a.qp, &own, 0, 0) == -EINVAL);
}

static void
unmapped(void)
{
	struct end a = {0};
	void *gap;

	open_end(&a, 0);
	gap = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(gap != MAP_FAILED && munmap(gap, BYTES) == 0);
	must(!weft_mr_reg(a.n.pd, gap, BYTES, WEFT_LOCAL_WRITE));
}

static void
rights(void)
{
	struct end a = {0};

	open_end(&a, 0);
	must(!weft_mr_reg(a.n.pd, a.n.buf, BYTES, WEFT_REMOTE_WRITE) && errno == EINVAL);
}

static void
unreachable(void)
{
	struct end a = {0};
	struct weft_path nobody;

	open_end(&a, 0);
	nobody = short_path(&a, &a);
	nobody.gid[15] = 99;
	native_connect(a.qp, &nobody);
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
	send.remote_addr = (uintptr_t)b.n.buf;
	send.remote_key = weft_mr_key(b.n.mr) ^ 0x100;
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
