/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpdk_eth.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>
#include <rte_mbuf.h>

#include "dpdk.h"
#include "dpdk_mbuf.h"
#include "engine.h"
#include "memif_socket.h"

/* Frames of each ring, if the device allows it. Our choice: a full window. */
#define RING_FRAMES 1024
/* Frames that wait when the ring out is full. */
#define TX_WAITING_MAX 256
#define BURST 32
/* How often the link is asked for, and a client of memif tries to reach its server. */
#define LINK_LOOK_NS UINT64_C(10000000)
#define CONNECT_NS UINT64_C(500000000)

struct eth_port {
	struct port port;
	uint16_t id; /* of ethdev */
	bool is_probed;
	bool is_started;
	bool reconnects; /* must be started again by us when its peer has come back */
	uint64_t connect_ns;
	struct rte_mbuf *waiting[TX_WAITING_MAX];
	uint32_t nb_waiting;
	uint64_t busy_ns; /* when a frame last moved */
	uint64_t now_ns;  /* of the last turn */
	uint64_t looked_ns;
};

/* For names of devices. */
static uint32_t nb_opened;

/* ---- in ---- */

/* PMDs begin data where they like; nothing else of a packet is theirs to change. */
static bool
take_mbuf(struct rte_mbuf *m, struct pkt **pkt)
{
	struct pkt *p = dpdk_pkt(m);

	if (m->nb_segs != 1) {
		rte_pktmbuf_free(m);
		return false;
	}
	p->data = rte_pktmbuf_mtod(m, uint8_t *);
	p->len = m->data_len;
	p->room = (uint32_t)(m->buf_len - m->data_off);
	*pkt = p;
	return true;
}

/* The driver of memif connects a client only when it is started. Never for long: no peer, no wait.
 */
static void
connect_again(struct eth_port *ep, uint64_t now_ns)
{
	ep->connect_ns = now_ns + CONNECT_NS;
	if (ep->is_started)
		rte_eth_dev_stop(ep->id);
	ep->is_started = rte_eth_dev_start(ep->id) == 0;
}

static void
see_link(struct eth_port *ep)
{
	struct rte_eth_link link;

	ep->port.is_down = !ep->is_started || rte_eth_link_get_nowait(ep->id, &link) != 0 ||
	                   link.link_status == RTE_ETH_LINK_DOWN;
}

static void
look_at_link(struct eth_port *ep, uint64_t now_ns)
{
	ep->looked_ns = now_ns;
	/* The driver's own thread is in the middle of the last attempt for some milliseconds, and a
	 * stop would take its memory from under it: each attempt has its time, the one when the
	 * port was opened too. */
	if (ep->connect_ns == 0 || !ep->port.is_down)
		ep->connect_ns = now_ns + CONNECT_NS;
	else if (ep->reconnects && ep->connect_ns <= now_ns)
		connect_again(ep, now_ns);
	see_link(ep);
}

static void tx_flush(struct eth_port *ep, uint64_t now_ns);

static uint32_t
eth_rx_burst(struct port *port, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	struct eth_port *ep = (struct eth_port *)port;
	struct rte_mbuf *mbufs[BURST];
	uint32_t nb_mbufs, n = 0;

	ep->now_ns = now_ns;
	if (now_ns - ep->looked_ns >= LINK_LOOK_NS)
		look_at_link(ep, now_ns);
	if (!ep->is_started)
		return 0;
	if (ep->nb_waiting > 0)
		tx_flush(ep, now_ns);
	nb_mbufs = rte_eth_rx_burst(ep->id, 0, mbufs, (uint16_t)(max < BURST ? max : BURST));
	for (uint32_t i = 0; i < nb_mbufs; i++) {
		if (take_mbuf(mbufs[i], &pkts[n]))
			n++;
		else
			port->stats.rx_dropped++;
	}
	if (nb_mbufs > 0)
		ep->busy_ns = now_ns;
	port_count_rx(port, pkts, n);
	return n;
}

/* ---- out ---- */

static struct rte_mbuf *
mbuf_of(const struct pkt *p)
{
	struct rte_mbuf *m = dpdk_mbuf((struct pkt *)(uintptr_t)p);

	m->data_off = (uint16_t)(p->data - (uint8_t *)m->buf_addr);
	m->data_len = (uint16_t)p->len;
	m->pkt_len = p->len;
	m->ol_flags = 0;
	return m;
}

