/* SPDX-License-Identifier: BSD-3-Clause */
#include "int.h"
#include "psn.h"
#include "weft_hdr.h"
#include "wire_impl.h"

/*
 * Packets of the weft framing, read without a QP: which optional parts a packet has it says itself,
 * in its map. Whether they are those that were agreed on is for the QP to judge.
 */

/* The order on the wire: stream packets INT, path header, timestamp, X, then by opcode;
 * acknowledgements syndrome and value, RNR, SACK, timestamp echo, X, INT. */

static uint32_t
int_len(uint32_t nb_slots)
{
	return nb_slots ? INT_LEN(nb_slots) : 0;
}

/* Flags are read into the packet; the result is how far block X lies behind the map. */
static uint32_t
read_stream_map(uint8_t map, struct wire_weft *x)
{
	x->nb_slots = map >> MAP_SLOTS_SHIFT;
	x->has_lane = MAP_BIT(map, MAP_LANE);
	x->has_ts = MAP_BIT(map, MAP_TS);
	x->retransmit = MAP_BIT(map, MAP_RETRANSMIT);
	x->sync = MAP_BIT(map, MAP_SYNC);
	x->has_sack = x->has_rnr = x->ce = false;
	return int_len(x->nb_slots) + x->has_lane * LANE_LEN + x->has_ts * TS_LEN;
}

static uint32_t
read_ack_map(uint8_t map, struct wire_weft *x)
{
	x->nb_slots = map >> MAP_SLOTS_SHIFT;
	x->has_sack = MAP_BIT(map, MAP_SACK);
	x->has_ts = MAP_BIT(map, MAP_TS);
	x->ce = MAP_BIT(map, MAP_CE);
	x->has_rnr = MAP_BIT(map, MAP_RNR);
	x->has_lane = x->retransmit = x->sync = false;
	return WEFT_ACK_LEN + x->has_rnr * RNR_BLOCK_LEN + x->has_sack * SACK_BLOCK_LEN +
	       x->has_ts * TS_ECHO_LEN;
}

/* The length of block X, hdr_len behind p; room bytes are there. False if it can't be. */
static bool
read_ext_len(const uint8_t *p, uint32_t room, uint32_t *hdr_len, struct wire_weft *x)
{
	if (*hdr_len >= room || p[*hdr_len] == 0 || p[*hdr_len] > WEFT_EXT_WORDS_MAX)
		return false;
	x->ext_len = (uint8_t)(4 * p[*hdr_len] - 1);
	*hdr_len += 1u + x->ext_len;
	return true;
}

/* The optional headers of a stream packet. */
static const uint8_t *
read_stream_options(const uint8_t *p, struct wire_weft *x)
{
	x->int_area = p;
	p += int_len(x->nb_slots);
	if (x->has_lane) {
		x->lane.lanes = get_be16(p);
		x->lane.offset = get_be16(p + 2);
		x->lane.first_psn = get_be32(p + 4) >> 8;
		x->lane.back = p[7];
		p += LANE_LEN;
	}
	if (x->has_ts) {
		x->ts_ns = get_be32(p);
		p += TS_LEN;
	}
	x->ext = p + 1;
	return x->ext_len ? p + 1 + x->ext_len : p;
}

/* What its opcode has. */
static void
read_placement(const uint8_t *p, uint32_t flags, struct wire_pkt *w)
{
	struct wire_weft *x = &w->weft;

	if (flags & OPF_RETH) {
		read_reth(p, w);
		p += RETH_LEN;
	} else if (flags & OPF_SPH) {
		uint32_t ref = get_be32(p + 8) >> 8;

		x->offset = get_be32(p);
		x->msg_len = get_be32(p + 4);
		if (flags & OPF_READ_RESP)
			x->req_msn = ref;
		else
			x->ssn = ref;
		p += SPH_LEN;
	} else if (flags & OPF_ATOMIC_ETH) {
		read_atomic_eth(p, w);
		p += ATOMIC_ETH_LEN;
	} else {
		x->req_msn = get_be32(p) >> 8;
		w->atomic_orig = get_be64(p + WEFT_WORD_LEN);
		return;
	}
	if (flags & (OPF_SSN | OPF_ORDER)) {
		x->ssn = get_be32(p) >> 8;
		p += WEFT_WORD_LEN;
	}
	if (flags & OPF_ORDER)
		x->opp_emsn = get_be32(p) >> 8;
	if (flags & OPF_IMM)
		w->imm = get_be32(p);
	if (flags & OPF_IETH)
		w->inv_rkey = get_be32(p);
}

