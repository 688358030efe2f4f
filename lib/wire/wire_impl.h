/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_WIRE_IMPL_H
#define WEFT_WIRE_IMPL_H

#include "be.h"
#include "hdr.h"
#include "psn.h"
#include "weft_hdr.h"
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
/** Those that announce nothing behind the map. */
#define MAP_STREAM_MARKS (MAP_RETRANSMIT | MAP_SYNC)
#define MAP_ACK_MARKS MAP_CE
#define MAP_BIT(map, bit) (((map) & (bit)) != 0)

/** Block X: its first byte counts words of four bytes, itself among them. */
#define WEFT_EXT_WORDS_MAX 4

/** RNR timer codes have five bits. Source: IBA vol. 1, ch. 9. */
#define RNR_CODE_MAX 31
/** The bitmap of a SACK block begins at a multiple of so many PSNs behind cum. */
#define SACK_BITS 64

/** Read a BTH, whose opcode and TVer the caller judges. */
static inline void
read_bth(const uint8_t *p, struct wire_pkt *w)
{
	uint32_t word;

	w->opcode = p[0];
	w->op = &opcode_table[w->opcode];
	w->solicited = p[1] >> 7;
	w->mig_req = p[1] >> 6 & 1;
	w->pad = p[1] >> 4 & 3;
	w->pkey = get_be16(p + 2);
	word = get_be32(p + 4);
	w->fecn = word >> 31;
	w->becn = word >> 30 & 1;
	w->dest_qpn = word & PSN_MASK;
	word = get_be32(p + 8);
	w->ack_req = word >> 31;
	w->psn = word & PSN_MASK;
}

/** Whether we speak an opcode, in the framing that its transport version names. */
static inline bool
is_spoken(uint32_t flags, const uint8_t *bth)
{
	return flags & OPF_VALID && (bth[1] & 0x0f) == (flags & OPF_WEFT ? WEFT_TVER : 0);
}

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

/**
 * Read a datagram of the length of a header-only packet, which may be another's that is too short.
 *
 * @param bth  its first byte behind the IP and UDP headers, which are in memory before it and
 *             read into w.
 */
enum wire_bad weft_read_header_only(const uint8_t *bth, struct wire_pkt *w);

/** As wire_build, of an opcode with OPF_WEFT. */
uint32_t weft_build(uint8_t *buf, struct wire_path *path, const struct wire_pkt *w,
                    uint16_t udp_sport, uint8_t ecn, uint32_t *crc);

/** Bytes of the optional parts that a packet's map announces. */
uint32_t weft_options_len(const struct wire_weft *x, uint32_t flags);

#endif
