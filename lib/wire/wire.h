/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_WIRE_H
#define WEFT_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "icrc.h"
#include "ip_addr.h"
#include "opcode.h"

#define UDP_PORT_ROCE 4791
/** Of HELLO, by which NICs agree about framings: hello.h. Source: our choice. */
#define UDP_PORT_HELLO 61791
#define PKEY_DEFAULT 0xffff
/** QPN of the general services interface (GSI). */
#define QPN_GSI 1
/**
 * Ethernet 14, VLAN 4, IPv6 40, UDP 8, BTH 12, and of the weft framing MSN and map 4, INT area 60,
 * path header 8, timestamp 4, block X 16, AtomicETH with order words 36: no header of ours is
 * longer.
 */
#define WIRE_HDR_MAX 206

/** AETH syndromes. Source: IBA vol. 1, ch. 9. */
enum aeth_syndrome {
	AETH_ACK = 0x1f, /**< ACK without credits */
	AETH_RNR = 0x20, /**< + timer code, 0 to 31 */
	AETH_NAK_PSN = 0x60,
	AETH_NAK_INVALID = 0x61,
	AETH_NAK_ACCESS = 0x62,
	AETH_NAK_OPERATION = 0x63,

	AETH_TYPE_MASK = 0xe0,
	AETH_TYPE_ACK = 0x00,
	AETH_TYPE_RNR = 0x20,
	AETH_TYPE_NAK = 0x60,
	AETH_VALUE_MASK = 0x1f,
};

/**
 * Type of service of CNPs, whatever their QP's: they tell of congestion, so they do not wait in it.
 * Source: the default of ConnectX NICs, DSCP 48.
 */
#define CNP_TOS 0xc0

/**
 * The PFC class and VLAN priority of a packet: the upper three bits of its type of service, as
 * switches that trust DSCP map them by default. Source: RFC 2474, 4.2.2 (class selectors).
 */
static inline uint8_t
tos_class(uint8_t tos)
{
	return tos >> 5;
}

/** The low two bits of the ToS byte or traffic class. Source: RFC 3168, section 5. */
enum ip_ecn { ECN_NOT_ECT, ECN_ECT1, ECN_ECT0, ECN_CE };
#define IP_ECN_MASK 3

/** What a frame turned out to be. */
enum wire_kind {
	/**
	 * RoCEv2 with every length right that can be judged without a QP: the opcode's headers and
	 * pad, payload 1 to 4096 (ONLY: 0 to 4096, none where the opcode has none), no pad in FIRST
	 * and MIDDLE. Against the path MTU the QP checks; the ICRC is not yet checked.
	 * Or of the weft framing: also all that its map and its opcode announce is there, and
	 * offset, length of the message and of the payload agree with the opcode's FIRST, MIDDLE,
	 * LAST or ONLY. Or such a packet cut to header-only (wire_is_header_only), whose UDP
	 * checksum is right or 0.
	 */
	WIRE_ROCE,
	/** UDP from and to UDP_PORT_HELLO, of at most HELLO_PAYLOAD_MAX bytes, its checksum there
	 * and right; hello_parse reads the payload. */
	WIRE_HELLO,
	WIRE_ARP,   /**< eth_type 0x0806 */
	WIRE_ND,    /**< IPv6 ICMP neighbour solicitation or advertisement */
	WIRE_PFC,   /**< IEEE 802.1Qbb pause; wire_parse_pfc reads it */
	WIRE_OTHER, /**< whole, but not ours */
	WIRE_BAD,   /**< see wire_bad */
};

/** Why a frame is WIRE_BAD; each is a counter. */
enum wire_bad {
	WIRE_BAD_NONE,
	WIRE_BAD_SHORT, /**< ends inside a header, or before the end that IP names */
	WIRE_BAD_IP,    /**< version or header length; to RoCE's port also options, fragment, sum */
	WIRE_BAD_UDP,   /**< length differs from IP's */
	WIRE_BAD_OPCODE, /**< one that we do not speak, or a TVer of another framing */
	WIRE_BAD_LENGTH, /**< headers, pad or payload do not fit the opcode */
	WIRE_BAD_FIELD,  /**< weft: placement that contradicts itself or the opcode; RNR, SACK */
	WIRE_BAD_SUM,    /**< UDP checksum of a header-only packet of the weft framing, of HELLO */
	WIRE_BAD_NB,
};

