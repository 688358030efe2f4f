/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_H
#define WEFT_H

/*
 * weft's own API: RDMA through a running weftd, without verbs. Objects and their rules are those of
 * verbs (InfiniBand Architecture, vol. 1, ch. 10 and 11): protection domains, memory regions, queue
 * pairs, completion queues. Posting and polling touch only memory that is shared with the daemon;
 * everything else is a request over a Unix socket.
 *
 * Functions return 0 (or a count) or a negative errno, constructors NULL with errno set. -ENODEV:
 * the daemon is gone; then all outstanding requests complete with WEFT_WC_FLUSHED. All functions
 * may be called from any thread. An object must not be destroyed while another thread uses it or
 * while another object stands on it (-EBUSY). To a forked child the devices that its parent has
 * open are dead: what it destroys of them is its own copy. It may open them anew.
 *
 * Link with pkg-config weft.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft;         /* an open device */
struct weft_pd;      /* protection domain */
struct weft_mr;      /* registered memory */
struct weft_channel; /* sleeps until a CQ has an entry */
struct weft_cq;      /* completion queue */
struct weft_srq;     /* shared receive queue */
struct weft_qp;      /* queue pair */

/* ---- devices ---- */

/** What a daemon offers. */
struct weft_device {
	char name[32];
	uint64_t guid; /**< host order */
};

/**
 * The devices of all running daemons whose sockets this user may use. WEFT_SOCKET (a list of socket
 * paths or names, separated by commas) narrows the search.
 *
 * @param list  gets up to max entries.
 * @return      how many there are, which may be more than max.
 */
int weft_devices(struct weft_device *list, int max);

/** Open a device by name; NULL means the first one. Close with weft_close. */
struct weft *weft_open(const char *name);
/** Close; whatever of its objects still exists is gone with it, its memory included. */
void weft_close(struct weft *weft);

/** A device's port. */
struct weft_port {
	int active;         /**< link is up */
	uint32_t mtu_bytes; /**< of RDMA payload: 256 to 4096 */
	uint32_t speed_mbps;
	uint32_t nb_gids; /**< length of the GID table */
};
int weft_port(struct weft *weft, struct weft_port *port);
/**
 * Entry of the GID table: an address, IPv4 as ::ffff:a.b.c.d.
 *
 * @return -ENODATA if the entry is empty, -EINVAL beyond the table.
 */
int weft_gid(struct weft *weft, uint32_t index, uint8_t gid[16]);
/** The first IPv4 entry, or if there is none the last of the table; its index, or a negative errno.
 */
int weft_gid_default(struct weft *weft, uint8_t gid[16]);

/* ---- memory ---- */

struct weft_pd *weft_pd_alloc(struct weft *weft);
int weft_pd_free(struct weft_pd *pd);

/** Who may do what with registered memory; reading it locally is always allowed. */
enum weft_access {
	WEFT_LOCAL_WRITE = 1, /**< needed by the two remote ones that write */
	WEFT_REMOTE_WRITE = 2,
	WEFT_REMOTE_READ = 4,
	WEFT_REMOTE_ATOMIC = 8,
};

/**
 * Memory that the daemon maps too: what is registered in it costs no system call per transfer.
 * Zeroed, page-aligned. Free with weft_mem_free, after its registrations.
 *
 * @param bytes  1 or more, rounded up to pages.
 */
void *weft_mem_alloc(struct weft *weft, size_t bytes);
/**
 * @return -EBUSY while registered; -EINVAL if it is not from weft_mem_alloc, or if this device has
 *         neither given nor registered it.
 */
int weft_mem_free(struct weft *weft, void *mem);

/** Register memory of any kind. It must stay mapped until it is deregistered. */
struct weft_mr *weft_mr_reg(struct weft_pd *pd, void *addr, size_t bytes, unsigned access);
int weft_mr_dereg(struct weft_mr *mr);
/** The key for own requests (lkey) and for the peer's (rkey). */
uint32_t weft_mr_key(const struct weft_mr *mr);

/* ---- completions ---- */

struct weft_channel *weft_channel_create(struct weft *weft);
int weft_channel_destroy(struct weft_channel *channel);
/** A descriptor to poll for reading, owned by the channel; may be made non-blocking. */
int weft_channel_fd(const struct weft_channel *channel);
/**
 * Take one notification, waiting for it if the descriptor blocks.
 *
 * @param cq  gets the CQ that was armed and has an entry.
 * @return    -EAGAIN if none is there and the descriptor does not block.
 */
int weft_channel_wait(struct weft_channel *channel, struct weft_cq **cq);

/**
 * @param depth    entries it must hold, at least; the sum of what its QPs may have outstanding.
 * @param channel  may be NULL.
 * @param user     returned by weft_cq_user.
 */
struct weft_cq *weft_cq_create(struct weft *weft, uint32_t depth, struct weft_channel *channel,
                               void *user);
