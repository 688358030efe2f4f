/* SPDX-License-Identifier: BSD-3-Clause */
#include "roce_filter.h"

#include <linux/filter.h>
#include <stdint.h>

#include "hdr.h"
#include "wire.h"

/* Offsets in a frame. */
enum {
	AT_TYPE = 12,
	AT_IP = ETH_LEN,
	AT_IPV4_FRAG = AT_IP + 6,
	AT_IPV4_PROTO = AT_IP + 9,
	AT_IPV4_DPORT = AT_IP + 2, /* and the length of the header, which X holds */
	AT_IPV6_NEXT = AT_IP + 6,
	AT_IPV6_DPORT = AT_IP + IPV6_LEN + 2,
};

#define LOAD8(at) BPF_STMT(BPF_LD | BPF_B | BPF_ABS, at)
#define LOAD16(at) BPF_STMT(BPF_LD | BPF_H | BPF_ABS, at)
/* Jumps name the lines they go to; the instruction counts from the one behind its own. */
#define IF(here, value, then, otherwise)                                                           \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, (then) - (here)-1, (otherwise) - (here)-1)
#define IF_ANY(here, bits, then, otherwise)                                                        \
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, (then) - (here)-1, (otherwise) - (here)-1)
#define GO(here, to) BPF_STMT(BPF_JMP | BPF_JA, (to) - (here)-1)

enum line {
	IPV6 = 9,
	PORTS = 13,
	MAC_CONTROL = 15,
	DROP = 16,
	TAKE,
	NB_LINES,
};

/* A load beyond the end of the frame drops it, too. */
static struct sock_filter code[NB_LINES] = {
	[0] = LOAD16(AT_TYPE),
	[1] = IF(1, ETH_TYPE_IPV4, 2, IPV6),
	[2] = LOAD8(AT_IPV4_PROTO),
	[3] = IF(3, IP_PROTO_UDP, 4, DROP),
	[4] = LOAD16(AT_IPV4_FRAG),
	[5] = IF_ANY(5, IPV4_MF | IPV4_OFFSET_MASK, DROP, 6),
	[6] = BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, AT_IP),
	[7] = BPF_STMT(BPF_LD | BPF_H | BPF_IND, AT_IPV4_DPORT),
	[8] = GO(8, PORTS),
	[IPV6] = IF(IPV6, ETH_TYPE_IPV6, 10, MAC_CONTROL),
	[10] = LOAD8(AT_IPV6_NEXT),
	[11] = IF(11, IP_PROTO_UDP, 12, DROP),
	[12] = LOAD16(AT_IPV6_DPORT),
	[PORTS] = IF(PORTS, UDP_PORT_ROCE, TAKE, 14),
	[14] = IF(14, UDP_PORT_HELLO, TAKE, DROP),
	[MAC_CONTROL] = IF(MAC_CONTROL, ETH_TYPE_MAC_CONTROL, TAKE, DROP),
	[DROP] = BPF_STMT(BPF_RET | BPF_K, 0),
	[TAKE] = BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
};

const struct sock_fprog roce_filter = {.len = NB_LINES, .filter = code};
