/* SPDX-License-Identifier: BSD-3-Clause */
/* What one end does that the other refuses or does not answer: each ends as the standard says. */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"

enum { AT = PEER_HALF_BYTES + 64, STRANGE_KEY = 0x5a5a00 };

/** This end's QP fails, by itself, after a moment. */
static void
fails(struct peer *peer)
{
	for (int tries = 0; peer_state(peer) != IBV_QPS_ERR; tries++) {
		must(tries < 500);
		usleep(10000);
	}
}

/** The request that was posted ends so or so, and everything after it is flushed. */
static void
ends_either(struct peer *peer, enum ibv_wc_status status, enum ibv_wc_status other)
{
	struct ibv_wc wc = peer_poll(peer);

	if (wc.status != status && wc.status != other)
		fprintf(stderr, "%s, not %s\n", ibv_wc_status_str(wc.status),
		        ibv_wc_status_str(status));
	must((wc.status == status || wc.status == other) && wc.wr_id == 1);
	fails(peer);
	peer_send(peer, (struct ibv_send_wr){.wr_id = 2, .opcode = IBV_WR_SEND}, AT, 0, 8);
	wc = peer_poll(peer);
	must(wc.status == IBV_WC_WR_FLUSH_ERR && wc.wr_id == 2);
}

static void
ends(struct peer *peer, enum ibv_wc_status status)
{
	ends_either(peer, status, status);
}

/** The active end asks for what the passive one refuses; both QPs fail. */
static void
refused(struct peer *peer, struct ibv_send_wr wr, uint64_t remote, uint32_t bytes,
        enum ibv_wc_status status)
{
	wr.wr_id = 1;
	if (peer->is_active) {
		peer_send(peer, wr, remote, 0, bytes);
		ends(peer, status);
	} else {
		fails(peer);
	}
	peer_meet(peer);
}

static void
run_write_key(struct peer *peer)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE};

	wr.wr.rdma.rkey = STRANGE_KEY;
	refused(peer, wr, AT, 5000, IBV_WC_REM_ACCESS_ERR);
}

static void
run_read_key(struct peer *peer)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_READ};

	wr.wr.rdma.rkey = STRANGE_KEY;
	refused(peer, wr, AT, 5000, IBV_WC_REM_ACCESS_ERR);
}

static void
run_atomic_key(struct peer *peer)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD};

	wr.wr.atomic.rkey = STRANGE_KEY;
	refused(peer, wr, AT, 8, IBV_WC_REM_ACCESS_ERR);
}

static void
run_write_beyond(struct peer *peer)
{
	refused(peer, (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE}, 2 * PEER_HALF_BYTES - 100,
	        101, IBV_WC_REM_ACCESS_ERR);
}

/** A library may refuse to post it, as rxe's does; then there is nothing to see. */
static void
run_atomic_unaligned(struct peer *peer)
{
	struct ibv_send_wr wr = {.wr_id = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD};
	int err = 0, their_err;

	if (peer->is_active)
		err = peer_try_send(peer, wr, AT + 4, 0, 8);
	peer_swap(peer, &err, &their_err, sizeof(err));
	if (err || their_err) {
		must(err + their_err == EINVAL);
		return;
	}
	if (peer->is_active)
		ends(peer, IBV_WC_REM_INV_REQ_ERR);
	else
		fails(peer);
	peer_meet(peer);
}

/** The standard has 'invalid request' for it; rxe says 'remote operational error'. */
static void
run_send_too_long(struct peer *peer)
{
	if (!peer->is_active)
		peer_recv(peer, 7, AT, 2000);
	peer_meet(peer);
	if (peer->is_active) {
		peer_send(peer, (struct ibv_send_wr){.wr_id = 1, .opcode = IBV_WR_SEND}, 0, 0,
		          2001);
		ends_either(peer, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_OP_ERR);
	} else {
		must(peer_poll(peer).status != IBV_WC_SUCCESS);
		fails(peer);
	}
	peer_meet(peer);
}

