/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_QP_H
#define WEFT_QP_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "cq.h"
#include "mr.h"
#include "nic.h"
#include "weft_state.h"
#include "wqe.h"

/** A READ of more packets than this is several messages. Source: half the PSN circle, halved. */
#define MSG_PSNS_MAX (UINT64_C(1) << 22)
/** Responses that may wait in one QP: each READ and atomic in flight, twice, and ACKs between. */
#define RESP_FIFO_LEN 64

/** Why a QP failed: what users see as vendor_err and, as a sentence, from query. */
enum qp_reason {
	QP_REASON_NONE,
	QP_REASON_USER,          /**< modified to ERR */
	QP_REASON_RETRY,         /**< no answer within retry_cnt + 1 timeouts */
	QP_REASON_NO_NEIGH,      /**< the same, and the next hop's MAC was never learned */
	QP_REASON_RNR_RETRY,     /**< more RNR NAKs than rnr_retry allows */
	QP_REASON_NAK_INVALID,   /**< the peer: invalid request */
	QP_REASON_NAK_ACCESS,    /**< the peer: remote access error */
	QP_REASON_NAK_OPERATION, /**< the peer: remote operational error */
	QP_REASON_BAD_RESPONSE,  /**< the peer's READ or atomic response does not fit the request */
	QP_REASON_LOCAL_WQE,     /**< malformed work request */
	QP_REASON_LOCAL_LENGTH,  /**< message longer than the QP or the receive buffer allows */
	QP_REASON_LOCAL_PROT,    /**< lkey, bounds or access of a local buffer */
	QP_REASON_LOCAL_MEMORY,  /**< registered memory is gone from the application */
	QP_REASON_BIND,          /**< memory window bind or invalidation refused */
	QP_REASON_REQ_SEQUENCE,  /**< as responder: opcode out of order */
	QP_REASON_REQ_LENGTH,    /**< as responder: packet or message length wrong */
	QP_REASON_REQ_ACCESS,    /**< as responder: rkey, bounds or rights */
	QP_REASON_REQ_ATOMIC,    /**< as responder: too many READs and atomics, or misaligned */
	QP_REASON_CQ_OVERRUN,
	QP_REASON_ADDRESS, /**< its own address left the interface */
	QP_REASON_LINK,    /**< as RETRY, and the NIC's own link is down */
	/* the two ends do not agree: open.h */
	QP_REASON_NO_WEFT,       /**< the peer does not speak weft, and the conf asks for it */
	QP_REASON_OPEN_PLAIN,    /**< the peer's QP is plain RoCEv2, and the conf asks for weft */
	QP_REASON_OPEN_ENGINES,  /**< other reliability engines */
	QP_REASON_OPEN_PMTU,     /**< other path MTUs */
	QP_REASON_OPEN_LINK_MTU, /**< the longest packet does not fit the link of one of them */
	QP_REASON_OPEN_TERMS,    /**< an option that one of them has not */
	QP_REASON_NEVER_READY,   /**< the peer's QP did not get ready in time */
	QP_REASON_RESTARTED,     /**< the peer's NIC was started anew */
	QP_REASON_NB,
};

/** A work queue as the daemon sees it. */
struct wq {
	struct shm_wq *ring; /**< shared: nothing read from it is trusted; NULL = none */
	uint32_t nb_slots;   /**< power of two */
	uint32_t stride;     /**< bytes */
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t head; /**< slots given back to the application */
};

/** A receive WQE in private memory. */
struct recv_wr {
	struct recv_wr *next; /**< in srq.returned */
	uint64_t wr_id;
	uint64_t length; /**< sum of the entries, bytes */
	uint32_t nb_sge;
	bool is_bad;          /**< named more entries than the queue allows; taken without any */
	uint8_t status;       /**< enum shm_wc_status, once the QP has failed; 0 = flushed */
	struct shm_sge sge[]; /**< wq.max_sge entries */
};

