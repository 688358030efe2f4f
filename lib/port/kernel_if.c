/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernel_if.h"

#include <assert.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of one request about req's interface. */
static int
ask(int fd, unsigned long what, struct ifreq *req)
{
	return ioctl(fd, what, req) < 0 ? -errno : 0;
}

static int
describe(int fd, struct ifreq *req, struct kernel_if *kif)
{
	int err;

	err = ask(fd, SIOCGIFFLAGS, req);
	if (err)
		return err;
	kif->is_up = (req->ifr_flags & IFF_UP) && (req->ifr_flags & IFF_RUNNING);
	err = ask(fd, SIOCGIFMTU, req);
	if (err)
		return err;
	kif->mtu_bytes = (uint32_t)req->ifr_mtu;
	err = ask(fd, SIOCGIFHWADDR, req);
	if (err)
		return err;
	kif->is_ethernet = req->ifr_hwaddr.sa_family == ARPHRD_ETHER;
	memcpy(kif->mac, req->ifr_hwaddr.sa_data, sizeof(kif->mac));
	return 0;
}

int
kernel_if_look(uint32_t index, struct kernel_if *kif)
{
	struct ifreq req = {.ifr_ifindex = (int)index};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err;

	static_assert(KERNEL_IF_NAME_LEN == IFNAMSIZ, "names of the kernel fit");
	if (fd < 0)
		return -errno;
	*kif = (struct kernel_if){.index = index};
	err = ask(fd, SIOCGIFNAME, &req);
	if (!err)
		err = describe(fd, &req, kif);
	if (!err)
		snprintf(kif->name, sizeof(kif->name), "%s", req.ifr_name);
	close(fd);
	return err;
}

int
kernel_if_find(const char *name, struct kernel_if *kif)
{
	uint32_t index = strlen(name) < IFNAMSIZ ? if_nametoindex(name) : 0;

	return index ? kernel_if_look(index, kif) : -ENODEV;
}

uint32_t
kernel_if_rx_queues(const struct kernel_if *kif)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
	struct ifreq req = {.ifr_data = (void *)&channels};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint32_t n = 0;

	if (fd < 0)
		return 1;
	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", kif->name);
	if (ask(fd, SIOCETHTOOL, &req) == 0)
		n = channels.combined_count + channels.rx_count;
	close(fd);
	return n > 0 ? n : 1;
}

void
kernel_if_names(char *text, size_t size)
{
	struct if_nameindex *all = if_nameindex();
	size_t len = 0;

	snprintf(text, size, "none");
	for (const struct if_nameindex *i = all; i && i->if_index && len < size; i++)
		len += (size_t)snprintf(text + len, size - len, "%s%s", len ? ", " : "",
		                        i->if_name);
	if (all)
		if_freenameindex(all);
}
