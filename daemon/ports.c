/* SPDX-License-Identifier: BSD-3-Clause */
#include "ports.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "af_packet.h"
#include "af_xdp.h"
#include "dpdk.h"
#include "dpdk_eth.h"
#include "link.h"
#include "log.h"
#include "sockdir.h"
#include "socket_folder.h"

/* ---- each kind: open one, or say why it can't be ---- */

static int
open_ring(const struct conf_port *conf, const struct port_use *use, struct port **port, char *why,
          size_t size)
{
	int err = port_ring_open(conf->arg, PORT_RING_DEPTH_PKTS, port);

	(void)use;
	if (err)
		snprintf(why, size, "ring %s: %s", conf->arg, strerror(-err));
	return err;
}

/* A link that is down is no reason to stop: it may come up any time. */
static void
tell_down(const struct conf_port *conf, const struct port *port)
{
	if (port->is_down)
		log_warn("%s is down: 'ip link set %s up', or look at its carrier", conf->arg,
		         conf->arg);
}

static int
open_af_packet(const struct conf_port *conf, const struct port_use *use, struct port **port,
               char *why, size_t size)
{
	int err = port_af_packet_open(conf->arg, use->take, use->pool, port, why, size);

	if (!err)
		tell_down(conf, *port);
	return err;
}

/* DIR/NAME.link in the folder of sockets; paths as they are. */
static int
link_path(const char *arg, char path[LINK_PATH_MAX + 1])
{
	size_t size = LINK_PATH_MAX + 1;
	int len, err;

	if (arg[0] == '/') {
		strcpy(path, arg);
		return 0;
	}
	err = sockdir_path(geteuid(), path, size);
	if (err)
		return err;
	len = (int)strlen(path);
	len += snprintf(path + len, size - (size_t)len, "/%s.link", arg);
	return (size_t)len >= size ? -ENAMETOOLONG : 0;
}

static int
open_link(const struct conf_port *conf, const struct port_use *use, struct port **port, char *why,
          size_t size)
{
	char path[LINK_PATH_MAX + 1], folder_why[LOG_LINE_MAX];
	int err = link_path(conf->arg, path);

	if (!err) {
		err = socket_folder_check(path, folder_why, sizeof(folder_why));
		if (err) {
			snprintf(why, size, "link %s: %s", conf->arg, folder_why);
			return err;
		}
	}
	if (!err)
		err = port_link_open(path, use->pool, port);
	if (err)
		snprintf(why, size, "link %s: %s", conf->arg, strerror(-err));
	return err;
}

static void
tell_af_xdp(const struct conf_port *conf, const struct af_xdp_info *info)
{
	log_info("%s: XDP program in %s, %u receive queue%s", conf->arg,
	         info->is_native ? "the driver" : "the kernel's common code, which is slower",
	         info->nb_queues, info->nb_queues == 1 ? "" : "s");
	if (info->nb_queues < info->nb_queues_of_if)
		log_warn("%s: only %u of %u receive queues are served, frames on others are lost: "
		         "'ethtool -L %s combined %u'",
		         conf->arg, info->nb_queues, info->nb_queues_of_if, conf->arg,
		         info->nb_queues);
	if (info->if_mtu_bytes > AF_XDP_MTU_MAX_BYTES)
		log_warn("%s has MTU %u; larger packets than %d do not fit an XDP frame: path MTU "
		         "2048 at most",
		         conf->arg, info->if_mtu_bytes, AF_XDP_MTU_MAX_BYTES);
}

static int
open_af_xdp(const struct conf_port *conf, const struct port_use *use, struct port **port, char *why,
            size_t size)
{
	struct af_xdp_info info;
	int err = port_af_xdp_open(conf->arg, use->take, use->pool, &info, port, why, size);

	if (err)
		return err;
	tell_af_xdp(conf, &info);
	tell_down(conf, *port);
	return 0;
}

static int
open_memif(const struct conf_port *conf, const struct port_use *use, struct port **port, char *why,
           size_t size)
{
	return port_memif_open(conf->arg, conf->is_server ? MEMIF_SERVER : MEMIF_CLIENT,
	                       use->mtu_bytes, use->pool, port, why, size);
}

static int
open_pci(const struct conf_port *conf, const struct port_use *use, struct port **port, char *why,
         size_t size)
{
	return port_pci_open(conf->arg, use->mac, use->mtu_bytes, use->pool, port, why, size);
}

typedef int open_fn(const struct conf_port *conf, const struct port_use *use, struct port **port,
                    char *why, size_t size);

static open_fn *const openers[] = {
	[PORT_RING] = open_ring,     [PORT_LINK] = open_link,   [PORT_AF_PACKET] = open_af_packet,
	[PORT_AF_XDP] = open_af_xdp, [PORT_MEMIF] = open_memif, [PORT_PCI] = open_pci,
};

/* ---- any ---- */

int
port_open(const struct conf_port *conf, const struct port_use *use,
          const struct fault_params *fault, struct port **port)
{
	char why[LOG_LINE_MAX];
	struct port *inner;
	int err = openers[conf->kind](conf, use, port, why, sizeof(why));

	if (err) {
		log_error("%s", why);
		return err;
	}
	(*port)->name = conf->arg;
	if (!fault)
		return 0;
	inner = *port;
	err = port_fault_wrap(inner, fault, use->pool, port);
	if (err) {
		log_error("fault layer: %s", strerror(-err));
		port_close(inner);
		*port = NULL;
	}
	return err;
}

void
port_close(struct port *port)
{
	if (port)
		port->ops->close(port);
}