/** A shared receive queue. */
struct srq {
	struct nic *nic;
	struct wq wq;
	uint32_t pd;
	uint32_t limit; /**< armed: fewer WQEs than this raise an event, once; 0 = not armed */
	uint32_t nb_refs;
	struct recv_wr *returned; /**< taken for QPs that failed before they used them; go first */
	uint8_t recv_slab;        /**< of those */
	uint64_t cookie;
	void *owner;
};

/** A send WQE in private memory, from when it is opened until its slot is given back. */
struct send_wr {
	struct shm_send_wqe wqe; /**< the copy that was checked */
	uint64_t first_psn;      /**< unwrapped; of the first message */
	uint64_t end_psn;        /**< behind the last message opened so far */
	uint64_t length;         /**< bytes */
	uint64_t opened;         /**< bytes for which messages were opened */
	/* weft */
	uint64_t ssn; /**< unwrapped, if it uses a receive and is whole */
	uint64_t msn; /**< of its last message, unwrapped */
	/** In the slot; the application may scribble on it, at its own cost. */
	const uint8_t *inline_data;
	uint8_t status; /**< enum shm_wc_status, of a request that was executed or refused here */
	uint8_t why;    /**< enum qp_reason behind status; QP_REASON_NONE = what status says */
	bool whole;     /**< all its messages are opened */
	struct shm_sge sge[]; /**< wq.max_sge entries */
};

/** What the host keeps beside each rel_msg of the own stream. */
struct tx_msg {
	uint32_t wr_idx; /**< index of the SQ slot, free running */
	uint64_t offset; /**< of the message in the work request, bytes */
	uint64_t length; /**< bytes */
};

/** What waits to be answered, in the order in which it leaves. */
enum resp_kind { RESP_ACK, RESP_READ, RESP_ATOMIC };
struct resp {
	uint64_t psn; /**< unwrapped; READ: of the next packet */
	union {
		uint64_t va;      /**< READ: of the next byte */
		uint64_t orig;    /**< ATOMIC: original value */
		uint64_t came_ns; /**< weft ACK: when the packet came that it answers */
	};
	union {
		uint32_t rkey;
		uint32_t ts_ns; /**< weft ACK: timestamp of that packet */
	};
	union {
		uint32_t left;  /**< READ: bytes still to send */
		uint32_t sport; /**< weft ACK: UDP source port of that packet; 0 = the QP's own */
	};
	uint32_t msn;     /**< 24 bits */
	uint8_t kind;     /**< enum resp_kind */
	uint8_t syndrome; /**< of the AETH */
	bool started;     /**< READ: a first packet has left */
	bool replay;      /**< for a duplicate request */
};
static_assert(sizeof(struct resp) == 32, "two in a cache line");

/** A READ or atomic that was executed, kept for duplicates. */
struct rd_res {
	uint64_t first_psn; /**< unwrapped */
	union {
		uint64_t va;   /**< READ */
		uint64_t orig; /**< atomic: original value */
	};
	uint32_t nb_psns; /**< 0 = an entry not used yet */
	uint32_t rkey;
	uint32_t length;
	uint32_t msn : 24;
	uint32_t atomic : 1;
};
static_assert(sizeof(struct rd_res) == 32, "two in a cache line");

/** What a QP that may be weft knows of its peer. */
struct qp_open {
	struct list link;  /**< in peer.asking, or in peer.open */
	struct peer *peer; /**< held; NULL = a QP of the same NIC, or never needed */
	uint64_t due_ns;   /**< its next OPEN; NEVER_NS = none */
};

/**
 * A QP. What is used together lies together (qp_prefetch): what every packet touches, the
 * responder, the requester, the path, and what only control and failures need. The states of the
 * engines follow behind it in the same block of memory. What only a QP with work has is leased
 * (lease.h).
 */
