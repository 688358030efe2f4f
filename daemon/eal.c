/* SPDX-License-Identifier: BSD-3-Clause */
#include "eal.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
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
	char *argv[18 + 2 * EAL_DEVICES_MAX] = {
		"weftd",
		conf->telemetry_dir ? "--telemetry" : "--no-telemetry",
		"--file-prefix",
		conf->telemetry_dir ? (char *)(uintptr_t)conf->telemetry_name : "rte",
		"-m",
		memory,
		"--lcores",
		lcores,
		conf->hugepages ? "--in-memory" : "--no-huge",
		conf->hugepages ? "--single-file-segments" : "--no-shconf",
		"--log-level",
		conf->verbose ? "*:info" : "*:error",
	};
	int argc = 12;

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

/* Of the telemetry socket, to be removed at the end; "" = there is none. */
static char telemetry_folder[256];

static void
remove_folder(void)
{
	static const char *const files[] = {"dpdk_telemetry.v2", "dpdk_telemetry.v1", NULL};
	char path[sizeof(telemetry_folder) + 32], *slash;

	if (!telemetry_folder[0])
		return;
	for (const char *const *file = files; *file; file++) {
		snprintf(path, sizeof(path), "%s/%s", telemetry_folder, *file);
		unlink(path);
	}
	rmdir(telemetry_folder);
	/* DIR/dpdk, if no other daemon has something there. */
	slash = strrchr(telemetry_folder, '/');
	*slash = '\0';
	rmdir(telemetry_folder);
	telemetry_folder[0] = '\0';
}

/* EAL makes a folder of its own in this one. */
static int
start_in(const struct eal_conf *conf, const char *dir)
{
	const char *before = getenv("RUNTIME_DIRECTORY");
	char *kept = before ? strdup(before) : NULL;
	int err;

	setenv("RUNTIME_DIRECTORY", dir, 1);
	err = start(conf);
	if (kept)
		setenv("RUNTIME_DIRECTORY", kept, 1);
	else
		unsetenv("RUNTIME_DIRECTORY");
	free(kept);
	if (err)
		log_error("DPDK does not start with %u MB of %s: %s", conf->memory_mb,
		          conf->hugepages ? "hugepages" : "memory", strerror(-err));
	return err;
}

/* Where those of other programs would be in its way and remain: one that is gone when it runs. */
static int
start_without_telemetry(const struct eal_conf *conf)
{
	char dir[] = "/tmp/weftd-XXXXXX", path[64];
	int err;

	if (!mkdtemp(dir)) {
		err = -errno;
		log_error("%s: %s", dir, strerror(errno));
		return err;
	}
	err = start_in(conf, dir);
	snprintf(path, sizeof(path), "%s/dpdk/rte", dir);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/dpdk", dir);
	rmdir(path);
	rmdir(dir);
	return err;
}

int
eal_start(const struct eal_conf *conf)
{
	struct eal_conf without = *conf;
	int len, err;

	without.telemetry_dir = NULL;
	if (!conf->telemetry_dir)
		return start_without_telemetry(&without);
	len = snprintf(telemetry_folder, sizeof(telemetry_folder), "%s/dpdk/%s",
	               conf->telemetry_dir, conf->telemetry_name);
	/* DPDK would cut it. */
	if (len < 0 ||
	    (size_t)len + sizeof("/dpdk_telemetry.v2") > sizeof((struct sockaddr_un){0}.sun_path)) {
		log_warn("no telemetry: %s is too long for a socket", telemetry_folder);
		telemetry_folder[0] = '\0';
		return start_without_telemetry(&without);
	}
	err = start_in(conf, conf->telemetry_dir);
	if (err)
		remove_folder();
	return err;
}

void
eal_stop(void)
{
	rte_eal_cleanup();
	remove_folder();
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
