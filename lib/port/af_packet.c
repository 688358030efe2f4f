/* SPDX-License-Identifier: BSD-3-Clause */
#include "af_packet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "be.h"
#include "engine.h"
#include "hdr.h"
#include "roce_filter.h"
#include "wire.h"

/*
 * In: the kernel writes frames into a ring that we map (TPACKET_V2; version 3 holds frames back for
 * a millisecond or more), so that a turn without frames costs no system call. Out: sendmmsg
 * straight from the packets, which never waits.
 */

/* Frames that the kernel may write before we look. Our choice: a full window. */
#define RX_FRAMES 1024
/* Of the kernel's allocations for the ring; at least one frame. */
#define RX_BLOCK_BYTES 65536
/* Frames that wait when the interface takes no more. */
#define TX_WAITING_MAX_PKTS 256
/* Frames of one system call. */
#define TX_BURST 32
/* When to try again then. Our choice: what a full queue of 10 Gbit/s needs for some frames. */
#define TX_RETRY_NS 50000
/*
 * A queue that stays full is waited for so long, as that of a link; then frames are dropped until
 * it takes one. Our choice.
 */
#define TX_FULL_NS UINT64_C(100000000)
/*
 * So is an interface that does not take the frame. It may be short of room, or never take this one:
 * veth refuses what is longer than its other end's MTU in the same words. Our choice.
 */
#define TX_REFUSED_NS UINT64_C(1000000)

struct af_packet_port {
	struct port port;
	struct kernel_port kernel;
	struct pkt_pool *pool;
	int fd;
	/* in: a ring of frames, each with its header, written by the kernel */
	uint8_t *ring;
	size_t ring_bytes;
	uint32_t frame_bytes; /* a power of 2 */
	uint32_t next;        /* the frame that comes next */
	/* out */
	struct pkt_queue waiting;
	uint64_t retry_ns;
	uint64_t full_ns; /* since when no frame was taken; NEVER_NS: the last one was */
};

/* ---- in ---- */

static struct tpacket2_hdr *
frame_at(const struct af_packet_port *ap, uint32_t i)
{
	return (struct tpacket2_hdr *)(void *)(ap->ring +
	                                       (size_t)(i % RX_FRAMES) * ap->frame_bytes);
}

static uint32_t
nb_ready(const struct af_packet_port *ap, uint32_t max)
{
	uint32_t n = 0;

	while (n < max && n < RX_FRAMES &&
	       (__atomic_load_n(&frame_at(ap, ap->next + n)->tp_status, __ATOMIC_ACQUIRE) &
	        TP_STATUS_USER))
		n++;
	return n;
}

/* Copy a frame, its VLAN tag back in its place. False if it can't be had whole. */
static bool
take_frame(const struct tpacket2_hdr *h, struct pkt *p)
{
	const uint8_t *frame = (const uint8_t *)h + h->tp_mac;
	uint32_t macs = ETH_LEN - 2, tag = h->tp_status & TP_STATUS_VLAN_VALID ? VLAN_LEN : 0;

	if (h->tp_snaplen != h->tp_len || h->tp_len < ETH_LEN || h->tp_len + tag > p->room)
		return false;
	p->len = h->tp_len + tag;
	if (!tag) {
		memcpy(p->data, frame, h->tp_len);
		return true;
	}
	memcpy(p->data, frame, macs);
	put_be16(p->data + macs,
	         h->tp_status & TP_STATUS_VLAN_TPID_VALID ? h->tp_vlan_tpid : ETH_TYPE_VLAN);
	put_be16(p->data + macs + 2, h->tp_vlan_tci);
	memcpy(p->data + macs + VLAN_LEN, frame + macs, h->tp_len - macs);
	return true;
}

static void tx_flush(struct af_packet_port *ap, uint64_t now_ns);