struct qp {
	struct nic *nic;
	uint32_t qpn;
	uint8_t type;  /**< enum shm_qp_type */
	uint8_t state; /**< enum shm_qp_state */
	bool sq_sig_all;
	bool comm_est;       /**< the event was raised */
	bool drained_told;   /**< SQD: the event was raised */
	uint8_t framing;     /**< enum qp_framing */
	uint8_t open_asked;  /**< OPENs sent */
	bool open_answered;  /**< terms are those that the peer's OPEN was answered with */
	bool resp_turn;      /**< READ responses and requests take turns */
	bool has_path;       /**< path and neigh are set */
	bool path_to_self;   /**< the next hop's MAC is the own one */
	uint8_t ecn;         /**< of data, enum ip_ecn: as the engines want it */
	uint8_t asked_ecn;   /**< else as the traffic class has it */
	bool is_spoilt;      /**< the memory of a send is gone: nothing more is opened */
	bool hold_is_rnr;    /**< else the neighbour's MAC, or memory, is waited for */
	uint8_t nb_rnr;      /**< RNR NAKs since progress */
	bool rnr_sent;       /**< the expected request was refused; what is behind it is dropped */
	bool rx_skip;        /**< UC: message dropped, wait for the next FIRST or ONLY */
	uint8_t rx_skip_why; /**< enum drop, counted for each of its packets */
	uint32_t pd;
	uint32_t mtu; /**< bytes */

	/* engines; their states lie behind the QP */
	const struct reliability_ops *rel_ops;
	const struct cc_ops *cc_ops;
	const struct lb_ops *lb_ops;
	struct rel_head *rel;
	struct cc_head *cc;
	struct lb_head *lb;

	/* who may send to it */
	struct shm_qp_attr attr;
	struct ip_addr peer_ip, own_ip;
	uint16_t own_vlan; /**< VLAN ID of own_ip; 0 = untagged */

	struct weft_terms terms; /**< QP_WEFT */
	struct qp_open open;

	/* responder */
	struct weft_in win;    /**< QP_WEFT: the peer's stream */
	struct list resp_link; /**< in nic.resp_qps of its class, of its client's group */
	struct list cnp_link;  /**< in nic.cnp_qps, of its client's group */
	struct cq *recv_cq;
	struct srq *srq;
	struct wq rq;
	struct recv_wr *recv; /**< leased: taken for the message that comes; NULL = none is */
	struct resp *fifo;    /**< leased: RESP_FIFO_LEN; NULL = nothing waits */
	uint32_t fifo_head, fifo_tail;
	uint32_t msn;       /**< messages completed, 24 bits */
	uint32_t rx_op;     /**< OPF_SEND or OPF_WRITE inside a message, else 0 */
	uint64_t rx_va;     /**< WRITE: next byte */
	uint64_t rx_left;   /**< WRITE: bytes still to come */
	uint64_t rx_length; /**< bytes of the message so far */
	uint32_t rx_rkey;
	uint32_t nb_res;          /**< entries of res, at least attr.max_dest_rd_atomic */
	struct mr_reach reach_in; /**< of the last payload placed */
	struct rd_res *res;       /**< leased with the first READ or atomic, until RESET */
	uint32_t res_next;
	/** Slabs of nic.slabs, by what is leased from them. */
	uint8_t wrs_slab, recv_slab, res_slab, weft_tx_slab;

