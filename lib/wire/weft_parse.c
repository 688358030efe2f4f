/* SPDX-License-Identifier: BSD-3-Clause */
#include "int.h"
#include "trim.h"
#include "wire_impl.h"

/*
 * Packets of the weft framing, read without a QP: which optional parts a packet has it says itself,
 * in its map. Whether they are those that were agreed on is for the QP to judge.
 *
 * Behind the map, stream packets: INT area, path header, timestamp, block X, then what the opcode
 * has. Acknowledgements: syndrome and value, RNR, SACK, timestamp echo, block X, INT echo.
 */

static uint32_t
int_len(uint32_t nb_slots)
{
	return nb_slots ? INT_LEN(nb_slots) : 0;
}

/*
 * The length of block X at p + off, of room bytes that p has; 0 if it can't be. Without one in the
 * map, nothing.
 */
static bool
read_ext_len(const uint8_t *p, uint32_t room, uint32_t off, uint8_t map, struct wire_weft *x)
{
	x->ext_len = 0;
	if (!(map & MAP_EXT))
		return true;
	if (off >= room || p[off] == 0 || p[off] > WEFT_EXT_WORDS_MAX)
		return false;
	x->ext_len = (uint8_t)(4 * p[off] - 1);
	return true;
}

static uint32_t
ext_block_len(const struct wire_weft *x)
{
	return x->ext_len ? 1u + x->ext_len : 0;
}

/* The optional headers of a stream packet, at p in room bytes; their length is an out-parameter. */
static bool
read_options(const uint8_t *p, uint32_t room, uint8_t map, struct wire_weft *x, uint32_t *len)
{
	uint32_t off;

	x->nb_slots = map >> MAP_SLOTS_SHIFT;
	x->has_lane = MAP_BIT(map, MAP_LANE);
	x->has_ts = MAP_BIT(map, MAP_TS);
	off = int_len(x->nb_slots) + x->has_lane * LANE_LEN + x->has_ts * TS_LEN;
	if (!read_ext_len(p, room, off, map, x))
		return false;
	*len = off + ext_block_len(x);
	if (*len > room)
		return false;

	x->int_area = p;
	x->ext = p + off + 1;
	p += int_len(x->nb_slots);
	if (x->has_lane) {
		x->lane.lanes = get_be16(p);
		x->lane.offset = get_be16(p + 2);
		x->lane.first_psn = get_be32(p + 4) >> 8;
		x->lane.back = p[7];
		p += LANE_LEN;
	}
	if (x->has_ts)
		x->ts_ns = get_be32(p);
	return true;
}

static void
read_sph(const uint8_t *p, uint32_t flags, struct wire_weft *x)
{
	uint32_t reference = get_be32(p + 8) >> 8;

	x->offset = get_be32(p);
	x->msg_len = get_be32(p + 4);
	if (flags & OPF_READ_RESP)
		x->req_msn = reference;
	else
		x->ssn = reference;
}

