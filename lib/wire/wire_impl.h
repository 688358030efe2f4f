/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_WIRE_IMPL_H
#define WEFT_WIRE_IMPL_H

#include "be.h"
#include "hdr.h"
#include "wire.h"

/*
 * What the two framings' files share. Inside this folder only.
 */

/** The map byte of the weft framing; its upper three bits count INT slots. */
enum weft_map {
	/* stream packets */
	MAP_LANE = 1u << 4,
	MAP_TS = 1u << 3, /* acknowledgements: an echo */
	MAP_RETRANSMIT = 1u << 2,
	MAP_SYNC = 1u << 1,
	MAP_EXT = 1u << 0, /* acknowledgements too */
	/* acknowledgements */
	MAP_SACK = 1u << 4,
	MAP_CE = 1u << 2,
	MAP_RNR = 1u << 1,
};
#define MAP_SLOTS_SHIFT 5
#define MAP_BIT(map, bit) (((map) & (bit)) != 0)

/** Block X: its first byte counts words of four bytes, itself among them. */
#define WEFT_EXT_WORDS_MAX 4

/** RNR timer codes have five bits. Source: IBA vol. 1, ch. 9. */
#define RNR_CODE_MAX 31
/** The bitmap of a SACK block begins at a multiple of so many PSNs behind cum. */
#define SACK_BITS 64

static inline void
read_reth(const uint8_t *p, struct wire_pkt *w)
{
	w->va = get_be64(p);
	w->rkey = get_be32(p + 8);
	w->dma_len = get_be32(p + 12);
}

static inline void
write_reth(uint8_t *p, const struct wire_pkt *w)
{
	put_be64(p, w->va);
	put_be32(p + 8, w->rkey);
	put_be32(p + 12, w->dma_len);
}

static inline void
read_atomic_eth(const uint8_t *p, struct wire_pkt *w)
{
	w->va = get_be64(p);
	w->rkey = get_be32(p + 8);
	w->swap_add = get_be64(p + 12);
	w->compare = get_be64(p + 20);
}

static inline void
write_atomic_eth(uint8_t *p, const struct wire_pkt *w)
{
	put_be64(p, w->va);
	put_be32(p + 8, w->rkey);
	put_be64(p + 12, w->swap_add);
	put_be64(p + 20, w->compare);
}

/**
 * Whether this much payload and padding is possible with this opcode, whatever the QP's path MTU:
 * with it the QP checks again (FIRST and MIDDLE have exactly one MTU).
 */
static inline bool
payload_fits(uint32_t flags, uint32_t payload_len, uint32_t pad)
{
	if (!(flags & OPF_PAYLOAD))
		return payload_len == 0 && pad == 0;
	if (payload_len > PMTU_MAX)
		return false;
	if (flags & (OPF_FIRST | OPF_MIDDLE))
		return payload_len > 0 && pad == 0;
	return payload_len > 0 || flags & OPF_ONLY;
}

/**
 * Read what follows the BTH in a packet of the weft framing that is not header-only.
 *
 * @param bth  of a packet whose BTH and tos are read into w.
 * @param len  from the BTH to the end of the UDP datagram, at least a BTH and an ICRC.
 */
enum wire_bad weft_read(const uint8_t *bth, uint32_t len, struct wire_pkt *w);

/** Read a header-only packet's retry number, tag and MSN: the end of its datagram. */
void weft_read_header_only(const uint8_t *bth, struct wire_pkt *w);

/** Bytes of extended headers behind the BTH. */
uint32_t weft_ext_len(const struct wire_pkt *w, const struct opcode_info *op);

/** The word of MSN and map. */
uint32_t weft_msn_map(const struct wire_pkt *w, uint32_t flags);

/**
 * Write all that follows the map; the INT area of a stream packet as ones, as the ICRC takes it.
 */
void weft_write(uint8_t *p, const struct wire_pkt *w, uint32_t flags);

/** Write an INT area. */
void weft_put_int(uint8_t *p, const struct wire_weft *x);

#endif
