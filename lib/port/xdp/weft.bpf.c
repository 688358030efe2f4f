/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the kernel runs for every frame that arrives on the interface of an `af_xdp:` port, before
 * it handles the frame itself: RoCE, HELLO and pauses go to the port's socket, everything else on
 * its way. Compiled by clang for the BPF virtual machine and loaded by xdp_prog.c.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define UDP_PORT_ROCE 4791
#define UDP_PORT_HELLO 61791
/* IPv4's flags and offset: more fragments follow, or some came before. */
#define IPV4_FRAGMENT 0x3fff

struct vlan_tag {
	__be16 tci;
	__be16 type;
};

/* The port's sockets by receive queue. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u32);
} weft_sockets SEC(".maps");

static __always_inline int
is_our_port(const void *udp_header, const void *end)
{
	const struct udphdr *udp = udp_header;

	if ((const void *)(udp + 1) > end)
		return 0;
	return udp->dest == bpf_htons(UDP_PORT_ROCE) || udp->dest == bpf_htons(UDP_PORT_HELLO);
}

/* Options, fragments and extension headers are nobody's that speaks RoCE. */
static __always_inline int
is_ours(const void *frame, const void *end)
{
	const struct ethhdr *eth = frame;
	const void *next = eth + 1;
	__be16 type;

	if (next > end)
		return 0;
	type = eth->h_proto;
	if (type == bpf_htons(ETH_P_PAUSE)) /* all MAC control; the kernel has no use for it */
		return 1;
	if (type == bpf_htons(ETH_P_8021Q)) {
		const struct vlan_tag *tag = next;

		next = tag + 1;
		if (next > end)
			return 0;
		type = tag->type;
	}
	if (type == bpf_htons(ETH_P_IP)) {
		const struct iphdr *ip = next;

		next = ip + 1;
		return next <= end && ip->version == 4 && ip->ihl == 5 &&
		       ip->protocol == IPPROTO_UDP && !(ip->frag_off & bpf_htons(IPV4_FRAGMENT)) &&
		       is_our_port(next, end);
	}
	if (type == bpf_htons(ETH_P_IPV6)) {
		const struct ipv6hdr *ip = next;

		next = ip + 1;
		return next <= end && ip->nexthdr == IPPROTO_UDP && is_our_port(next, end);
	}
	return 0;
}

/* A frame of ours on a queue that has no socket ends here: the kernel has no use for it. */
SEC("xdp")
int
weft_roce(struct xdp_md *ctx)
{
	if (!is_ours((const void *)(long)ctx->data, (const void *)(long)ctx->data_end))
		return XDP_PASS;
	return (int)bpf_redirect_map(&weft_sockets, ctx->rx_queue_index, XDP_DROP);
}

/* For a port of a switch. */
SEC("xdp")
int
weft_all(struct xdp_md *ctx)
{
	return (int)bpf_redirect_map(&weft_sockets, ctx->rx_queue_index, XDP_DROP);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
