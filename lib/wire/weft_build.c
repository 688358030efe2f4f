/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>

#include "int.h"
#include "psn.h"
#include "weft_hdr.h"
#include "wire_impl.h"

/* The mirror of weft_parse.c. */

uint32_t
weft_ext_len(const struct wire_pkt *w, const struct opcode_info *op)
{
	const struct wire_weft *x = &w->weft;
	uint32_t len = op->ext_len;

	assert(!(op->flags & OPF_BOUNCE));
	assert(x->nb_slots <= INT_SLOTS_MAX);
	assert(x->ext_len == 0 || (x->ext_len % 4 == 3 && x->ext_len < 4 * WEFT_EXT_WORDS_MAX));
	if (x->nb_slots)
		len += INT_LEN(x->nb_slots);
	if (x->ext_len)
		len += 1u + x->ext_len;
	if (op->flags & OPF_STREAM)
		return len + x->has_lane * LANE_LEN + x->has_ts * TS_LEN;
	return len + x->has_rnr * RNR_BLOCK_LEN + x->has_sack * SACK_BLOCK_LEN +
	       x->has_ts * TS_ECHO_LEN;
}

uint32_t
weft_msn_map(const struct wire_pkt *w, uint32_t flags)
{
	const struct wire_weft *x = &w->weft;
	uint32_t map = (uint32_t)x->nb_slots << MAP_SLOTS_SHIFT | (x->ext_len ? MAP_EXT : 0);

	map |= x->has_ts * MAP_TS;
	if (flags & OPF_STREAM)
		map |= x->has_lane * MAP_LANE | x->retransmit * MAP_RETRANSMIT | x->sync * MAP_SYNC;
	else
		map |= x->has_sack * MAP_SACK | x->ce * MAP_CE | x->has_rnr * MAP_RNR;
	return w->msn << 8 | map;
}

static uint8_t *
write_ext_block(uint8_t *p, const struct wire_weft *x)
{
	if (x->ext_len == 0)
		return p;
	p[0] = (uint8_t)((1 + x->ext_len) / 4);
	memcpy(p + 1, x->ext, x->ext_len);
	return p + 1 + x->ext_len;
}

/* A number of 24 bits and a zero. */
static void
put_word(uint8_t *p, uint32_t number)
{
	assert(number <= PSN_MASK);
	put_be32(p, number << 8);
}

static uint8_t *
write_stream_options(uint8_t *p, const struct wire_weft *x)
{
	if (x->nb_slots) {
		memset(p, 0xff, INT_LEN(x->nb_slots));
		p += INT_LEN(x->nb_slots);
	}
	if (x->has_lane) {
		put_be16(p, x->lane.lanes);
		put_be16(p + 2, x->lane.offset);
		put_word(p + 4, x->lane.first_psn);
		p[7] = x->lane.back;
		p += LANE_LEN;
	}
	if (x->has_ts) {
		put_be32(p, x->ts_ns);
		p += TS_LEN;
	}
	return write_ext_block(p, x);
}

static void
write_placement(uint8_t *p, const struct wire_pkt *w, uint32_t flags)
{
	const struct wire_weft *x = &w->weft;

	if (flags & OPF_RETH) {
		write_reth(p, w);
		p += RETH_LEN;
	} else if (flags & OPF_SPH) {
		put_be32(p, x->offset);
		put_be32(p + 4, x->msg_len);
		put_word(p + 8, flags & OPF_READ_RESP ? x->req_msn : x->ssn);
		p += SPH_LEN;
	} else if (flags & OPF_ATOMIC_ETH) {
		write_atomic_eth(p, w);
		p += ATOMIC_ETH_LEN;
	} else {
		put_word(p, x->req_msn);
		put_be64(p + WEFT_WORD_LEN, w->atomic_orig);
		return;
	}
	if (flags & (OPF_SSN | OPF_ORDER)) {
		put_word(p, x->ssn);
		p += WEFT_WORD_LEN;
	}
	if (flags & OPF_ORDER)
		put_word(p, x->opp_emsn);
	if (flags & OPF_IMM)
		put_be32(p, w->imm);
	if (flags & OPF_IETH)
		put_be32(p, w->inv_rkey);
}

static void
write_ack(uint8_t *p, const struct wire_pkt *w)
{
	const struct wire_weft *x = &w->weft;

	assert(x->value <= PSN_MASK);
	put_be32(p, (uint32_t)w->syndrome << 24 | x->value);
	p += WEFT_ACK_LEN;
	if (x->has_rnr) {
		assert(x->rnr_code <= RNR_CODE_MAX);
		put_word(p, x->rnr_ssn);
		p[3] = x->rnr_code;
		put_word(p + 4, x->rnr_msn);
		p += RNR_BLOCK_LEN;
	}
	if (x->has_sack) {
		assert(x->sack_off % SACK_BITS == 0);
		put_be32(p, (uint32_t)x->sack_off << 16);
		put_be64(p + 4, x->sack_bits);
		p += SACK_BLOCK_LEN;
	}
	if (x->has_ts) {
		put_be32(p, x->ts_ns);
		put_be32(p + 4, x->held_ns);
		p += TS_ECHO_LEN;
	}
	p = write_ext_block(p, x);
	if (x->nb_slots)
		weft_put_int(p, x);
}

void
weft_put_int(uint8_t *p, const struct wire_weft *x)
{
	if (x->int_area)
		memcpy(p, x->int_area, INT_LEN(x->nb_slots));
	else
		memset(p, 0, INT_LEN(x->nb_slots));
}

void
weft_write(uint8_t *p, const struct wire_pkt *w, uint32_t flags)
{
	if (flags & OPF_STREAM)
		write_placement(write_stream_options(p, &w->weft), w, flags);
	else
		write_ack(p, w);
}
