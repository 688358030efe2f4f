/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LOCAL_H
#define WEFT_LOCAL_H

#include <stdbool.h>
#include <stdint.h>

#include "cq.h"
#include "mem.h"
#include "mr.h"
#include "qp.h"

/**
 * @file
 * An application in the process and on the thread of its NIC: the rings of the ABI in plain memory,
 * used as the client library uses those that it shares with the daemon. For programs that carry
 * their own stack. Nothing here blocks.
 */

/** A completion queue. */
struct local_cq {
	struct cq *cq;
	struct shm_cq *ring;
	uint32_t nb_slots, head;
};

/** @param channel  0 = none. @return 0 or -ENOMEM; then too it is to be closed. */
int local_cq_open(struct local_cq *cq, uint32_t depth, uint32_t channel, uint64_t cookie);
/** No QP has it any more; all zero does nothing. */
void local_cq_close(struct local_cq *cq);
/** Take one completion; false if there is none. */
bool local_poll(struct local_cq *cq, struct shm_cqe *cqe);

/** Have nic_driver's notify called when the next completion comes; the queue has a channel. */
void local_arm(struct local_cq *cq);

/** A send or receive queue. */
struct local_wq {
	struct shm_wq *ring;
	uint32_t nb_slots, stride, tail;
};

/** @param stride  of sq_stride or rq_stride. @return 0 or -ENOMEM. */
int local_wq_open(struct local_wq *wq, uint32_t depth, uint32_t stride);
/** Nobody works on it any more; all zero does nothing. */
void local_wq_close(struct local_wq *wq);
/**
 * Write a request into the queue, its entries or inline bytes behind it. The caller keeps count:
 * there is a free slot. Nobody sees it before local_wq_publish.
 */
void local_wq_put(struct local_wq *wq, const void *wqe, size_t len, const void *rest,
                  size_t rest_len);
void local_wq_publish(struct local_wq *wq);

/** A QP whose requests have one entry, with queues of its own. */
struct local_qp {
	struct qp *qp;
	struct local_cq cq; /**< of both queues */
	struct local_wq sq, rq;
};

struct local_qp_conf {
	uint8_t type;        /**< enum shm_qp_type */
	uint32_t depth;      /**< work requests of each queue, 1 to WEFT_MAX_WR */
	uint32_t recv_depth; /**< of the receive queue, if not 0 */
	uint32_t pd; /**< protection domain: any number, the same as that of the registrations */
	uint32_t channel; /**< of completions, see local_arm; 0 = none */
	uint64_t cookie;  /**< comes back in completions and events */
};

/** Bytes that the queues of a QP take. @param depth  as in local_qp_conf. */
uint64_t local_qp_bytes(uint32_t depth);
/** Make it, in RESET. @return 0 or -ENOMEM. */
int local_qp_open(struct local_qp *a, struct nic *nic, const struct local_qp_conf *conf);
/** Destroy it; all zero, as after a failed open, does nothing. */
void local_qp_close(struct local_qp *a);

/** One transition of any QP, with all that it requires taken from attr. @return as qp_modify. */
int local_qp_to(struct qp *qp, const struct shm_qp_attr *attr, uint8_t state, uint64_t now_ns);

/** The other end, and what a connection needs to know of it. */
struct local_peer {
	struct ip_addr gid;
	uint32_t qpn;
	uint32_t psn;          /**< its first PSN, 24 bits */
	uint32_t own_psn;      /**< ours */
	uint8_t sgid_index;    /**< of the own address */
	uint8_t path_mtu;      /**< enum shm_mtu */
	uint8_t timeout;       /**< code: 4.096 us x 2^this */
	uint8_t nb_rd_atomic;  /**< READs and atomics outstanding, each way */
	uint8_t retry_cnt;     /**< 0 to 7 */
	uint8_t rnr_retry;     /**< 0 to 7; 7 = for ever */
	uint8_t min_rnr_timer; /**< code; 12 = 0.64 ms, as perftest and the pingpongs have it */
};

/** RESET to RTS, for RC. @return 0 or what qp_modify says. */
int local_qp_connect(struct local_qp *a, const struct local_peer *peer, uint64_t now_ns);

/** Write a send request with one entry into the queue, as local_wq_put. */
void local_put_send(struct local_qp *a, const struct shm_send_wqe *wqe, const struct shm_sge *sge);
/** The same for a receive. */
void local_put_recv(struct local_qp *a, uint64_t wr_id, const struct shm_sge *sge);
/** Let the NIC see what was put since the last time. */
void local_ring(struct local_qp *a, uint64_t now_ns);

/** A registration of plain memory. */
struct local_mr {
	struct mr *mr;
	struct mem mem;
	struct mem_seg seg;
};

/** Register [buf, buf + len), which stays the caller's. @return 0 or a negative errno. */
int local_mr_open(struct local_mr *m, struct nic *nic, uint32_t pd, void *buf, uint64_t len,
                  uint32_t access);
/** Every QP that uses it is gone; all zero does nothing. */
void local_mr_close(struct local_mr *m, struct nic *nic);

#endif