/** The path header of the weft framing (PSN-PATH), in host order. */
struct wire_lane {
	uint16_t lanes;     /**< K, a power of two from 1 to 32,768 */
	uint16_t offset;    /**< O of the lane: UDP source port = base + lane + O */
	uint32_t first_psn; /**< FPSN, 24 bits */
	uint8_t back;       /**< 255 = check nothing: struct path_info */
};

/**
 * What the weft framing adds to a packet, in host order: docs/wire.md. Defined if the opcode has
 * OPF_WEFT, and of that what the opcode and the flags here say.
 */
struct wire_weft {
	/* map: what follows */
	uint8_t nb_slots; /**< INT area of so many slots; ACK: echo of so many hops; 0 = none */
	bool has_lane;    /**< stream: path header */
	bool has_ts;      /**< stream: timestamp; ACK: timestamp echo */
	bool retransmit;  /**< stream: R, this PSN was sent before */
	bool sync;        /**< stream: S (MP-RDMA) */
	bool has_sack;    /**< ACK: block B */
	bool has_rnr;     /**< ACK: block N */
	bool ce;          /**< ACK: C, a packet with CE came since the last ACK */
	uint8_t ext_len;  /**< content of block X: 0 = none, 3, 7, 11 or 15 bytes */

	uint8_t retry; /**< BTH byte 8: try of the message, 7 bits */
	uint8_t tag;   /**< enum dcp_tag, in the type of service */
	/** Cut behind the MSN: a trimmed stream packet, or a bounce. Nothing else is defined. */
	bool is_header_only;

	/* stream packets */
	struct wire_lane lane;
	uint32_t ts_ns;    /**< of the sender's clock, 32 bits; in an ACK echoed */
	uint32_t offset;   /**< SPH: of this payload in the message, bytes */
	uint32_t msg_len;  /**< SPH: of the message, bytes (RETH has it in dma_len) */
	uint32_t ssn;      /**< SEND, VOID, WRITE with immediate; READ, atomic: the SSN used next */
	uint32_t req_msn;  /**< READ RESPONSE, atomic response: MSN of the request */
	uint32_t opp_emsn; /**< READ, atomic: eMSN of the opposite stream */

	/* acknowledgements; eMSN is in msn, cum in psn */
	uint32_t value;     /**< by syndrome: a PSN, a count, an MSN; 24 bits */
	uint32_t rnr_ssn;   /**< N: first refused SSN, 24 bits */
	uint32_t rnr_msn;   /**< N: its refused instance, 24 bits */
	uint8_t rnr_code;   /**< N: timer code, 0 to 31 */
	uint16_t sack_off;  /**< B: bit i is PSN cum + sack_off + i; a multiple of 64 */
	uint64_t sack_bits; /**< B */
	uint32_t held_ns;   /**< T: time between arrival and this ACK */

	/** INT area or echo, INT_LEN(nb_slots) bytes. Parse: in the frame. Build: copied if not
	 * NULL, else zero. */
	const uint8_t *int_area;
	const uint8_t *ext; /**< content of block X; parse: in the frame */
};

/** Longest message, bytes. Source: IBA vol. 1, ch. 9 (a DMA length has at most 2^31). */
#define WEFT_MSG_MAX (UINT32_C(1) << 31)

/**
 * A RoCEv2 packet in host order: what parse reads and what build writes. Fields of headers that
 * the opcode does not have are not defined after a parse.
 */
