/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_ABI_CTL_H
#define WEFT_ABI_CTL_H

#include "abi.h"

/*
 * The control socket: a request, then its answer; fds by SCM_RIGHTS.
 *
 * A request and a granted answer have exactly the size of their struct; a refusal is the header
 * alone, or a ctl_refusal.
 */

enum ctl_op {
	CTL_LIST, /**< -> ctl_list */
	/**
	 * ctl_open [fd: own /proc/self/mem] -> ctl_opened, fds: arena, bell, events and, if the
	 * daemon could open it, /dev/userfaultfd (for applications that may not).
	 */
	CTL_OPEN,
	CTL_QUERY_PORT,   /**< -> ctl_port */
	CTL_QUERY_GID,    /**< ctl_gid.index -> ctl_gid */
	CTL_ALLOC_PD,     /**< -> ctl_handle */
	CTL_DEALLOC_PD,   /**< ctl_handle */
	CTL_NEW_BACKING,  /**< ctl_backing.length -> ctl_backing.handle, fd: sealed memfd to map */
	CTL_ADD_BACKING,  /**< fd: sealed tmpfs object -> ctl_backing */
	CTL_FREE_BACKING, /**< ctl_handle; refused with EBUSY while a registration uses it */
	CTL_REG_MR,       /**< ctl_mr -> ctl_mr.key */
	CTL_DEREG_MR,     /**< ctl_handle = key */
	CTL_ALLOC_MW,     /**< ctl_mw -> ctl_mw.key */
	CTL_DEALLOC_MW,   /**< ctl_handle = key; its low 8 bits may be old ones */
	CTL_NEW_CHANNEL,  /**< -> ctl_handle, fd: receives 8-byte cookies of CQs */
	CTL_FREE_CHANNEL, /**< ctl_handle */
	CTL_CREATE_CQ,    /**< ctl_cq -> ctl_cq */
	CTL_RESIZE_CQ,    /**< ctl_cq -> ctl_cq: a new ring, with the unread entries and armed */
	CTL_DESTROY_CQ,   /**< ctl_handle */
	CTL_CREATE_SRQ,   /**< ctl_srq -> ctl_srq */
	CTL_MODIFY_SRQ,   /**< ctl_srq: limit */
	CTL_QUERY_SRQ,    /**< ctl_srq.handle -> ctl_srq */
	CTL_DESTROY_SRQ,  /**< ctl_handle */
	CTL_CREATE_QP,    /**< ctl_qp -> ctl_qp */
	CTL_MODIFY_QP,    /**< ctl_qp_attr */
	CTL_QUERY_QP,     /**< ctl_qp_attr.qpn -> ctl_qp_attr */
	CTL_DESTROY_QP,   /**< ctl_handle = QPN */
	CTL_NB,
};

/**
 * The op of a header that nobody asked for, in place of all answers, then the end: the daemon
 * serves no more connections of this user (status EAGAIN), is short of memory, ends (ESHUTDOWN), or
 * an operator has drained the device (ECONNABORTED).
 */
#define CTL_REFUSAL 0xffffu

/** Begins every message. */
struct ctl_hdr {
	uint16_t op;    /**< enum ctl_op; an answer repeats the request's */
	uint16_t len;   /**< of the whole message, bytes */
	int32_t status; /**< answers: 0 or an errno, positive */
};

/** An answer that refuses, and tells why. */
struct ctl_refusal {
	struct ctl_hdr hdr;
	char why[248]; /**< of the device named before it: "is drained ...", "refused a QP: ..." */
};

struct ctl_handle {
	struct ctl_hdr hdr;
	uint32_t handle; /**< of PD, backing, channel, CQ, SRQ; QPN; key */
	uint32_t zero;
};

struct ctl_list {
	struct ctl_hdr hdr;
	uint32_t nb_devices;
	uint32_t version; /**< WEFT_ABI_VERSION of the daemon */
	struct {
		char name[WEFT_NAME_LEN];
		uint64_t guid; /**< host order */
	} device[32];
};

