/* SPDX-License-Identifier: BSD-3-Clause */
#include "drain.h"

#include <errno.h>
#include <stdlib.h>

#include "qpns.h"

/* QPs that the worker looks at in one call, about 0.2 us each. Source: our choice. */
#define SLICE_QPS 128

struct slice {
	const struct nic *nic;
	const uint32_t *qpns; /* of QPs to note; NULL: look at work again */
	struct qp_work *work;
	uint32_t nb;
	uint32_t nb_left; /* entries of work that are kept, in front */
	uint64_t nb_sends;
};

static void
keep(struct slice *s, const struct qp_work *work)
{
	uint32_t nb = qp_work_left(s->nic, work);

	if (nb == 0)
		return;
	s->work[s->nb_left++] = *work;
	s->nb_sends += nb;
}

static void
look_at_slice(void *arg, uint64_t now_ns)
{
	struct slice *s = arg;

	(void)now_ns;
	for (uint32_t i = 0; i < s->nb; i++) {
		struct qp_work work;

		if (!s->qpns)
			keep(s, &s->work[i]);
		else if (qp_work_now(s->nic, s->qpns[i], &work))
			keep(s, &work);
	}
}

/* qpns NULL: those in drain->work. */
static void
look(struct drain *drain, const uint32_t *qpns, uint32_t nb)
{
	uint32_t nb_kept = 0;

	drain->nb_sends = 0;
	for (uint32_t from = 0; from < nb; from += SLICE_QPS) {
		struct slice s = {
			.nic = drain->nic,
			.qpns = qpns ? qpns + from : NULL,
			.work = drain->work + from,
			.nb = nb - from < SLICE_QPS ? nb - from : SLICE_QPS,
		};

		worker_call(drain->worker, look_at_slice, &s);
		for (uint32_t i = 0; i < s.nb_left; i++)
			drain->work[nb_kept++] = s.work[i];
		drain->nb_sends += s.nb_sends;
	}
	drain->nb_qps = nb_kept;
}

int
drain_begin(struct drain *drain, struct worker *worker, const struct nic *nic)
{
	uint32_t nb, *qpns = qpns_of(worker, nic, &nb);

	*drain = (struct drain){.worker = worker, .nic = nic};
	if (qpns)
		drain->work = calloc(nb + 1, sizeof(*drain->work));
	if (drain->work)
		look(drain, qpns, nb);
	free(qpns);
	return drain->work ? 0 : -ENOMEM;
}

uint32_t
drain_look(struct drain *drain)
{
	look(drain, NULL, drain->nb_qps);
	return drain->nb_qps;
}

void
drain_end(struct drain *drain)
{
	free(drain->work);
	*drain = (struct drain){0};
}