struct wire_pkt {
	/* BTH */
	uint8_t opcode;
	uint8_t pad; /**< 0 to 3; build computes it from payload_len */
	bool solicited;
	bool mig_req;
	bool fecn;
	bool becn;
	bool ack_req;
	uint16_t pkey;
	uint32_t dest_qpn; /**< 24 bits */
	uint32_t psn;      /**< 24 bits */
	/* extended headers, by opcode */
	uint8_t syndrome; /**< AETH; weft acknowledgement */
	uint32_t msn;     /**< AETH; weft: of the message, or eMSN; 24 bits */
	uint64_t va;      /**< RETH, AtomicETH */
	uint32_t rkey;    /**< RETH, AtomicETH; IETH in inv_rkey */
	uint32_t dma_len; /**< RETH, bytes */
	uint64_t swap_add;
	uint64_t compare;
	uint64_t atomic_orig; /**< AtomicAckETH */
	uint32_t imm;         /**< ImmDt, host order */
	uint32_t inv_rkey;    /**< IETH */
	uint32_t qkey;        /**< DETH */
	uint32_t src_qpn;     /**< DETH, 24 bits */
	struct wire_weft weft;
	/* only after a parse */
	const struct opcode_info *op; /**< row of opcode, never NULL */
	const uint8_t *payload;       /**< in the frame */
	uint32_t payload_len;         /**< without pad */
	uint32_t l3_off;              /**< of the IP header in the frame */
	uint32_t end_off; /**< first byte behind the ICRC (Ethernet padding may follow) */
	struct ip_addr src, dst;
	uint16_t udp_sport;
	uint16_t vlan_tci; /**< valid if has_vlan */
	bool has_vlan;
	bool ipv6;
	uint8_t tos; /**< IPv4 ToS or IPv6 traffic class: DSCP and ECN */
	uint8_t ttl; /**< or hop limit */
	uint32_t flow_label;
};

/**
 * Classify a frame and read it. Looks at no QP, changes no byte, needs no particular alignment.
 * A frame that is not provably to RoCE's or HELLO's UDP port is WIRE_OTHER, however odd, once its
 * IP header is there. RoCE's UDP checksum is not looked at (RoCEv2 sends 0; the ICRC covers more).
 *
 * @param frame, len  from the destination MAC on, without FCS; padding behind the IP length is
 * fine.
 * @param w           written completely for WIRE_ROCE; what follows op for WIRE_HELLO; l3_off,
 * has_vlan, vlan_tci for all but WIRE_BAD.
 * @param bad         reason when WIRE_BAD is returned, else WIRE_BAD_NONE.
 */
enum wire_kind wire_parse(const uint8_t *frame, uint32_t len, struct wire_pkt *w,
                          enum wire_bad *bad);

/** Whether a parsed RoCE packet is one that was cut behind its MSN: it has no ICRC. */
static inline bool
wire_is_header_only(const struct wire_pkt *w)
{
	return w->op->flags & OPF_WEFT && w->weft.is_header_only;
}

/** The ICRC that a parsed RoCE frame should have; it is written least significant byte first. */
uint32_t wire_icrc(const uint8_t *frame, const struct wire_pkt *w);

/** Whether the ICRC of a parsed RoCE frame is right. Not to be asked of a header-only packet. */
bool wire_icrc_ok(const uint8_t *frame, const struct wire_pkt *w);

/**
 * The outer headers of one path: Ethernet (+VLAN), IP and UDP. Lengths, source port, ECN bits and
 * what follows from them are those of the last packet: in a long message they are the next one's.
 */
struct wire_path {
	uint8_t hdr[14 + 4 + 40 + 8];
	uint8_t len;    /**< bytes used in hdr */
	uint8_t l3_off; /**< 14 or 18 */
	bool ipv6;
	uint8_t tos;      /**< without ECN bits */
	uint16_t ip_csum; /**< IPv4: folded sum of the constant part */
	uint32_t icrc;    /**< the ICRC's register behind the UDP header of hdr */
	uint64_t key;     /**< length, port and type of service of hdr; 0 = not filled in yet */
	/** the headers as the ICRC sees them, icrc_impl.h; without length and port */
	uint8_t icrc_block[64];
};

