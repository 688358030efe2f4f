/* SPDX-License-Identifier: BSD-3-Clause */
#include "opcode.h"

#include "hdr.h"

/* The length follows from the flags, so that a row can't contradict itself. */
#define EXT_LEN(f)                                                                                 \
	(((f)&OPF_DETH ? DETH_LEN : 0) + ((f)&OPF_RETH ? RETH_LEN : 0) +                           \
	 ((f)&OPF_ATOMIC_ETH ? ATOMIC_ETH_LEN : 0) + ((f)&OPF_AETH ? AETH_LEN : 0) +               \
	 ((f)&OPF_ATOMIC_ACK_ETH ? ATOMIC_ACK_ETH_LEN : 0) + ((f)&OPF_IMM ? IMM_LEN : 0) +         \
	 ((f)&OPF_IETH ? IETH_LEN : 0) + ((f)&OPF_CNP ? CNP_RESERVED_LEN : 0) +                    \
	 ((f)&OPF_WEFT ? WEFT_LEN(f) : 0))

/* Of the weft framing: MSN and map, then what has one length in all packets of the opcode. */
#define WEFT_LEN(f)                                                                                \
	((f)&OPF_BOUNCE                                                                            \
	         ? WEFT_MSN_LEN                                                                    \
	         : WEFT_MSN_MAP_LEN + ((f)&OPF_ACK ? WEFT_ACK_LEN : 0) +                           \
	                   ((f)&OPF_SPH ? SPH_LEN : 0) + ((f)&OPF_SSN ? WEFT_WORD_LEN : 0) +       \
	                   ((f)&OPF_ORDER ? 2 * WEFT_WORD_LEN : 0) +                               \
	                   ((f)&OPF_REQ_MSN ? WEFT_WORD_LEN : 0))

#define ROW(n, f)                                                                                  \
	{                                                                                          \
		.name = (n), .flags = OPF_VALID | (f), .ext_len = EXT_LEN(f)                       \
	}

#define SEND(f) (OPF_SEND | OPF_PAYLOAD | (f))
#define WRITE(f) (OPF_WRITE | OPF_PAYLOAD | (f))
#define READ_RESP(f) (OPF_READ_RESP | OPF_PAYLOAD | (f))

/* What RC and UC have in common. */
#define CONNECTED_ROWS(t, n)                                                                       \
	[t | OP_SEND_FIRST] = ROW(n " SEND FIRST", SEND(OPF_FIRST)),                               \
	     [t | OP_SEND_MIDDLE] = ROW(n " SEND MIDDLE", SEND(OPF_MIDDLE)),                       \
	     [t | OP_SEND_LAST] = ROW(n " SEND LAST", SEND(OPF_LAST)),                             \
	     [t | OP_SEND_LAST_IMM] = ROW(n " SEND LAST IMM", SEND(OPF_LAST | OPF_IMM)),           \
	     [t | OP_SEND_ONLY] = ROW(n " SEND ONLY", SEND(OPF_ONLY)),                             \
	     [t | OP_SEND_ONLY_IMM] = ROW(n " SEND ONLY IMM", SEND(OPF_ONLY | OPF_IMM)),           \
	     [t | OP_WRITE_FIRST] = ROW(n " WRITE FIRST", WRITE(OPF_FIRST | OPF_RETH)),            \
	     [t | OP_WRITE_MIDDLE] = ROW(n " WRITE MIDDLE", WRITE(OPF_MIDDLE)),                    \
	     [t | OP_WRITE_LAST] = ROW(n " WRITE LAST", WRITE(OPF_LAST)),                          \
	     [t | OP_WRITE_LAST_IMM] = ROW(n " WRITE LAST IMM", WRITE(OPF_LAST | OPF_IMM)),        \
	     [t | OP_WRITE_ONLY] = ROW(n " WRITE ONLY", WRITE(OPF_ONLY | OPF_RETH)),               \
	     [t | OP_WRITE_ONLY_IMM] =                                                             \
		     ROW(n " WRITE ONLY IMM", WRITE(OPF_ONLY | OPF_RETH | OPF_IMM))

/* The weft framing: every packet of a stream says where its payload belongs. */
#define STREAM(f) (OPF_WEFT | OPF_STREAM | (f))
#define WEFT_SEND(f) STREAM(SEND(OPF_SPH | (f)))
#define WEFT_WRITE(f) STREAM(WRITE(OPF_RETH | (f)))
#define WEFT_WRITE_IMM(f) WEFT_WRITE(OPF_SSN | OPF_IMM | (f))
#define WEFT_READ_RESP(f) STREAM(READ_RESP(OPF_SPH | (f)))
#define WEFT_ATOMIC STREAM(OPF_ATOMIC | OPF_ONLY | OPF_ATOMIC_ETH | OPF_ORDER)
#define WEFT_ATOMIC_RESP STREAM(OPF_ATOMIC_RESP | OPF_ONLY | OPF_REQ_MSN | OPF_ATOMIC_ACK_ETH)

#define WEFT_ROW(op, n, f) [OP_WEFT | (op)] = ROW("WEFT " n, f)

