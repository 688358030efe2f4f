/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_DRAIN_H
#define WEFT_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "nic.h"
#include "view.h"
#include "worker.h"

/**
 * @file
 * What a NIC still has to do when it is drained: the sends that were posted until then. What
 * programs post afterwards is sent as well, but not waited for.
 *
 * From any thread but the worker, which runs; it is asked in slices that a packet does not notice.
 */

struct drain {
	struct worker *worker;
	const struct nic *nic;
	struct qp_work *work; /**< of QPs that have something to do */
	uint32_t nb_qps;
	uint64_t nb_sends; /**< of them all, when they were last looked at */
};

/** What the NIC has to do now. @return 0 or -ENOMEM. Ended by drain_end. */
int drain_begin(struct drain *drain, struct worker *worker, const struct nic *nic);

/** Look again: nb_qps and nb_sends of what was posted until drain_begin. @return nb_qps. */
uint32_t drain_look(struct drain *drain);

/** Free it. */
void drain_end(struct drain *drain);

#endif
