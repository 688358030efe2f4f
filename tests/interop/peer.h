/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_INTEROP_PEER_H
#define WEFT_INTEROP_PEER_H

/*
 * One end of the program 'peer': a device, memory, a QP, and a TCP connection to the same program
 * at the other end. It knows libibverbs only. What must hold and does not ends it, and with it the
 * other end.
 */

#include <stdbool.h>
#include <stdint.h>

#include "verbs.h"

enum {
	PEER_DEPTH = 64,
	/** The largest message of a check. */
	PEER_MESSAGE_BYTES = 1 << 20,
	/** Halves of the buffer: what is sent from, and what arrives. */
	PEER_HALF_BYTES = PEER_MESSAGE_BYTES + 4096,
	/** The bytes that come before a datagram. */
	PEER_GRH_BYTES = 40,
};

/** How a check wants its QPs. 0 = as usual. */
struct peer_link {
	enum ibv_qp_type type;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t timeout;  /**< the standard's code */
	bool strange_qpn; /**< the active end sends to a QP that does not exist */
	bool strange_psn; /**< the active end sends PSNs that are not expected */
};

/** What an end tells the other; both are the same program on the same kind of machine. */
struct peer_facts {
	uint32_t qpn, psn, rkey;
	uint64_t address; /**< of the buffer */
	union ibv_gid gid;
};

struct peer {
	int socket;
	bool is_client;
	bool is_active; /**< this end asks, in the check that is running */
	uint64_t seed;
	uint32_t rounds;
	uint32_t message_bytes; /**< of the largest message, at most PEER_MESSAGE_BYTES */

	struct ibv_context *context;
	int gid_index;
	enum ibv_mtu mtu;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	uint8_t *buffer;
	struct peer_facts mine, theirs;
};

struct peer_check {
	const char *name; /**< NULL ends a list */
	void (*run)(struct peer *peer);
	struct peer_link link;
	bool on_demand; /**< only if it is named */
};
extern const struct peer_check peer_transfers[];
extern const struct peer_check peer_mixes[];
extern const struct peer_check peer_refusals[];

/** Open a device (NULL = the only one) with buffer, CQ and PD. */
void peer_open(struct peer *peer, const char *device);
/** A fresh QP at both ends, in RTS. */
void peer_connect(struct peer *peer, const struct peer_link *link);
void peer_disconnect(struct peer *peer);
/** The state of this end's QP. */
enum ibv_qp_state peer_state(struct peer *peer);

/** Wait until both ends are here. */
void peer_meet(struct peer *peer);
/** Send bytes over TCP and receive as many. */
void peer_swap(struct peer *peer, const void *mine, void *theirs, size_t bytes);

/**
 * Post one send of bytes at an offset of the buffer; signalled. remote is an offset of theirs, and
 * a key that wr names is mixed with the right one. Returns what ibv_post_send does.
 */
int peer_try_send(struct peer *peer, struct ibv_send_wr wr, uint64_t remote, uint64_t offset,
                  uint32_t bytes);
/** The same, which must be taken. */
void peer_send(struct peer *peer, struct ibv_send_wr wr, uint64_t remote, uint64_t offset,
               uint32_t bytes);
void peer_recv(struct peer *peer, uint64_t wr_id, uint64_t offset, uint32_t bytes);
/** The next completion, after a minute at most. */
struct ibv_wc peer_poll(struct peer *peer);
/** The same, which must be good. */
struct ibv_wc peer_poll_good(struct peer *peer);

/** The bytes that a seed stands for. */
void peer_fill(uint8_t *at, uint32_t bytes, uint64_t seed);
/** All are those of the seed; the first that is not is told. */
bool peer_holds(const uint8_t *at, uint32_t bytes, uint64_t seed);

#endif
