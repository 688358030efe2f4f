/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_WIRE_HELLO_H
#define WEFT_WIRE_HELLO_H

#include <stdbool.h>
#include <stdint.h>

#include "hdr.h"
#include "wire.h"

/**
 * @file
 * The messages by which two NICs find out that both speak the weft framing (HELLO), and two of
 * their QPs agree on how (OPEN). UDP, both ports UDP_PORT_HELLO, with a checksum: docs/wire.md.
 * Whose message it is, and whether to believe it, is not judged here.
 */

/** The version that we speak. */
#define HELLO_VERSION 1
#define HELLO_COOKIE_LEN 16
/** Longest name of an engine. */
#define HELLO_NAME_MAX 16
/** QPs that one OPEN or ANSWER is about. */
#define HELLO_ENTRIES_MAX 16

#define HELLO_HDR_LEN 16
#define HELLO_WHO_LEN 80
#define HELLO_TERMS_LEN 48
/** Bytes of a message about so many QPs. */
#define HELLO_OPEN_LEN(n) (HELLO_HDR_LEN + 16u + HELLO_TERMS_LEN * (n))
/** No message of ours is longer. */
#define HELLO_MSG_MAX HELLO_OPEN_LEN(HELLO_ENTRIES_MAX)
/** None that a later version might send is. */
#define HELLO_PAYLOAD_MAX 1024
/** Ethernet, VLAN, IPv6 and UDP before it. */
#define HELLO_FRAME_MAX(msg_len) (ETH_LEN + VLAN_LEN + IPV6_LEN + UDP_LEN + (msg_len))

enum hello_type {
	HELLO_ASK = 1, /**< "HELLO": who are you? */
	HELLO_COOKIE,  /**< say that again, with this */
	HELLO_WELCOME, /**< the answer to a HELLO with the right cookie */
	HELLO_OPEN,    /**< these QPs want to open */
	HELLO_ANSWER,  /**< what becomes of them */
	HELLO_STALE,   /**< an OPEN showed a token that I did not give */
};

/** What a NIC can do, enum hello_feature in features; of later versions perhaps more. */
enum hello_feature {
	HELLO_INT = 1u << 0,
	HELLO_TS = 1u << 1,
	HELLO_CE_ECHO = 1u << 2,
	HELLO_SACK = 1u << 3,
	HELLO_TRIM = 1u << 4,
};

/** Who says HELLO or WELCOME. */
struct hello_who {
	uint64_t boot_id;                /**< another one after each start */
	uint64_t token;                  /**< to be shown in OPENs to it; 0 = not told yet */
	char engine[HELLO_NAME_MAX + 1]; /**< reliability that its conf names for the receiver */
	uint8_t version_min; /**< lowest that it speaks; hello_msg.version the highest */
	uint8_t nb_slots;    /**< INT slots, 0 to 7 */
	uint8_t lanes_shift; /**< log2 of K, 0 to 15 */
	uint32_t features;
};

/** Optional parts of the sender's own data and of the answers to it. */
enum hello_option {
	HELLO_OPT_PATH = 1u << 0,
	HELLO_OPT_TS = 1u << 1,
	HELLO_OPT_ECN = 1u << 2, /**< ECT, and CNPs for marks */
	HELLO_OPT_CE_ECHO = 1u << 3,
	HELLO_OPT_SACK = 1u << 4,
	HELLO_OPT_SQ_PSN = 1u << 5, /**< sq_psn is known */
	HELLO_OPT_ALL = (1u << 6) - 1,
};

enum hello_status {
	HELLO_AGREED,    /**< the QP may be sent to */
	HELLO_NOT_READY, /**< no such QP, not in RTR, or open with other values: ask again */
	HELLO_ENGINES,   /**< the reliability engines differ: both QPs fail */
	HELLO_UNFIT,     /**< see enum hello_reason: both QPs fail */
	HELLO_IS_ROCEV2, /**< it is plain RoCEv2, for good */
	HELLO_NO_MEMORY, /**< ask again */
	HELLO_STATUS_NB,
};

/** Why HELLO_UNFIT. */
enum hello_reason {
	HELLO_REASON_NONE,
	HELLO_REASON_PMTU,     /**< path MTUs differ */
	HELLO_REASON_OPTIONS,  /**< an option, or so many slots or lanes, that it has not */
	HELLO_REASON_LINK_MTU, /**< the longest packet does not fit its link */
	HELLO_REASON_NB,
};

/** One QP in an OPEN or ANSWER: what its side wants and expects. */
struct hello_terms {
	uint32_t own_qpn, peer_qpn; /**< 24 bits */
	uint32_t rq_psn;            /**< first that it expects, 24 bits */
	uint32_t sq_psn;            /**< its own first, 24 bits; 0 without HELLO_OPT_SQ_PSN */
	uint32_t window_pkts;       /**< that it takes beyond cum, 1 to 2^22 */
	uint16_t max_msgs;          /**< a power of two, 16 to 32,768 */
	uint16_t options;           /**< enum hello_option */
	uint8_t mtu_code;           /**< 1 to 5: 256 to 4096 */
	uint8_t nb_slots;           /**< INT slots of its data, 0 to 7 */
	uint8_t lanes_shift;        /**< log2 of K of its data, 0 to 15 */
	uint8_t ack_every;          /**< packets; 0 = by the engine's rule */
	uint8_t ack_delay_us;
	uint8_t max_rd_atomic, max_dest_rd_atomic;
	uint8_t status, reason; /**< enum hello_status, hello_reason; 0 in an OPEN */
	char engine[HELLO_NAME_MAX + 1];
};

#define HELLO_WINDOW_MAX (UINT32_C(1) << 22)
#define HELLO_MSGS_MIN 16
#define HELLO_MSGS_MAX 32768

/** Any message in host order. */
struct hello_msg {
	uint8_t type;    /**< enum hello_type */
	uint8_t version; /**< OPEN, ANSWER: HELLO_VERSION; else the sender's highest */
	uint64_t nonce;  /**< chosen by who asks, repeated in answers */
	uint8_t cookie[HELLO_COOKIE_LEN]; /**< HELLO, COOKIE, WELCOME; zeros = has none */
	struct hello_who who;             /**< HELLO, WELCOME */
	uint64_t token;                   /**< OPEN, ANSWER: of the addressee */
	uint8_t nb_qps;                   /**< OPEN, ANSWER: 1 to HELLO_ENTRIES_MAX */
	struct hello_terms qp[HELLO_ENTRIES_MAX];
};

/**
 * Read a UDP payload. Every field is in its range, and what must be zero is.
 *
 * @return false if it is no whole message of ours. One of a later version is taken if it is a
 *         HELLO, COOKIE or WELCOME: which version both speak is for the reader to see.
 */
bool hello_parse(const uint8_t *p, uint32_t len, struct hello_msg *msg);

/**
 * Write a UDP payload.
 *
 * @param buf  room for HELLO_MSG_MAX bytes, or for what the message needs.
 * @param msg  all that its type has, in range.
 * @return     bytes written.
 */
uint32_t hello_build(uint8_t *buf, const struct hello_msg *msg);

/**
 * Write a frame around it.
 *
 * @param buf   room for HELLO_FRAME_MAX of the message, and for 60 bytes.
 * @param addr  ECN bits of tos are dropped.
 * @return      bytes written, at least 60.
 */
uint32_t hello_frame(uint8_t *buf, const struct wire_addr *addr, const struct hello_msg *msg);

#endif
