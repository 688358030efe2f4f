/* SPDX-License-Identifier: BSD-3-Clause */
#include "rel_trace.h"

static struct rel_trace_entry *
next(struct rel_trace *t)
{
	return &t->entries[t->nb++ % REL_TRACE_MAX];
}

void
rel_trace_frame(struct rel_trace *t, uint64_t at_ns, enum rel_trace_kind kind, int side,
                const struct pkt *pkt)
{
	struct rel_trace_entry *e = next(t);
	enum wire_bad bad;

	e->at_ns = at_ns;
	e->kind = kind;
	e->side = side;
	e->wire = wire_parse(pkt->data, pkt->len, &e->w, &bad);
}

void
rel_trace_app(struct rel_trace *t, uint64_t at_ns, enum rel_trace_kind kind, uint32_t pair,
              int side, uint64_t n, uint8_t status)
{
	struct rel_trace_entry *e = next(t);

	e->at_ns = at_ns;
	e->kind = kind;
	e->side = side;
	e->pair = pair;
	e->n = n;
	e->status = status;
}

static void
print_roce(const struct wire_pkt *w, FILE *to)
{
	fprintf(to, "QP 0x%06x %s, PSN %u%s, %u B", w->dest_qpn, w->op->name, w->psn,
	        w->ack_req ? " A" : "", w->payload_len);
	if (w->op->flags & OPF_AETH)
		fprintf(to, ", syndrome 0x%02x, MSN %u", w->syndrome, w->msn);
	if (!(w->op->flags & OPF_WEFT))
		return;
	fprintf(to, ", MSN %u", w->msn);
	if (w->op->flags & OPF_SPH)
		fprintf(to, ", offset %u of %u", w->weft.offset, w->weft.msg_len);
	if (w->op->flags & OPF_STREAM)
		fprintf(to, ", SSN %u%s", w->weft.ssn, w->weft.retransmit ? ", again" : "");
	else
		fprintf(to, ", syndrome 0x%02x, value %u", w->syndrome, w->weft.value);
	if (w->weft.has_sack)
		fprintf(to, ", SACK +%u 0x%llx", w->weft.sack_off,
		        (unsigned long long)w->weft.sack_bits);
	if (w->weft.has_rnr)
		fprintf(to, ", refused SSN %u of MSN %u", w->weft.rnr_ssn, w->weft.rnr_msn);
}

static void
print_frame(const struct rel_trace_entry *e, FILE *to)
{
	static const char *const kinds[] = {
		[WIRE_ROCE] = "",
		[WIRE_ARP] = "ARP",
		[WIRE_ND] = "ND",
		[WIRE_PFC] = "PFC",
		[WIRE_HELLO] = "HELLO or OPEN",
		[WIRE_OTHER] = "not RoCE",
		[WIRE_BAD] = "malformed",
	};

	fprintf(to, "side %d %s ", e->side, e->kind == REL_TRACE_SENT ? "sends" : "gets ");
	if (e->wire == WIRE_ROCE)
		print_roce(&e->w, to);
	else
		fprintf(to, "%s", kinds[e->wire]);
}

void
rel_trace_print(const struct rel_trace *t, uint64_t max, FILE *to)
{
	static const char *const words[] = {
		[REL_TRACE_POST] = "posts operation",
		[REL_TRACE_RECV] = "posts receive",
		[REL_TRACE_DONE] = "completes operation",
		[REL_TRACE_TAKEN] = "completes receive",
	};
	uint64_t nb = max < REL_TRACE_MAX ? max : REL_TRACE_MAX;
	uint64_t first = t->nb < nb ? 0 : t->nb - nb;

	fprintf(to, "# the last %llu of %llu events\n", (unsigned long long)(t->nb - first),
	        (unsigned long long)t->nb);
	for (uint64_t n = first; n < t->nb; n++) {
		const struct rel_trace_entry *e = &t->entries[n % REL_TRACE_MAX];

		fprintf(to, "# %10.3f us ", (double)e->at_ns / 1000);
		if (e->kind == REL_TRACE_SENT || e->kind == REL_TRACE_ARRIVED)
			print_frame(e, to);
		else
			fprintf(to, "side %d pair %u %s %llu, status %u", e->side, e->pair,
			        words[e->kind], (unsigned long long)e->n, e->status);
		fprintf(to, "\n");
	}
}
