/* SPDX-License-Identifier: BSD-3-Clause */
/* Every operation by itself, in sizes around the edges of packets, with every byte looked at. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "peer.h"

enum { GUARD_BYTES = 64, GUARD = 0xee };

static bool
takes_recv(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM || op == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool
has_imm(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND_WITH_IMM || op == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool
is_guarded(const uint8_t *at, uint32_t bytes)
{
	for (uint32_t i = 0; i < GUARD_BYTES; i++) {
		if (at[-1 - (int)i] != GUARD || at[bytes + i] != GUARD)
			return false;
	}
	return true;
}

/** What the passive end sees of an operation that takes a receive. */
static void
check_recv(struct peer *peer, enum ibv_wr_opcode op, uint32_t bytes, uint64_t seed)
{
	struct ibv_wc wc = peer_poll_good(peer);

	must(wc.wr_id == seed);
	must(wc.qp_num == peer->qp->qp_num);
	must(wc.byte_len == bytes + (peer->ah ? PEER_GRH_BYTES : 0));
	must(wc.opcode ==
	     (op == IBV_WR_RDMA_WRITE_WITH_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV));
	must(!!(wc.wc_flags & IBV_WC_WITH_IMM) == has_imm(op));
	must(!has_imm(op) || ntohl(wc.imm_data) == (uint32_t)seed);
	if (peer->ah)
		must(wc.src_qp == peer->theirs.qpn && (wc.wc_flags & IBV_WC_GRH));
}

/** One operation, asked by the active end. */
static void
transfer(struct peer *peer, enum ibv_wr_opcode op, uint32_t bytes)
{
	static const enum ibv_wc_opcode done[] = {
		[IBV_WR_SEND] = IBV_WC_SEND,
		[IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
		[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
		[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
		[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
	};
	const uint64_t seed = ++peer->seed;
	/* Sources and targets begin anywhere. */
	const uint64_t from = seed * 13 % 64;
	const uint64_t to = PEER_HALF_BYTES + 2 * GUARD_BYTES + seed * 29 % 64;
	const bool comes = peer->is_active == (op == IBV_WR_RDMA_READ);
	const uint32_t before = peer->ah ? PEER_GRH_BYTES : 0;
	struct ibv_wc wc;

	if (comes)
		memset(peer->buffer + to - GUARD_BYTES, GUARD, bytes + 2 * GUARD_BYTES);
	else
		peer_fill(peer->buffer + from, bytes, seed);
	if (takes_recv(op) && !peer->is_active)
		peer_recv(peer, seed, to - before, bytes + before);
	peer_meet(peer);
	if (peer->is_active) {
		const struct ibv_send_wr wr = {
			.wr_id = seed, .opcode = op, .imm_data = htonl((uint32_t)seed)};

		if (op == IBV_WR_RDMA_READ)
			peer_send(peer, wr, from, to, bytes);
		else
			peer_send(peer, wr, to, from, bytes);
		wc = peer_poll_good(peer);
		must(wc.wr_id == seed && wc.opcode == done[op]);
		must(op != IBV_WR_RDMA_READ || wc.byte_len == bytes);
	} else if (takes_recv(op)) {
		check_recv(peer, op, bytes, seed);
	}
	peer_meet(peer);
	if (!comes)
		return;
	must(peer_holds(peer->buffer + to, bytes, seed));
	must(before || is_guarded(peer->buffer + to, bytes));
}

static void
transfers(struct peer *peer, enum ibv_wr_opcode op, uint32_t bytes_max)
{
	static const uint32_t sizes[] = {0,    1,    2,    3,     4,     5,     255,   256,
	                                 257,  1023, 1024, 1025,  2048,  4095,  4096,  4097,
	                                 8191, 8193, 9999, 12288, 65535, 65536, 65537, 1 << 20};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (sizes[i] <= bytes_max && sizes[i] <= peer->message_bytes)
			transfer(peer, op, sizes[i]);
	}
}

static void
run_send(struct peer *peer)
{
	transfers(peer, IBV_WR_SEND, PEER_MESSAGE_BYTES);
}

static void
run_send_imm(struct peer *peer)
{
	transfers(peer, IBV_WR_SEND_WITH_IMM, 65537);
}

static void
run_write(struct peer *peer)
{
	transfers(peer, IBV_WR_RDMA_WRITE, PEER_MESSAGE_BYTES);
}

static void
run_write_imm(struct peer *peer)
{
	transfers(peer, IBV_WR_RDMA_WRITE_WITH_IMM, 65537);
}

static void
run_read(struct peer *peer)
{
	transfers(peer, IBV_WR_RDMA_READ, PEER_MESSAGE_BYTES);
}

/* What is lost on UC and UD stays lost, so a message is short enough for every queue on its way. */
static void
run_uc(struct peer *peer)
{
	transfers(peer, IBV_WR_SEND, 12288);
	transfers(peer, IBV_WR_SEND_WITH_IMM, 12288);
	transfers(peer, IBV_WR_RDMA_WRITE_WITH_IMM, 12288);
}

static void
run_ud(struct peer *peer)
{
	transfers(peer, IBV_WR_SEND, 128u << peer->mtu);
	transfers(peer, IBV_WR_SEND_WITH_IMM, 128u << peer->mtu);
}

/** Both atomics on one word, each answer compared with what the word held. */
static void
run_atomic(struct peer *peer)
{
	enum { COUNT = 40, WORD = PEER_HALF_BYTES + 128 };
	uint64_t value = UINT64_C(0xfffffffffffffff0), got;

	memcpy(peer->buffer + WORD, &value, 8);
	peer_meet(peer);
	for (uint64_t i = 0; peer->is_active && i < COUNT; i++) {
		struct ibv_send_wr wr = {.wr_id = i, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD};
		struct ibv_wc wc;

		wr.wr.atomic.compare_add = i * UINT64_C(0x100000001);
		/* Every other swap compares with what is not there. */
		if (i % 2) {
			wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
			wr.wr.atomic.compare_add = value + (i % 4 == 3);
			wr.wr.atomic.swap = ~value;
		}
		peer_send(peer, wr, WORD, 0, 8);
		wc = peer_poll_good(peer);
		must(wc.wr_id == i && wc.byte_len == 8);
		must(wc.opcode == (i % 2 ? IBV_WC_COMP_SWAP : IBV_WC_FETCH_ADD));
		memcpy(&got, peer->buffer, 8);
		must(got == value);
		if (i % 2 == 0)
			value += wr.wr.atomic.compare_add;
		else if (i % 4 != 3)
			value = ~value;
	}
	peer_swap(peer, &value, &got, 8);
	if (peer->is_active)
		return;
	memcpy(&value, peer->buffer + WORD, 8);
	must(value == got);
}

const struct peer_check peer_transfers[] = {
	{"send", run_send, {.type = IBV_QPT_RC}},
	{"send_imm", run_send_imm, {.type = IBV_QPT_RC}},
	{"write", run_write, {.type = IBV_QPT_RC}},
	{"write_imm", run_write_imm, {.type = IBV_QPT_RC}},
	{"read", run_read, {.type = IBV_QPT_RC}},
	{"atomic", run_atomic, {.type = IBV_QPT_RC}},
	{"uc", run_uc, {.type = IBV_QPT_UC}},
	{"ud", run_ud, {.type = IBV_QPT_UD}},
	{NULL},
};
