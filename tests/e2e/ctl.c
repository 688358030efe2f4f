/* SPDX-License-Identifier: BSD-3-Clause */
#include "ctl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char dir[sizeof("/tmp/weft-ctl-XXXXXX")];
static pid_t daemon_pid, test_pid;
static uint32_t nb_verdicts, nb_failed;

static void
die(const char *what)
{
	/* In a child of the test: its parent will see. */
	if (getpid() != test_pid)
		_exit(4);
	printf("Bail out! %s: %s\n", what, strerror(errno));
	if (daemon_pid > 0)
		kill(daemon_pid, SIGKILL);
	exit(1);
}

static void
nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

void
verdict(bool ok, const char *fmt, ...)
{
	va_list ap;

	nb_failed += !ok;
	printf("%s %u - ", ok ? "ok" : "not ok", ++nb_verdicts);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

int
verdicts_end(void)
{
	printf("1..%u\n", nb_verdicts);
	return nb_failed ? 1 : 0;
}

/* ---- the daemon ---- */

static int
try_connect(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/test.sock", dir);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* A copy whose name we know, and with it that of the socket. */
static void
copy_conf(char *path, size_t size, const char *lines)
{
	FILE *in = fopen(getenv("WEFT_CONF"), "r"), *out;
	int c;

	snprintf(path, size, "%s/test.conf", dir);
	out = fopen(path, "w");
	if (!in || !out)
		die("WEFT_CONF");
	while ((c = getc(in)) != EOF)
		putc(c, out);
	fputs(lines, out);
	fclose(in);
	fclose(out);
}

void
daemon_begin(void)
{
	daemon_begin_with("");
}

void
daemon_begin_with(const char *lines)
{
	/* Another build of it, with another sanitizer. */
	const char *other = getenv("WEFT_TEST_DAEMON"), *weftd = other ? other : getenv("WEFTD");
	char conf[64];
	int fd;

	test_pid = getpid();
	strcpy(dir, "/tmp/weft-ctl-XXXXXX");
	if (!weftd || !getenv("WEFT_CONF") || !mkdtemp(dir))
		die("WEFTD, WEFT_CONF or a folder");
	signal(SIGPIPE, SIG_IGN);
	setenv("WEFT_RUNTIME_DIR", dir, 1);
	chmod(dir, 0755);
	copy_conf(conf, sizeof(conf), lines);
	daemon_pid = fork();
	if (daemon_pid == 0) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execl(weftd, weftd, conf, (char *)NULL);
		_exit(127);
	}
	for (int i = 0; i < 1000; i++) {
		union ctl_msg msg = {0};
		struct reply reply;

		nap();
		fd = try_connect();
		if (fd < 0)
			continue;
		if (ctl_request(fd, CTL_LIST, &msg, sizeof(msg.hdr), -1, &reply) != 0)
			die("the daemon does not answer");
		close(fd);
		/* Until it has noticed that, its descriptors are no measure. */
		for (int k = 0; k < 20; k++)
			nap();
		return;
	}
	die("the daemon does not start");
}

bool
daemon_alive(void)
{
	return waitpid(daemon_pid, NULL, WNOHANG) == 0;
}

void
daemon_pause(bool on)
{
	kill(daemon_pid, on ? SIGSTOP : SIGCONT);
}

int
daemon_memory(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)daemon_pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die(path);
	return fd;
}

bool
daemon_end(void)
{
	char conf[64];
	int status = -1;

	kill(daemon_pid, SIGTERM);
	for (int i = 0; i < 1000; i++) {
		if (waitpid(daemon_pid, &status, WNOHANG) == daemon_pid)
			break;
		nap();
	}
	snprintf(conf, sizeof(conf), "%s/test.conf", dir);
	unlink(conf);
	return status == 0 && rmdir(dir) == 0;
}

void
daemon_kill(void)
{
	const struct dirent *entry;
	DIR *d;

	kill(daemon_pid, SIGKILL);
	waitpid(daemon_pid, NULL, 0);
	d = opendir(dir);
	while (d && (entry = readdir(d)))
		unlinkat(dirfd(d), entry->d_name, 0);
	if (d)
		closedir(d);
	rmdir(dir);
}

uint32_t
daemon_fds(void)
{
	char path[64];
	uint32_t n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)daemon_pid);
	d = opendir(path);
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

void
daemon_may_open(bool on)
{
	struct rlimit limit;

	if (prlimit(daemon_pid, RLIMIT_NOFILE, NULL, &limit) < 0)
		die("prlimit");
	limit.rlim_cur = on ? limit.rlim_max : 0;
	if (prlimit(daemon_pid, RLIMIT_NOFILE, &limit, NULL) < 0)
		die("prlimit");
}

uint32_t
daemon_maps(void)
{
	char path[64], line[512];
	uint32_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)daemon_pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, "memfd:") != NULL;
	if (f)
		fclose(f);
	return n;
}

bool
daemon_settles(uint32_t nb_fds, uint32_t nb_maps)
{
	for (int i = 0; i < 500; i++) {
		if (daemon_fds() <= nb_fds && daemon_maps() <= nb_maps)
			return true;
		nap();
	}
	return false;
}

/* ---- requests ---- */

int
ctl_open_socket(void)
{
	int fd = try_connect();

	if (fd < 0)
		die("connect");
	return fd;
}