/** Receives come late: the active end waits for them, as often as it takes. */
static void
run_rnr(struct peer *peer)
{
	enum { COUNT = 8 };

	for (uint64_t i = 0; peer->is_active && i < COUNT; i++)
		peer_send(peer, (struct ibv_send_wr){.wr_id = i, .opcode = IBV_WR_SEND}, 0, 0,
		          100 + (uint32_t)i);
	for (uint64_t i = 0; !peer->is_active && i < COUNT; i++) {
		usleep(i % 4 ? 0 : 200000);
		peer_recv(peer, i, AT, 200);
	}
	for (uint64_t i = 0; i < COUNT; i++) {
		struct ibv_wc wc = peer_poll_good(peer);

		must(wc.wr_id == i && (peer->is_active || wc.byte_len == 100 + i));
	}
	peer_meet(peer);
}

/** They never come, and the active end's patience ends; the passive one has nothing to complain of.
 */
static void
run_rnr_exceeded(struct peer *peer)
{
	if (peer->is_active) {
		peer_send(peer, (struct ibv_send_wr){.wr_id = 1, .opcode = IBV_WR_SEND}, 0, 0, 100);
		ends(peer, IBV_WC_RNR_RETRY_EXC_ERR);
	}
	peer_meet(peer);
	must(peer->is_active || peer_state(peer) == IBV_QPS_RTS);
}

/** Nobody answers. */
static void
run_silence(struct peer *peer)
{
	if (peer->is_active) {
		peer_send(peer, (struct ibv_send_wr){.wr_id = 1, .opcode = IBV_WR_RDMA_WRITE}, AT,
		          0, 5000);
		ends(peer, IBV_WC_RETRY_EXC_ERR);
	}
	peer_meet(peer);
	must(peer->is_active || !peer->qp || peer_state(peer) == IBV_QPS_RTS);
}

static void
run_gone(struct peer *peer)
{
	if (!peer->is_active)
		peer_disconnect(peer);
	peer_meet(peer);
	run_silence(peer);
}

/** The passive end, or its stack, is killed from outside while the active one goes on and on. */
static void
run_outlive(struct peer *peer)
{
	time_t limit = time(NULL) + 60;
	struct ibv_wc wc;
	char byte;

	if (!peer->is_active) {
		printf("waiting\n");
		fflush(stdout);
		(void)read(peer->socket, &byte, 1);
		return;
	}
	do {
		peer_send(peer, (struct ibv_send_wr){.wr_id = 1, .opcode = IBV_WR_RDMA_WRITE}, AT,
		          0, 100);
		wc = peer_poll(peer);
		usleep(20000);
	} while (wc.status == IBV_WC_SUCCESS && time(NULL) < limit);
	must(wc.status == IBV_WC_RETRY_EXC_ERR);
	fails(peer);
}

/* 67 ms, three times: no answer would come later. */
#define SILENT .type = IBV_QPT_RC, .retry_cnt = 2, .timeout = 14

const struct peer_check peer_refusals[] = {
	{"write_key", run_write_key, {.type = IBV_QPT_RC}},
	{"read_key", run_read_key, {.type = IBV_QPT_RC}},
	{"atomic_key", run_atomic_key, {.type = IBV_QPT_RC}},
	{"write_beyond", run_write_beyond, {.type = IBV_QPT_RC}},
	{"atomic_unaligned", run_atomic_unaligned, {.type = IBV_QPT_RC}},
	{"send_too_long", run_send_too_long, {.type = IBV_QPT_RC}},
	{"rnr", run_rnr, {.type = IBV_QPT_RC}},
	{"rnr_exceeded", run_rnr_exceeded, {.type = IBV_QPT_RC, .rnr_retry = 2}},
	{"strange_qpn", run_silence, {SILENT, .strange_qpn = true}},
	{"strange_psn", run_silence, {SILENT, .strange_psn = true}},
	{"gone", run_gone, {SILENT}},
	{"outlive", run_outlive, {.type = IBV_QPT_RC, .retry_cnt = 2}, .on_demand = true},
	{NULL},
};
