/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SESSION_H
#define WEFT_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi_ctl.h"
#include "account.h"
#include "arena.h"
#include "bell.h"
#include "control.h"
#include "outbox.h"
#include "report.h"

/*
 * One application's session: its connection and what it made. Used by the control thread, except
 * for bells and outboxes, which are the worker's once the client is added to it.
 */

/** Kinds of objects, in the order in which a client's end destroys them: users first. */
enum obj_kind { OBJ_QP, OBJ_SRQ, OBJ_MW, OBJ_MR, OBJ_CQ, OBJ_CHANNEL, OBJ_BACKING, OBJ_PD, OBJ_NB };

/** What a handle names; first member of each kind's struct. */
struct obj {
	struct client *client;
	enum obj_kind kind;
	uint32_t handle;  /**< in its kind's table; QPs: QPN; MRs and MWs: key >> 8 */
	uint32_t nb_refs; /**< objects that use this one */
};

/** How objects of one kind end. */
struct obj_ops {
	/** First, on the worker: it forgets the object. 0 or a positive errno; optional. */
	int (*detach)(struct obj *obj);
	/** Then, on the control thread: give back what it had, and itself. */
	void (*release)(struct obj *obj);
};

/** An outbox and how the control thread learns that there is room again. */
struct mailbox {
	struct watch watch; /**< first member */
	struct client *client;
	struct outbox box;
};

struct client {
	struct list link;       /**< of control.clients */
	struct list ended_link; /**< of control.ended */
	uint64_t number;        /**< of the connection, from 1 on */
	struct control *control;
	struct watch socket;  /**< open until its QPs are gone, then -1 */
	struct watch process; /**< pidfd, -1 = none */
	struct account account;
	struct device *device; /**< NULL before CTL_OPEN; the rest is valid after it */
	int mem_fd;            /**< the application's memory, -1 = none */
	struct arena arena;
	struct list device_link; /**< of device.clients; the worker's */
	struct mailbox events;
	struct outbox_mark port_events; /**< of the port and its GIDs */
	struct bell_client bells;
	int end_err;   /**< what it is told when it ends, a positive errno; 0 = nothing */
	bool too_fast; /**< the worker's word: it rings too often, and that is to be told */
	struct nic_client turns;               /**< of its QPs, on the device */
	struct keytab objs[OBJ_NB];            /**< handle -> object */
	_Atomic uint32_t nb_objs[OBJ_NB];      /**< in these, for whoever reports */
	uint64_t bells_used[WEFT_MAX_QP / 64]; /**< bit per doorbell */
};

/** A request on its way, and its answer. */
struct request {
	struct client *client;
	union ctl_msg *msg; /**< checked for its size; the handler makes the answer of it */
	int fd;             /**< came with it, -1 = none; who keeps it sets -1 */
	int out_fds[4];     /**< go with the answer */
	bool out_close[4];  /**< and are closed then */
	uint32_t nb_out_fds;
	char why[sizeof(((struct ctl_refusal *)0)->why)]; /**< of a refusal; "" = errno says it */
};

/** Give a descriptor to the application; close tells that we do not keep it. */
void request_give_fd(struct request *req, int fd, bool close);

/** Undo CTL_OPEN; the client's objects are gone. */
void device_close(struct client *client);
/** Refuse what a drained device does not do. @return ESHUTDOWN. */
int device_refuse_drained(struct request *req, const struct device *device);
/** From any thread: whether a NIC's owner takes no programs, see struct report. */
bool device_is_drained(const void *device);

/** A connection was made. Takes the socket. */
void client_create(struct control *control, int fd);
/** A connection that is not served: say so, with a positive errno, and close it. */
void client_turn_away(int fd, int err);
/** After a call of the worker: see what it has to tell of the client itself. */
void client_look(struct client *client);
/**
 * It ends: nothing more is heard from it. What it had is given back now, or, if that is much, in
 * the next turns; it must not be used afterwards.
 */
