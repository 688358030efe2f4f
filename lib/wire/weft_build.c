/* SPDX-License-Identifier: BSD-3-Clause */
#include "build_impl.h"
#include "int.h"

/* The mirror of weft_parse.c. */

static uint32_t
map_of(const struct wire_weft *x, uint32_t flags)
{
	uint32_t map = (uint32_t)x->nb_slots << MAP_SLOTS_SHIFT | (x->ext_len ? MAP_EXT : 0) |
	               x->has_ts * MAP_TS;

	if (flags & OPF_STREAM)
		return map | x->has_lane * MAP_LANE | x->retransmit * MAP_RETRANSMIT |
		       x->sync * MAP_SYNC;
	return map | x->has_sack * MAP_SACK | x->ce * MAP_CE | x->has_rnr * MAP_RNR;
}

/* Bytes of what the map announces. */
uint32_t
weft_options_len(const struct wire_weft *x, uint32_t flags)
{
	uint32_t len = 0;

	assert(x->nb_slots <= INT_SLOTS_MAX);
	assert(x->ext_len == 0 || (x->ext_len % 4 == 3 && x->ext_len < 4 * WEFT_EXT_WORDS_MAX));
	if (x->nb_slots)
		len += INT_LEN(x->nb_slots);
	if (x->ext_len)
		len += 1u + x->ext_len;
	if (flags & OPF_STREAM)
		return len + x->has_lane * LANE_LEN + x->has_ts * TS_LEN;
	return len + x->has_rnr * RNR_BLOCK_LEN + x->has_sack * SACK_BLOCK_LEN +
	       x->has_ts * TS_ECHO_LEN;
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

/* What an SPH refers to. */
static uint32_t
reference(const struct wire_weft *x, uint32_t flags)
{
	return flags & OPF_READ_RESP ? x->req_msn : x->ssn;
}

static void
write_sph(uint8_t *p, const struct wire_weft *x, uint32_t flags)
{
	put_be32(p, x->offset);
	put_be32(p + 4, x->msg_len);
	put_word(p + 8, reference(x, flags));
}

static void
write_placement(uint8_t *p, const struct wire_pkt *w, uint32_t flags)
{
	const struct wire_weft *x = &w->weft;

	if (flags & OPF_RETH) {
		write_reth(p, w);
		p += RETH_LEN;
	} else if (flags & OPF_SPH) {
		write_sph(p, x, flags);
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
put_int(uint8_t *p, const struct wire_weft *x)
{
	if (x->int_area)
		memcpy(p, x->int_area, INT_LEN(x->nb_slots));
	else
		memset(p, 0, INT_LEN(x->nb_slots));
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
		put_int(p, x);
}

/* What opcodes and maps put behind MSN and map; the INT area of a stream packet as ones. */
static void
write_rest(uint8_t *p, const struct wire_pkt *w, uint32_t flags)
{
	if (flags & OPF_STREAM)
		write_placement(write_stream_options(p, &w->weft), w, flags);
	else
		write_ack(p, w);
}

/*
 * The ICRC takes words from registers, in the order of their bytes: a wide load of what was just
 * stored in parts waits for the stores. Most packets have nothing behind the map but a RETH or an
 * SPH, so those are done in one step.
 */

/* BTH, MSN and map. */
struct front {
	uint32_t word[4];
	uint32_t
		masked[2]; /* the first two as the ICRC begins: register added, variant bits ones */
};

static struct front
front_of(const struct wire_path *path, const struct wire_pkt *w, uint32_t pad, uint32_t map)
{
	struct front f;

	bth_words(f.word, w, pad);
	f.word[0] |= htobe32(WEFT_TVER << 16);
	f.word[2] |= htobe32((uint32_t)w->weft.retry << 24);
	f.word[3] = htobe32(w->msn << 8 | map);
	f.masked[0] = f.word[0] ^ htole32(path->icrc);
	f.masked[1] = f.word[1] | BTH_VARIANT;
	return f;
}

static void
put_front(uint8_t *p, const struct front *f)
{
	uint64_t first = join(f->word[0], f->word[1]), second = join(f->word[2], f->word[3]);

	memcpy(p, &first, sizeof(first));
	memcpy(p + 8, &second, sizeof(second));
}

static uint32_t
put_reth_only(uint8_t *p, const struct front *f, const struct wire_pkt *w)
{
	put_front(p, f);
	write_reth(p + WEFT_OFF_INT, w);
	return icrc_two_units(join(f->masked[0], f->masked[1]), join(f->word[2], f->word[3]),
	                      htobe64(w->va), join(htobe32(w->rkey), htobe32(w->dma_len)));
}

static uint32_t
put_sph_only(uint8_t *p, const struct front *f, const struct wire_weft *x, uint32_t flags)
{
	put_front(p, f);
	write_sph(p + WEFT_OFF_INT, x, flags);
	return icrc_two_units(join(0, f->masked[0]), join(f->masked[1], f->word[2]),
	                      join(f->word[3], htobe32(x->offset)),
	                      join(htobe32(x->msg_len), htobe32(reference(x, flags) << 8)));
}

/* The same of any other packet. */
static uint32_t
put_any(uint8_t *p, const struct front *f, const struct wire_pkt *w, uint32_t flags, uint32_t len)
{
	uint32_t crc = icrc_unit(join(f->masked[0], f->masked[1]), join(f->word[2], f->word[3]));

	put_front(p, f);
	p += WEFT_OFF_INT;
	write_rest(p, w, flags);
	crc = icrc_update(crc, p, len);
	/* Only now: the ICRC takes the area as ones. */
	if (w->weft.nb_slots && flags & OPF_STREAM)
		put_int(p, &w->weft);
	return crc;
}

uint32_t
weft_build(uint8_t *buf, struct wire_path *path, const struct wire_pkt *w, uint16_t udp_sport,
           uint8_t ecn, uint32_t *crc)
{
	const struct opcode_info *op = &opcode_table[w->opcode];
	uint32_t flags = op->flags, pad = -w->payload_len & 3;
	uint32_t map = map_of(&w->weft, flags);
	bool is_bare = !(map & ~(flags & OPF_STREAM ? MAP_STREAM_MARKS : MAP_ACK_MARKS));
	uint32_t ext_len = op->ext_len + (is_bare ? 0 : weft_options_len(&w->weft, flags));
	uint32_t udp_len = UDP_LEN + BTH_LEN + ext_len + w->payload_len + pad + ICRC_LEN;
	uint32_t tos = (path->tos & 0xf0u) | (uint32_t)w->weft.tag << DCP_TAG_SHIFT | ecn;
	uint8_t *p = buf + path->len;
	struct front f;
	uint32_t reg;

	assert(w->msn <= PSN_MASK && map <= UINT8_MAX && !(flags & OPF_BOUNCE));
	assert(w->weft.retry <= WEFT_RETRY_MASK && w->weft.tag <= DCP_HEADER_ONLY);
	put_path(buf, path, udp_len, udp_sport, (uint8_t)tos);
	f = front_of(path, w, pad, map);
	if (is_bare && op->ext_len == WEFT_MSN_MAP_LEN + RETH_LEN && flags & OPF_RETH)
		reg = put_reth_only(p, &f, w);
	else if (is_bare && op->ext_len == WEFT_MSN_MAP_LEN + SPH_LEN && flags & OPF_SPH)
		reg = put_sph_only(p, &f, &w->weft, flags);
	else
		reg = put_any(p, &f, w, flags, ext_len - WEFT_MSN_MAP_LEN);
	if (crc)
		*crc = reg;
	return path->len + BTH_LEN + ext_len;
}
