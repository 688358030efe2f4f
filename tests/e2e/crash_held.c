/* SPDX-License-Identifier: BSD-3-Clause */
#include "crash.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* What a daemon holds, as the kernel and as weftctl tell it. */

static const char *const names[HELD_NB] = {
	[HELD_FDS] = "descriptors",   [HELD_MAPS] = "mappings of shared memory",
	[HELD_CLIENTS] = "client",    [HELD_QPS] = "qps",
	[HELD_MRS] = "mrs",           [HELD_MWS] = "mws",
	[HELD_CQS] = "cqs",           [HELD_SRQS] = "srqs",
	[HELD_PDS] = "pds",           [HELD_CHANNELS] = "channels",
	[HELD_MAPPINGS] = "mappings", [HELD_MEMORY] = "memory_bytes",
	[HELD_NIC_QPS] = "qps",       [HELD_NIC_KEYS] = "keys",
};

static uint64_t
nb_fds(pid_t daemon)
{
	char path[64];
	uint64_t n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)daemon);
	d = opendir(path);
	must(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static uint64_t
nb_maps(pid_t daemon)
{
	char path[64], line[512];
	uint64_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)daemon);
	f = fopen(path, "r");
	must(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, "memfd:") != NULL;
	fclose(f);
	return n;
}

uint64_t
crash_rss_kb(pid_t daemon)
{
	char path[64], line[256];
	unsigned long kb = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)daemon);
	f = fopen(path, "r");
	must(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %lu", &kb) == 1)
			break;
	fclose(f);
	return kb;
}

/* ---- weftctl ---- */

static FILE *
ask(const char *what)
{
	char command[512];
	FILE *f;

	snprintf(command, sizeof(command), "'%s' -j %s", getenv("WEFTCTL"), what);
	f = popen(command, "r");
	must(f);
	return f;
}

/* Sums of what the lines "name": number say, for some of the names. */
static void
add_up(const char *what, enum held first, enum held last, struct crash_held *held)
{
	char line[512], name[64];
	FILE *f = ask(what);
	unsigned long value;

	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, " \"%63[a-z_]\": %lu", name, &value) != 2)
			continue;
		for (uint32_t i = first; i <= last; i++) {
			if (strcmp(name, names[i]) == 0)
				held->nb[i] += i == HELD_CLIENTS ? 1 : value;
		}
	}
	must(pclose(f) == 0);
}

bool
crash_weftctl_says(const char *what, const char *const *texts)
{
	char all[8192];
	FILE *f = ask(what);
	size_t len = fread(all, 1, sizeof(all) - 1, f);
	bool is_said = pclose(f) == 0;

	all[len] = '\0';
	for (; *texts && is_said; texts++)
		is_said = strstr(all, *texts) != NULL;
	if (!is_said)
		fprintf(stderr, "weftctl %s says:\n%s", what, all);
	return is_said;
}

/* ---- all of it ---- */

struct crash_held
crash_held(pid_t daemon)
{
	struct crash_held held = {0};

	add_up("clients", HELD_CLIENTS, HELD_MEMORY, &held);
	add_up("nodes", HELD_NIC_QPS, HELD_NIC_KEYS, &held);
	/* The daemon may need some time to close weftctl's connection. */
	held.nb[HELD_FDS] = UINT64_MAX;
	for (int i = 0; i < 10; i++) {
		uint64_t nb = nb_fds(daemon);

		held.nb[HELD_FDS] = nb < held.nb[HELD_FDS] ? nb : held.nb[HELD_FDS];
		crash_nap_us(10000);
	}
	held.nb[HELD_MAPS] = nb_maps(daemon);
	return held;
}

void
crash_held_tell(const struct crash_held *held)
{
	printf("held:");
	for (uint32_t i = 0; i < HELD_NB; i++)
		printf(" %lu %s%s", (unsigned long)held->nb[i], i >= HELD_NIC_QPS ? "NICs' " : "",
		       names[i]);
	printf("\n");
}

bool
crash_held_again(pid_t daemon, const struct crash_held *before)
{
	struct crash_held now = {0};

	for (int i = 0; i < 400; i++) {
		/* The cheap ones first: weftctl takes the cores that the daemon needs. */
		if (nb_fds(daemon) == before->nb[HELD_FDS] &&
		    nb_maps(daemon) == before->nb[HELD_MAPS]) {
			now = crash_held(daemon);
			if (memcmp(&now, before, sizeof(now)) == 0)
				return true;
		}
		crash_nap_us(50000);
	}
	now = crash_held(daemon);
	for (uint32_t i = 0; i < HELD_NB; i++) {
		if (now.nb[i] != before->nb[i])
			fprintf(stderr, "the daemon has %lu %s%s, before: %lu\n",
			        (unsigned long)now.nb[i], i >= HELD_NIC_QPS ? "NICs' " : "",
			        names[i], (unsigned long)before->nb[i]);
	}
	return false;
}
