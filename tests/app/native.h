/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TESTS_NATIVE_H
#define WEFT_TESTS_NATIVE_H

#include "must.h"
#include "weft.h"

/* What tests that are programs of weft.h do alike: one end of connections, with one buffer. */

struct native {
	struct weft *weft;
	struct weft_pd *pd;
	struct weft_mr *mr;
	struct weft_cq *cq;
	uint8_t *buf;
	uint8_t gid[16];
	uint8_t gid_index;
};

/** Memory that the peer may write and read, and a CQ. */
void native_open(struct native *n, const char *device, uint32_t bytes, uint32_t nb_cqe);
/** Its QPs are gone. */
void native_close(struct native *n);

/** An RC QP with so many requests of either kind. */
struct weft_qp *native_qp(const struct native *n, uint32_t depth);
/** From here to a QP there, with as many retries as there can be. */
struct weft_path native_path(const struct native *n, const struct native *peer, struct weft_qp *to);
void native_connect(struct weft_qp *qp, const struct weft_path *path);

/** Post a signalled request with one entry, at an offset of the buffer. */
void native_post(const struct native *n, struct weft_qp *qp, struct weft_send send, uint64_t offset,
                 uint32_t bytes);
/** The status of the next completion; a minute at most. */
enum weft_status native_wait(const struct native *n);

#endif
