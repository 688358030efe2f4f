/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_ABI_H
#define WEFT_ABI_H

/*
 * What an application and the daemon share: rings and doorbells in one memfd (the arena); the
 * control messages on a SOCK_SEQPACKET socket are in abi_ctl.h. The daemon trusts none of it: each
 * index, address and key is read once, checked, and used from the copy.
 *
 * Enumerations carry the values of <infiniband/verbs.h>, so that the shim translates nothing.
 */

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

/** Both ends must speak the same version; it changes with any change here or in abi_ctl.h. */
#define WEFT_ABI_VERSION 6

/* ---- limits: what query_device states, and what the daemon enforces ---- */
#define WEFT_MAX_QP 131072               /**< per client: one doorbell bit each */
#define WEFT_MAX_WR 16384                /**< work requests of one queue */
#define WEFT_MAX_SGE 16                  /**< scatter/gather entries of one work request */
#define WEFT_MAX_INLINE 256              /**< bytes */
#define WEFT_MAX_CQE (1u << 20)          /**< entries of one CQ */
#define WEFT_MAX_CQ 4096                 /**< per client */
#define WEFT_MAX_SRQ 1024                /**< per client */
#define WEFT_MAX_MR 65536                /**< per client; memory windows count too */
#define WEFT_MAX_PD 4096                 /**< per client */
#define WEFT_MAX_RD_ATOMIC 16            /**< outstanding READs and atomics of one QP, each way */
#define WEFT_MAX_MSG (UINT32_C(1) << 31) /**< bytes */
#define WEFT_REASON_LEN 320              /**< of the longest reason why a QP failed, with its NUL */
#define WEFT_NAME_LEN 32                 /**< device and engine names, zero padded */
#define WEFT_MAX_SEGS 64                 /**< memory segments of one registration */

/* ---- rings ---- */

/**
 * Indices of a ring: entries published and entries taken since creation, free running. The ring's
 * slots follow at the next multiple of 64 bytes. Their number is a power of two.
 */
struct shm_ring {
	_Alignas(64) _Atomic uint32_t tail; /**< producer's */
	_Alignas(64) _Atomic uint32_t head; /**< consumer's */
};

/**
 * Send or receive queue, or SRQ: producer is the application. The daemon gives a slot back when its
 * work request is complete, just before the completion shows; one of an SRQ when it has taken it
 * for a message. To verbs a request is outstanding until its completion is polled, so the
 * application reuses a slot only then (one of an SRQ as soon as it is given back), and when the
 * daemon dies it knows what to flush itself. A QP that is moved to RESET has its heads set to its
 * tails.
 */
struct shm_wq {
	struct shm_ring ring;
	/** Of a receive queue, set by the daemon: a post must ring the doorbell (to be flushed). */
	_Alignas(64) _Atomic uint32_t need_bell;
};

/** Completion queue: producer is the daemon. */
struct shm_cq {
	struct shm_ring ring;
	/** enum shm_arm, as the application asks; the daemon exchanges it for SHM_ARM_NONE. */
	_Alignas(64) _Atomic uint32_t armed;
	/** Set by the daemon once an entry found no room: the CQ is dead. */
	_Atomic uint32_t overrun;
};
enum shm_arm { SHM_ARM_NONE, SHM_ARM_SOLICITED, SHM_ARM_ANY };

/** Memory that a work request names. */
struct shm_sge {
	uint64_t addr;
	uint32_t length; /**< bytes */
	uint32_t lkey;
};

/** Values of enum ibv_wr_opcode. */
enum shm_wr_op {
	SHM_WR_WRITE,
	SHM_WR_WRITE_IMM,
	SHM_WR_SEND,
	SHM_WR_SEND_IMM,
	SHM_WR_READ,
	SHM_WR_CMP_SWAP,
	SHM_WR_FETCH_ADD,
	SHM_WR_LOCAL_INV,
	SHM_WR_BIND_MW,
	SHM_WR_SEND_INV,
	SHM_WR_NB,
};
/** Values of enum ibv_send_flags. */
enum shm_send_flag {
	SHM_SEND_FENCE = 1,
	SHM_SEND_SIGNALED = 2,
	SHM_SEND_SOLICITED = 4,
	SHM_SEND_INLINE = 8,
};

/** Where a UD message goes; what an address handle holds. */
struct shm_av {
	uint8_t dgid[16];
	uint32_t flow_label;
	uint8_t sgid_index;
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t zero;
};

