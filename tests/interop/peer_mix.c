/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both ends ask at once, with many requests of all kinds under way. Each end knows from the seed
 * what the other does, and looks at every byte and at the order of completions.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "peer.h"
#include "prng.h"

enum {
	BATCH = 24,
	SLOT_BYTES = 8192,
	/* In the half of what arrives: SENDs and WRITEs, READs, answers of atomics, the counter. */
	ARRIVALS = PEER_HALF_BYTES,
	READS = ARRIVALS + BATCH * SLOT_BYTES,
	ANSWERS = READS + BATCH * SLOT_BYTES,
	COUNTER = ANSWERS + BATCH * 8,
};
static_assert(COUNTER + 8 <= 2 * PEER_HALF_BYTES, "fits");

struct request {
	enum ibv_wr_opcode op;
	uint32_t bytes;
	uint64_t seed; /**< of what the asking end's slot holds */
};

static struct request
request_of(const struct peer *peer, uint32_t round, uint32_t i, bool of_client)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND,      IBV_WR_SEND_WITH_IMM,        IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_RDMA_WRITE_WITH_IMM,
	};
	struct request r;
	struct prng prng;

	prng_seed(&prng, peer->seed * 1000003 + (round * 2 + of_client) * BATCH + i);
	r.op = ops[prng_below(&prng, 6)];
	/* Every other one is short. */
	r.bytes = prng_below(&prng, prng_below(&prng, 2) ? 64 : SLOT_BYTES + 1);
	if (r.op == IBV_WR_ATOMIC_FETCH_AND_ADD)
		r.bytes = 8;
	r.seed = prng_next(&prng);
	return r;
}

static bool
takes_recv(const struct request *r)
{
	return r->op == IBV_WR_SEND || r->op == IBV_WR_SEND_WITH_IMM ||
	       r->op == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static void
prepare(struct peer *peer, const struct request *mine, const struct request *theirs)
{
	memset(peer->buffer + ARRIVALS, 0, ANSWERS - ARRIVALS);
	for (uint32_t i = 0; i < BATCH; i++) {
		peer_fill(peer->buffer + i * SLOT_BYTES, SLOT_BYTES, mine[i].seed);
		if (takes_recv(&theirs[i]))
			peer_recv(peer, i, ARRIVALS + i * SLOT_BYTES, SLOT_BYTES);
	}
}

static void
ask(struct peer *peer, const struct request *r, uint32_t i)
{
	struct ibv_send_wr wr = {.wr_id = i, .opcode = r->op, .imm_data = htonl((uint32_t)r->seed)};
	const uint64_t slot = i * SLOT_BYTES;

	switch (r->op) {
	case IBV_WR_RDMA_READ:
		peer_send(peer, wr, slot, READS + slot, r->bytes);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wr.wr.atomic.compare_add = r->seed;
		peer_send(peer, wr, COUNTER, ANSWERS + i * 8, 8);
		break;
	default:
		peer_send(peer, wr, ARRIVALS + slot, slot, r->bytes);
	}
}

/** All completions of a round: of each queue in its order. */
static void
complete(struct peer *peer, const struct request *theirs)
{
	uint32_t nb_sent = 0, next_recv = 0;

	for (;;) {
		while (next_recv < BATCH && !takes_recv(&theirs[next_recv]))
			next_recv++;
		if (nb_sent == BATCH && next_recv == BATCH)
			return;
		struct ibv_wc wc = peer_poll_good(peer);

		if (!(wc.opcode & IBV_WC_RECV)) {
			must(wc.wr_id == nb_sent);
			nb_sent++;
			continue;
		}
		const struct request *r = &theirs[next_recv];

		must(wc.wr_id == next_recv && wc.byte_len == r->bytes);
		must(r->op == IBV_WR_SEND || ntohl(wc.imm_data) == (uint32_t)r->seed);
		next_recv++;
	}
}

static void
look(struct peer *peer, const struct request *mine, const struct request *theirs,
     uint64_t *their_counter)
{
	uint64_t got;

	for (uint32_t i = 0; i < BATCH; i++) {
		const uint8_t *arrival = peer->buffer + ARRIVALS + i * SLOT_BYTES;
		const uint8_t *read = peer->buffer + READS + i * SLOT_BYTES;

		switch (mine[i].op) {
		case IBV_WR_RDMA_READ:
			must(peer_holds(read, mine[i].bytes, theirs[i].seed));
			break;
		case IBV_WR_ATOMIC_FETCH_AND_ADD:
			memcpy(&got, peer->buffer + ANSWERS + i * 8, 8);
			must(got == *their_counter);
			*their_counter += mine[i].seed;
			break;
		default:
			break;
		}
		if (theirs[i].op != IBV_WR_RDMA_READ && theirs[i].op != IBV_WR_ATOMIC_FETCH_AND_ADD)
			must(peer_holds(arrival, theirs[i].bytes, theirs[i].seed));
	}
}

static void
run_mix(struct peer *peer)
{
	struct request mine[BATCH], theirs[BATCH];
	uint64_t their_counter = 0, my_counter;

	peer->seed++;
	memset(peer->buffer + COUNTER, 0, 8);
	for (uint32_t round = 0; round < peer->rounds; round++) {
		for (uint32_t i = 0; i < BATCH; i++) {
			mine[i] = request_of(peer, round, i, peer->is_client);
			theirs[i] = request_of(peer, round, i, !peer->is_client);
		}
		prepare(peer, mine, theirs);
		peer_meet(peer);
		for (uint32_t i = 0; i < BATCH; i++)
			ask(peer, &mine[i], i);
		complete(peer, theirs);
		peer_meet(peer);
		look(peer, mine, theirs, &their_counter);
	}
	peer_swap(peer, &their_counter, &my_counter, 8);
	must(memcmp(peer->buffer + COUNTER, &my_counter, 8) == 0);
}

const struct peer_check peer_mixes[] = {
	{"mix", run_mix, {.type = IBV_QPT_RC}},
	{NULL},
};
