/* SPDX-License-Identifier: BSD-3-Clause */
#include "qpns.h"

#include <stdlib.h>

#include "view.h"

struct numbers {
	const struct nic *nic;
	uint32_t *qpns; /* NULL: only how many there are */
	uint32_t nb;
};

static void
copy_numbers(void *arg, uint64_t now_ns)
{
	struct numbers *n = arg;

	(void)now_ns;
	n->nb = n->qpns ? qp_list(n->nic, n->qpns, n->nb) : n->nic->qps.nb_objs;
}

uint32_t *
qpns_of(struct worker *worker, const struct nic *nic, uint32_t *nb)
{
	struct numbers n = {.nic = nic};

	worker_call(worker, copy_numbers, &n);
	n.qpns = calloc(n.nb + 1, sizeof(*n.qpns));
	if (n.qpns)
		worker_call(worker, copy_numbers, &n);
	*nb = n.nb;
	return n.qpns;
}