void client_destroy(struct client *client);
/** The same, and it is told why: a positive errno, as with CTL_REFUSAL. */
void client_send_away(struct client *client, int err);
/** Whether it has ended, and has something to give back yet. */
bool client_has_ended(const struct client *client);
/**
 * A turn: give back some of what those had that have ended. On the control thread.
 *
 * @return false if there was nothing.
 */
bool clients_give_back(struct control *control);

/* ---- handles ---- */

/** NULL if the client has no such object. */
void *obj_find(struct client *client, enum obj_kind kind, uint32_t handle);
/** Number of objects. */
uint32_t obj_count(const struct client *client, enum obj_kind kind);
/** Whether the client may have one more of this kind: before it is made. @return 0 or ENOMEM. */
int obj_may_add(struct client *client, enum obj_kind kind);
/** Put an object under a fresh handle, or under this one if not 0. @return 0 or ENOMEM. */
int obj_add(struct client *client, struct obj *obj, enum obj_kind kind, uint32_t handle);
/** Undo obj_add: the object is not finished, and will not be. */
void obj_forget(struct obj *obj);
/** @return 0; EBUSY while something uses it; or what detach says. */
int obj_destroy(struct obj *obj);
/** For handlers of a ctl_handle request: the same by handle; EINVAL if there is no such object. */
int obj_destroy_handle(struct request *req, enum obj_kind kind);
/**
 * Of a client that ends: some of its objects, users before what they use.
 *
 * @return how many, OBJ_BATCH at most; 0: there were none any more, and their tables are freed.
 */
uint32_t obj_destroy_some(struct client *client);
/** Objects of one kind that end together: one call of the worker for all of them. */
#define OBJ_BATCH 64

/* ---- mailboxes ---- */

/** @return 0 and the application's end, or a positive errno. */
int mailbox_open(struct mailbox *mailbox, struct client *client, enum outbox_form form,
                 int *peer_fd);
/** No worker uses it any more. */
void mailbox_close(struct mailbox *mailbox);
/** On the worker: send, now or as soon as there is room. The mark's box is that of a mailbox. */
void mailbox_send(struct outbox_mark *mark, uint32_t type);

/** What a NIC calls; the owner of a CQ, SRQ or QP is the mark of its events. */
extern const struct nic_driver client_driver;

/** Largest registration. Source: our choice, an x86-64 address space. */
#define MR_MAX_BYTES (UINT64_C(1) << 47)

/* ---- handlers: 0 or a positive errno ---- */

/* device.c */
int handle_list(struct request *req);
int handle_open(struct request *req);
int handle_query_port(struct request *req);
int handle_query_gid(struct request *req);
/* obj_cq.c */
int handle_new_channel(struct request *req);
int handle_create_cq(struct request *req);
int handle_resize_cq(struct request *req);
/* obj_srq.c */
int handle_create_srq(struct request *req);
int handle_modify_srq(struct request *req);
int handle_query_srq(struct request *req);
/* obj_qp.c */
int handle_create_qp(struct request *req);
int handle_modify_qp(struct request *req);
int handle_query_qp(struct request *req);
/* obj_backing.c */
int handle_alloc_pd(struct request *req);
int handle_new_backing(struct request *req);
int handle_add_backing(struct request *req);
/* obj_mr.c */
int handle_reg_mr(struct request *req);
int handle_dereg_mr(struct request *req);
int handle_alloc_mw(struct request *req);
int handle_dealloc_mw(struct request *req);

/* ---- how objects end ---- */

extern const struct obj_ops pd_ops, backing_ops, mr_ops;
extern const struct obj_ops channel_ops, cq_ops, srq_ops, qp_ops;

/** On the worker: the process that has a QP, by its owner; see struct report. */
void whose_qp(const void *qp_owner, pid_t *pid, uid_t *uid);

/** From any thread: what connections have, see struct report. @param arg  struct control. */
uint32_t view_clients(void *arg, uint64_t after, struct client_view *views, uint32_t max);

/** On the worker: an armed CQ, whose events have this mark, got an entry. */
void cq_obj_notify(struct outbox_mark *events);

#endif