const struct opcode_info opcode_table[256] = {
	CONNECTED_ROWS(OP_RC, "RC"),
	[OP_READ_REQUEST] = ROW("RC READ REQUEST", OPF_READ | OPF_ONLY | OPF_RETH),
	[OP_READ_RESP_FIRST] = ROW("RC READ RESPONSE FIRST", READ_RESP(OPF_FIRST | OPF_AETH)),
	[OP_READ_RESP_MIDDLE] = ROW("RC READ RESPONSE MIDDLE", READ_RESP(OPF_MIDDLE)),
	[OP_READ_RESP_LAST] = ROW("RC READ RESPONSE LAST", READ_RESP(OPF_LAST | OPF_AETH)),
	[OP_READ_RESP_ONLY] = ROW("RC READ RESPONSE ONLY", READ_RESP(OPF_ONLY | OPF_AETH)),
	[OP_ACK] = ROW("RC ACKNOWLEDGE", OPF_ACK | OPF_AETH),
	[OP_ATOMIC_ACK] = ROW("RC ATOMIC ACKNOWLEDGE", OPF_ACK | OPF_AETH | OPF_ATOMIC_ACK_ETH),
	[OP_CMP_SWAP] = ROW("RC COMPARE SWAP", OPF_ATOMIC | OPF_ONLY | OPF_ATOMIC_ETH),
	[OP_FETCH_ADD] = ROW("RC FETCH ADD", OPF_ATOMIC | OPF_ONLY | OPF_ATOMIC_ETH),
	[OP_SEND_LAST_INV] = ROW("RC SEND LAST INVALIDATE", SEND(OPF_LAST | OPF_IETH)),
	[OP_SEND_ONLY_INV] = ROW("RC SEND ONLY INVALIDATE", SEND(OPF_ONLY | OPF_IETH)),

	CONNECTED_ROWS(OP_UC, "UC"),

	[OP_UD | OP_SEND_ONLY] = ROW("UD SEND ONLY", SEND(OPF_ONLY | OPF_DETH)),
	[OP_UD | OP_SEND_ONLY_IMM] = ROW("UD SEND ONLY IMM", SEND(OPF_ONLY | OPF_DETH | OPF_IMM)),

	[OP_CNP] = ROW("CNP", OPF_CNP),

	WEFT_ROW(OP_SEND_FIRST, "SEND FIRST", WEFT_SEND(OPF_FIRST)),
	WEFT_ROW(OP_SEND_MIDDLE, "SEND MIDDLE", WEFT_SEND(OPF_MIDDLE)),
	WEFT_ROW(OP_SEND_LAST, "SEND LAST", WEFT_SEND(OPF_LAST)),
	WEFT_ROW(OP_SEND_LAST_IMM, "SEND LAST IMM", WEFT_SEND(OPF_LAST | OPF_IMM)),
	WEFT_ROW(OP_SEND_ONLY, "SEND ONLY", WEFT_SEND(OPF_ONLY)),
	WEFT_ROW(OP_SEND_ONLY_IMM, "SEND ONLY IMM", WEFT_SEND(OPF_ONLY | OPF_IMM)),
	WEFT_ROW(OP_WRITE_FIRST, "WRITE FIRST", WEFT_WRITE(OPF_FIRST)),
	WEFT_ROW(OP_WRITE_MIDDLE, "WRITE MIDDLE", WEFT_WRITE(OPF_MIDDLE)),
	WEFT_ROW(OP_WRITE_LAST, "WRITE LAST", WEFT_WRITE(OPF_LAST)),
	WEFT_ROW(OP_WRITE_LAST_IMM, "WRITE LAST IMM", WEFT_WRITE_IMM(OPF_LAST)),
	WEFT_ROW(OP_WRITE_ONLY, "WRITE ONLY", WEFT_WRITE(OPF_ONLY)),
	WEFT_ROW(OP_WRITE_ONLY_IMM, "WRITE ONLY IMM", WEFT_WRITE_IMM(OPF_ONLY)),
	WEFT_ROW(OP_READ_REQUEST, "READ REQUEST",
                 STREAM(OPF_READ | OPF_ONLY | OPF_RETH | OPF_ORDER)),
	WEFT_ROW(OP_READ_RESP_FIRST, "READ RESPONSE FIRST", WEFT_READ_RESP(OPF_FIRST)),
	WEFT_ROW(OP_READ_RESP_MIDDLE, "READ RESPONSE MIDDLE", WEFT_READ_RESP(OPF_MIDDLE)),
	WEFT_ROW(OP_READ_RESP_LAST, "READ RESPONSE LAST", WEFT_READ_RESP(OPF_LAST)),
	WEFT_ROW(OP_READ_RESP_ONLY, "READ RESPONSE ONLY", WEFT_READ_RESP(OPF_ONLY)),
	WEFT_ROW(OP_ACK, "ACKNOWLEDGE", OPF_WEFT | OPF_ACK),
	WEFT_ROW(OP_ATOMIC_ACK, "ATOMIC RESPONSE", WEFT_ATOMIC_RESP),
	WEFT_ROW(OP_CMP_SWAP, "COMPARE SWAP", WEFT_ATOMIC),
	WEFT_ROW(OP_FETCH_ADD, "FETCH ADD", WEFT_ATOMIC),
	WEFT_ROW(OP_VOID, "VOID", STREAM(OPF_VOID | OPF_SPH)),
	WEFT_ROW(OP_SEND_LAST_INV, "SEND LAST INVALIDATE", WEFT_SEND(OPF_LAST | OPF_IETH)),
	WEFT_ROW(OP_SEND_ONLY_INV, "SEND ONLY INVALIDATE", WEFT_SEND(OPF_ONLY | OPF_IETH)),
	WEFT_ROW(OP_BOUNCE, "BOUNCE", OPF_WEFT | OPF_BOUNCE),
};
