/* SPDX-License-Identifier: BSD-3-Clause */
#include "roce_filter.h"

#include <linux/filter.h>
#include <stdint.h>

#include "hdr.h"
#include "wire.h"

/* Offsets in a frame. */
#define ARP_REPLY 2

enum {
	AT_TYPE = 12,
	AT_IP = ETH_LEN,
	AT_IPV4_FRAG = AT_IP + 6,
	AT_IPV4_PROTO = AT_IP + 9,
	AT_IPV4_DPORT = AT_IP + 2, /* and the length of the header, which X holds */
	AT_IPV6_NEXT = AT_IP + 6,
	AT_IPV6_DPORT = AT_IP + IPV6_LEN + 2,
	AT_ARP_OP = ETH_LEN + 6,
	AT_ICMP6_TYPE = AT_IP + IPV6_LEN,
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
	ARP = 14,
	ICMP6 = 17,
	PORTS = 20,
	DROP = 22,
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
	[IPV6] = IF(IPV6, ETH_TYPE_IPV6, 10, ARP),
	[10] = LOAD8(AT_IPV6_NEXT),
	[11] = IF(11, IP_PROTO_UDP, 12, ICMP6),
	[12] = LOAD16(AT_IPV6_DPORT),
	[13] = GO(13, PORTS),
	/* Our NIC asks for its neighbours: it hears answers. Questions are the kernel's to answer.
         */
	[ARP] = IF(ARP, ETH_TYPE_ARP, 15, DROP),
	[15] = LOAD16(AT_ARP_OP),
	[16] = IF(16, ARP_REPLY, TAKE, DROP),
	[ICMP6] = IF(ICMP6, IP_PROTO_ICMP6, 18, DROP),
	[18] = LOAD8(AT_ICMP6_TYPE),
	[19] = IF(19, ICMP6_NEIGH_ADVERT, TAKE, DROP),
	[PORTS] = IF(PORTS, UDP_PORT_ROCE, TAKE, 21),
	[21] = IF(21, UDP_PORT_HELLO, TAKE, DROP),
	[DROP] = BPF_STMT(BPF_RET | BPF_K, 0),
	[TAKE] = BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
};

const struct sock_fprog roce_filter = {.len = NB_LINES, .filter = code};
