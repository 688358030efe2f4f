/* SPDX-License-Identifier: BSD-3-Clause */
#include "lease.h"

#include <errno.h>
#include <string.h>

#include "weft_stream.h"

void *
lease_take_cold(struct nic *nic, struct slab *s)
{
	void *block = slab_take_cold(s);

	nic->stats.no_memory += !block;
	return block;
}

/* A slab that has more than it may keep is looked at after a while. */
static void
arm(struct nic *nic, const struct slab *s)
{
	if (slab_has_surplus(s) && nic->trim_ns == NEVER_NS)
		nic->trim_ns = nic->now_ns + LEASE_TRIM_NS;
}

void
lease_give_cold(struct nic *nic, struct slab *s, void *block)
{
	slab_give_cold(s, block);
	arm(nic, s);
}

/* The slab for so many bytes; false without memory. */
static bool
choose(struct nic *nic, size_t bytes, uint8_t *slab)
{
	int idx = slab_set_find(&nic->slabs, (uint32_t)bytes);

	*slab = (uint8_t)idx;
	return idx >= 0;
}

/* ---- a QP from its begin to its end ---- */

struct qp *
lease_qp(struct nic *nic, uint32_t engines_size)
{
	size_t bytes = QP_ENGINES_OFFSET + engines_size;
	struct qp *qp;
	uint8_t slab;

	if (!choose(nic, bytes, &slab) || !(qp = lease_take(nic, slab)))
		return NULL;
	memset(qp, 0, bytes);
	qp->nic = nic;
	qp->own_slab = slab;
	qp->engines_size = engines_size;
	return qp;
}

void
lease_qp_end(struct qp *qp)
{
	lease_give(qp->nic, qp->own_slab, qp);
}

static void
count_users(struct qp *qp, uint32_t by)
{
	const uint8_t used[] = {qp->wrs_slab, qp->recv_slab, qp->nic->fifo_slab};

	for (uint32_t i = 0; i < sizeof(used) / sizeof(used[0]); i++) {
		struct slab *s = qp->nic->slabs.slabs[used[i]];

		s->nb_users += by;
		arm(qp->nic, s);
	}
}

bool
lease_begin(struct qp *qp)
{
	uint32_t nb = 1, recv_sge = qp->srq ? qp->srq->wq.max_sge : qp->rq.max_sge;
	struct nic *nic = qp->nic;

	while (nb < LEASE_MAX_WRS && nb < qp->sq.nb_slots)
		nb *= 2;
	qp->rel_qp.msg_mask = qp->wr_mask = nb - 1;
	qp->wr_size = (uint32_t)(sizeof(struct send_wr) + qp->sq.max_sge * sizeof(struct shm_sge));
	qp->wr_size = (qp->wr_size + 63) & ~63u;
	if (!choose(nic, lease_wrs_offset(nb) + (size_t)nb * qp->wr_size, &qp->wrs_slab) ||
	    !choose(nic, sizeof(struct recv_wr) + recv_sge * sizeof(struct shm_sge),
	            &qp->recv_slab) ||
	    !choose(nic, RESP_FIFO_LEN * sizeof(struct resp), &nic->fifo_slab) ||
	    !choose(nic, sizeof(struct weft_rx), &nic->weft_rx_slab) ||
	    !choose(nic, lease_weft_tx_bytes(qp), &qp->weft_tx_slab))
		return false;
	count_users(qp, 1);
	return true;
}

void
lease_finish(struct qp *qp)
{
	lease_end_all(qp);
	count_users(qp, (uint32_t)-1);
}

void
lease_end_all(struct qp *qp)
{
	lease_wrs_end(qp);
	lease_recv_end(qp);
	lease_fifo_end(qp);
	weft_end(qp);
	if (qp->res)
		lease_give(qp->nic, qp->res_slab, qp->res);
	qp->res = NULL;
	qp->nb_res = 0;
}

/* ---- READs and atomics of the peer ---- */

bool
lease_res(struct qp *qp)
{
	assert(!qp->res && qp->nb_res);
	qp->res = lease_take(qp->nic, qp->res_slab);
	qp->res_next = 0;
	if (qp->res)
		memset(qp->res, 0, qp->nb_res * sizeof(*qp->res));
	return qp->res != NULL;
}

int
lease_res_resize(struct qp *qp, uint32_t nb)
{
	struct rd_res *old = qp->res, *res;
	uint8_t slab;

	if (nb <= qp->nb_res)
		return 0;
	if (!choose(qp->nic, nb * sizeof(*res), &slab))
		return -ENOMEM;
	if (old) {
		res = lease_take(qp->nic, slab);
		if (!res)
			return -ENOMEM;
		memset(res, 0, nb * sizeof(*res));
		for (uint32_t i = 0; i < qp->nb_res; i++) /* the oldest first */
			res[i] = old[(qp->res_next + i) % qp->nb_res];
		lease_give(qp->nic, qp->res_slab, old);
		qp->res = res;
		qp->res_next = qp->nb_res;
	}
	qp->res_slab = slab;
	qp->nb_res = nb;
	return 0;
}

/* ---- giving back to the system ---- */

void
lease_trim(struct nic *nic, uint64_t now_ns)
{
	if (now_ns < nic->trim_ns)
		return;
	nic->trim_ns = slab_set_trim(&nic->slabs) ? now_ns + LEASE_TRIM_NS : NEVER_NS;
}
