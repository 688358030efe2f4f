/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

#include "conf_read.h"
#include "kernel_if.h"

/*
 * NICs on an interface of the kernel have its MAC, its addresses and its MTU: a conf file says only
 * which interface.
 */

/* As the key mtu has it. */
#define MTU_MIN 576

static bool
find(struct conf_reader *r, const struct conf_port *port, struct kernel_if *kif)
{
	int err = kernel_if_find(port->arg, kif);
	char names[200];

	if (err == -ENODEV) {
		kernel_if_names(names, sizeof(names));
		conf_error(r, port->line, "no interface %s here; there are: %s", port->arg, names);
	} else if (err) {
		conf_error(r, port->line, "%s: %s", port->arg, strerror(-err));
	} else if (!kif->is_ethernet) {
		conf_error(r, port->line, "%s is not an Ethernet interface", port->arg);
		err = -ENOTSUP;
	}
	return err == 0;
}

/* False if it is none that a GID is made of. A link-local one is: GID 0 has it. */
static bool
host_address(const struct sockaddr *addr, struct ip_addr *ip)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)addr;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)addr;

	if (!addr)
		return false;
	if (addr->sa_family == AF_INET) {
		ip_addr_from_ipv4(ip, (const uint8_t *)&v4->sin_addr);
		return true;
	}
	if (addr->sa_family != AF_INET6 || IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
		return false;
	memcpy(ip->b, &v6->sin6_addr, sizeof(ip->b));
	return true;
}

static void
take_addresses(struct conf_reader *r, struct conf_nic *nic)
{
	struct ifaddrs *all;

	if (getifaddrs(&all) < 0) {
		conf_error(r, nic->port.line, "%s: its addresses: %s", nic->port.arg,
		           strerror(errno));
		return;
	}
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		if (strcmp(i->ifa_name, nic->port.arg) != 0 || nic->nb_ips == CONF_MAX_IPS)
			continue;
		nic->ip_lines[nic->nb_ips] = nic->port.line;
		if (host_address(i->ifa_addr, &nic->ips[nic->nb_ips]))
			nic->nb_ips++;
	}
	freeifaddrs(all);
}

static void
check_nic(struct conf_reader *r, struct conf_nic *nic)
{
	struct kernel_if kif;

	if (!nic->port.line || !conf_port_is_interface(&nic->port))
		return;
	nic->on_interface = true;
	if (nic->ip_line)
		conf_error(r, nic->ip_line, "[nic %s] has the addresses of %s: no ip here",
		           nic->name, nic->port.arg);
	if (nic->mac_line)
		conf_error(r, nic->mac_line, "[nic %s] has the MAC of %s: no mac here", nic->name,
		           nic->port.arg);
	if (!find(r, &nic->port, &kif))
		return;
	memcpy(nic->mac, kif.mac, sizeof(nic->mac));
	if (nic->num.mtu > kif.mtu_bytes)
		nic->num.mtu = kif.mtu_bytes;
	if (nic->num.mtu > conf_port_mtu_max(&nic->port))
		nic->num.mtu = conf_port_mtu_max(&nic->port);
	if (nic->num.mtu < MTU_MIN)
		conf_error(r, nic->port.line, "the MTU of %s is %u, and no path MTU fits below %d",
		           nic->port.arg, nic->num.mtu, MTU_MIN);
	if (!nic->ip_line)
		take_addresses(r, nic);
}

void
conf_check_interfaces(struct conf_reader *r)
{
	struct conf *conf = r->conf;
	struct kernel_if kif;

	for (uint32_t i = 0; i < conf->nb_nics; i++)
		check_nic(r, &conf->nics[i]);
	for (uint32_t i = 0; i < conf->nb_switches; i++) {
		for (uint32_t p = 0; p < conf->switches[i].nb_ports; p++) {
			const struct conf_port *port = &conf->switches[i].ports[p];

			if (conf_port_is_interface(port))
				find(r, port, &kif);
		}
	}
}