int weft_cq_destroy(struct weft_cq *cq);
void *weft_cq_user(const struct weft_cq *cq);

enum weft_arm { WEFT_ARM_SOLICITED = 1, WEFT_ARM_ANY = 2 };
/** Ask the channel for one notification. Then poll once more before waiting. */
int weft_cq_arm(struct weft_cq *cq, enum weft_arm arm);

/** Values of enum ibv_wc_status. */
enum weft_status {
	WEFT_WC_SUCCESS = 0,
	WEFT_WC_LOCAL_LENGTH = 1,
	WEFT_WC_LOCAL_OPERATION = 2,
	WEFT_WC_LOCAL_PROTECTION = 4,
	WEFT_WC_FLUSHED = 5,
	WEFT_WC_BIND = 6,
	WEFT_WC_BAD_RESPONSE = 7,
	WEFT_WC_LOCAL_ACCESS = 8,
	WEFT_WC_REMOTE_INVALID = 9,
	WEFT_WC_REMOTE_ACCESS = 10,
	WEFT_WC_REMOTE_OPERATION = 11,
	WEFT_WC_RETRY_EXCEEDED = 12,
	WEFT_WC_RNR_RETRY_EXCEEDED = 13,
	WEFT_WC_GENERAL = 21,
};
/** The status in words. */
const char *weft_status_str(enum weft_status status);

/** What completed; values of enum ibv_wc_opcode. */
enum weft_done {
	WEFT_DONE_SEND = 0,
	WEFT_DONE_WRITE = 1,
	WEFT_DONE_READ = 2,
	WEFT_DONE_CMP_SWAP = 3,
	WEFT_DONE_FETCH_ADD = 4,
	WEFT_DONE_RECV = 128,
	WEFT_DONE_RECV_WRITE_IMM = 129,
};
enum weft_done_flag {
	WEFT_DONE_GRH = 1,      /**< UD: the first 40 bytes are the network header */
	WEFT_DONE_WITH_IMM = 2, /**< imm is valid */
};

/** One completed request. After an error only wr_id, status, qpn and vendor_err are valid. */
struct weft_completion {
	uint64_t wr_id;
	uint64_t ts_ns; /**< the daemon's monotonic clock */
	enum weft_status status;
	enum weft_done op;
	uint32_t flags; /**< enum weft_done_flag */
	uint32_t bytes; /**< received, or read */
	uint32_t imm;   /**< host order */
	uint32_t qpn;
	uint32_t src_qpn;    /**< UD */
	uint32_t vendor_err; /**< reason code; weft_qp_error says it in words */
};

/** Take up to max completions. @return their number, 0 if none; -EOVERFLOW: the CQ overran. */
int weft_poll(struct weft_cq *cq, struct weft_completion *list, int max);

/* ---- queue pairs ---- */

struct weft_srq *weft_srq_create(struct weft_pd *pd, uint32_t max_wr, uint32_t max_sge, void *user);
int weft_srq_destroy(struct weft_srq *srq);
/** Raise WEFT_EVENT_SRQ_LIMIT once when fewer receives than this are left; 0 = never. */
int weft_srq_limit(struct weft_srq *srq, uint32_t limit);

enum weft_type { WEFT_RC = 2, WEFT_UC = 3, WEFT_UD = 4 };

/** What a QP is made of. */
struct weft_qp_init {
	enum weft_type type;
	struct weft_cq *send_cq, *recv_cq;
	struct weft_srq *srq;                /**< NULL = a receive queue of its own */
	uint32_t max_send, max_recv;         /**< requests outstanding, up to 16384 */
	uint32_t max_send_sge, max_recv_sge; /**< pieces per request, up to 16; 0 = 1 */
	uint32_t max_inline;                 /**< bytes, up to 256 */
	int signal_all;                      /**< every send completes visibly */
	void *user;                          /**< returned with events */
};
struct weft_qp *weft_qp_create(struct weft_pd *pd, const struct weft_qp_init *init);
int weft_qp_destroy(struct weft_qp *qp);
uint32_t weft_qp_num(const struct weft_qp *qp);

/** How to reach the other end, and how hard to try. Zeros are good defaults where it says so. */
struct weft_path {
	uint8_t gid[16];   /**< the peer's */
	uint8_t gid_index; /**< of the own address */
	uint8_t traffic_class;
	uint8_t hop_limit;   /**< 0 = 64 */
	uint32_t flow_label; /**< 20 bits */
	uint32_t qpn;        /**< the peer's */
	uint32_t psn;        /**< the peer's first, 24 bits */
	uint32_t own_psn;    /**< first sent, 24 bits */
	uint32_t mtu_bytes;  /**< 256 to 4096; 0 = the port's */
	uint8_t timeout; /**< 4.096 us x 2^timeout until a packet is sent again; 0 = 14 (67 ms) */
	uint8_t retries; /**< 0 to 7; used as it is */
	uint8_t rnr_retries;   /**< 0 to 7, 7 = for ever; used as it is */
	uint8_t min_rnr_timer; /**< code of IBA table 45; 0 = 12 (0.64 ms) */
	uint8_t max_reads;     /**< READs and atomics outstanding each way, up to 16; 0 = 16 */
};
/**
 * Bring an RC or UC QP from RESET to RTS. For UD only own_psn is used, and the Q_Key is qkey.
 * Receives may be posted once it is done; the peer should be ready before the first send.
 *
 * @param access  enum weft_access that the peer may use.
 */
