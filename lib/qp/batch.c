/* SPDX-License-Identifier: BSD-3-Clause */
#include "batch.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "qp.h"
#include "wr.h"

struct batch *
batch_create(bool payload_absent)
{
	struct batch *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->payload_absent = payload_absent;
	if (payload_absent)
		return b;
	b->staging = malloc(BATCH_STAGING);
	if (!b->staging) {
		free(b);
		return NULL;
	}
	return b;
}

void
batch_destroy(struct batch *b)
{
	if (!b)
		return;
	pkt_free(b->spare, b->nb_spare);
	free(b->staging);
	free(b);
}

bool
batch_refill(struct batch *b, struct pkt_pool *pool)
{
	b->nb_spare = pool->alloc(pool, b->spare, BATCH_PKTS);
	if (!b->nb_spare)
		b->nb_spare = pool->alloc(pool, b->spare, 1);
	return b->nb_spare != 0;
}

/* Cut [va, va + len) at segment borders; nearly always one segment holds it all. */
static bool
add_runs(struct copy_run *runs, uint32_t *nb_runs, const struct mem *mem, uint64_t va, uint8_t *pkt,
         uint32_t len, struct qp *qp, uint32_t out_idx)
{
	while (len) {
		const struct mem_seg *seg = mem_seg_of(mem, va);
		uint64_t off = va - seg->va;
		struct copy_run *r = &runs[*nb_runs];

		if (*nb_runs == BATCH_RUNS)
			return false;
		r->len = len <= seg->len - off ? len : (uint32_t)(seg->len - off);
		r->map = seg->map ? seg->map + off : NULL;
		r->mem = mem;
		r->va = va;
		r->pkt = pkt;
		r->qp = qp;
		r->out_idx = out_idx;
		++*nb_runs;
		va += r->len;
		pkt += r->len;
		len -= r->len;
	}
	return true;
}

bool
batch_gather(struct batch *b, struct qp *qp, const struct mem *mem, uint64_t va, uint8_t *pkt,
             uint32_t len)
{
	batch_last(b)->waits = true;
	if (b->payload_absent)
		return true;
	return add_runs(b->runs_out, &b->nb_runs_out, mem, va, pkt, len, qp, b->nb_out - 1);
}

void
batch_gather_ptr(struct batch *b, const uint8_t *src, uint8_t *pkt, uint32_t len)
{
	struct out_pkt *o = batch_last(b);

	assert(!o->waits);
	if (b->payload_absent)
		return;
	o->crc = icrc_copy(o->crc, pkt, src, len);
}

bool
batch_scatter(struct batch *b, const struct batch_dst *dst, const uint8_t *pkt, uint32_t len)
{
	uint32_t first = b->nb_runs_in;
	bool fits = add_runs(b->runs_in, &b->nb_runs_in, dst->mem, dst->va, (uint8_t *)pkt, len,
	                     dst->qp, dst->psn);
	for (uint32_t i = first; i < b->nb_runs_in; i++) {
		b->runs_in[i].cqe_idx = b->nb_cqes;
		b->runs_in[i].failed = false;
	}
	return fits;
}

/* Completions whose data are placed. One for a full CQ fails its QP, which adds entries behind. */
static void
write_cqes(struct nic *nic)
{
	struct batch *b = nic->batch;

	for (uint32_t i = 0; i < b->nb_cqes; i++) {
		struct pending_cqe *p = &b->cqes[i];

		if (!cq_write(nic, p->cq, &p->cqe, p->solicited) && p->qp)
			qp_fail_overrun(p->qp);
	}
	b->nb_cqes = 0;
}

void
batch_cqe(struct nic *nic, struct qp *qp, struct cq *cq, const struct shm_cqe *cqe, bool solicited)
{
	struct batch *b = nic->batch;

	assert(b->nb_cqes < BATCH_CQES);
	b->cqes[b->nb_cqes] =
		(struct pending_cqe){.cq = cq, .qp = qp, .solicited = solicited, .cqe = *cqe};
	b->cqes[b->nb_cqes++].cqe.cookie = qp->cookie;
}

/* How many runs from here on are one linear range of the same unmapped memory. */
static uint32_t
linear(const struct copy_run *runs, uint32_t nb_runs, uint32_t *bytes)
{
	uint32_t n = 1;

	*bytes = runs[0].len;
	while (n < nb_runs && !runs[n].map && runs[n].mem == runs[0].mem &&
	       runs[n].va == runs[n - 1].va + runs[n - 1].len &&
	       *bytes + runs[n].len <= BATCH_STAGING)
		*bytes += runs[n++].len;
	return n;
}

/* The data of these completions did not arrive. Returns whether there was one of a request's kind:
 * a receive for what a peer sent, a send for what it answered. */
