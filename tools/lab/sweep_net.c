/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep_net.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What Open MPI's mpirun, of any version, tells those that it starts. */
#define ENV_NB_RANKS "OMPI_COMM_WORLD_SIZE"

/* Where the module may lie, seen from the program: where it was built, where it is installed. */
static const char *const places[] = {WEFT_LAB_MPI_BUILT, WEFT_LAB_MPI_INSTALLED};

static void *
load(char *why, size_t size)
{
	char self[4096], path[sizeof(self) + 256];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	void *module = NULL;

	self[len > 0 ? len : 0] = '\0';
	if (strrchr(self, '/'))
		*strrchr(self, '/') = '\0';
	snprintf(why, size, "this weft-lab was built without MPI");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !module; i++) {
		if (places[i][0] == '/')
			snprintf(path, sizeof(path), "%s", places[i]);
		else
			snprintf(path, sizeof(path), "%s/%s", self, places[i]);
		if (access(path, R_OK) != 0)
			continue;
		/* Global, because libmpi has modules of its own that look for its symbols. */
		module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
		if (!module)
			snprintf(why, size, "%s", dlerror());
	}
	return module;
}

/*
 * Open, and leave the signals of crashes to whom they belonged: MPI writes a page with the
 * process's number for them, and a cell's row would never be the same twice.
 */
static int
open_quietly(net_module_open open, struct net *net)
{
	static const int crashes[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
	struct sigaction before[sizeof(crashes) / sizeof(crashes[0])];
	int err;

	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		sigaction(crashes[i], NULL, &before[i]);
	err = open(net);
	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		sigaction(crashes[i], &before[i], NULL);
	return err;
}

int
net_open(struct net *net, char *why, size_t size)
{
	const char *nb = getenv(ENV_NB_RANKS);
	char cause[512];
	void *module, *symbol;
	net_module_open open;

	*net = (struct net){.nb_ranks = 1, .nb_here = 1};
	if (!nb || strcmp(nb, "1") == 0)
		return 0;
	module = load(cause, sizeof(cause));
	symbol = module ? dlsym(module, NET_MODULE_OPEN) : NULL;
	if (!symbol) {
		snprintf(why, size,
		         "mpirun started %s of us, and we cannot talk: %s; install libopenmpi-dev "
		         "and "
		         "build again, or start shards by --shard I/N",
		         nb, cause);
		return -1;
	}
	memcpy(&open, &symbol, sizeof(open));
	if (open_quietly(open, net) < 0) {
		snprintf(why, size, "MPI does not start");
		return -1;
	}
	return 0;
}