int weft_qp_connect(struct weft_qp *qp, const struct weft_path *path, unsigned access,
                    uint32_t qkey);
/** Flush everything outstanding: the error state. */
int weft_qp_fail(struct weft_qp *qp);
/** Back to the start, silently dropping everything outstanding. */
int weft_qp_reset(struct weft_qp *qp);
/** Why the QP failed, a sentence of up to 320 bytes; "" if it did not. */
int weft_qp_error(struct weft_qp *qp, char *text, size_t size);

/* ---- posting ---- */

/** A piece of registered memory. */
struct weft_sge {
	uint64_t addr;
	uint32_t bytes;
	uint32_t key;
};

/** Values of enum ibv_wr_opcode. */
enum weft_op {
	WEFT_WRITE = 0,
	WEFT_WRITE_IMM = 1,
	WEFT_SEND = 2,
	WEFT_SEND_IMM = 3,
	WEFT_READ = 4,
	WEFT_CMP_SWAP = 5,
	WEFT_FETCH_ADD = 6,
};
enum weft_send_flag {
	WEFT_FENCE = 1,     /**< wait for earlier READs and atomics */
	WEFT_SIGNALED = 2,  /**< complete visibly */
	WEFT_SOLICITED = 4, /**< wake a peer that is armed for solicited completions */
	WEFT_INLINE = 8,    /**< copy the data now; keys are ignored */
};

/** A request to send, write, read or change remote memory. */
struct weft_send {
	uint64_t wr_id;
	enum weft_op op;
	uint32_t flags; /**< enum weft_send_flag */
	const struct weft_sge *sge;
	uint32_t nb_sge;
	uint32_t imm; /**< host order */
	uint64_t remote_addr;
	uint32_t remote_key;
	uint64_t compare_add, swap; /**< CMP_SWAP: expected and new value; FETCH_ADD: what to add */
	/* UD only */
	const struct weft_path
		*to; /**< gid, gid_index, traffic_class, hop_limit, flow_label, qpn */
	uint32_t to_qkey;
};
/** Room for one incoming SEND or WRITE with immediate. */
struct weft_recv {
	uint64_t wr_id;
	const struct weft_sge *sge;
	uint32_t nb_sge;
};

/**
 * Post requests in order; one doorbell for all of them. A request is outstanding until its
 * completion is polled, a send that completes invisibly until that of a later one is: signal one in
 * max_send at least.
 *
 * @return how many were posted; if less than nb, errno says why the next one was not: ENOMEM (queue
 *         full), EINVAL (not allowed for this type, too many pieces, too much inline data, state).
 */
int weft_post_send(struct weft_qp *qp, const struct weft_send *list, int nb);
int weft_post_recv(struct weft_qp *qp, const struct weft_recv *list, int nb);
int weft_post_srq_recv(struct weft_srq *srq, const struct weft_recv *list, int nb);

/* ---- events ---- */

/** Values of enum ibv_event_type. */
enum weft_event_type {
	WEFT_EVENT_CQ_ERROR = 0,
	WEFT_EVENT_QP_FATAL = 1,
	WEFT_EVENT_QP_REQUEST_ERROR = 2,
	WEFT_EVENT_QP_ACCESS_ERROR = 3,
	WEFT_EVENT_ESTABLISHED = 4,
	WEFT_EVENT_SQ_DRAINED = 5,
	WEFT_EVENT_DEVICE_FATAL = 8, /**< the daemon is gone */
	WEFT_EVENT_PORT_ACTIVE = 9,
	WEFT_EVENT_PORT_ERROR = 10,
	WEFT_EVENT_SRQ_ERROR = 14,
	WEFT_EVENT_SRQ_LIMIT = 15,
	WEFT_EVENT_LAST_RECV = 16,
	WEFT_EVENT_GID_CHANGE = 18,
};
struct weft_event {
	enum weft_event_type type;
	void *user; /**< of the QP, CQ or SRQ it is about; NULL for port and device */
};
/** A descriptor to poll for reading, owned by the device; may be made non-blocking. */
int weft_event_fd(const struct weft *weft);
/** Take one event; as weft_channel_wait. After WEFT_EVENT_DEVICE_FATAL: -ENODEV. */
int weft_event_wait(struct weft *weft, struct weft_event *event);

#ifdef __cplusplus
}
#endif

#endif
