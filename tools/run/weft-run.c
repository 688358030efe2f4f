/* SPDX-License-Identifier: BSD-3-Clause */
/* weft-run: start a verbs program with our libibverbs.so.1 in front of the system's. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

static const char usage[] =
	"usage: weft-run PROG [ARGS]\n"
	"\n"
	"Runs an unmodified verbs program on the devices of the weft daemons that are running.\n"
	"\n"
	"  -h, --help     this text\n"
	"  -V, --version  the version\n"
	"\n"
	"environment:\n"
	"  WEFT_SOCKET       only these daemons: socket paths or names, separated by commas\n"
	"  WEFT_RUNTIME_DIR  folder of the daemons' sockets, instead of the user's and the "
	"system's\n"
	"  WEFT_REMAP=0      leave the memory that PROG registers where it is (slower)\n"
	"  WEFT_PRELOAD      libraries to load before the shim, such as libasan.so\n";

/** The shim, seen from the folder of this program: installed, and in a build tree. */
static const char *const places[] = {WEFT_SHIM_INSTALLED, WEFT_SHIM_BUILT};

static bool
find_shim(char path[PATH_MAX])
{
	char self[PATH_MAX], joined[2 * PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (len < 0)
		return false;
	self[len] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		bool absolute = places[i][0] == '/';

		snprintf(joined, sizeof(joined), "%s%s%s", absolute ? "" : self,
		         absolute ? "" : "/", places[i]);
		if (realpath(joined, path) && access(path, R_OK) == 0)
			return true;
	}
	return false;
}

/** Put the shim behind WEFT_PRELOAD and before what is preloaded already. */
static int
set_preload(const char *shim)
{
	const char *first = getenv("WEFT_PRELOAD"), *rest = getenv("LD_PRELOAD");
	bool has_first = first && *first, has_rest = rest && *rest;
	char *list;
	int err;

	if (asprintf(&list, "%s%s%s%s%s", has_first ? first : "", has_first ? ":" : "", shim,
	             has_rest ? ":" : "", has_rest ? rest : "") < 0)
		return -1;
	err = setenv("LD_PRELOAD", list, 1);
	free(list);
	return err;
}

/** Whether execvp would find something to start; errno if not. */
static bool
find_program(const char *name)
{
	const char *path = getenv("PATH");
	char *list, *rest = NULL;
	bool found = false;
	int err = ENOENT;

	if (strchr(name, '/'))
		return access(name, X_OK) == 0;
	list = strdup(path ? path : "/bin:/usr/bin");
	for (char *dir = list ? strtok_r(list, ":", &rest) : NULL; dir && !found;
	     dir = strtok_r(NULL, ":", &rest)) {
		char file[PATH_MAX];

		if (snprintf(file, sizeof(file), "%s/%s", dir, name) >= (int)sizeof(file))
			continue;
		found = access(file, X_OK) == 0;
		if (!found && errno == EACCES)
			err = EACCES;
	}
	free(list);
	errno = err;
	return found;
}

/** Say why a program cannot be started. @return the exit code, as shells have it. */
static int
cannot_start(const char *name)
{
	int code = errno == ENOENT ? 127 : 126;

	fprintf(stderr, "weft-run: %s: %s\n", name, strerror(errno));
	return code;
}

static bool
any_device(void *arg, const char *path, const struct ctl_list *list)
{
	(void)arg;
	(void)path;
	return list->nb_devices > 0;
}

int
main(int argc, char **argv)
{
	char shim[PATH_MAX], where[512];
	char **prog = argv + 1;

	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		fputs(usage, stdout);
		return 0;
	}
	if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
		puts("weft-run " WEFT_VERSION);
		return 0;
	}
	if (argc > 1 && strcmp(argv[1], "--") == 0)
		prog++;
	else if (argc > 1 && argv[1][0] == '-') {
		fprintf(stderr, "weft-run: unknown option '%s' (try --help)\n", argv[1]);
		return 2;
	}
	if (!*prog) {
		fputs(usage, stderr);
		return 2;
	}
	if (!find_program(prog[0]))
		return cannot_start(prog[0]);
	if (!find_shim(shim)) {
		fprintf(stderr, "weft-run: libibverbs.so.1 of weft is not where it was built or "
		                "installed\n");
		return 1;
	}
	if (client_discover(any_device, NULL) == 0) {
		bool is_barred = errno == EACCES;

		client_where(where, sizeof(where));
		fprintf(stderr, "weft-run: no weftd %s (looked in %s): %s 'weftd CONF'\n",
		        is_barred ? "that you may use" : "is running", where,
		        is_barred ? "see above, or start one of your own with" : "start one with");
		return 1;
	}
	if (set_preload(shim) < 0) {
		fprintf(stderr, "weft-run: %s\n", strerror(errno));
		return 1;
	}
	execvp(prog[0], prog);
	return cannot_start(prog[0]);
}