/** A posted send: 64 bytes, then nb_sge entries or inline_len bytes. */
struct shm_send_wqe {
	uint64_t wr_id;
	uint8_t op;      /**< enum shm_wr_op */
	uint8_t flags;   /**< enum shm_send_flag */
	uint16_t nb_sge; /**< 0 with SHM_SEND_INLINE */
	uint32_t imm;    /**< immediate in host order, or the rkey to invalidate */
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t inline_len;
	union {
		struct {
			uint64_t compare_add;
			uint64_t swap;
		} atomic;
		struct {
			struct shm_av av;
			uint32_t qpn;
			uint32_t qkey;
		} ud;
		struct {
			uint64_t addr;
			uint64_t length; /**< 0: unbind */
			/** The window's key from now on: any low 8 bits. Also after an unbind. */
			uint32_t mw_rkey;
			uint32_t mr_lkey;
			uint32_t access;
			uint32_t zero;
		} bind;
	};
};
static_assert(sizeof(struct shm_send_wqe) == 64, "a cache line");

/** A posted receive: 16 bytes, then nb_sge entries. */
struct shm_recv_wqe {
	uint64_t wr_id;
	uint32_t nb_sge;
	uint32_t zero;
};
static_assert(sizeof(struct shm_recv_wqe) == 16 && sizeof(struct shm_sge) == 16, "slot layout");

/** Values of enum ibv_wc_status. */
enum shm_wc_status {
	SHM_WC_SUCCESS,
	SHM_WC_LOC_LEN_ERR,
	SHM_WC_LOC_QP_OP_ERR,
	SHM_WC_LOC_EEC_OP_ERR,
	SHM_WC_LOC_PROT_ERR,
	SHM_WC_WR_FLUSH_ERR,
	SHM_WC_MW_BIND_ERR,
	SHM_WC_BAD_RESP_ERR,
	SHM_WC_LOC_ACCESS_ERR,
	SHM_WC_REM_INV_REQ_ERR,
	SHM_WC_REM_ACCESS_ERR,
	SHM_WC_REM_OP_ERR,
	SHM_WC_RETRY_EXC_ERR,
	SHM_WC_RNR_RETRY_EXC_ERR,
	SHM_WC_GENERAL_ERR = 21,
};
/** Values of enum ibv_wc_opcode. */
enum shm_wc_op {
	SHM_WC_SEND,
	SHM_WC_WRITE,
	SHM_WC_READ,
	SHM_WC_CMP_SWAP,
	SHM_WC_FETCH_ADD,
	SHM_WC_BIND_MW,
	SHM_WC_LOCAL_INV,
	SHM_WC_RECV = 1 << 7,
	SHM_WC_RECV_WRITE_IMM,
};
/** Values of enum ibv_wc_flags. */
enum shm_wc_flag {
	SHM_WC_GRH = 1,
	SHM_WC_WITH_IMM = 2,
	SHM_WC_WITH_INV = 8,
};

/** A completion. */
struct shm_cqe {
	uint64_t wr_id;
	uint64_t ts_ns; /**< the daemon's clock when it was written */
	uint32_t byte_len;
	uint32_t imm; /**< immediate in host order, or the rkey that was invalidated */
	uint32_t qpn;
	uint32_t src_qpn;    /**< UD */
	uint32_t vendor_err; /**< enum qp_reason */
	uint16_t pkey_index;
	uint8_t status; /**< enum shm_wc_status */
	uint8_t op;     /**< enum shm_wc_op */
	uint8_t flags;  /**< enum shm_wc_flag */
	uint8_t sl;     /**< UD: 2 = IPv4, 1 = IPv6 in the low bits, as mlx5 says it */
	uint8_t zero[2];
	uint32_t wqe_idx; /**< of a send: its index in the queue, free running */
	uint64_t cookie;  /**< of the QP */
	uint64_t zero2;
};
static_assert(sizeof(struct shm_cqe) == 64, "a cache line");

/* ---- doorbells ---- */

/** QPs behind one word of the summary. */
#define SHM_BELL_QPS 4096
/**
 * One per client, at the arena's start. To ring for the QP of bit i: publish the ring's tail, OR
 * bit i % 64 into bits[i / 64], OR bit i / 64 % 64 into summary[i / 4096], then write the eventfd
 * if need_wake is set. The worker takes a word of summary and then its bits by exchange. Bits are
 * given out from 0 on, so that it need not look at all of summary.
 */
struct shm_bell {
	_Alignas(64) _Atomic uint64_t summary[WEFT_MAX_QP / SHM_BELL_QPS];
	_Alignas(64) _Atomic uint32_t need_wake; /**< set by the worker before it sleeps */
	_Alignas(64) _Atomic uint64_t bits[WEFT_MAX_QP / 64];
};

/** Where a ring lies in the arena. */
struct shm_ring_loc {
	uint64_t offset;   /**< of struct shm_wq or shm_cq, bytes */
	uint32_t nb_slots; /**< power of two; 0 = no ring */
	uint32_t stride;   /**< bytes of a slot */
};
/** Offset of slot 0 behind its header. */
#define SHM_WQ_SLOTS sizeof(struct shm_wq)
#define SHM_CQ_SLOTS sizeof(struct shm_cq)
static_assert(sizeof(struct shm_wq) == 192 && sizeof(struct shm_cq) == 192, "ring headers");

