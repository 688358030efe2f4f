/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CLIENT_H
#define WEFT_CLIENT_H

/*
 * The client half of lib/shm/abi.h, under weft.h and under the verbs shim. Objects are initialised
 * in place, so that the shim embeds them in its own. Functions return 0 or a negative errno.
 */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi_ctl.h"
#include "rings.h"

struct mem_use;

/**
 * Empty polls before polling starts to yield, and between two looks at the control socket. With
 * both cores of a machine contended, 1 to 16 gave the same half round trip (4.4 us), 100 gave 5.9
 * us.
 */
#define CLIENT_SPINS 4
#define CLIENT_LOOK_EVERY 1024
/** Where others want the cores, a yield takes milliseconds: time between two looks then. */
#define CLIENT_LOOK_NS UINT64_C(20000000)

/**
 * A yield that took longer gave a slice of time to somebody who does not wait for us. Then our own
 * is used up before the next: beside a CPU hog for each of two cores a program with 8 MB
 * outstanding had its completions after 1 ms, and gave 3 ms away for each look at an empty queue.
 * It moved 15.5 Gb/s, and 28 so; 64 B messages 0.09 M/s, and 0.7.
 */
#define CLIENT_YIELD_SLOW_NS UINT64_C(1000000)
#define CLIENT_YIELD_OFF_NS UINT64_C(3000000)

/** What an event can be about. */
enum client_kind { CLIENT_NONE, CLIENT_CQ, CLIENT_SRQ, CLIENT_QP };

/** First member of whatever events name; the cookie is what the daemon knows it by. */
struct client_obj {
	enum client_kind kind;
	uint64_t cookie;
	uint32_t nb_comp_events;  /**< taken from a channel */
	uint32_t nb_async_events; /**< taken from the events socket */
	void *user;
};

/** As many objects as the daemon grants. */
#define CLIENT_MAX_OBJS (WEFT_MAX_QP + WEFT_MAX_CQ + WEFT_MAX_SRQ)

/**
 * Table of live objects. A cookie is generation << 32 | index; a stale one finds nothing. Pollers
 * read it without a lock, so it does not move.
 */
struct client_slot {
	struct client_obj *_Atomic obj; /**< NULL = free */
	uint32_t generation;
};

struct weft_channel {
	struct weft *weft;
	int fd;
	uint32_t handle;
	_Atomic uint32_t nb_cqs;
	struct weft_channel *next;
};

struct weft_cq {
	struct client_obj obj;
	struct weft *weft;
	struct ring_lock lock; /**< guards ring and nb_idle */
	struct ring_cq ring;
	uint32_t nb_idle; /**< empty polls in a row */
	uint32_t handle;
	uint32_t nb_cqe;
	_Atomic uint32_t nb_qps;
	struct weft_channel *channel; /**< NULL = none */
	/** ring.shm for who sleeps on the channel; NULL until the CQ is whole */
	_Atomic(struct shm_cq *) shared;
	bool told_dead; /**< its channel told, and nothing was flushed since; guarded by obj_lock */
};

struct weft_srq {
	struct client_obj obj;
	struct weft *weft;
	struct ring_wq rq;
	uint32_t handle;
	_Atomic uint32_t nb_qps;
};

struct weft_qp {
	struct client_obj obj;
	struct weft *weft;
	struct ring_wq sq, rq; /**< rq.shm NULL with an SRQ */
	uint32_t qpn;
	uint32_t bell;
	uint8_t type;          /**< enum shm_qp_type */
	_Atomic uint8_t state; /**< enum shm_qp_state, as last set; an error shows in completions */
	struct weft_cq *send_cq, *recv_cq;
	struct weft_srq *srq;
	struct shm_qp_cap cap;
	struct weft_qp *next, **link; /**< of the device, for the flush when the daemon dies */
};

struct weft_mr {
	struct weft *weft;
	uint32_t key;
	struct mem_use *use; /**< what keeps its memory reachable */
};

/** An open device: one connection. */
struct weft {
	int ctl_fd, bell_fd, events_fd;
	int uffd_dev;          /**< /dev/userfaultfd from the daemon, -1 = none */
	struct shm_bell *bell; /**< start of the arena */
	uint8_t *arena;
	struct ctl_opened info;
	char name[WEFT_NAME_LEN + 1];
	pthread_mutex_t ctl_lock; /**< one request at a time */