/* What the opcode has behind the optional headers. */
static void
read_placement(const uint8_t *p, uint32_t flags, struct wire_pkt *w)
{
	struct wire_weft *x = &w->weft;

	if (flags & OPF_RETH) {
		read_reth(p, w);
		p += RETH_LEN;
	} else if (flags & OPF_SPH) {
		read_sph(p, flags, x);
		p += SPH_LEN;
	} else if (flags & OPF_ATOMIC_ETH) {
		read_atomic_eth(p, w);
		p += ATOMIC_ETH_LEN;
	} else {
		x->req_msn = get_be32(p) >> 8;
		w->atomic_orig = get_be64(p + WEFT_WORD_LEN);
	}
	if (!(flags & (OPF_SSN | OPF_ORDER | OPF_IMM | OPF_IETH)))
		return;
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

/* Whether an offset, or a WRITE's whole length, agrees with the opcode's place in its message. */
static bool
placement_fits(uint32_t flags, const struct wire_pkt *w)
{
	const struct wire_weft *x = &w->weft;
	uint64_t end = (uint64_t)x->offset + w->payload_len;
	bool is_first, is_last;

	if (flags & OPF_WRITE)
		return w->dma_len <= WEFT_MSG_MAX &&
		       (flags & OPF_ONLY ? w->payload_len == w->dma_len
		                         : w->payload_len < w->dma_len);
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

/* A stream packet behind its map: room bytes at p, without the ICRC. */
static enum wire_bad
read_stream(const uint8_t *p, uint32_t room, uint8_t map, struct wire_pkt *w)
{
	uint32_t flags = w->op->flags, hdr_len = 0;
	struct wire_weft *x = &w->weft;

	x->retransmit = MAP_BIT(map, MAP_RETRANSMIT);
	x->sync = MAP_BIT(map, MAP_SYNC);
	x->has_sack = x->has_rnr = x->ce = false;
	if (map & ~MAP_STREAM_MARKS) {
		if (!read_options(p, room, map, x, &hdr_len))
			return WIRE_BAD_LENGTH;
	} else {
		x->nb_slots = x->ext_len = 0;
		x->has_lane = x->has_ts = false;
	}
	p += hdr_len;
	hdr_len += w->op->ext_len - (uint32_t)WEFT_MSN_MAP_LEN;
	if (room < hdr_len + w->pad || room % 4)
		return WIRE_BAD_LENGTH;
	w->payload = p + (w->op->ext_len - WEFT_MSN_MAP_LEN);
	w->payload_len = room - hdr_len - w->pad;
	if (!payload_fits(flags, w->payload_len, w->pad))
		return WIRE_BAD_LENGTH;
	read_placement(p, flags, w);
	return placement_fits(flags, w) ? WIRE_BAD_NONE : WIRE_BAD_FIELD;
}

/* The blocks of an acknowledgement, whose lengths have been checked. */
static void
read_blocks(const uint8_t *p, struct wire_pkt *w)
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
	x->int_area = p + ext_block_len(x);
}

/* The same of an acknowledgement. */
static enum wire_bad
read_ack(const uint8_t *p, uint32_t room, uint8_t map, struct wire_pkt *w)
{
	struct wire_weft *x = &w->weft;
	uint32_t off;

	x->nb_slots = map >> MAP_SLOTS_SHIFT;
	x->has_sack = MAP_BIT(map, MAP_SACK);
	x->has_ts = MAP_BIT(map, MAP_TS);
	x->ce = MAP_BIT(map, MAP_CE);
	x->has_rnr = MAP_BIT(map, MAP_RNR);
	x->has_lane = x->retransmit = x->sync = false;
	off = WEFT_ACK_LEN + x->has_rnr * RNR_BLOCK_LEN + x->has_sack * SACK_BLOCK_LEN +
	      x->has_ts * TS_ECHO_LEN;
	if (!read_ext_len(p, room, off, map, x))
		return WIRE_BAD_LENGTH;
	if (room != off + ext_block_len(x) + int_len(x->nb_slots) || w->pad)
		return WIRE_BAD_LENGTH;
	w->payload = p + room;
	w->payload_len = 0;
	read_blocks(p, w);
	if (x->has_rnr && x->rnr_code > RNR_CODE_MAX)
		return WIRE_BAD_FIELD;
	if (x->has_sack && x->sack_off % SACK_BITS)
		return WIRE_BAD_FIELD;
	return WIRE_BAD_NONE;
}

enum wire_bad
weft_read(const uint8_t *bth, uint32_t len, struct wire_pkt *w)
{
	const uint8_t *p = bth + WEFT_OFF_INT;
	uint32_t flags = w->op->flags, word;

	/* A bounce is never longer than header-only. */
	if (len < WEFT_OFF_INT + ICRC_LEN || flags & OPF_BOUNCE)
		return WIRE_BAD_LENGTH;
	len -= WEFT_OFF_INT + ICRC_LEN;
	word = get_be32(bth + WEFT_OFF_MSN);
	w->msn = word >> 8;
	w->weft.retry = bth[8] & WEFT_RETRY_MASK;
	w->weft.tag = w->tos >> DCP_TAG_SHIFT & 3;
	w->weft.is_header_only = false;
	if (flags & OPF_STREAM)
		return read_stream(p, len, (uint8_t)word, w);
	return read_ack(p, len, (uint8_t)word, w);
}

enum wire_bad
weft_read_header_only(const uint8_t *bth, struct wire_pkt *w)
{
	const uint8_t *l3 = bth - UDP_LEN - (w->ipv6 ? IPV6_LEN : IPV4_LEN);

	read_bth(bth, w);
	if (!is_spoken(w->op->flags, bth) || !(w->op->flags & (OPF_STREAM | OPF_BOUNCE)) ||
	    weft_tag(l3, w->ipv6) != DCP_HEADER_ONLY)
		return WIRE_BAD_SHORT;
	if (!wire_header_only_sum_ok(l3, w->ipv6))
		return WIRE_BAD_SUM;
	w->weft = (struct wire_weft){
		.retry = bth[8] & WEFT_RETRY_MASK,
		.tag = DCP_HEADER_ONLY,
		.is_header_only = true,
	};
	w->msn = get_be32(bth + WEFT_OFF_MSN - 1) & PSN_MASK;
	w->payload = bth + WEFT_OFF_MAP;
	w->payload_len = 0;
	return WIRE_BAD_NONE;
}