/* What waits to the device, as far as it takes it; it frees what it takes. */
static void
tx_flush(struct eth_port *ep, uint64_t now_ns)
{
	uint32_t done = 0, run, nb_sent;

	do {
		uint16_t lens[BURST];

		run = RTE_MIN(ep->nb_waiting - done, (uint32_t)BURST);
		for (uint32_t i = 0; i < run; i++)
			lens[i] = ep->waiting[done + i]->data_len;
		nb_sent = rte_eth_tx_burst(ep->id, 0, &ep->waiting[done], (uint16_t)run);
		for (uint32_t i = 0; i < nb_sent; i++)
			ep->port.stats.tx_bytes += lens[i];
		done += nb_sent;
	} while (nb_sent == BURST);
	if (done == 0)
		return;
	ep->busy_ns = now_ns;
	ep->port.stats.tx_packets += done;
	ep->nb_waiting -= done;
	memmove(ep->waiting, ep->waiting + done, ep->nb_waiting * sizeof(ep->waiting[0]));
}

static void
drop_waiting(struct eth_port *ep)
{
	rte_pktmbuf_free_bulk(ep->waiting, ep->nb_waiting);
	ep->port.stats.tx_dropped += ep->nb_waiting;
	ep->nb_waiting = 0;
}

static uint32_t
eth_tx_room(struct port *port)
{
	return TX_WAITING_MAX - ((struct eth_port *)port)->nb_waiting;
}

static uint32_t
eth_tx_burst(struct port *port, struct pkt **pkts, uint32_t n, uint64_t now_ns)
{
	struct eth_port *ep = (struct eth_port *)port;

	n = RTE_MIN(n, eth_tx_room(port));
	for (uint32_t i = 0; i < n; i++)
		ep->waiting[ep->nb_waiting++] = mbuf_of(pkts[i]);
	if (port->is_down)
		drop_waiting(ep);
	else
		tx_flush(ep, now_ns);
	return n;
}

/* ---- the rest of a port ---- */

static uint64_t
eth_next_ns(struct port *port)
{
	const struct eth_port *ep = (const struct eth_port *)port;
	uint64_t silence_ns = ep->now_ns - ep->busy_ns;

	if (port->is_down)
		return ep->now_ns + LINK_LOOK_NS;
	if (silence_ns < ETH_BUSY_NS)
		return 0;
	return ep->now_ns + RTE_MIN(silence_ns / 10, ETH_IDLE_POLL_NS);
}

static void
eth_close(struct port *port)
{
	struct eth_port *ep = (struct eth_port *)port;

	if (ep->is_started) {
		drop_waiting(ep);
		rte_eth_dev_stop(ep->id);
	}
	if (ep->is_probed)
		rte_eth_dev_close(ep->id);
	free(ep);
}

static const struct port_ops eth_ops = {
	.rx_burst = eth_rx_burst,
	.tx_burst = eth_tx_burst,
	.tx_room = eth_tx_room,
	.next_ns = eth_next_ns,
	.close = eth_close,
};

/* ---- open ---- */

struct step {
	const char *what;
	int err;
};

static int
failed(struct step *step, const char *what, int err)
{
	*step = (struct step){what, err};
	return err;
}

/* One queue each way, as many frames as the device allows, nothing offloaded. */
static int
start(struct eth_port *ep, uint32_t mtu_bytes, struct pkt_pool *pool, struct step *step)
{
	const struct rte_eth_conf conf = {0};
	uint16_t nb_rx = RING_FRAMES, nb_tx = RING_FRAMES;
	int socket = rte_eth_dev_socket_id(ep->id), err;

	err = rte_eth_dev_configure(ep->id, 1, 1, &conf);
	if (err)
		return failed(step, "configure", err);
	err = rte_eth_dev_adjust_nb_rx_tx_desc(ep->id, &nb_rx, &nb_tx);
	if (err)
		return failed(step, "sizes of its rings", err);
	/* Some have no say about it; then frames are what they are. */
	err = rte_eth_dev_set_mtu(ep->id, (uint16_t)mtu_bytes);
	if (err && err != -ENOTSUP)
		return failed(step, "MTU", err);
	err = rte_eth_rx_queue_setup(ep->id, 0, nb_rx, (unsigned int)socket, NULL,
	                             dpdk_pool_mempool(pool));
	if (err)
		return failed(step, "its ring in", err);
	err = rte_eth_tx_queue_setup(ep->id, 0, nb_tx, (unsigned int)socket, NULL);
	if (err)
		return failed(step, "its ring out", err);
	err = rte_eth_dev_start(ep->id);
	/* Its server may come later. */
	if (err && !ep->reconnects)
		return failed(step, "start", err);
	ep->is_started = err == 0;
	return 0;
}