	_Atomic bool dead;          /**< the daemon is gone, or the device with it drained */
	_Atomic bool drained;       /**< that is why, the daemon said */
	_Atomic uint64_t looked_ns; /**< last look after the daemon of an idle poll */
	_Atomic uint64_t yield_ns;  /**< idle polls do not yield before */
	bool told_fatal;
	pthread_mutex_t obj_lock;  /**< guards what follows */
	struct client_slot *slots; /**< CLIENT_MAX_OBJS */
	uint32_t nb_slots;         /**< ever used */
	uint32_t first_free;       /**< no slot before this one is free */
	struct weft_qp *qps;
	struct weft_channel *channels;
	struct weft *next; /**< of the open ones, see connections.h */
};

/* ---- discover.c ---- */

/** What a daemon at this socket offers. Return true to stop looking. */
typedef bool client_visit(void *arg, const char *socket_path, const struct ctl_list *list);

/**
 * Ask every live daemon. Sockets that nobody listens on are skipped; so is, with one line on
 * stderr, a daemon of another ABI version or a folder that may not be trusted.
 *
 * @return how many daemons answered; errno is EAGAIN if one of them serves no more programs of this
 *         user, EACCES if this user may not use one or its folder, else 0.
 */
int client_discover(client_visit *visit, void *arg);
/** Where client_discover looks, for people: "/run/weft, /tmp/weft-1000". */
void client_where(char *text, size_t size);
/** One line on stderr. */
void client_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- ctl.c ---- */

/** Descriptors of one exchange. */
struct ctl_fds {
	int send;      /**< -1 = none */
	uint32_t keep; /**< how many received ones are wanted at most; others are closed */
	int recv[4];   /**< received ones, -1 behind the last; the caller owns them */
};

/** Room for the reason of a refusal. */
#define CTL_WHY_BYTES sizeof(((struct ctl_refusal *)0)->why)

/** Connect to a daemon's socket; timeout_ms bounds each later wait, 0 = none. */
int ctl_connect(const char *path, uint32_t timeout_ms);

/**
 * One request and its answer.
 *
 * @param msg       the request; overwritten by the answer.
 * @param request   its size, bytes.
 * @param answer    size of the expected answer; 0 = its header will do.
 * @param fds       NULL = none in either direction.
 * @param nb_fds    descriptors that a granted answer must bring.
 * @param[out] why  the daemon's reason if it refuses with one, else "".
 * @return          the daemon's errno, negative; -ENODEV if it is gone, -EPROTO if it talks
 * nonsense.
 */
int ctl_exchange(int fd, enum ctl_op op, void *msg, size_t request, size_t answer,
                 struct ctl_fds *fds, uint32_t nb_fds, char why[CTL_WHY_BYTES]);
/** The same on a device's connection; a daemon that is gone or talks nonsense is dead. */
int ctl_call(struct weft *weft, enum ctl_op op, void *msg, size_t request, size_t answer,
             struct ctl_fds *fds, uint32_t nb_fds);
/** A request that only names an object. */
int ctl_call_handle(struct weft *weft, enum ctl_op op, uint32_t handle);

/* ---- context.c ---- */

/** Open a device; NULL = the first one. */
int client_open(const char *name, struct weft **weft);
void client_close(struct weft *weft);
/** A ring in the arena, or NULL if it does not lie there, is unaligned or too small. */
void *client_ring(const struct weft *weft, const struct shm_ring_loc *loc, size_t header,
                  uint32_t min_slots, uint32_t min_stride);
/** Whether the daemon still lives; a dead one is mourned. */
bool client_alive(struct weft *weft);
/** The daemon, or the device, is gone: everybody who sleeps wakes up, polls flush. */
void client_die(struct weft *weft);
/** Treat a dead daemon's answer as success: what the object was made of went with it. */
static inline int
client_gone_ok(int err)
{
	return err == -ENODEV ? 0 : err;
}

/* ---- events.c ---- */

/** Give an object its cookie. @return 0 or -ENOMEM. */
int client_register(struct weft *weft, struct client_obj *obj, enum client_kind kind);
/** Take the cookie back; its event counts change no more. */
void client_unregister(struct weft *weft, struct client_obj *obj);

int client_channel_init(struct weft_channel *channel, struct weft *weft);
/** @return -EBUSY while a CQ uses it. */
int client_channel_fini(struct weft_channel *channel);
/**
 * The next CQ that was notified; counted in its nb_comp_events. After the daemon's death each armed
 * CQ comes once, so that its flushed requests are polled, and again if some were; then -ENODEV.
 */
int client_channel_next(struct weft_channel *channel, struct weft_cq **cq);

/** An asynchronous event. */
struct client_event {
	uint32_t type;          /**< enum shm_event_type, or CLIENT_EVENT_FATAL */
	struct client_obj *obj; /**< NULL = port or device */
};
/** Value of IBV_EVENT_DEVICE_FATAL. */
#define CLIENT_EVENT_FATAL 8
/** The next event, counted in its object's nb_async_events. */
int client_event_next(struct weft *weft, struct client_event *event);

