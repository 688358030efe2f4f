/* SPDX-License-Identifier: BSD-3-Clause */
#include "af_xdp.h"

#include <assert.h>
#include <errno.h>
#include <linux/if_xdp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <xdp/xsk.h>

#include "engine.h"
#include "xdp_prog.h"

/*
 * Frames lie in chunks of an area that the kernel knows too (UMEM). Each chunk is always either in
 * one of the four kinds of rings, or free here. Frames are copied between chunks and packets: what
 * a packet costs the kernel is twenty times as much, and packets then go wherever others go.
 */

#define CHUNK_BYTES 4096
/*
 * Of each queue in: as many as DPDK's net_af_xdp has. A veth pair does not hold its sender back, so
 * where cores are few it is the frames that fit here which a worker finds when it runs again.
 */
#define RX_CHUNKS 2048
/* Of the one queue out. Our choice: a full window. */
#define TX_CHUNKS 1024
/*
 * Places of rings that we fill. The kernel hands a frame on before it says that it has taken its
 * chunk out of the ring, so that a chunk can be in there twice.
 */
#define FILL_PLACES (2 * RX_CHUNKS)
#define TX_PLACES (2 * TX_CHUNKS)
/* When to try again if the kernel took only a part of what is sent. */
#define TX_RETRY_NS 50000
/* Descriptors that one kick moves in copy mode. Source: the kernel's xsk.c, TX_BATCH_SIZE. */
#define KICK_FRAMES 32

/* A receive queue of the interface; the first one also sends. */
struct xdp_queue {
	struct xsk_socket *socket;
	struct xsk_ring_cons rx;
	struct xsk_ring_prod fill; /* chunks for frames to come */
	struct xsk_ring_cons sent; /* chunks whose frames have gone */
	int fd;
};

struct af_xdp_port {
	struct port port;
	struct kernel_port kernel;
	struct pkt_pool *pool;
	struct xdp_prog prog;
	struct xsk_umem *umem;
	uint8_t *area;
	size_t area_bytes;
	struct xdp_queue queues[AF_XDP_QUEUES_MAX];
	uint32_t nb_queues;
	uint32_t next_queue; /* where the next burst begins */
	/* out */
	struct xsk_ring_prod tx;
	uint64_t free_chunks[TX_CHUNKS];
	uint32_t nb_free;
	uint64_t retry_ns;
};

/* There is room always. */
static void
reserve(struct xsk_ring_prod *ring, uint32_t n, uint32_t *at)
{
	uint32_t got = xsk_ring_prod__reserve(ring, n, at);

	assert(got == n);
}

/* ---- in ---- */

/* The frames at the head of a queue into packets; their chunks go back at once. */
static uint32_t
take_frames(struct af_xdp_port *ap, struct xdp_queue *q, struct pkt **pkts, uint32_t nb_frames)
{
	uint32_t rx_at = 0, fill_at = 0, n = 0;

	xsk_ring_cons__peek(&q->rx, nb_frames, &rx_at);
	reserve(&q->fill, nb_frames, &fill_at);
	for (uint32_t i = 0; i < nb_frames; i++) {
		const struct xdp_desc *desc = xsk_ring_cons__rx_desc(&q->rx, rx_at + i);

		if (desc->len <= pkts[n]->room) {
			memcpy(pkts[n]->data, ap->area + desc->addr, desc->len);
			pkts[n++]->len = desc->len;
		} else {
			ap->port.stats.rx_dropped++;
		}
		*xsk_ring_prod__fill_addr(&q->fill, fill_at + i) =
			desc->addr & ~(uint64_t)(CHUNK_BYTES - 1);
	}
	xsk_ring_cons__release(&q->rx, nb_frames);
	xsk_ring_prod__submit(&q->fill, nb_frames);
	if (xsk_ring_prod__needs_wakeup(&q->fill))
		recv(q->fd, NULL, 0, MSG_DONTWAIT);
	pkt_free(pkts + n, nb_frames - n);
	return n;
}

