/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
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
	if (nic->num.vlan)
		conf_error(r, nic->port.line,
		           "[nic %s] has the VLANs of %s: no vlan here, but an interface of the "
		           "kernel for it: 'ip link add link %s name %s.%u type vlan id %u'",
		           nic->name, nic->port.arg, nic->port.arg, nic->port.arg, nic->num.vlan,
		           nic->num.vlan);
	if (!find(r, &nic->port, &kif))
		return;
	memcpy(nic->mac, kif.mac, sizeof(nic->mac));
	if (nic->num.mtu > conf_port_mtu_max(&nic->port))
		nic->num.mtu = conf_port_mtu_max(&nic->port);
	if (kif.mtu_bytes < MTU_MIN)
		conf_error(r, nic->port.line, "the MTU of %s is %u, and no path MTU fits below %d",
		           nic->port.arg, kif.mtu_bytes, MTU_MIN);
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
