/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "hostile.h"
#include "native.h"

/* A well-behaved program: WRITEs and READs between two devices, every byte compared. */

#define BYTES 65536u
#define CHUNK 16384u

static void
transfer(const struct native *n, struct weft_qp *qp, struct weft_send send, uint64_t offset)
{
	enum weft_status status;

	native_post(n, qp, send, offset, CHUNK);
	status = native_wait(n);
	if (status != WEFT_WC_SUCCESS)
		fprintf(stderr, "neighbour: %s\n", weft_status_str(status));
	must(status == WEFT_WC_SUCCESS);
}

/* There and back; the half of the buffer that nobody uses stays as it is. */
static void
round_trip(const struct native *a, const struct native *b, struct weft_qp *qp, uint64_t nb)
{
	struct weft_send send = {.remote_addr = (uintptr_t)b->buf,
	                         .remote_key = weft_mr_key(b->mr)};

	for (uint32_t i = 0; i < CHUNK; i++)
		a->buf[i] = (uint8_t)(nb * 13 + i * 7 + (i >> 8));
	send.op = WEFT_WRITE;
	transfer(a, qp, send, 0);
	must(memcmp(a->buf, b->buf, CHUNK) == 0);
	send.op = WEFT_READ;
	transfer(a, qp, send, CHUNK);
	must(memcmp(a->buf, a->buf + CHUNK, CHUNK) == 0);
	for (uint32_t i = BYTES / 2; i < BYTES; i++)
		must(a->buf[i] == 0 && b->buf[i] == 0);
}

void
neighbour_run(void)
{
	static const char *const devices[] = {"weft0", "weft1"};
	struct native ends[2];
	struct weft_qp *qps[2];

	for (int k = 0; k < 2; k++) {
		native_open(&ends[k], devices[k], BYTES, 16);
		qps[k] = native_qp(&ends[k], 8);
	}
	for (int k = 0; k < 2; k++) {
		const struct weft_path path = native_path(&ends[k], &ends[!k], qps[!k]);

		native_connect(qps[k], &path);
	}
	atomic_store(&board->addr, (uintptr_t)ends[0].buf + BYTES / 2);
	atomic_store(&board->key, weft_mr_key(ends[0].mr));
	for (uint64_t nb = 0; !atomic_load(&board->stop); nb++) {
		round_trip(&ends[0], &ends[1], qps[0], nb);
		atomic_fetch_add(&board->nb_bytes, 2 * CHUNK);
	}
	for (int k = 0; k < 2; k++) {
		must(weft_qp_destroy(qps[k]) == 0);
		native_close(&ends[k]);
	}
	exit(0);
}
