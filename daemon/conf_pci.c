/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "conf_read.h"

/* Ports that take a NIC away from the kernel. */

#define PCI_DIR "/sys/bus/pci/devices"

/* "03:00.0" becomes "0000:03:00.0", as the kernel and DPDK write it. */
bool
conf_read_pci(struct conf_reader *r, const char *text, struct conf_port *port)
{
	unsigned int domain = 0, bus, device, function;
	int end = 0;

	if ((sscanf(text, "%4x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &end) != 4 ||
	     text[end]) &&
	    (domain = 0,
	     sscanf(text, "%2x:%2x.%1x%n", &bus, &device, &function, &end) != 3 || text[end])) {
		conf_error(r, r->line, "'%s' is not a PCI address as lspci shows it: 0000:03:00.0",
		           text);
		return false;
	}
	snprintf(port->arg, sizeof(port->arg), "%04x:%02x:%02x.%x", domain, bus, device, function);
	return true;
}

/* Network devices of this machine, for a message. */
static void
list_devices(char *text, size_t size)
{
	DIR *dir = opendir(PCI_DIR);
	size_t len = 0;
	struct dirent *e;

	snprintf(text, size, "none");
	while (dir && len < size && (e = readdir(dir))) {
		char path[sizeof(PCI_DIR) + sizeof(e->d_name) + 16];
		unsigned int class = 0;
		FILE *f;

		snprintf(path, sizeof(path), PCI_DIR "/%s/class", e->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		/* 02 is that of network controllers. */
		if (fscanf(f, "%x", &class) == 1 && class >> 16 == 2)
			len += (size_t)snprintf(text + len, size - len, "%s%s", len ? ", " : "",
			                        e->d_name);
		fclose(f);
	}
	if (dir)
		closedir(dir);
}

/* Those that give a device to programs. */
static bool
is_for_programs(const char *driver)
{
	static const char *const drivers[] = {"vfio-pci", "uio_pci_generic", "igb_uio"};

	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (strcmp(driver, drivers[i]) == 0)
			return true;
	return false;
}

static void
check_device(struct conf_reader *r, const struct conf_port *port)
{
	char path[sizeof(PCI_DIR) + sizeof(port->arg) + 16], target[256], devices[200];
	const char *driver = "no driver";
	ssize_t len;

	snprintf(path, sizeof(path), PCI_DIR "/%s", port->arg);
	if (access(path, F_OK) < 0) {
		list_devices(devices, sizeof(devices));
		conf_error(r, port->line, "no PCI device %s here; network devices: %s", port->arg,
		           devices);
		return;
	}
	snprintf(path, sizeof(path), PCI_DIR "/%s/driver", port->arg);
	len = readlink(path, target, sizeof(target) - 1);
	if (len > 0) {
		target[len] = '\0';
		driver = basename(target);
	}
	if (!is_for_programs(driver))
		conf_error(
			r, port->line,
			"PCI device %s is bound to %s: 'dpdk-devbind.py -b vfio-pci %s' gives it "
			"to weftd",
			port->arg, driver, port->arg);
	if (!r->conf->daemon.hugepages)
		conf_error(r, port->line,
		           "a pci: port needs [daemon] hugepages = yes: devices read their memory");
}

void
conf_check_pci(struct conf_reader *r)
{
	const struct conf_port *ports[CONF_MAX_PCI];
	uint32_t n = conf_ports_of(r->conf, PORT_PCI, ports, CONF_MAX_PCI);

	for (uint32_t i = 0; i < n; i++) {
		check_device(r, ports[i]);
		for (uint32_t k = 0; k < i; k++) {
			if (strcmp(ports[i]->arg, ports[k]->arg) == 0)
				conf_error(r, ports[i]->line,
				           "PCI device %s is that of line %u already",
				           ports[i]->arg, ports[k]->line);
		}
	}
}
