/* SPDX-License-Identifier: BSD-3-Clause */
#include "peer.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "prng.h"

void
peer_open(struct peer *peer, const char *device)
{
	peer->context = verbs_open(device);
	must(peer->context);
	must(ibv_query_gid(peer->context, 1, peer->gid_index, &peer->mine.gid) == 0);
	peer->pd = ibv_alloc_pd(peer->context);
	must(peer->pd);
	peer->cq = ibv_create_cq(peer->context, 4 * PEER_DEPTH, NULL, NULL, 0);
	must(peer->cq);
	peer->buffer = aligned_alloc(4096, 2 * PEER_HALF_BYTES);
	must(peer->buffer);
	memset(peer->buffer, 0, 2 * PEER_HALF_BYTES);
	peer->mr = ibv_reg_mr(peer->pd, peer->buffer, 2 * PEER_HALF_BYTES,
	                      IBV_ACCESS_LOCAL_WRITE | VERBS_REMOTE_ALL);
	must(peer->mr);
	peer->mine.address = (uintptr_t)peer->buffer;
	peer->mine.rkey = peer->mr->rkey;
}

/* ---- the QP ---- */

static void
to_rts(struct peer *peer, const struct peer_link *link)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = VERBS_REMOTE_ALL,
		.qkey = 0x11111111,
		.path_mtu = peer->mtu,
		.dest_qp_num = peer->theirs.qpn,
		.rq_psn = peer->theirs.psn,
		.sq_psn = peer->mine.psn,
		.max_rd_atomic = 8,
		.max_dest_rd_atomic = 8,
		.min_rnr_timer = 20, /* 10 ms */
		/* 16 = 0.27 s: an emulated processor is slow. */
		.timeout = link->timeout ? link->timeout : 16,
		.retry_cnt = link->retry_cnt ? link->retry_cnt : 7,
		.rnr_retry = link->rnr_retry ? link->rnr_retry : 7,
		.ah_attr = {.is_global = 1,
	                    .port_num = 1,
	                    .grh = {.dgid = peer->theirs.gid,
	                            .sgid_index = (uint8_t)peer->gid_index,
	                            .hop_limit = 64}},
	};

	if (peer->is_active && link->strange_qpn)
		attr.dest_qp_num ^= 0x5a5a00;
	if (peer->is_active && link->strange_psn)
		attr.sq_psn = (attr.sq_psn + 1000) & 0xffffff;
	verbs_to_rts(peer->qp, attr);
	if (link->type == IBV_QPT_UD) {
		peer->ah = ibv_create_ah(peer->pd, &attr.ah_attr);
		must(peer->ah);
	}
}

void
peer_connect(struct peer *peer, const struct peer_link *link)
{
	struct ibv_qp_init_attr init = {
		.send_cq = peer->cq,
		.recv_cq = peer->cq,
		.cap = {PEER_DEPTH, PEER_DEPTH, 1, 1, 0},
		.qp_type = link->type,
	};

	peer->qp = ibv_create_qp(peer->pd, &init);
	must(peer->qp);
	peer->mine.qpn = peer->qp->qp_num;
	/* Near the wrap, so that many a check crosses it. */
	peer->mine.psn = 0xffffff - peer->mine.qpn % 64;
	peer_swap(peer, &peer->mine, &peer->theirs, sizeof(peer->mine));
	to_rts(peer, link);
	peer_meet(peer);
}

void
peer_disconnect(struct peer *peer)
{
	struct ibv_wc wc;

	if (peer->ah)
		must(ibv_destroy_ah(peer->ah) == 0);
	if (peer->qp)
		must(ibv_destroy_qp(peer->qp) == 0);
	peer->ah = NULL;
	peer->qp = NULL;
	while (ibv_poll_cq(peer->cq, 1, &wc) > 0)
		;
}

enum ibv_qp_state
peer_state(struct peer *peer)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	must(ibv_query_qp(peer->qp, &attr, IBV_QP_STATE, &init) == 0);
	return attr.qp_state;
}

/* ---- the other end ---- */

void
peer_swap(struct peer *peer, const void *mine, void *theirs, size_t bytes)
{
	if (send(peer->socket, mine, bytes, MSG_NOSIGNAL) != (ssize_t)bytes ||
	    recv(peer->socket, theirs, bytes, MSG_WAITALL) != (ssize_t)bytes) {
		fprintf(stderr, "the other end has ended\n");
		exit(1);
	}
}

void
peer_meet(struct peer *peer)
{
	char mine = 'm', theirs;

	peer_swap(peer, &mine, &theirs, 1);
}

/* ---- work ---- */

int
peer_try_send(struct peer *peer, struct ibv_send_wr wr, uint64_t remote, uint64_t offset,
              uint32_t bytes)
{
	struct ibv_sge sge = {(uintptr_t)peer->buffer + offset, bytes, peer->mr->lkey};
	struct ibv_send_wr *bad;

	wr.sg_list = &sge;
	wr.num_sge = bytes > 0;
	wr.send_flags |= IBV_SEND_SIGNALED;
	if (peer->ah) {
		wr.wr.ud.ah = peer->ah;
		wr.wr.ud.remote_qpn = peer->theirs.qpn;
		wr.wr.ud.remote_qkey = 0x11111111;
	} else if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	           wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = peer->theirs.address + remote;
		wr.wr.atomic.rkey ^= peer->theirs.rkey;
	} else {
		wr.wr.rdma.remote_addr = peer->theirs.address + remote;
		wr.wr.rdma.rkey ^= peer->theirs.rkey;
	}
	return ibv_post_send(peer->qp, &wr, &bad);
}

void
peer_send(struct peer *peer, struct ibv_send_wr wr, uint64_t remote, uint64_t offset,
          uint32_t bytes)
{
	must(peer_try_send(peer, wr, remote, offset, bytes) == 0);
}

void
peer_recv(struct peer *peer, uint64_t wr_id, uint64_t offset, uint32_t bytes)
{
	struct ibv_sge sge = {(uintptr_t)peer->buffer + offset, bytes, peer->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = bytes > 0}, *bad;

	must(ibv_post_recv(peer->qp, &wr, &bad) == 0);
}

struct ibv_wc
peer_poll(struct peer *peer)
{
	time_t limit = time(NULL) + 60;
	struct ibv_wc wc;
	int nb;

	while ((nb = ibv_poll_cq(peer->cq, 1, &wc)) == 0) {
		must(time(NULL) < limit);
		usleep(50);
	}
	must(nb == 1);
	return wc;
}

struct ibv_wc
peer_poll_good(struct peer *peer)
{
	return verbs_good(peer_poll(peer));
}

/* ---- patterns ---- */

static uint8_t
next_byte(struct prng *prng, uint64_t *word, uint32_t i)
{
	*word = i % 8 ? *word >> 8 : prng_next(prng);
	return (uint8_t)*word;
}

void
peer_fill(uint8_t *at, uint32_t bytes, uint64_t seed)
{
	struct prng prng;
	uint64_t word = 0;

	prng_seed(&prng, seed);
	for (uint32_t i = 0; i < bytes; i++)
		at[i] = next_byte(&prng, &word, i);
}

bool
peer_holds(const uint8_t *at, uint32_t bytes, uint64_t seed)
{
	struct prng prng;
	uint64_t word = 0;

	prng_seed(&prng, seed);
	for (uint32_t i = 0; i < bytes; i++) {
		uint8_t want = next_byte(&prng, &word, i);

		if (at[i] == want)
			continue;
		fprintf(stderr, "byte %u of %u is %#x, not %#x\n", i, bytes, at[i], want);
		return false;
	}
	return true;
}
