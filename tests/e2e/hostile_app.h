/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_HOSTILE_APP_H
#define WEFT_HOSTILE_APP_H

#include "ctl.h"
#include "hostile.h"
#include "prng.h"

/* What hostile applications have in common: all that an honest one has. */

enum { HOSTILE_QPS = 4, HOSTILE_DEPTH = 16, HOSTILE_BYTES = 65536 };

/** QPs 0 and 1 are to be connected, and 2 and 3. */
struct hostile {
	struct app app;
	struct prng rng;
	uint8_t gid_index, gid[16];
	uint32_t pd, cq;
	struct shm_ring_loc cq_ring;
	struct ctl_qp qp[HOSTILE_QPS];
	uint8_t *mapped; /**< shared with the daemon by descriptor */
	int mapped_fd;
	uint8_t *plain; /**< reached through /proc/self/mem */
	uint32_t mapped_key, plain_key;
};

/** What the daemon must grant is granted, or the process ends with 2. */
void hostile_open(struct hostile *h, uint64_t seed);
void hostile_create_queues(struct hostile *h);
void hostile_destroy_queues(struct hostile *h);

/** RESET to RTS; the daemon may refuse what was spoilt meanwhile. */
void hostile_connect(struct hostile *h, int i, uint32_t dest_qpn);
/** So many requests like this one, with one entry. The QP was just connected. */
void hostile_post(struct hostile *h, int i, struct shm_send_wqe wqe, struct shm_sge sge,
                  uint32_t nb);
/** As many receives as there can be. */
void hostile_post_recvs(struct hostile *h, int i);

/** The run is to end. */
bool hostile_is_over(void);
void hostile_nap_us(uint32_t us);

#endif