static void
read_ack(const uint8_t *p, struct wire_pkt *w)
{
	struct wire_weft *x = &w->weft;

	w->syndrome = p[0];
	x->value = get_be32(p) & PSN_MASK;
	p += WEFT_ACK_LEN;
	if (x->has_rnr) {
		x->rnr_ssn = get_be32(p) >> 8;
		x->rnr_code = p[3];
		x->rnr_msn = get_be32(p + 4) >> 8;
		p += RNR_BLOCK_LEN;
	}
	if (x->has_sack) {
		x->sack_off = get_be16(p);
		x->sack_bits = get_be64(p + 4);
		p += SACK_BLOCK_LEN;
	}
	if (x->has_ts) {
		x->ts_ns = get_be32(p);
		x->held_ns = get_be32(p + 4);
		p += TS_ECHO_LEN;
	}
	x->ext = p + 1;
	x->int_area = x->ext_len ? p + 1 + x->ext_len : p;
}

/* Whether an offset, or a WRITE's whole length, agrees with the opcode's place in its message. */
static bool
placement_fits(uint32_t flags, const struct wire_pkt *w)
{
	const struct wire_weft *x = &w->weft;
	uint64_t end = (uint64_t)x->offset + w->payload_len;
	bool is_first, is_last;

	if (flags & OPF_WRITE && w->dma_len > WEFT_MSG_MAX)
		return false;
	if (flags & OPF_WRITE)
		return flags & OPF_ONLY ? w->payload_len == w->dma_len
		                        : w->payload_len < w->dma_len;
	if (!(flags & OPF_SPH))
		return true;
	if (x->msg_len > WEFT_MSG_MAX || end > x->msg_len)
		return false;
	is_first = x->offset == 0;
	is_last = end == x->msg_len;
	if (flags & OPF_VOID)
		return is_first || !is_last;
	if (is_first)
		return flags & (is_last ? OPF_ONLY : OPF_FIRST);
	return flags & (is_last ? OPF_LAST : OPF_MIDDLE);
}

static bool
ack_fits(const struct wire_weft *x)
{
	return (!x->has_rnr || x->rnr_code <= RNR_CODE_MAX) &&
	       (!x->has_sack || x->sack_off % SACK_BITS == 0);
}

void
weft_read_header_only(const uint8_t *bth, struct wire_pkt *w)
{
	w->weft = (struct wire_weft){
		.retry = bth[8] & WEFT_RETRY_MASK,
		.tag = w->tos >> DCP_TAG_SHIFT & 3,
		.is_header_only = true,
	};
	w->msn = get_be32(bth + WEFT_OFF_MSN - 1) & PSN_MASK;
	w->payload = bth + WEFT_OFF_MAP;
	w->payload_len = 0;
}

enum wire_bad
weft_read(const uint8_t *bth, uint32_t len, struct wire_pkt *w)
{
	const uint8_t *p = bth + WEFT_OFF_INT;
	uint32_t flags = w->op->flags, hdr_len, room, word;
	struct wire_weft *x = &w->weft;
	bool is_stream = flags & OPF_STREAM;
	uint8_t map;

	/* A bounce is never longer than header-only. */
	if (len < WEFT_OFF_INT + ICRC_LEN || flags & OPF_BOUNCE)
		return WIRE_BAD_LENGTH;
	room = len - WEFT_OFF_INT - ICRC_LEN;
	word = get_be32(bth + WEFT_OFF_MSN);
	w->msn = word >> 8;
	map = (uint8_t)word;
	x->retry = bth[8] & WEFT_RETRY_MASK;
	x->tag = w->tos >> DCP_TAG_SHIFT & 3;
	x->is_header_only = false;
	x->ext_len = 0;
	hdr_len = is_stream ? read_stream_map(map, x) : read_ack_map(map, x);
	if (map & MAP_EXT && !read_ext_len(p, room, &hdr_len, x))
		return WIRE_BAD_LENGTH;
	if (is_stream)
		hdr_len += w->op->ext_len - (uint32_t)WEFT_MSN_MAP_LEN;
	else
		hdr_len += int_len(x->nb_slots);
	if (room < hdr_len + w->pad || room % 4)
		return WIRE_BAD_LENGTH;
	w->payload = p + hdr_len;
	w->payload_len = room - hdr_len - w->pad;
	if (!payload_fits(flags, w->payload_len, w->pad))
		return WIRE_BAD_LENGTH;

	if (is_stream)
		read_placement(read_stream_options(p, x), flags, w);
	else
		read_ack(p, w);
	if (!(is_stream ? placement_fits(flags, w) : ack_fits(x)))
		return WIRE_BAD_FIELD;
	return WIRE_BAD_NONE;
}
