/* SPDX-License-Identifier: BSD-3-Clause */
#include "batch.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "qp.h"

struct batch *
batch_create(void)
{
	struct batch *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
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

/* Where this thread reaches [va, va + len), if one mapped segment holds it; else NULL. */
static uint8_t *
reach(const struct mem *mem, uint64_t va, uint32_t len)
{
	const struct mem_seg *seg = mem_seg_of(mem, va);
	uint64_t off = va - seg->va;

	return seg->map && len <= seg->len - off ? seg->map + off : NULL;
}

bool
batch_gather(struct batch *b, struct qp *qp, const struct mem *mem, uint64_t va, uint8_t *pkt,
             uint32_t len)
{
	struct out_pkt *o = &b->out[b->nb_out - 1];
	const uint8_t *src = reach(mem, va, len);

	if (src && !o->waits) {
		o->crc = icrc_copy(o->crc, pkt, src, len);
		return true;
	}
	o->waits = true;
	return add_runs(b->runs_out, &b->nb_runs_out, mem, va, pkt, len, qp, b->nb_out - 1);
}

void
batch_gather_ptr(struct batch *b, const uint8_t *src, uint8_t *pkt, uint32_t len)
{
	struct out_pkt *o = &b->out[b->nb_out - 1];

	assert(!o->waits);
	o->crc = icrc_copy(o->crc, pkt, src, len);
}

bool
batch_scatter(struct batch *b, struct qp *qp, const struct mem *mem, uint64_t va,
              const uint8_t *pkt, uint32_t len)
{
	uint8_t *dst = reach(mem, va, len);

	/* The packet was verified just now and is in the nearest cache. */
	if (dst && !b->nb_runs_in) {
		memcpy(dst, pkt, len);
		return true;
	}
	return add_runs(b->runs_in, &b->nb_runs_in, mem, va, (uint8_t *)pkt, len, qp, 0);
}

void
batch_cqe(struct nic *nic, struct qp *qp, struct cq *cq, const struct shm_cqe *cqe, bool solicited)
{
	struct batch *b = nic->batch;

	if (b->nb_cqes == BATCH_CQES && b->flushing) {
		cq_write(nic, cq, cqe, solicited);
		return;
	}
	if (b->nb_cqes == BATCH_CQES)
		batch_flush_in(nic);
	b->cqes[b->nb_cqes++] =
		(struct pending_cqe){.cq = cq, .qp = qp, .solicited = solicited, .cqe = *cqe};
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

/* The data of these completions did not arrive. */
static void
spoil(struct batch *b, const struct qp *qp)
{
	for (uint32_t i = 0; i < b->nb_cqes; i++)
		if (b->cqes[i].qp == qp && b->cqes[i].cqe.status == SHM_WC_SUCCESS)
			b->cqes[i].cqe.status = SHM_WC_LOC_PROT_ERR;
}

/* Write n runs, one linear range, through the staging buffer. */
static void
write_slow(struct batch *b, const struct copy_run *runs, uint32_t n, uint32_t bytes)
{
	uint8_t *at = b->staging;

	for (uint32_t i = 0; i < n; i++, at += runs[i - 1].len)
		memcpy(at, runs[i].pkt, runs[i].len);
	if (runs->mem->ops->write(runs->mem, runs->va, b->staging, bytes))
		return;
	for (uint32_t i = 0; i < n; i++) {
		spoil(b, runs[i].qp);
		qp_fail_memory(runs[i].qp, true);
	}
}

static void
scatter(struct nic *nic)
{
	struct batch *b = nic->batch;
	uint32_t n, bytes;

	for (uint32_t i = 0; i < b->nb_runs_in; i += n) {
		struct copy_run *r = &b->runs_in[i];

		n = 1;
		if (r->map) {
			memcpy(r->map, r->pkt, r->len);
		} else {
			n = linear(r, b->nb_runs_in - i, &bytes);
			write_slow(b, r, n, bytes);
		}
	}
	b->nb_runs_in = 0;
}

void
batch_flush_in(struct nic *nic)
{
	struct batch *b = nic->batch;
	uint32_t i = 0;

	if (b->flushing)
		return;
	b->flushing = true;
	scatter(nic);
	/* A full CQ fails its QPs, which adds entries behind these. */
	while (i < b->nb_cqes) {
		struct pending_cqe *p = &b->cqes[i++];

		if (!cq_write(nic, p->cq, &p->cqe, p->solicited) && p->qp)
			qp_fail_overrun(p->qp);
		if (i == b->nb_cqes)
			i = b->nb_cqes = 0;
	}
	b->flushing = false;
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

uint32_t
batch_flush_out(struct nic *nic, struct pkt **pkts)
{
	struct batch *b = nic->batch;
	uint32_t n = 0;

	gather(b);
	for (uint32_t i = 0; i < b->nb_out; i++) {
		struct out_pkt *o = &b->out[i];
		struct pkt *p = o->pkt;

		if (o->failed) {
			pkt_free(&p, 1);
			continue;
		}
		p->len = o->hdr_len + o->payload_len;
		p->len += wire_end(p->data + p->len, o->payload_len, o->crc);
		pkts[n++] = p;
	}
	for (uint32_t i = 0; i < b->nb_out; i++)
		if (b->out[i].failed)
			qp_fail_memory(b->out[i].qp, false);
	b->nb_out = 0;
	return n;
}