static void tx_kick(struct af_xdp_port *ap, uint64_t now_ns);
static bool tx_has_left(struct af_xdp_port *ap);

static uint32_t
af_xdp_rx_burst(struct port *port, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	struct af_xdp_port *ap = (struct af_xdp_port *)port;
	uint32_t n = 0;

	kernel_port_look(&ap->kernel, port, now_ns);
	if (ap->retry_ns <= now_ns && !port->is_down && tx_has_left(ap))
		tx_kick(ap, now_ns);
	for (uint32_t i = 0; i < ap->nb_queues && n < max; i++) {
		struct xdp_queue *q = &ap->queues[(ap->next_queue + i) % ap->nb_queues];
		uint32_t nb_frames = xsk_cons_nb_avail(&q->rx, max - n);

		/* Without packets the frames stay where they are. */
		if (nb_frames > 0 && ap->pool->alloc(ap->pool, pkts + n, nb_frames) > 0)
			n += take_frames(ap, q, pkts + n, nb_frames);
	}
	ap->next_queue++;
	port_count_rx(port, pkts, n);
	return n;
}

/* ---- out ---- */

/* Chunks whose frames have gone are free. */
static void
tx_reclaim(struct af_xdp_port *ap)
{
	struct xsk_ring_cons *sent = &ap->queues[0].sent;
	uint32_t at, n = xsk_ring_cons__peek(sent, TX_CHUNKS - ap->nb_free, &at);

	for (uint32_t i = 0; i < n; i++)
		ap->free_chunks[ap->nb_free++] = *xsk_ring_cons__comp_addr(sent, at + i);
	if (n > 0)
		xsk_ring_cons__release(sent, n);
}

/* Whether frames wait that the kernel looks for only when it is told to. */
static bool
tx_has_left(struct af_xdp_port *ap)
{
	return __atomic_load_n(ap->tx.consumer, __ATOMIC_ACQUIRE) != *ap->tx.producer &&
	       xsk_ring_prod__needs_wakeup(&ap->tx);
}

/* Never waits; what the kernel does not take now stays in the ring. */
static void
tx_kick(struct af_xdp_port *ap, uint64_t now_ns)
{
	for (uint32_t i = 0; i < TX_CHUNKS / KICK_FRAMES && tx_has_left(ap); i++) {
		uint32_t before = *ap->tx.consumer;

		if (send(ap->queues[0].fd, NULL, 0, MSG_DONTWAIT) < 0 && *ap->tx.consumer == before)
			break;
	}
	ap->retry_ns = now_ns + TX_RETRY_NS;
}

static uint32_t
af_xdp_tx_room(struct port *port)
{
	struct af_xdp_port *ap = (struct af_xdp_port *)port;

	tx_reclaim(ap);
	return ap->nb_free;
}

static uint32_t
af_xdp_tx_burst(struct port *port, struct pkt **pkts, uint32_t n, uint64_t now_ns)
{
	struct af_xdp_port *ap = (struct af_xdp_port *)port;
	uint32_t room = af_xdp_tx_room(port), nb_sent = 0, at = 0;

	if (n > room)
		n = room;
	reserve(&ap->tx, n, &at);
	for (uint32_t i = 0; i < n; i++) {
		struct xdp_desc *desc;
		uint64_t chunk;

		if (port->is_down || pkts[i]->len > CHUNK_BYTES)
			continue;
		chunk = ap->free_chunks[--ap->nb_free];
		memcpy(ap->area + chunk, pkts[i]->data, pkts[i]->len);
		desc = xsk_ring_prod__tx_desc(&ap->tx, at + nb_sent++);
		*desc = (struct xdp_desc){.addr = chunk, .len = pkts[i]->len};
		port->stats.tx_packets++;
		port->stats.tx_bytes += pkts[i]->len;
	}
	port->stats.tx_dropped += n - nb_sent;
	ap->tx.cached_prod -= n - nb_sent;
	xsk_ring_prod__submit(&ap->tx, nb_sent);
	pkt_free(pkts, n);
	tx_kick(ap, now_ns);
	return n;
}

