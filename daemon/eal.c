/* SPDX-License-Identifier: BSD-3-Clause */
#include "eal.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include "log.h"

/* "0@(0,1)": EAL's one thread may run wherever we may. */
static void
format_lcores(char *buf, size_t size)
{
	const char *comma = "";
	cpu_set_t cpus;
	size_t len;

	CPU_ZERO(&cpus);
	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		CPU_SET(0, &cpus);
	len = (size_t)snprintf(buf, size, "0@(");
	for (int cpu = 0; cpu < CPU_SETSIZE && len + 8 < size; cpu++) {
		if (!CPU_ISSET(cpu, &cpus))
			continue;
		len += (size_t)snprintf(buf + len, size - len, "%s%d", comma, cpu);
		comma = ",";
	}
	snprintf(buf + len, size - len, ")");
}

static int
start(const struct eal_conf *conf)
{
	char memory[16], lcores[4096];
	/* Hugepages through --in-memory leave no file behind; without them EAL knows no such mode.
	 */
	char *argv[16 + 2 * EAL_DEVICES_MAX] = {
		"weftd",
		"--no-telemetry",
		"-m",
		memory,
		"--lcores",
		lcores,
		conf->hugepages ? "--in-memory" : "--no-huge",
		conf->hugepages ? "--single-file-segments" : "--no-shconf",
		"--log-level",
		conf->verbose ? "*:info" : "*:error",
	};
	int argc = 10;

	/* With devices, how they are bound decides what addresses they see. */
	if (conf->nb_devices == 0) {
		argv[argc++] = "--no-pci";
		argv[argc++] = "--iova-mode";
		argv[argc++] = "va";
	}
	for (uint32_t i = 0; i < conf->nb_devices; i++) {
		argv[argc++] = "-a";
		argv[argc++] = (char *)(uintptr_t)conf->devices[i];
	}
	snprintf(memory, sizeof(memory), "%u", conf->memory_mb);
	format_lcores(lcores, sizeof(lcores));
	return rte_eal_init(argc, argv) < 0 ? -rte_errno : 0;
}

/*
 * EAL makes a folder where those of other daemons would be in its way and remain. It gets one of
 * its own, which is gone when it has started.
 */
int
eal_start(const struct eal_conf *conf)
{
	char dir[] = "/tmp/weftd-XXXXXX", path[64];
	int err;

	if (!mkdtemp(dir)) {
		err = -errno;
		log_error("%s: %s", dir, strerror(errno));
		return err;
	}
	setenv("RUNTIME_DIRECTORY", dir, 1);
	err = start(conf);
	if (err)
		log_error("DPDK does not start with %u MB of %s: %s", conf->memory_mb,
		          conf->hugepages ? "hugepages" : "memory", strerror(-err));
	unsetenv("RUNTIME_DIRECTORY");
	snprintf(path, sizeof(path), "%s/dpdk/rte", dir);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/dpdk", dir);
	rmdir(path);
	rmdir(dir);
	return err;
}

void
eal_stop(void)
{
	rte_eal_cleanup();
}

int
eal_thread_start(void)
{
	return rte_thread_register() < 0 ? -rte_errno : 0;
}

void
eal_thread_end(void)
{
	rte_thread_unregister();
}
