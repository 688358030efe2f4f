/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_ROCE_FILTER_H
#define WEFT_PORT_ROCE_FILTER_H

struct sock_fprog;

/**
 * A classic BPF program for SO_ATTACH_FILTER on a packet socket: of all frames that the kernel
 * receives, only those that a host stack wants are copied to it. Everything else that the machine
 * does on this interface then costs a daemon nothing.
 *
 * Frames to UDP_PORT_ROCE or UDP_PORT_HELLO, over IPv4 (not a fragment) or IPv6 (no extension
 * headers), and MAC control, which pauses are. A VLAN tag is no longer in the frame where this
 * runs: the kernel keeps it beside it.
 */
extern const struct sock_fprog roce_filter;

#endif
