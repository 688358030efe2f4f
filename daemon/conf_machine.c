/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/un.h>
#include <unistd.h>

#include "conf_read.h"
#include "sockdir.h"

/*
 * What a conf asks of the machine: memory, hugepages, devices, a folder for its socket. What would
 * fail at start is told with its line instead.
 */

/* Before the IP packet: Ethernet and a VLAN tag. */
#define L2_BYTES 18
/* Beside its bytes, a packet has the mbuf, our struct, headroom and the pool's own. */
#define PACKET_OVERHEAD_BYTES 512
/* Rings and state of a device of DPDK. Our choice: twice what drivers take. */
#define DEVICE_MB 4

#define HUGEPAGES_DIR "/sys/kernel/mm/hugepages"

uint32_t
conf_packet_bytes(const struct conf *conf)
{
	uint32_t mtu = 1500;

	for (uint32_t i = 0; i < conf->nb_nics; i++) {
		if (conf->nics[i].num.mtu > mtu)
			mtu = conf->nics[i].num.mtu;
	}
	for (uint32_t i = 0; i < conf->nb_switches; i++) {
		if (conf->switches[i].num.mtu > mtu)
			mtu = conf->switches[i].num.mtu;
	}
	return (mtu + L2_BYTES + 63) & ~63u;
}

uint32_t
conf_memory_mb(const struct conf *conf)
{
	const struct conf_port *ports[CONF_MAX_PCI];
	uint64_t bytes = (uint64_t)conf->daemon.num.packets *
	                 (conf_packet_bytes(conf) + PACKET_OVERHEAD_BYTES);
	uint32_t nb_devices = conf_ports_of(conf, PORT_PCI, ports, CONF_MAX_PCI) +
	                      conf_ports_of(conf, PORT_MEMIF, ports, CONF_MAX_PCI);

	return (uint32_t)(bytes >> 20) + 16 + nb_devices * DEVICE_MB;
}

/* The folder of sockets may be long, so not every name will do. */
static void
check_name(struct conf_reader *r)
{
	const struct conf_daemon *d = &r->conf->daemon;
	struct sockaddr_un addr;
	char dir[sizeof(addr.sun_path)];
	size_t len = sizeof(addr.sun_path);
	int err = sockdir_path(geteuid(), dir, sizeof(dir));

	/* Not the file's mistake. */
	if (err == -EINVAL) {
		fprintf(r->errors, "environment: WEFT_RUNTIME_DIR=%s is not an absolute path\n",
		        getenv("WEFT_RUNTIME_DIR"));
		r->nb_errors++;
		return;
	}
	if (err == 0)
		len = strlen(dir) + 1 + strlen(d->name) + strlen(SOCKDIR_SUFFIX);
	if (len >= sizeof(addr.sun_path))
		conf_error(r, d->name_line,
		           "the path of the socket of daemon '%s' is longer than %zu characters",
		           d->name, sizeof(addr.sun_path) - 1);
}

/* Of all sizes, free, in MB. */
static uint64_t
free_hugepages_mb(void)
{
	DIR *dir = opendir(HUGEPAGES_DIR);
	uint64_t kb = 0;
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		uint64_t size_kb, nb = 0;
		char path[sizeof(HUGEPAGES_DIR) + sizeof(e->d_name) + 32];
		FILE *f;

		if (sscanf(e->d_name, "hugepages-%" SCNu64 "kB", &size_kb) != 1)
			continue;
		snprintf(path, sizeof(path), HUGEPAGES_DIR "/%s/free_hugepages", e->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fscanf(f, "%" SCNu64, &nb) == 1)
			kb += nb * size_kb;
		fclose(f);
	}
	if (dir)
		closedir(dir);
	return kb >> 10;
}

static void
check_memory(struct conf_reader *r)
{
	const struct conf_daemon *d = &r->conf->daemon;
	uint32_t need_mb = conf_memory_mb(r->conf);
	struct sysinfo info;
	uint64_t have_mb;

	if (d->hugepages) {
		have_mb = free_hugepages_mb();
		if (need_mb > have_mb)
			conf_error(r, d->hugepages_line,
			           "hugepages = yes: packets need %u MB, and %" PRIu64
			           " MB of hugepages are free",
			           need_mb, have_mb);
		return;
	}
	have_mb =
		sysinfo(&info) == 0 ? ((uint64_t)info.totalram * info.mem_unit) >> 20 : UINT64_MAX;
	if (need_mb > have_mb)
		conf_error(r, d->packets_line,
		           "packets = %u need %u MB, and this machine has %" PRIu64, d->num.packets,
		           need_mb, have_mb);
}

static void
check_userfaultfd(struct conf_reader *r)
{
	static const char path[] = "/dev/userfaultfd";
	const struct conf_daemon *d = &r->conf->daemon;

	if (d->userfaultfd && access(path, R_OK | W_OK) < 0)
		conf_error(r, d->userfaultfd_line, "userfaultfd = yes: %s: %s", path,
		           strerror(errno));
}

void
conf_check_machine(struct conf_reader *r)
{
	check_name(r);
	check_memory(r);
	check_userfaultfd(r);
}