/* ---- the rest of a port ---- */

static uint64_t
af_xdp_next_ns(struct port *port)
{
	struct af_xdp_port *ap = (struct af_xdp_port *)port;

	return tx_has_left(ap) && !port->is_down ? ap->retry_ns : NEVER_NS;
}

static int
af_xdp_wait_fd(const struct port *port)
{
	return ((const struct af_xdp_port *)port)->kernel.wait_fd;
}

static bool
af_xdp_doze(struct port *port, bool dozing)
{
	struct af_xdp_port *ap = (struct af_xdp_port *)port;
	bool waiting = false;

	ap->kernel.woken = !dozing;
	for (uint32_t i = 0; dozing && i < ap->nb_queues; i++)
		waiting |= xsk_cons_nb_avail(&ap->queues[i].rx, 1) > 0;
	return waiting;
}

/* First the program, so that no frame goes where soon nobody is. */
static void
af_xdp_close(struct port *port)
{
	struct af_xdp_port *ap = (struct af_xdp_port *)port;

	xdp_prog_close(&ap->prog);
	for (uint32_t i = 0; i < ap->nb_queues; i++)
		xsk_socket__delete(ap->queues[i].socket);
	if (ap->umem)
		xsk_umem__delete(ap->umem);
	if (ap->area)
		munmap(ap->area, ap->area_bytes);
	kernel_port_close(&ap->kernel);
	free(ap);
}

static const struct port_ops af_xdp_ops = {
	.rx_burst = af_xdp_rx_burst,
	.tx_burst = af_xdp_tx_burst,
	.tx_room = af_xdp_tx_room,
	.next_ns = af_xdp_next_ns,
	.wait_fd = af_xdp_wait_fd,
	.doze = af_xdp_doze,
	.close = af_xdp_close,
};

/* ---- open ---- */