/** What wire_path_init lays out. */
struct wire_addr {
	uint8_t dmac[6], smac[6];
	struct ip_addr dst, src; /**< both IPv4-mapped or neither */
	uint16_t vlan_tci;       /**< priority (PCP) 3, drop eligible 1, VLAN ID 12 bits */
	bool has_vlan;
	/** Without ECN bits: build adds them, and in packets of the weft framing their tag. */
	uint8_t tos;
	uint8_t ttl;
	/** IPv4: of every packet. With DF set it means nothing, so that one will do: RFC 6864. */
	uint16_t ip_id;
	uint32_t flow_label; /**< IPv6, 20 bits; higher ones are dropped */
};

/**
 * Lay out a path. ECN bits in addr->tos are dropped: wire_build sets them per packet, and in
 * packets of the weft framing bits 3-2 too.
 */
void wire_path_init(struct wire_path *path, const struct wire_addr *addr);

/**
 * Write all headers of one packet. UDP checksum 0, IPv4 with DF.
 *
 * @param buf      room for WIRE_HDR_MAX bytes, all of which may be written.
 * @param w        BTH and extended headers (op, pad and what follows op are not read);
 *                 w->payload_len bytes of payload will follow, at most 4096 and none for an
 *                 opcode without OPF_PAYLOAD. The opcode is one of opcode_table's; PSN, MSN and
 *                 QPNs have 24 bits. Of OPF_WEFT opcodes: what w->weft says of them; not a
 *                 bounce, which trim.h makes, and never header-only.
 * @param path     remembers what it was filled in with.
 * @param udp_sport, ecn  what may differ between packets of a path (enum ip_ecn).
 * @param crc      the ICRC's register over the pseudo header and these headers: continue it over
 *                 the payload, then call wire_end. NULL: of a packet that gets none.
 * @return         bytes written; the payload's first byte belongs at buf + this.
 */
uint32_t wire_build(uint8_t *buf, struct wire_path *path, const struct wire_pkt *w,
                    uint16_t udp_sport, uint8_t ecn, uint32_t *crc);

/** Bytes from the BTH to the payload of a packet that is to be built. */
uint32_t wire_hdr_len(const struct wire_pkt *w);

/**
 * Change the type of service in a frame that wire_build wrote, and the priority in its VLAN tag.
 * The ICRC covers neither.
 */
void wire_set_tos(uint8_t *frame, const struct wire_path *path, uint8_t tos);

/** Bytes of padding and ICRC behind so much payload, 4 to 7. */
static inline uint32_t
wire_end_len(uint32_t payload_len)
{
	return (-payload_len & 3) + 4;
}

/**
 * Close a packet behind its payload: pad to four bytes, then the ICRC.
 *
 * @param end          first byte behind the payload; room for 7 bytes.
 * @param payload_len  as given to wire_build.
 * @param crc          the register after headers and payload.
 * @return             bytes written, 4 to 7.
 */
uint32_t wire_end(uint8_t *end, uint32_t payload_len, uint32_t crc);

/** A priority pause frame: bit i of classes = time_quanta[i] is meant, 0 = go on. */
struct wire_pfc {
	uint8_t classes;
	uint16_t time_quanta[8]; /**< 512 bit times of the link each */
};
/** Where such frames go; never forwarded. Source: IEEE 802.1Q, table 8-1. */
extern const uint8_t wire_pause_group[6];
/** Read a WIRE_PFC frame; false if it is cut short or not a PFC opcode. */
bool wire_parse_pfc(const uint8_t *frame, uint32_t len, struct wire_pfc *pfc);
/** A frame of the least length, without FCS. */
#define WIRE_PFC_LEN 60
/** Write a PFC frame. */
void wire_build_pfc(uint8_t buf[WIRE_PFC_LEN], const uint8_t smac[6], const struct wire_pfc *pfc);

#endif