	/* requester */
	struct rel_qp rel_qp;
	struct weft_out wout;   /**< QP_WEFT: the own stream */
	struct sched_ent sched; /**< with work to send; its class is that of all but CNPs */
	struct wheel_timer timer;
	struct list done_link; /**< in nic.done_qps, of its client's group */
	struct cq *send_cq;
	struct wq sq;
	uint8_t *wrs; /**< leased: private copies, see wr_at; NULL = no request is open */
	uint32_t wr_size;
	uint32_t wr_mask;       /**< copies - 1 */
	uint32_t wr_base;       /**< SQ index of the first copy */
	uint32_t sq_open;       /**< next SQ index to open; [sq.head, sq_open) are in wrs */
	struct rel_msg *msgs;   /**< leased: slot = msn & rel_qp.msg_mask */
	struct tx_msg *tx_msgs; /**< plain, leased */
	uint64_t *rd_msn;       /**< plain, leased: READs and atomics not answered, oldest first */
	uint32_t rd_head, nb_rd;
	uint64_t tx_msn;      /**< message of the last packet sent: where the next is looked for */
	uint64_t tx_nxt_psn;  /**< above the highest PSN sent: first transmissions start here */
	uint32_t spoilt_idx;  /**< its SQ index; it and what is behind go into the void */
	uint32_t nb_unasked;  /**< packets sent since the last that asked for an acknowledgement */
	uint64_t asked_ns;    /**< when that was */
	uint64_t hold_ns;     /**< nothing leaves before; 0 = no hold */
	uint64_t progress_ns; /**< last time something new was acknowledged, or sending began */
	uint64_t sent_count;  /**< packets, for CC */
	uint64_t out_bytes;   /**< of the packets outstanding */
	uint64_t rtt_psn, rtt_sent_ns; /**< packet being timed; rtt_sent_ns 0 = none */
	struct mr_reach reach_out;     /**< of the last payload taken */

	/* path, from RTR on */
	struct neigh *neigh;       /**< UD: of the last destination */
	uint32_t neigh_generation; /**< of the path's MAC */
	uint32_t max_inline;       /**< bytes of a send in the queue itself */
	uint64_t neigh_wait_ns;    /**< the MAC is waited for until then; 0 = not now */
	struct wire_path path;

	/* cold */
	uint8_t own_slab;      /**< that it lies in itself */
	uint32_t engines_size; /**< bytes behind rel */
	uint64_t cookie;
	void *owner;      /**< for nic_driver */
	struct shm_av av; /**< what path was made for */
	/* why it failed, for people */
	struct {
		uint32_t psn;         /**< oldest not acknowledged, or at fault; 24 bits */
		uint32_t nb_timeouts; /**< since progress */
		uint32_t peer_psn;
		uint32_t down_s;       /**< how long the NIC's link had been down */
		uint8_t why;           /**< enum qp_reason */
		uint8_t peer_syndrome; /**< what the peer last said */
		uint8_t send_status;   /**< of the oldest send, which was not begun; 0 = flushed */
		bool peer_spoke;
	} error;

	/* what it went through since RESET, for people */
	struct {
		uint64_t retransmits;
		uint32_t timeouts, rnr_naks;
	} counts;
};

/** Where the states of the engines begin, bytes from the QP. */
#define QP_ENGINES_OFFSET                                                                          \
	((sizeof(struct qp) + ENGINE_STATE_ALIGN - 1) & ~(size_t)(ENGINE_STATE_ALIGN - 1))

/** So many bytes of the engines' states are asked for beforehand. */
#define QP_ENGINES_PREFETCH 192

/**
 * How long the QP's engine first waits for an acknowledgement, ns; 0 = for ever. Responses of the
 * weft framing are repeated whatever the application wants for its requests.
 */
uint64_t qp_ack_timeout_ns(const struct qp *qp);

/** The transport bits of a QP's opcodes. */
static inline uint8_t
qp_transport(const struct qp *qp)
{
	static const uint8_t transport[] = {
		[SHM_QPT_RC] = OP_RC, [SHM_QPT_UC] = OP_UC, [SHM_QPT_UD] = OP_UD};

	return transport[qp->type];
}

/** Whose QP it is. */
static inline struct nic_client *
qp_client(const struct qp *qp)
{
	return container_of(qp->sched.group, struct nic_client, sched);
}

/** It has acknowledgements to send. */
static inline void
qp_respond(struct qp *qp)
{
	uint8_t cls = qp->sched.cls;

	turns_add(&qp->nic->resp_qps[cls], &qp_client(qp)->resp[cls], &qp->resp_link);
	qp->nic->resp_mask |= (uint8_t)(1u << cls);
}

/** It has a CNP to send. */
static inline void
qp_notify(struct qp *qp)
{
	turns_add(&qp->nic->cnp_qps, &qp_client(qp)->cnp, &qp->cnp_link);
}

