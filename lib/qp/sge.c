/* SPDX-License-Identifier: BSD-3-Clause */
#include "sge.h"

#include <string.h>

#include "batch.h"
#include "piece.h"

/* Bytes [off, off + len) of a list, entry by entry. */
struct cursor {
	const struct shm_sge *sge, *end;
	uint64_t off;
	uint32_t len;
};

/* The next piece within one entry; moves off and len on. False: the list is at its end. */
static bool
next_piece(struct cursor *c, struct shm_sge *piece)
{
	uint64_t left;

	while (c->sge != c->end && c->off >= c->sge->length)
		c->off -= c->sge++->length;
	if (c->sge == c->end)
		return false;
	left = c->sge->length - c->off;
	piece->addr = c->sge->addr + c->off;
	piece->length = left < c->len ? (uint32_t)left : c->len;
	piece->lkey = c->sge->lkey;
	c->off += piece->length;
	c->len -= piece->length;
	return true;
}

bool
sge_gather(struct qp *qp, const struct send_wr *wr, uint64_t off, uint8_t *pkt, uint32_t len)
{
	struct cursor c = {wr->sge, wr->sge + wr->wqe.nb_sge, off, len};
	struct shm_sge piece;

	if (len && wr->wqe.nb_sge == 1) /* nearly always: no piece to look for */
		return piece_gather(qp, wr->sge->lkey, wr->sge->addr + off, len, pkt);
	for (; c.len; pkt += piece.length)
		if (!next_piece(&c, &piece) ||
		    !piece_gather(qp, piece.lkey, piece.addr, piece.length, pkt))
			return false;
	return true;
}

static bool
place(struct qp *qp, struct cursor c, uint32_t pd, const uint8_t *pkt, uint32_t psn)
{
	struct shm_sge piece;

	for (; c.len; pkt += piece.length)
		if (!next_piece(&c, &piece) ||
		    !piece_place(qp, pd, piece.lkey, piece.addr, piece.length, pkt, psn))
			return false;
	return true;
}

bool
sge_place_answer(struct qp *qp, const struct send_wr *wr, uint64_t off, const uint8_t *pkt,
                 uint32_t len)
{
	struct cursor c = {wr->sge, wr->sge + wr->wqe.nb_sge, off, len};

	return place(qp, c, qp->pd, pkt, BATCH_ANSWER);
}

bool
sge_place_atomic(struct qp *qp, const struct send_wr *wr, const struct wire_pkt *w)
{
	uint8_t *at = (uint8_t *)w->payload - sizeof(w->atomic_orig);

	memcpy(at, &w->atomic_orig, sizeof(w->atomic_orig));
	return sge_place_answer(qp, wr, 0, at, sizeof(w->atomic_orig));
}

bool
sge_place_recv(struct qp *qp, const struct recv_wr *wr, uint64_t off, const uint8_t *pkt,
               uint32_t len, uint32_t psn)
{
	struct cursor c = {wr->sge, wr->sge + wr->nb_sge, off, len};

	return place(qp, c, qp->srq ? qp->srq->pd : qp->pd, pkt, psn);
}