bool
ctl_send(int fd, const void *msg, size_t len, const int *fds, uint32_t nb_fds)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(64 * sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)msg, .iov_len = len};
	struct msghdr hdr = {.msg_iov = &iov, .msg_iovlen = 1};

	if (nb_fds > 0) {
		struct cmsghdr *c;

		hdr.msg_control = control.buf;
		hdr.msg_controllen = CMSG_SPACE(nb_fds * sizeof(int));
		c = CMSG_FIRSTHDR(&hdr);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nb_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nb_fds * sizeof(int));
	}
	return sendmsg(fd, &hdr, MSG_NOSIGNAL) == (ssize_t)len;
}

struct reply
ctl_receive(int fd, void *msg, size_t size)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(8 * sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = msg, .iov_len = size};
	struct msghdr hdr = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct reply reply = {0};

	if (poll(&p, 1, 5000) != 1)
		die("no answer in 5 s");
	reply.len = recvmsg(fd, &hdr, MSG_CMSG_CLOEXEC);
	if (reply.len <= 0)
		return (struct reply){0};
	reply.status = ((struct ctl_hdr *)msg)->status;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&hdr); c; c = CMSG_NXTHDR(&hdr, c)) {
		reply.nb_fds = (uint32_t)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(reply.fds, CMSG_DATA(c), reply.nb_fds * sizeof(int));
	}
	return reply;
}

void
close_fds(struct reply *reply)
{
	for (uint32_t i = 0; i < reply->nb_fds; i++)
		close(reply->fds[i]);
	reply->nb_fds = 0;
}

int
ctl_request(int sock, enum ctl_op op, union ctl_msg *msg, size_t request, int fd,
            struct reply *reply)
{
	msg->hdr = (struct ctl_hdr){.op = (uint16_t)op, .len = (uint16_t)request};
	*reply = (struct reply){0};
	if (!ctl_send(sock, msg, request, &fd, fd >= 0))
		return -1;
	*reply = ctl_receive(sock, msg, sizeof(*msg));
	return reply->len > 0 ? reply->status : -1;
}

/* ---- applications ---- */

void
app_open(struct app *app, bool with_memory)
{
	union ctl_msg msg = {.open = {.version = WEFT_ABI_VERSION, .device = "weft0"}};
	int mem = with_memory ? open("/proc/self/mem", O_RDWR | O_CLOEXEC) : -1;
	struct reply reply;

	app->sock = ctl_open_socket();
	if (ctl_request(app->sock, CTL_OPEN, &msg, sizeof(msg.open), mem, &reply) != 0 ||
	    reply.nb_fds < 3)
		die("open");
	if (mem >= 0)
		close(mem);
	app->arena_fd = reply.fds[0];
	app->bell_fd = reply.fds[1];
	app->events_fd = reply.fds[2];
	for (uint32_t i = 3; i < reply.nb_fds; i++)
		close(reply.fds[i]);
	app->arena = mmap(NULL, msg.opened.arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
	                  app->arena_fd, 0);
	if (app->arena == MAP_FAILED)
		die("mmap of the arena");
	app->bell = (struct shm_bell *)(void *)app->arena;
}

void
app_close(struct app *app)
{
	munmap(app->arena, UINT64_C(256) << 20);
	close(app->sock);
	close(app->arena_fd);
	close(app->bell_fd);
	close(app->events_fd);
}

uint32_t
app_pd(struct app *app)
{
	union ctl_msg msg = {0};
	struct reply reply;

	if (ctl_request(app->sock, CTL_ALLOC_PD, &msg, sizeof(msg.hdr), -1, &reply) != 0)
		die("alloc_pd");
	return msg.handle.handle;
}

uint32_t
app_cq(struct app *app, uint32_t nb_cqe, uint32_t channel)
{
	union ctl_msg msg = {.cq = {.nb_cqe = nb_cqe, .channel = channel, .cookie = 77}};
	struct reply reply;

	if (ctl_request(app->sock, CTL_CREATE_CQ, &msg, sizeof(msg.cq), -1, &reply) != 0)
		die("create_cq");
	return msg.cq.handle;
}

struct ctl_qp
app_qp(struct app *app, uint32_t pd, uint32_t cq)
{
	union ctl_msg msg = {
		.qp = {.type = SHM_QPT_RC,
	               .pd = pd,
	               .send_cq = cq,
	               .recv_cq = cq,
	               .cap = {.max_send_wr = 16,
	                       .max_recv_wr = 16,
	                       .max_send_sge = 2,
	                       .max_recv_sge = 2,
	                       .max_inline = 64}},
	};
	struct reply reply;

	if (ctl_request(app->sock, CTL_CREATE_QP, &msg, sizeof(msg.qp), -1, &reply) != 0)
		die("create_qp");
	return msg.qp;
}

uint32_t
app_backing(struct app *app, uint64_t len, int *fd)
{
	union ctl_msg msg = {.backing = {.length = len}};
	struct reply reply;

	if (ctl_request(app->sock, CTL_NEW_BACKING, &msg, sizeof(msg.backing), -1, &reply) != 0 ||
	    reply.nb_fds != 1)
		die("new_backing");
	if (fd)
		*fd = reply.fds[0];
	else
		close_fds(&reply);
	return msg.backing.handle;
}

int
app_handle(struct app *app, enum ctl_op op, uint32_t handle)
{
	union ctl_msg msg = {.handle = {.handle = handle}};
	struct reply reply;

	return ctl_request(app->sock, op, &msg, sizeof(msg.handle), -1, &reply);
}
