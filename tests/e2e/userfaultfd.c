/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * /dev/userfaultfd is lent to applications if the conf says so, and only then; and what it is good
 * for: a program of several threads that runs as an ordinary user has its buffers moved.
 */
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl.h"

#define DEVICE "/dev/userfaultfd"
#define NOBODY 65534
#define BYTES ((size_t)1 << 20)

/* Exit codes of register_memory and its likes; none of weft-run's. */
enum { MOVED = 10, NOT_MOVED, UNREACHABLE, FAILED };

/* Open the device; does a file that makes userfaultfds come with the answer? */
static bool
is_lent(void)
{
	union ctl_msg msg = {.open = {.version = WEFT_ABI_VERSION, .device = "weft0"}};
	int sock = ctl_open_socket(), uffd = -1;
	char link[64], path[64] = "";
	struct reply reply;

	if (ctl_request(sock, CTL_OPEN, &msg, sizeof(msg.open), -1, &reply) == 0 &&
	    reply.nb_fds == 4) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", reply.fds[3]);
		if (readlink(link, path, sizeof(path) - 1) > 0 && strcmp(path, DEVICE) == 0)
			uffd = ioctl(reply.fds[3], USERFAULTFD_IOC_NEW, O_CLOEXEC);
	}
	close_fds(&reply);
	close(sock);
	if (uffd >= 0)
		close(uffd);
	return uffd >= 0;
}

/* Whether the page at an address is one of a backing. */
static bool
is_moved(const void *addr)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long lo, hi;
	char line[512];
	bool moved = false;

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx", &lo, &hi) == 2 && lo <= (unsigned long)addr &&
		    (unsigned long)addr < hi)
			moved = strstr(line, "weft-memory") != NULL;
	}
	if (maps)
		fclose(maps);
	return moved;
}

static void *
wait_for_end(void *arg)
{
	(void)arg;
	pause();
	return NULL;
}

static bool
is_all_sevens(const char *buf)
{
	for (size_t i = 0; i < BYTES; i++) {
		if (buf[i] != 7)
			return false;
	}
	return true;
}

/* Under weft-run, with two threads: register memory. Is it moved? */
static int
register_memory(void)
{
	char *buf = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	pthread_t thread;
	int result = FAILED;

	if (buf == MAP_FAILED || !list || !list[0] ||
	    pthread_create(&thread, NULL, wait_for_end, NULL))
		return FAILED;
	memset(buf, 7, BYTES);
	ctx = ibv_open_device(list[0]);
	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	mr = pd ? ibv_reg_mr(pd, buf, BYTES, IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (mr && is_all_sevens(buf))
		result = is_moved(buf) ? MOVED : NOT_MOVED;
	if (!mr || ibv_dereg_mr(mr) || ibv_dealloc_pd(pd) || ibv_close_device(ctx))
		return FAILED;
	ibv_free_device_list(list);
	return result;
}

/* What register_memory returns to an ordinary user; UNREACHABLE if he may not run our programs. */
static int
nobody_registers(const char *self)
{
	const char *weft_run = getenv("WEFT_RUN"), *preload = getenv("WEFT_E2E_PRELOAD");
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (preload)
			setenv("WEFT_PRELOAD", preload, 1);
		unsetenv("LD_LIBRARY_PATH");
		if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0 || !weft_run)
			_exit(FAILED);
		if (access(weft_run, X_OK) < 0 || access(self, X_OK) < 0)
			_exit(UNREACHABLE);
		execl(weft_run, weft_run, self, "register", (char *)NULL);
		_exit(FAILED);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return FAILED;
	return WEXITSTATUS(status);
}

/* Whether this machine refuses userfaultfd to ordinary users. */
static bool
is_refused_to_users(void)
{
	FILE *f = fopen("/proc/sys/vm/unprivileged_userfaultfd", "r");
	int c = f ? getc(f) : EOF;

	if (f)
		fclose(f);
	return c == '0';
}

static void
check(bool lend, const char *self)
{
	int code = geteuid() == 0 && is_refused_to_users() ? nobody_registers(self) : UNREACHABLE;

	verdict(is_lent() == lend, "userfaultfd = %s: it is %slent", lend ? "yes" : "no",
	        lend ? "" : "not ");
	if (code == UNREACHABLE)
		verdict(true, "an ordinary user # SKIP needs root, a build that users can reach, "
		              "and vm.unprivileged_userfaultfd = 0");
	else
		verdict(code == (lend ? MOVED : NOT_MOVED),
		        "an ordinary user's buffers are %smoved", lend ? "" : "not ");
}

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "register") == 0)
		return register_memory();
	daemon_begin();
	check(false, argv[0]);
	verdict(daemon_end(), "the daemon ends");
	if (access(DEVICE, R_OK | W_OK) == 0) {
		daemon_begin_with("[daemon]\nuserfaultfd = yes\n");
		check(true, argv[0]);
		verdict(daemon_end(), "the daemon ends");
	} else {
		verdict(true, "userfaultfd = yes # SKIP there is no " DEVICE " for us");
	}
	return verdicts_end();
}
