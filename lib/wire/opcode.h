/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_OPCODE_H
#define WEFT_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

/** BTH opcodes: transport in the top three bits, operation below. Source: IBA vol. 1, ch. 9. */
enum opcode {
	/* operations, to be ORed with a transport */
	OP_SEND_FIRST = 0x00,
	OP_SEND_MIDDLE = 0x01,
	OP_SEND_LAST = 0x02,
	OP_SEND_LAST_IMM = 0x03,
	OP_SEND_ONLY = 0x04,
	OP_SEND_ONLY_IMM = 0x05,
	OP_WRITE_FIRST = 0x06,
	OP_WRITE_MIDDLE = 0x07,
	OP_WRITE_LAST = 0x08,
	OP_WRITE_LAST_IMM = 0x09,
	OP_WRITE_ONLY = 0x0a,
	OP_WRITE_ONLY_IMM = 0x0b,
	OP_READ_REQUEST = 0x0c,
	OP_READ_RESP_FIRST = 0x0d,
	OP_READ_RESP_MIDDLE = 0x0e,
	OP_READ_RESP_LAST = 0x0f,
	OP_READ_RESP_ONLY = 0x10,
	OP_ACK = 0x11,
	OP_ATOMIC_ACK = 0x12,
	OP_CMP_SWAP = 0x13,
	OP_FETCH_ADD = 0x14,
	OP_VOID = 0x15, /**< weft: rest of a refused SEND */
	OP_SEND_LAST_INV = 0x16,
	OP_SEND_ONLY_INV = 0x17,
	OP_BOUNCE = 0x19, /**< weft: a header-only packet on its way back */
	/* transports */
	OP_RC = 0x00,
	OP_UC = 0x20,
	OP_UD = 0x60,
	OP_WEFT = 0xe0, /**< the manufacturer's group: RC in the weft framing */
	OP_TRANSPORT_MASK = 0xe0,
	/** congestion notification: a whole opcode, no operation */
	OP_CNP = 0x81,
};

/** Properties of one opcode. */
enum opcode_flag {
	OPF_VALID = 1u << 0,
	OPF_FIRST = 1u << 1, /**< first of several packets */
	OPF_MIDDLE = 1u << 2,
	OPF_LAST = 1u << 3,
	OPF_ONLY = 1u << 4, /**< the only one; also of READ REQUEST and atomics, not of ACKs */
	OPF_SEND = 1u << 5,
	OPF_WRITE = 1u << 6,
	OPF_READ = 1u << 7,   /**< READ REQUEST */
	OPF_ATOMIC = 1u << 8, /**< CMP_SWAP, FETCH_ADD */
	OPF_READ_RESP = 1u << 9,
	OPF_ACK = 1u << 10, /**< ACKNOWLEDGE; of RC also ATOMIC ACKNOWLEDGE */
	OPF_RETH = 1u << 11,
	OPF_AETH = 1u << 12,
	OPF_ATOMIC_ETH = 1u << 13,
	OPF_ATOMIC_ACK_ETH = 1u << 14,
	OPF_IMM = 1u << 15,
	OPF_IETH = 1u << 16,
	OPF_DETH = 1u << 17,
	OPF_PAYLOAD = 1u << 18, /**< may carry payload */
	OPF_CNP = 1u << 19,
	/* of the weft framing, whose extended headers are in another order: weft_parse.c */
	OPF_WEFT = 1u << 20,    /**< MSN and map follow the BTH, TVer is 1 */
	OPF_STREAM = 1u << 21,  /**< a packet of a stream: has a PSN and an MSN of its sender's */
	OPF_SPH = 1u << 22,     /**< offset, message length, and ssn or req_msn */
	OPF_SSN = 1u << 23,     /**< SSN word: WRITE with immediate */
	OPF_ORDER = 1u << 24,   /**< order words: READ, atomics */
	OPF_REQ_MSN = 1u << 25, /**< request word: atomic response */
	OPF_VOID = 1u << 26,
	OPF_BOUNCE = 1u << 27,
	OPF_ATOMIC_RESP = 1u << 28, /**< weft: ATOMIC ACKNOWLEDGE is a message of the stream */

	OPF_START = OPF_FIRST | OPF_ONLY, /**< begins a message */
	OPF_END = OPF_LAST | OPF_ONLY,    /**< ends a message */
	OPF_REQUEST = OPF_SEND | OPF_WRITE | OPF_READ | OPF_ATOMIC,
	OPF_RESPONSE = OPF_READ_RESP | OPF_ACK | OPF_ATOMIC_RESP,
};

/** One row per opcode; flags 0 = an opcode that we do not speak. */
struct opcode_info {
	const char *name; /**< "RC SEND FIRST"; NULL if not spoken */
	uint32_t flags;   /**< enum opcode_flag */
	/** Bytes of extended headers behind the BTH; of the weft framing those that every packet
	 * of this opcode has, MSN and map among them. */
	uint8_t ext_len;
};

/** By BTH opcode: parse and build both follow it. */
extern const struct opcode_info opcode_table[256];

#endif