/* ---- QP attributes ---- */

/** Values of enum ibv_qp_type. */
enum shm_qp_type { SHM_QPT_RC = 2, SHM_QPT_UC = 3, SHM_QPT_UD = 4 };
/** Values of enum ibv_qp_state. */
enum shm_qp_state {
	SHM_QPS_RESET,
	SHM_QPS_INIT,
	SHM_QPS_RTR,
	SHM_QPS_RTS,
	SHM_QPS_SQD,
	SHM_QPS_SQE,
	SHM_QPS_ERR,
	SHM_QPS_NB,
};
/** Values of enum ibv_qp_attr_mask. */
enum shm_qp_mask {
	SHM_QP_STATE = 1 << 0,
	SHM_QP_CUR_STATE = 1 << 1,
	SHM_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	SHM_QP_ACCESS_FLAGS = 1 << 3,
	SHM_QP_PKEY_INDEX = 1 << 4,
	SHM_QP_PORT = 1 << 5,
	SHM_QP_QKEY = 1 << 6,
	SHM_QP_AV = 1 << 7,
	SHM_QP_PATH_MTU = 1 << 8,
	SHM_QP_TIMEOUT = 1 << 9,
	SHM_QP_RETRY_CNT = 1 << 10,
	SHM_QP_RNR_RETRY = 1 << 11,
	SHM_QP_RQ_PSN = 1 << 12,
	SHM_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	SHM_QP_ALT_PATH = 1 << 14,
	SHM_QP_MIN_RNR_TIMER = 1 << 15,
	SHM_QP_SQ_PSN = 1 << 16,
	SHM_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	SHM_QP_PATH_MIG_STATE = 1 << 18,
	SHM_QP_CAP = 1 << 19,
	SHM_QP_DEST_QPN = 1 << 20,
	SHM_QP_RATE_LIMIT = 1 << 25,
};
/** Values of enum ibv_access_flags; other bits are optional ones and ignored. */
enum shm_access {
	SHM_ACCESS_LOCAL_WRITE = 1,
	SHM_ACCESS_REMOTE_WRITE = 2,
	SHM_ACCESS_REMOTE_READ = 4,
	SHM_ACCESS_REMOTE_ATOMIC = 8,
	SHM_ACCESS_MW_BIND = 16,
	SHM_ACCESS_ZERO_BASED = 32,
};

/** Codes of a path MTU: 128 bytes << code. Values of enum ibv_mtu. */
enum shm_mtu {
	SHM_MTU_256 = 1,
	SHM_MTU_512,
	SHM_MTU_1024,
	SHM_MTU_2048,
	SHM_MTU_4096,
};
/** Values of enum ibv_port_state. */
enum shm_port_state {
	SHM_PORT_DOWN = 1,
	SHM_PORT_ACTIVE = 4,
};

/** What modify and query speak of; only what the mask names is read. */
struct shm_qp_attr {
	uint8_t state; /**< enum shm_qp_state */
	uint8_t cur_state;
	uint8_t path_mtu;      /**< enum shm_mtu */
	uint8_t port_num;      /**< 1 */
	uint8_t timeout;       /**< 4.096 us x 2^this, 0 = none; 0 to 31 */
	uint8_t retry_cnt;     /**< 0 to 7 */
	uint8_t rnr_retry;     /**< 0 to 7, 7 = for ever */
	uint8_t min_rnr_timer; /**< code, 0 to 31 */
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t en_sqd_notify;
	uint8_t sq_draining; /**< query only */
	uint16_t pkey_index;
	uint16_t zero;
	uint32_t access; /**< enum shm_access */
	uint32_t qkey;
	uint32_t dest_qpn;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint32_t rate_limit_kbps; /**< 0 = none */
	struct shm_av av;
};

/** Capacities of a QP. */
struct shm_qp_cap {
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline;
};

/* ---- events ---- */

/** Values of enum ibv_event_type. */
enum shm_event_type {
	SHM_EVENT_CQ_ERR = 0,
	SHM_EVENT_QP_FATAL = 1,
	SHM_EVENT_QP_REQ_ERR = 2,
	SHM_EVENT_QP_ACCESS_ERR = 3,
	SHM_EVENT_COMM_EST = 4,
	SHM_EVENT_SQ_DRAINED = 5,
	SHM_EVENT_PORT_ACTIVE = 9,
	SHM_EVENT_PORT_ERR = 10,
	SHM_EVENT_SRQ_ERR = 14,
	SHM_EVENT_SRQ_LIMIT_REACHED = 15,
	SHM_EVENT_QP_LAST_WQE_REACHED = 16,
	SHM_EVENT_GID_CHANGE = 18,
};

/** One message on the events socket. */
struct shm_event {
	uint32_t type; /**< enum shm_event_type */
	uint32_t zero;
	uint64_t cookie; /**< of the QP, CQ or SRQ; port number for port events */
};

#endif