/** What a QP's memory is asked for beforehand for. */
enum qp_use {
	QP_REQUEST, /**< a request came */
	QP_ANSWER,  /**< an acknowledgement or a READ response came */
	QP_SEND     /**< it was rung, or has its turn */
};

/** Bring the lines of the members [from, to) nearer. */
static inline void
qp_prefetch_lines(const struct qp *qp, size_t from, size_t to)
{
	for (size_t off = from & ~(size_t)63; off < to; off += 64)
		__builtin_prefetch((const char *)qp + off);
}

/** Bring what will be touched nearer, the engines' states too. */
static inline void
qp_prefetch(const struct qp *qp, enum qp_use use)
{
	qp_prefetch_lines(qp, 0, offsetof(struct qp, resp_link));
	if (use == QP_REQUEST)
		qp_prefetch_lines(qp, offsetof(struct qp, resp_link), offsetof(struct qp, rel_qp));
	else
		qp_prefetch_lines(qp, offsetof(struct qp, rel_qp), offsetof(struct qp, neigh));
	if (use == QP_SEND)
		qp_prefetch_lines(qp, offsetof(struct qp, neigh), offsetof(struct qp, own_slab));
	qp_prefetch_lines(qp, QP_ENGINES_OFFSET, QP_ENGINES_OFFSET + QP_ENGINES_PREFETCH);
}

/** Of a QP that is near: bring what completions touch nearer. */
static inline void
qp_prefetch_cqs(const struct qp *qp)
{
	__builtin_prefetch(qp->send_cq);
	__builtin_prefetch(qp->recv_cq);
}

/** What a QP is made of. The rings are laid out and zeroed by the caller, who keeps them. */
struct qp_init {
	struct nic_client *client; /**< whose it is, must outlive it; NULL = the NIC's own */
	uint8_t type;
	uint32_t pd;
	struct cq *send_cq, *recv_cq;
	struct srq *srq; /**< NULL = own receive queue */
	struct shm_qp_cap cap;
	bool sq_sig_all;
	struct shm_wq *sq, *rq;
	uint32_t sq_slots, rq_slots; /**< powers of two */
	uint32_t sq_stride, rq_stride;
	uint64_t cookie;
	void *owner;
};

/** From now on its packets are of this class; those that wait change theirs. */
void qp_set_class(struct qp *qp, uint8_t cls);

/* ---- control: called between two bursts, on the NIC's thread ---- */

/** A QP in RESET with a random QPN, or NULL with errno EINVAL or ENOMEM. */
struct qp *qp_create(struct nic *nic, const struct qp_init *init);
void qp_destroy(struct qp *qp);
struct qp *qp_find(const struct nic *nic, uint32_t qpn);

/**
 * Change state and attributes. An illegal change is refused and changes nothing.
 * Source: IBA vol. 1, ch. 10 (QP states), and ibv_modify_qp(3).
 *
 * @return 0, -EINVAL, or -ENOMEM.
 */
int qp_modify(struct qp *qp, const struct shm_qp_attr *attr, uint32_t mask, uint64_t now_ns);
/** The present attributes; reason gets a sentence, "" if the QP has not failed. */
void qp_query(const struct qp *qp, struct shm_qp_attr *attr, char *reason, uint32_t size);
/** The application rang: new work requests, or receives to flush. */
void qp_doorbell(struct qp *qp, uint64_t now_ns);
/** Doorbells of n QPs: the memory of all is asked for before the first is looked at. */
void qp_doorbells(struct qp *const *qps, uint32_t n, uint64_t now_ns);

struct srq *srq_create(struct nic *nic, uint32_t pd, struct shm_wq *ring, uint32_t nb_slots,
                       uint32_t max_wr, uint32_t max_sge, uint64_t cookie, void *owner);
int srq_destroy(struct srq *srq);                   /**< -EBUSY while a QP uses it */
int srq_set_limit(struct srq *srq, uint32_t limit); /**< -EINVAL above max_wr */
/** Raise the limit's event, once, if fewer are posted. */
void srq_check_limit(struct srq *srq);

#endif
