/* SPDX-License-Identifier: BSD-3-Clause */
#include "differ.h"

#include <string.h>

#include "int.h"

/* Leave the function with the name of a field that is not the same. */
#define SAME(f)                                                                                    \
	do {                                                                                       \
		if (a->f != b->f)                                                                  \
			return #f;                                                                 \
	} while (0)

static bool
same_bytes(const uint8_t *a, const uint8_t *b, uint32_t len)
{
	static const uint8_t zeros[INT_LEN(INT_SLOTS_MAX)];

	/* An area that the builder left free. */
	return !memcmp(a ? a : zeros, b ? b : zeros, len);
}

static const char *
differ_options(const struct wire_weft *a, const struct wire_weft *b)
{
	SAME(nb_slots);
	SAME(has_ts);
	SAME(ext_len);
	if (a->nb_slots && !same_bytes(a->int_area, b->int_area, INT_LEN(a->nb_slots)))
		return "int_area";
	if (a->has_ts)
		SAME(ts_ns);
	if (a->ext_len && !same_bytes(a->ext, b->ext, a->ext_len))
		return "ext";
	return NULL;
}

static const char *
differ_stream(const struct wire_weft *a, const struct wire_weft *b, uint32_t flags)
{
	SAME(has_lane);
	SAME(retransmit);
	SAME(sync);
	if (a->has_lane) {
		SAME(lane.lanes);
		SAME(lane.offset);
		SAME(lane.first_psn);
		SAME(lane.back);
	}
	if (flags & OPF_SPH) {
		SAME(offset);
		SAME(msg_len);
	}
	if (flags & (OPF_SSN | OPF_ORDER) || (flags & OPF_SPH && !(flags & OPF_READ_RESP)))
		SAME(ssn);
	if (flags & OPF_ORDER)
		SAME(opp_emsn);
	if (flags & (OPF_REQ_MSN | OPF_READ_RESP))
		SAME(req_msn);
	return NULL;
}

static const char *
differ_ack(const struct wire_weft *a, const struct wire_weft *b)
{
	SAME(has_sack);
	SAME(has_rnr);
	SAME(ce);
	SAME(value);
	if (a->has_rnr) {
		SAME(rnr_ssn);
		SAME(rnr_msn);
		SAME(rnr_code);
	}
	if (a->has_sack) {
		SAME(sack_off);
		SAME(sack_bits);
	}
	if (a->has_ts)
		SAME(held_ns);
	return NULL;
}

static const char *
differ_weft(const struct wire_pkt *a, const struct wire_pkt *b, uint32_t flags)
{
	const char *field;

	SAME(msn);
	SAME(weft.retry);
	SAME(weft.tag);
	SAME(weft.is_header_only);
	if (a->weft.is_header_only)
		return NULL;
	field = differ_options(&a->weft, &b->weft);
	if (field)
		return field;
	if (flags & OPF_STREAM)
		return differ_stream(&a->weft, &b->weft, flags);
	SAME(syndrome);
	return differ_ack(&a->weft, &b->weft);
}

static const char *
differ_ext(const struct wire_pkt *a, const struct wire_pkt *b, uint32_t flags)
{
	if (flags & OPF_AETH) {
		SAME(syndrome);
		SAME(msn);
	}
	if (flags & (OPF_RETH | OPF_ATOMIC_ETH)) {
		SAME(va);
		SAME(rkey);
	}
	if (flags & OPF_RETH)
		SAME(dma_len);
	if (flags & OPF_ATOMIC_ETH) {
		SAME(swap_add);
		SAME(compare);
	}
	if (flags & OPF_ATOMIC_ACK_ETH)
		SAME(atomic_orig);
	if (flags & OPF_IMM)
		SAME(imm);
	if (flags & OPF_IETH)
		SAME(inv_rkey);
	if (flags & OPF_DETH) {
		SAME(qkey);
		SAME(src_qpn);
	}
	return NULL;
}

const char *
wire_differ(const struct wire_pkt *a, const struct wire_pkt *b)
{
	uint32_t flags = opcode_table[a->opcode].flags;
	const char *field;

	SAME(opcode);
	SAME(solicited);
	SAME(mig_req);
	SAME(fecn);
	SAME(becn);
	SAME(ack_req);
	SAME(pkey);
	SAME(dest_qpn);
	SAME(psn);
	SAME(payload_len);
	if (flags & OPF_WEFT) {
		field = differ_weft(a, b, flags);
		if (field || a->weft.is_header_only)
			return field;
	}
	return differ_ext(a, b, flags);
}