static uint32_t
af_packet_rx_burst(struct port *port, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	struct af_packet_port *ap = (struct af_packet_port *)port;
	uint32_t nb_frames = nb_ready(ap, max), n = 0;

	if (ap->waiting.head && ap->retry_ns <= now_ns)
		tx_flush(ap, now_ns);
	if (kernel_port_look(&ap->kernel, port, now_ns)) {
		socklen_t len = sizeof(int);
		int err;

		/* What is left of a link that was down makes the socket readable until asked for.
		 */
		getsockopt(ap->fd, SOL_SOCKET, SO_ERROR, &err, &len);
	}
	/* Without packets the frames stay where they are. */
	if (nb_frames == 0 || ap->pool->alloc(ap->pool, pkts, nb_frames) == 0)
		return 0;
	for (uint32_t i = 0; i < nb_frames; i++) {
		struct tpacket2_hdr *h = frame_at(ap, ap->next++);

		if (take_frame(h, pkts[n]))
			n++;
		else
			port->stats.rx_dropped++;
		__atomic_store_n(&h->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	}
	pkt_free(pkts + n, nb_frames - n);
	port_count_rx(port, pkts, n);
	return n;
}

/* ---- out ---- */

static void
drop_first(struct af_packet_port *ap)
{
	struct pkt *p = pkt_queue_pop(&ap->waiting);

	ap->port.stats.tx_dropped++;
	pkt_free(&p, 1);
}

/* The first frames of the queue, and the kernel's answer about them: sent, or -1 and errno. */
static int
send_some(const struct af_packet_port *ap)
{
	struct mmsghdr msgs[TX_BURST];
	struct iovec iovs[TX_BURST];
	unsigned int n = 0;

	for (struct pkt *p = ap->waiting.head; p && n < TX_BURST; p = p->next, n++) {
		iovs[n] = (struct iovec){.iov_base = p->data, .iov_len = p->len};
		msgs[n] = (struct mmsghdr){.msg_hdr = {.msg_iov = &iovs[n], .msg_iovlen = 1}};
	}
	return sendmmsg(ap->fd, msgs, n, MSG_DONTWAIT);
}

/* Whether there may be room soon. err: of the frame at the head of the queue. */
static bool
is_full(struct af_packet_port *ap, int err, uint64_t now_ns)
{
	if (err != EAGAIN && err != ENOBUFS)
		return false;
	if (ap->full_ns == NEVER_NS)
		ap->full_ns = now_ns;
	return now_ns - ap->full_ns < (err == EAGAIN ? TX_FULL_NS : TX_REFUSED_NS);
}

static void
tx_flush(struct af_packet_port *ap, uint64_t now_ns)
{
	while (ap->waiting.head) {
		struct pkt *sent[TX_BURST];
		int n = send_some(ap);

		for (int i = 0; i < n; i++)
			sent[i] = pkt_queue_pop(&ap->waiting);
		if (n > 0) {
			port_count_tx(&ap->port, sent, (uint32_t)n);
			pkt_free(sent, (uint32_t)n);
			ap->full_ns = NEVER_NS;
		} else if (is_full(ap, errno, now_ns)) {
			ap->retry_ns = now_ns + TX_RETRY_NS;
			return;
		} else {
			/* Too long for the interface, or it is down or gone: the next may fit. */
			drop_first(ap);
		}
	}
}

static uint32_t
af_packet_tx_room(struct port *port)
{
	return TX_WAITING_MAX_PKTS - ((struct af_packet_port *)port)->waiting.nb_pkts;
}

static uint32_t
af_packet_tx_burst(struct port *port, struct pkt **pkts, uint32_t n, uint64_t now_ns)
{
	struct af_packet_port *ap = (struct af_packet_port *)port;
	uint32_t room = af_packet_tx_room(port);

	if (n > room)
		n = room;
	for (uint32_t i = 0; i < n; i++)
		pkt_queue_push(&ap->waiting, pkts[i]);
	tx_flush(ap, now_ns);
	return n;
}

/* ---- the rest of a port ---- */

static uint64_t
af_packet_next_ns(struct port *port)
{
	const struct af_packet_port *ap = (const struct af_packet_port *)port;

	return ap->waiting.head ? ap->retry_ns : NEVER_NS;
}

static int
af_packet_wait_fd(const struct port *port)
{
	return ((const struct af_packet_port *)port)->kernel.wait_fd;
}

static bool
af_packet_doze(struct port *port, bool dozing)
{
	struct af_packet_port *ap = (struct af_packet_port *)port;

	ap->kernel.woken = !dozing;
	return dozing && nb_ready(ap, 1) > 0;
}

static void
af_packet_close(struct port *port)
{
	struct af_packet_port *ap = (struct af_packet_port *)port;
	struct pkt *p;

	while ((p = pkt_queue_pop(&ap->waiting)))
		pkt_free(&p, 1);
	if (ap->ring)
		munmap(ap->ring, ap->ring_bytes);
	if (ap->fd >= 0)
		close(ap->fd);
	kernel_port_close(&ap->kernel);
	free(ap);
}

static const struct port_ops af_packet_ops = {
	.rx_burst = af_packet_rx_burst,
	.tx_burst = af_packet_tx_burst,
	.tx_room = af_packet_tx_room,
	.next_ns = af_packet_next_ns,
	.wait_fd = af_packet_wait_fd,
	.doze = af_packet_doze,
	.close = af_packet_close,
};

/* ---- open ---- */

static int
set(int fd, int what, const void *value, socklen_t len)
{
	return setsockopt(fd, SOL_PACKET, what, value, len) < 0 ? -errno : 0;
}

static int
map_ring(struct af_packet_port *ap)
{
	uint32_t need =
		TPACKET_ALIGN(TPACKET2_HDRLEN) + ETH_LEN + TPACKET_ALIGNMENT + ap->pool->room_bytes;
	uint32_t frame_bytes = 2048, block_bytes;
	struct tpacket_req req;
	void *ring;
	int err;

	while (frame_bytes < need)
		frame_bytes *= 2;
	block_bytes = frame_bytes > RX_BLOCK_BYTES ? frame_bytes : RX_BLOCK_BYTES;
	ap->frame_bytes = frame_bytes;
	ap->ring_bytes = (size_t)frame_bytes * RX_FRAMES;
	req = (struct tpacket_req){
		.tp_block_size = block_bytes,
		.tp_block_nr = (unsigned int)(ap->ring_bytes / block_bytes),
		.tp_frame_size = frame_bytes,
		.tp_frame_nr = RX_FRAMES,
	};
	err = set(ap->fd, PACKET_RX_RING, &req, sizeof(req));
	if (err)
		return err;
	ring = mmap(NULL, ap->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ap->fd, 0);
	if (ring == MAP_FAILED)
		return -errno;
	ap->ring = ring;
	return 0;
}

/* All that a frame must find in place before the socket receives the first one. */
static int
set_up(struct af_packet_port *ap, enum kernel_take take)
{
	const struct packet_mreq promisc = {.mr_ifindex = (int)ap->kernel.kif.index,
	                                    .mr_type = PACKET_MR_PROMISC};
	struct packet_mreq pauses = {.mr_ifindex = (int)ap->kernel.kif.index,
	                             .mr_type = PACKET_MR_MULTICAST,
	                             .mr_alen = sizeof(wire_pause_group)};
	const int version = TPACKET_V2, on = 1;
	int err;

	err = set(ap->fd, PACKET_VERSION, &version, sizeof(version));
	if (!err)
		err = set(ap->fd, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
	if (!err && take == KERNEL_TAKE_ALL)
		err = set(ap->fd, PACKET_ADD_MEMBERSHIP, &promisc, sizeof(promisc));
	memcpy(pauses.mr_address, wire_pause_group, sizeof(wire_pause_group));
	if (!err && take == KERNEL_TAKE_ROCE)
		err = set(ap->fd, PACKET_ADD_MEMBERSHIP, &pauses, sizeof(pauses));
	if (!err && take == KERNEL_TAKE_ROCE &&
	    setsockopt(ap->fd, SOL_SOCKET, SO_ATTACH_FILTER, &roce_filter, sizeof(roce_filter)) < 0)
		err = -errno;
	if (!err)
		err = map_ring(ap);
	return err;
}

static int
open_socket(struct af_packet_port *ap, enum kernel_take take)
{
	const struct sockaddr_ll addr = {.sll_family = AF_PACKET,
	                                 .sll_protocol = htons(ETH_P_ALL),
	                                 .sll_ifindex = (int)ap->kernel.kif.index};
	int err;

	/* Protocol 0: it receives nothing before bind. */
	ap->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (ap->fd < 0)
		return -errno;
	err = set_up(ap, take);
	if (err)
		return err;
	if (bind(ap->fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0)
		return -errno;
	return kernel_port_wait_for(&ap->kernel, ap->fd);
}

int
port_af_packet_open(const char *name, enum kernel_take take, struct pkt_pool *pool,
                    struct port **port, char *why, size_t why_size)
{
	struct af_packet_port *ap = calloc(1, sizeof(*ap));
	int err;

	if (!ap) {
		snprintf(why, why_size, "%s: %s", name, strerror(ENOMEM));
		return -ENOMEM;
	}
	ap->port.ops = &af_packet_ops;
	ap->pool = pool;
	ap->fd = -1;
	ap->full_ns = NEVER_NS;
	err = kernel_port_open(&ap->kernel, name, take, why, why_size);
	if (!err) {
		err = open_socket(ap, take);
		if (err)
			snprintf(why, why_size, "%s: packet socket: %s%s", name, strerror(-err),
			         err == -EPERM ? "; it needs CAP_NET_RAW" : "");
	}
	if (err) {
		af_packet_close(&ap->port);
		return err;
	}
	ap->port.is_down = !ap->kernel.kif.is_up;
	*port = &ap->port;
	return 0;
}