struct ctl_open {
	struct ctl_hdr hdr;
	uint32_t version; /**< WEFT_ABI_VERSION of the client */
	uint32_t zero;
	char device[WEFT_NAME_LEN];
};
struct ctl_opened {
	struct ctl_hdr hdr;
	uint64_t arena_bytes;
	uint64_t guid;
	uint8_t mac[6];
	uint16_t nb_gids; /**< length of the GID table */
	uint32_t pid;     /**< of the daemon */
	uint64_t max_mr_size;
	/* what this program may have, if its user has no others; MRs and windows together */
	uint32_t max_qp, max_mr, max_cq, max_srq, max_pd;
	uint32_t zero;
};

struct ctl_port {
	struct ctl_hdr hdr;
	uint8_t state;      /**< enum shm_port_state */
	uint8_t max_mtu;    /**< enum shm_mtu */
	uint8_t active_mtu; /**< enum shm_mtu */
	uint8_t zero;
	uint32_t speed_mbps;
	uint64_t nb_qkey_violations;
	uint64_t nb_pkey_violations;
};

struct ctl_gid {
	struct ctl_hdr hdr;
	uint32_t index;
	uint32_t valid; /**< 0 = empty entry */
	uint8_t gid[16];
	uint32_t ifindex; /**< interface of the kernel that has the address; 0 = none */
	uint32_t zero;
};

struct ctl_backing {
	struct ctl_hdr hdr;
	uint64_t length; /**< bytes, a multiple of the page size */
	uint32_t handle;
	uint32_t zero;
};

/** One run of a registration. Runs are in order of address and touch. */
struct ctl_seg {
	uint64_t va;
	uint64_t length;
	uint64_t offset;  /**< in the backing */
	uint32_t backing; /**< handle; 0 = reached through /proc/self/mem */
	uint32_t zero;
};
struct ctl_mr {
	struct ctl_hdr hdr;
	uint32_t pd;
	uint32_t access; /**< enum shm_access */
	uint64_t va;     /**< in the application */
	uint64_t length;
	uint64_t iova; /**< how keys' users call the byte at va */
	uint32_t key;  /**< answer: lkey and rkey */
	uint32_t nb_segs;
	struct ctl_seg seg[WEFT_MAX_SEGS];
};

struct ctl_mw {
	struct ctl_hdr hdr;
	uint32_t pd;
	uint32_t type; /**< 1 or 2 */
	uint32_t key;  /**< answer; a type 2 window takes the low 8 bits of each bind */
	uint32_t zero;
};

struct ctl_cq {
	struct ctl_hdr hdr;
	uint32_t handle;
	uint32_t nb_cqe;  /**< wanted; answer: what it holds */
	uint32_t channel; /**< handle, 0 = none */
	uint32_t zero;
	uint64_t cookie; /**< sent on the channel, and in events */
	struct shm_ring_loc ring;
};

struct ctl_srq {
	struct ctl_hdr hdr;
	uint32_t handle;
	uint32_t pd;
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t limit;
	uint32_t zero;
	uint64_t cookie; /**< sent in events */
	struct shm_ring_loc ring;
};

struct ctl_qp {
	struct ctl_hdr hdr;
	uint32_t type; /**< enum shm_qp_type */
	uint32_t pd;
	uint32_t send_cq;
	uint32_t recv_cq;
	uint32_t srq; /**< 0 = none */
	uint32_t sq_sig_all;
	struct shm_qp_cap cap; /**< answer: what was granted, never less */
	uint32_t qpn;          /**< answer */
	uint32_t bell;         /**< answer: doorbell bit */
	uint32_t zero;
	uint64_t cookie; /**< sent in events */
	struct shm_ring_loc sq, rq;
};

struct ctl_qp_attr {
	struct ctl_hdr hdr;
	uint32_t qpn;
	uint32_t mask; /**< enum shm_qp_mask */
	struct shm_qp_attr attr;
	char reason[WEFT_REASON_LEN]; /**< query: why the QP is in error, a sentence; "" else */
};

/** Any message fits. */
union ctl_msg {
	struct ctl_hdr hdr;
	struct ctl_refusal refusal;
	struct ctl_handle handle;
	struct ctl_list list;
	struct ctl_open open;
	struct ctl_opened opened;
	struct ctl_port port;
	struct ctl_gid gid;
	struct ctl_backing backing;
	struct ctl_mr mr;
	struct ctl_mw mw;
	struct ctl_cq cq;
	struct ctl_srq srq;
	struct ctl_qp qp;
	struct ctl_qp_attr qp_attr;
};

#endif
