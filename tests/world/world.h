/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TESTS_WORLD_H
#define WEFT_TESTS_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "fault.h"
#include "local.h"
#include "mem.h"
#include "nic.h"
#include "port.h"
#include "qp.h"
#include "stack.h"

/*
 * Two host stacks back to back over in-memory ports, under a fake clock, with applications that use
 * the rings as the client library does. No EAL, no threads, no real time.
 */

struct world_conf {
	uint32_t nb_pkts;             /**< of the pool; 0 = 4096 */
	uint32_t depth;               /**< frames on their way each direction; 0 = 1024 */
	uint64_t step_ns;             /**< of the fake clock per turn; 0 = 1000 */
	uint32_t window_pkts;         /**< 0 = 256 */
	bool ipv6;                    /**< use the GIDs of IPv6 addresses */
	struct fault_params fault;    /**< on side 0's port; all zero = none */
	uint64_t rate_bps;            /**< parameter of cc fixed; 0 = line rate */
	uint16_t vlan;                /**< of all addresses; 0 = untagged */
	const uint8_t *traffic_class; /**< of both NICs; NULL = the applications' */
	bool ignores_pfc;
	const struct reliability_ops *rel;             /**< of RC, with its defaults; NULL = gbn */
	const struct reliability_ops *rel_of_1;        /**< of side 1 if another one; NULL = rel */
	enum framing_wish framing[2];                  /**< of each side; rocev2 unless said */
	bool weft;                                     /**< app_agree: RC is in the weft framing */
	uint32_t first_msn;                            /**< of weft: nic_conf.first_msn */
	void (*tap)(void *arg, const struct pkt *pkt); /**< sees every frame that arrives */
	void *tap_arg;
};

/** Asynchronous events and notifications, newest last. */
struct world_event {
	bool notify;
	uint32_t type; /**< enum shm_event_type, or the channel */
	uint64_t cookie;
	void *nic; /**< of an event of the port: conf.owner */
};

struct world {
	struct world_conf conf;
	uint64_t now_ns;
	struct pkt_pool *pool;
	struct port *port[2];
	struct nic *nic[2];
	uint32_t nb_restarts;
};

extern struct world_event world_events[64];
extern uint32_t world_nb_events;
/** What an application does at that very moment, in the middle of the stack's work; NULL = nothing.
 */
extern void (*world_on_event)(const struct world_event *e);

void world_open(struct world *w, const struct world_conf *conf);
/** Everything must have been closed; checks that no packet leaked. */
void world_close(struct world *w);
/**
 * Let the link behind side 0's port go bad from now on: when the MACs are known, say, which no
 * checksum of ours covers.
 */
void world_spoil(struct world *w, const struct fault_params *fault);
/** A side's stack starts anew and knows nothing; what belongs to it was closed. */
void world_restart(struct world *w, int side);
/** One turn of both stacks. */
void world_step(struct world *w);
/** So many turns. */
void world_run(struct world *w, uint64_t turns);

/** A PFC frame comes to a side: these classes pause for so many quanta, 0 = go on. */
void world_pause(struct world *w, int side, uint8_t classes, uint16_t quanta);

/* Applications: what lib/local has, with several entries, inline data and shared queues besides. */

struct app_srq {
	struct srq *srq;
	struct local_wq wq;
};
struct app_qp {
	struct world *world;
	int side;
	struct qp *qp;
	struct local_cq scq, rcq;
	struct local_wq sq, rq;
	struct app_srq *srq;
};

struct app_conf {
	uint8_t type;      /**< 0 = RC */
	uint32_t depth;    /**< of both queues; 0 = 64 */
	uint32_t max_sge;  /**< 0 = 4 */
	uint32_t cq_depth; /**< 0 = 4 x depth */
	bool sig_all;
	struct app_srq *srq;
	uint32_t channel;          /**< of its CQs; 0 = none */
	struct nic_client *client; /**< NULL = the NIC's own */
};

/** A QP in RESET on one side. */
void app_open(struct app_qp *a, struct world *w, int side, const struct app_conf *conf);
void app_close(struct app_qp *a);
void app_srq_open(struct app_srq *s, struct world *w, int side, uint32_t depth, uint32_t max_sge);
void app_srq_close(struct app_srq *s);

/** Attributes with sensible values for a connection to peer. */
struct shm_qp_attr app_attr(const struct app_qp *a, const struct app_qp *peer);
/** Whether every test's RC is to be in the weft framing: by the environment,
 * WEFT_TEST_FRAMING=weft. */
bool world_speaks_weft(void);
/** In RTR: if so, or if world_conf.weft, let two QPs agree on what their engines ask for. */
void app_agree(struct app_qp *a, struct app_qp *b);
/** RESET to RTS towards each other. */
void app_connect(struct app_qp *a, struct app_qp *b);
/** One transition, with all that it requires taken from attr. @return what qp_modify says. */
int app_to(struct app_qp *a, const struct shm_qp_attr *attr, uint8_t state);

/** Register plain memory of the test. */
void app_reg(struct local_mr *m, struct world *w, int side, void *buf, uint64_t len,
             uint32_t access);

/** Post and ring. The WQE is copied; entries or inline bytes follow it. */
void app_post_send(struct app_qp *a, const struct shm_send_wqe *wqe, const struct shm_sge *sge);
void app_post_inline(struct app_qp *a, struct shm_send_wqe wqe, const void *data, uint32_t len);
void app_post_recv(struct app_qp *a, uint64_t wr_id, const struct shm_sge *sge, uint32_t nb_sge);
void app_srq_post(struct app_srq *s, uint64_t wr_id, const struct shm_sge *sge, uint32_t nb_sge);
/** Run until one comes, at most so many turns; false if none did. */
bool app_wait(struct world *w, struct local_cq *cq, struct shm_cqe *cqe, uint64_t turns);

#define PD 7

#endif