/* A device that EAL has probed, by its name there. */
static int
open_device(const char *device, bool reconnects, uint32_t mtu_bytes, struct pkt_pool *pool,
            struct eth_port **opened, struct step *step)
{
	struct eth_port *ep = calloc(1, sizeof(*ep));
	int err;

	if (!ep)
		return failed(step, "open", -ENOMEM);
	ep->port.ops = &eth_ops;
	ep->reconnects = reconnects;
	err = rte_eth_dev_get_port_by_name(device, &ep->id);
	if (err) {
		err = failed(step, "find", err);
		goto fail;
	}
	ep->is_probed = true;
	err = start(ep, mtu_bytes, pool, step);
	if (err)
		goto fail;
	see_link(ep);
	*opened = ep;
	return 0;
fail:
	eth_close(&ep->port);
	return err;
}

int
port_memif_open(const char *socket, enum memif_role role, uint32_t mtu_bytes, struct pkt_pool *pool,
                struct port **port, char *why, size_t why_size)
{
	static const char *const roles[] = {[MEMIF_SERVER] = "server", [MEMIF_CLIENT] = "client"};
	struct step step = {"make", 0};
	struct eth_port *ep;
	char name[32], args[256];
	int err = memif_socket_check(socket, role == MEMIF_SERVER, why, why_size);

	if (err)
		return err;
	/* It tells of every attempt to connect. */
	rte_log_set_level_pattern("pmd.net.memif*", RTE_LOG_CRIT);
	snprintf(name, sizeof(name), "net_memif%u", nb_opened++);
	snprintf(args, sizeof(args), "role=%s,socket=%s,socket-abstract=no,bsize=%u,rsize=10",
	         roles[role], socket, pool->room_bytes);
	err = rte_vdev_init(name, args);
	if (err == 0) {
		err = open_device(name, role == MEMIF_CLIENT, mtu_bytes, pool, &ep, &step);
		if (err)
			rte_vdev_uninit(name);
	}
	if (err) {
		snprintf(why, why_size, "memif %s: %s: %s", socket, step.what, strerror(-err));
		return err;
	}
	*port = &ep->port;
	return 0;
}

/* Some functions of a NIC may not choose their address, but may listen to all. */
static int
take_mac(const struct eth_port *ep, const uint8_t *mac)
{
	struct rte_ether_addr addr;

	if (!mac)
		return rte_eth_promiscuous_enable(ep->id);
	memcpy(addr.addr_bytes, mac, sizeof(addr.addr_bytes));
	if (rte_eth_dev_default_mac_addr_set(ep->id, &addr) == 0)
		return 0;
	return rte_eth_promiscuous_enable(ep->id);
}

int
port_pci_open(const char *address, const uint8_t *mac, uint32_t mtu_bytes, struct pkt_pool *pool,
              struct port **port, char *why, size_t why_size)
{
	struct step step = {"take its MAC", 0};
	struct eth_port *ep;
	int err = open_device(address, false, mtu_bytes, pool, &ep, &step);

	if (!err) {
		err = take_mac(ep, mac);
		if (err)
			eth_close(&ep->port);
	}
	if (err == -ENODEV)
		snprintf(why, why_size,
		         "PCI device %s: no driver has taken it; 'dpdk-devbind.py --status' shows "
		         "what it is bound to, and weftd(8) which NICs this build knows",
		         address);
	else if (err)
		snprintf(why, why_size, "PCI device %s: %s: %s", address, step.what,
		         strerror(-err));
	if (err)
		return err;
	*port = &ep->port;
	return 0;
}