static bool
spoil(struct batch *b, const struct copy_run *r)
{
	bool is_recv = r->psn != BATCH_ANSWER, found = false;

	for (uint32_t i = r->cqe_idx; i < b->nb_cqes; i++) {
		struct shm_cqe *cqe = &b->cqes[i].cqe;

		if (b->cqes[i].qp != r->qp || (cqe->op >= SHM_WC_RECV) != is_recv)
			continue;
		if (cqe->status == SHM_WC_SUCCESS)
			cqe->status = found ? SHM_WC_WR_FLUSH_ERR : SHM_WC_LOC_PROT_ERR;
		found = true;
	}
	return found;
}

/* Write n runs, one linear range, through the staging buffer. */
static bool
write_slow(struct batch *b, struct copy_run *runs, uint32_t n, uint32_t bytes)
{
	uint8_t *at = b->staging;

	for (uint32_t i = 0; at && i < n; i++, at += runs[i - 1].len)
		memcpy(at, runs[i].pkt, runs[i].len);
	if (runs->mem->ops->write(runs->mem, runs->va, b->staging, bytes))
		return true;
	for (uint32_t i = 0; i < n; i++)
		runs[i].failed = true;
	return false;
}

/* False if some memory is gone. */
static bool
scatter(struct batch *b)
{
	uint32_t n, bytes;
	bool ok = true;

	for (uint32_t i = 0; i < b->nb_runs_in; i += n) {
		struct copy_run *r = &b->runs_in[i];

		n = 1;
		if (r->map) {
			memcpy(r->map, r->pkt, r->len);
		} else {
			n = linear(r, b->nb_runs_in - i, &bytes);
			ok = write_slow(b, r, n, bytes) && ok;
		}
	}
	return ok;
}

/* What could be placed is. Now fail the QPs of the rest, whose completions come behind. */
static void
fail_runs(struct batch *b)
{
	for (uint32_t i = 0; i < b->nb_runs_in; i++) {
		const struct copy_run *r = &b->runs_in[i];

		if (r->failed && r->qp->state != SHM_QPS_ERR)
			qp_fail_placing(r->qp, r->psn, spoil(b, r));
	}
}

void
batch_flush_in(struct nic *nic)
{
	struct batch *b = nic->batch;

	if (!scatter(b))
		fail_runs(b);
	b->nb_runs_in = 0;
	write_cqes(nic);
}

/* Bring one linear range of unmapped memory into the staging buffer. */
static void
read_slow(struct batch *b, struct copy_run *runs, uint32_t n, uint32_t bytes)
{
	uint8_t *at = b->staging;
	bool ok = runs->mem->ops->read(runs->mem, runs->va, b->staging, bytes);

	for (uint32_t i = 0; i < n; i++) {
		runs[i].map = at;
		at += runs[i].len;
		if (!ok)
			b->out[runs[i].out_idx].failed = true;
	}
}

static void
gather(struct batch *b)
{
	uint32_t n, bytes;

	for (uint32_t i = 0; i < b->nb_runs_out; i += n) {
		struct copy_run *r = &b->runs_out[i];

		n = 1;
		if (!r->map) {
			n = linear(r, b->nb_runs_out - i, &bytes);
			read_slow(b, r, n, bytes);
		}
		for (uint32_t k = 0; k < n; k++) {
			struct out_pkt *o = &b->out[r[k].out_idx];

			o->crc = icrc_copy(o->crc, r[k].pkt, r[k].map, r[k].len);
		}
	}
	b->nb_runs_out = 0;
}

/* Whose packets could not be made. */
static void
tell_failed(const struct batch *b)
{
	for (uint32_t i = 0; i < b->nb_out; i++) {
		const struct out_pkt *o = &b->out[i];

		if (o->failed && o->is_request)
			wr_spoil(o->qp, o->wr_idx, QP_REASON_LOCAL_MEMORY);
		else if (o->failed)
			qp_fail_reading(o->qp, o->psn);
	}
}

/* Behind the headers: payload that was gathered, padding and ICRC. */
static void
close_packet(const struct batch *b, const struct out_pkt *o)
{
	struct pkt *p = o->pkt;
	uint32_t len = o->hdr_len + o->payload_len;

	if (b->payload_absent) {
		p->absent = o->payload_len + wire_end_len(o->payload_len);
		p->len = o->hdr_len + p->absent;
	} else {
		p->len = len + wire_end(p->data + len, o->payload_len, o->crc);
	}
}

uint32_t
batch_flush_out(struct nic *nic, struct pkt **pkts)
{
	struct batch *b = nic->batch;
	bool failed = false;
	uint32_t n = 0;

	gather(b);
	for (uint32_t i = 0; i < b->nb_out; i++) {
		struct out_pkt *o = &b->out[i];
		struct pkt *p = o->pkt;

		if (o->failed) {
			pkt_free(&p, 1);
			failed = true;
			continue;
		}
		close_packet(b, o);
		nic_count_tx(nic, p);
		if (o->to_self)
			pkt_queue_push(&nic->loop, p);
		else
			pkts[n++] = p;
	}
	if (failed)
		tell_failed(b);
	b->nb_out = 0;
	return n;
}