static int
map_area(struct af_xdp_port *ap, uint32_t nb_queues)
{
	const struct xsk_umem_config config = {
		.fill_size = FILL_PLACES, .comp_size = TX_CHUNKS, .frame_size = CHUNK_BYTES};
	uint32_t nb_chunks = nb_queues * RX_CHUNKS + TX_CHUNKS;
	void *area;

	ap->area_bytes = (size_t)nb_chunks * CHUNK_BYTES;
	area = mmap(NULL, ap->area_bytes, PROT_READ | PROT_WRITE,
	            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (area == MAP_FAILED)
		return -errno;
	ap->area = area;
	/* The chunks behind those of all queues are for sending. */
	for (uint32_t i = 0; i < TX_CHUNKS; i++)
		ap->free_chunks[ap->nb_free++] =
			(uint64_t)(nb_queues * RX_CHUNKS + i) * CHUNK_BYTES;
	return xsk_umem__create(&ap->umem, area, ap->area_bytes, &ap->queues[0].fill,
	                        &ap->queues[0].sent, &config);
}

/* A process that was killed gives its sockets back a little later. */
static int
bind_queue(struct af_xdp_port *ap, uint32_t i)
{
	const struct xsk_socket_config config = {
		.rx_size = RX_CHUNKS,
		.tx_size = TX_PLACES,
		.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
		.bind_flags = XDP_USE_NEED_WAKEUP,
	};
	const struct timespec nap = {.tv_nsec = 10000000};
	struct xdp_queue *q = &ap->queues[i];
	int err = -EBUSY;

	for (int try = 0; try < 100 && err == -EBUSY; try++) {
		if (try > 0)
			nanosleep(&nap, NULL);
		err = xsk_socket__create_shared(&q->socket, ap->kernel.kif.name, i, ap->umem,
		                                &q->rx, i == 0 ? &ap->tx : NULL, &q->fill, &q->sent,
		                                &config);
	}
	return err;
}

static int
open_queue(struct af_xdp_port *ap, uint32_t i)
{
	struct xdp_queue *q = &ap->queues[i];
	uint32_t at;
	int err = bind_queue(ap, i);

	if (err)
		return err;
	ap->nb_queues++;
	q->fd = xsk_socket__fd(q->socket);
	reserve(&q->fill, RX_CHUNKS, &at);
	for (uint32_t k = 0; k < RX_CHUNKS; k++)
		*xsk_ring_prod__fill_addr(&q->fill, at + k) =
			(uint64_t)(i * RX_CHUNKS + k) * CHUNK_BYTES;
	xsk_ring_prod__submit(&q->fill, RX_CHUNKS);
	err = xdp_prog_add_socket(&ap->prog, i, q->fd);
	return err ? err : kernel_port_wait_for(&ap->kernel, q->fd);
}

static void
say_why(const struct af_xdp_port *ap, const char *what, int err, char *why, size_t why_size)
{
	char remedy[128] = "";

	if (err == -EPERM || err == -EACCES)
		snprintf(remedy, sizeof(remedy),
		         "; it needs CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF");
	else if (err == -ENOBUFS)
		snprintf(remedy, sizeof(remedy),
		         "; it needs CAP_IPC_LOCK, or %zu KB more memory that may be locked "
		         "('ulimit -l')",
		         (size_t)ap->area_bytes >> 10);
	else if (err == -EBUSY)
		snprintf(remedy, sizeof(remedy), "; another program has an XDP socket there");
	snprintf(why, why_size, "%s: %s: %s%s", ap->kernel.kif.name, what, strerror(-err), remedy);
}

static int
open_all(struct af_xdp_port *ap, enum kernel_take take, uint32_t nb_queues, char *why,
         size_t why_size)
{
	int err = xdp_prog_load(&ap->prog, take);

	if (err) {
		say_why(ap, "load the XDP program", err, why, why_size);
		return err;
	}
	err = map_area(ap, nb_queues);
	if (err) {
		say_why(ap, "memory of the XDP socket", err, why, why_size);
		return err;
	}
	for (uint32_t i = 0; i < nb_queues; i++) {
		err = open_queue(ap, i);
		if (err) {
			say_why(ap, "XDP socket", err, why, why_size);
			return err;
		}
	}
	return xdp_prog_attach(&ap->prog, &ap->kernel.kif, why, why_size);
}

int
port_af_xdp_open(const char *name, enum kernel_take take, struct pkt_pool *pool,
                 struct af_xdp_info *info, struct port **port, char *why, size_t why_size)
{
	struct af_xdp_port *ap = calloc(1, sizeof(*ap));
	int err;

	static_assert(AF_XDP_QUEUES_MAX <= XDP_PROG_QUEUES_MAX, "the map has a place for each");
	if (!ap) {
		snprintf(why, why_size, "%s: %s", name, strerror(ENOMEM));
		return -ENOMEM;
	}
	ap->port.ops = &af_xdp_ops;
	ap->pool = pool;
	err = kernel_port_open(&ap->kernel, name, take, why, why_size);
	if (!err) {
		info->nb_queues_of_if = kernel_if_rx_queues(&ap->kernel.kif);
		info->nb_queues = info->nb_queues_of_if < AF_XDP_QUEUES_MAX ? info->nb_queues_of_if
		                                                            : AF_XDP_QUEUES_MAX;
		err = open_all(ap, take, info->nb_queues, why, why_size);
	}
	if (err) {
		af_xdp_close(&ap->port);
		return err;
	}
	info->is_native = ap->prog.is_native;
	info->if_mtu_bytes = ap->kernel.kif.mtu_bytes;
	ap->port.is_down = !ap->kernel.kif.is_up;
	*port = &ap->port;
	return 0;
}