/* ---- completion.c ---- */

int client_cq_init(struct weft_cq *cq, struct weft *weft, uint32_t nb_cqe,
                   struct weft_channel *channel);
int client_cq_resize(struct weft_cq *cq, uint32_t nb_cqe);
/** @return -EBUSY while a QP completes here. */
int client_cq_fini(struct weft_cq *cq);
/**
 * Slow half of a poll that found nothing, called without the lock: yields, and looks after the
 * daemon now and then.
 */
void client_cq_idle(struct weft_cq *cq, uint32_t nb_idle);
/**
 * The daemon is dead: make a completion for the oldest request of any QP that completes here.
 * Called with the CQ locked and its ring empty.
 */
bool client_cq_flush(struct weft_cq *cq, struct shm_cqe *cqe);

/* ---- queue.c ---- */

/** max_wr, max_sge in; what was granted out. */
int client_srq_init(struct weft_srq *srq, struct weft *weft, uint32_t pd, uint32_t *max_wr,
                    uint32_t *max_sge);
int client_srq_limit(struct weft_srq *srq, uint32_t limit);
/** @param limit  what is left of it: 0 once the event was raised. */
int client_srq_query(struct weft_srq *srq, uint32_t *limit);
int client_srq_fini(struct weft_srq *srq);

/** What a QP is made of; cap is raised to what was granted. */
struct client_qp_init {
	uint8_t type;
	uint32_t pd;
	struct weft_cq *send_cq, *recv_cq;
	struct weft_srq *srq;
	struct shm_qp_cap cap;
	bool sq_sig_all;
};
int client_qp_init(struct weft_qp *qp, struct weft *weft, const struct client_qp_init *init);
int client_qp_modify(struct weft_qp *qp, const struct shm_qp_attr *attr, uint32_t mask);
/** @param reason  WEFT's sentence about a failure; NULL = not wanted, else 256 bytes. */
int client_qp_query(struct weft_qp *qp, struct shm_qp_attr *attr, char *reason);
/** Its unread completions go with it. */
int client_qp_fini(struct weft_qp *qp);

/** Whether a QP takes sends now. Source: IBA vol. 1, ch. 10.3.1 (QP states). */
static inline bool
client_qp_may_send(const struct weft_qp *qp)
{
	return qp->state >= SHM_QPS_RTS;
}
/** Tell the daemon about nb requests written behind the tail of the send queue, which is locked. */
static inline void
client_qp_sent(struct weft_qp *qp, uint32_t nb)
{
	if (nb == 0)
		return;
	ring_wq_publish(&qp->sq, nb);
	ring_bell(qp->weft->bell, qp->bell, qp->weft->bell_fd);
}
/** The same for receives: the doorbell rings only if the daemon asked for it. */
static inline void
client_qp_received(struct weft_qp *qp, uint32_t nb)
{
	if (nb && ring_wq_publish_quiet(&qp->rq, nb))
		ring_bell(qp->weft->bell, qp->bell, qp->weft->bell_fd);
}

/**
 * A completion was taken from the ring of a locked CQ: its request is no longer outstanding, and
 * with a send those before it. The QP exists: destroying it needs the lock to remove this entry.
 */
static inline void
client_cq_took(struct weft *weft, const struct shm_cqe *cqe)
{
	uint32_t idx = (uint32_t)cqe->cookie;
	struct weft_qp *qp;

	if (idx >= CLIENT_MAX_OBJS)
		return;
	qp = (struct weft_qp *)atomic_load_explicit(&weft->slots[idx].obj, memory_order_acquire);
	if (!qp || qp->obj.cookie != cqe->cookie || qp->obj.kind != CLIENT_QP)
		return;
	if (cqe->op < SHM_WC_RECV) {
		ring_wq_done(&qp->sq, cqe->wqe_idx + 1);
	} else if (!qp->srq) {
		ring_wq_done(&qp->rq, atomic_load_explicit(&qp->rq.done, memory_order_relaxed) + 1);
	}
}

/* ---- regions.c ---- */

/** What a registration covers. */
struct client_region {
	uint32_t pd;
	uint32_t access; /**< enum shm_access */
	uint64_t va;
	uint64_t length;
	uint64_t iova;
};
int client_mr_init(struct weft_mr *mr, struct weft *weft, const struct client_region *region);
int client_mr_fini(struct weft_mr *mr);
int client_mw_init(struct weft *weft, uint32_t pd, uint32_t type, uint32_t *key);

#endif
