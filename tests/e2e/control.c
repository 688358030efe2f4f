/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the control socket grants and what it refuses, and with which error. Applications here are
 * connections of this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl.h"

#define PAGE 4096

static void
requests_have_a_size_and_an_order(void)
{
	static const struct {
		const char *name;
		uint16_t op;
		uint16_t len;      /* said */
		uint16_t sent_len; /* sent */
		int want;
	} rows[] = {
		{"nothing but a byte", 0, 1, 1, EINVAL},
		{"a header that says less", CTL_LIST, 4, 8, EINVAL},
		{"a header that says more", CTL_LIST, 9, 8, EINVAL},
		{"a list with a tail", CTL_LIST, 16, 16, EINVAL},
		{"a list", CTL_LIST, 8, 8, 0},
		{"an unknown request", CTL_NB, 8, 8, ENOSYS},
		{"the last unknown request", 0xffff, 8, 8, ENOSYS},
		{"a PD before open", CTL_ALLOC_PD, 8, 8, EINVAL},
		{"a QP before open", CTL_CREATE_QP, sizeof(struct ctl_qp), sizeof(struct ctl_qp),
	         EINVAL},
		{"a short open", CTL_OPEN, 8, 8, EINVAL},
		{"the longest message", CTL_LIST, sizeof(union ctl_msg), sizeof(union ctl_msg),
	         EINVAL},
		{"one longer than any", CTL_LIST, 60000, 60000, EINVAL},
	};
	static uint8_t buf[60000];
	int sock = ctl_open_socket();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ctl_hdr hdr = {.op = rows[i].op, .len = rows[i].len};
		union ctl_msg answer;
		struct reply reply;

		memcpy(buf, &hdr, sizeof(hdr));
		ctl_send(sock, buf, rows[i].sent_len, NULL, 0);
		reply = ctl_receive(sock, &answer, sizeof(answer));
		verdict(reply.len > 0 && reply.status == rows[i].want &&
		                answer.hdr.len == reply.len,
		        "%s: %s", rows[i].name, strerror(reply.status));
	}
	close(sock);
}

static void
open_is_checked(void)
{
	struct {
		const char *name;
		struct ctl_open open;
		int fd;
		int want;
	} rows[] = {
		{"another version",
	         {.version = WEFT_ABI_VERSION + 1, .device = "weft0"},
	         -1,
	         EPROTONOSUPPORT},
		{"no such device", {.version = WEFT_ABI_VERSION, .device = "weft9"}, -1, ENODEV},
		{"a name without an end", {.version = WEFT_ABI_VERSION}, -1, ENODEV},
		{"memory that is a file",
	         {.version = WEFT_ABI_VERSION, .device = "weft0"},
	         open("/dev/zero", O_RDWR),
	         EBADF},
		{"memory that is another file of proc",
	         {.version = WEFT_ABI_VERSION, .device = "weft0"},
	         open("/proc/self/maps", O_RDONLY),
	         EBADF},
		{"memory of somebody else",
	         {.version = WEFT_ABI_VERSION, .device = "weft0"},
	         daemon_memory(),
	         EBADF},
		{"memory to read only",
	         {.version = WEFT_ABI_VERSION, .device = "weft0"},
	         open("/proc/self/mem", O_RDONLY),
	         EBADF},
		{"memory as a path only",
	         {.version = WEFT_ABI_VERSION, .device = "weft0"},
	         open("/proc/self/mem", O_PATH),
	         EBADF},
		{"its own memory",
	         {.version = WEFT_ABI_VERSION, .device = "weft1"},
	         open("/proc/self/mem", O_RDWR),
	         0},
		{"a second time", {.version = WEFT_ABI_VERSION, .device = "weft1"}, -1, EINVAL},
	};
	int sock = ctl_open_socket();

	memset(rows[2].open.device, 'x', WEFT_NAME_LEN);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		union ctl_msg msg = {.open = rows[i].open};
		struct reply reply;
		int status =
			ctl_request(sock, CTL_OPEN, &msg, sizeof(msg.open), rows[i].fd, &reply);

		verdict(status == rows[i].want, "open, %s: %s", rows[i].name, strerror(status));
		close_fds(&reply);
		if (rows[i].fd >= 0)
			close(rows[i].fd);
	}
	close(sock);
}

static int
sealed(const char *name, unsigned int flags, off_t size, int seals)
{
	int fd = memfd_create(name, flags);

	if (fd >= 0 && (ftruncate(fd, size) < 0 || fcntl(fd, F_ADD_SEALS, seals) < 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int
read_only(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY);
}

static void
backings_are_sealed_memory(void)
{
	struct app app;
	struct reply reply;
	union ctl_msg msg;
	int good = sealed("good", MFD_ALLOW_SEALING, 2 * PAGE, F_SEAL_SHRINK);
	struct {
		const char *name;
		int fd;
		int want;
	} rows[] = {
		{"nothing", -1, EBADF},
		{"a file", open("/proc/self/exe", O_RDONLY), EBADF},
		{"a device", open("/dev/zero", O_RDWR), EBADF},
		{"not sealed", sealed("t", MFD_ALLOW_SEALING, PAGE, F_SEAL_GROW), EBADF},
		{"not to be sealed", sealed("t", 0, PAGE, 0), EBADF},
		{"huge pages", sealed("t", MFD_ALLOW_SEALING | MFD_HUGETLB, 2 << 20, F_SEAL_SHRINK),
	         EBADF},
		{"empty", sealed("t", MFD_ALLOW_SEALING, 0, F_SEAL_SHRINK), EINVAL},
		{"half a page", sealed("t", MFD_ALLOW_SEALING, PAGE / 2, F_SEAL_SHRINK), EINVAL},
		{"more than may be", sealed("t", MFD_ALLOW_SEALING, (off_t)1 << 42, F_SEAL_SHRINK),
	         ENOMEM},
		{"to read only", read_only(good), EBADF},
		{"sealed against us",
	         sealed("t", MFD_ALLOW_SEALING, PAGE, F_SEAL_SHRINK | F_SEAL_WRITE), EPERM},
		{"good", good, 0},
	};

	app_open(&app, false);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int status;

		msg = (union ctl_msg){0};
		status = ctl_request(app.sock, CTL_ADD_BACKING, &msg, sizeof(msg.backing),
		                     rows[i].fd, &reply);
		if (strcmp(rows[i].name, "huge pages") == 0 && rows[i].fd < 0)
			continue; /* none on this machine */
		verdict(status == rows[i].want, "backing, %s: %s", rows[i].name, strerror(status));
	}
	verdict(msg.backing.length == 2 * PAGE, "a backing is as long as its file");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].fd >= 0)
			close(rows[i].fd);
	}
	msg = (union ctl_msg){.backing = {.length = PAGE + 1}};
	verdict(ctl_request(app.sock, CTL_NEW_BACKING, &msg, sizeof(msg.backing), -1, &reply) ==
	                EINVAL,
	        "new backing, a page and a byte");
	msg = (union ctl_msg){.backing = {.length = UINT64_C(1) << 60}};
	verdict(ctl_request(app.sock, CTL_NEW_BACKING, &msg, sizeof(msg.backing), -1, &reply) ==
	                ENOMEM,
	        "new backing, more than there is");
	app_close(&app);
}

static void
a_new_backing_is_shared_and_keeps_its_size(void)
{
	struct app app;
	uint32_t handle;
	uint8_t *map;
	int fd;

	app_open(&app, false);
	handle = app_backing(&app, 4 * PAGE, &fd);
	map = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	verdict(map != MAP_FAILED && map[4 * PAGE - 1] == 0, "a new backing can be mapped");
	verdict(ftruncate(fd, PAGE) < 0 && ftruncate(fd, 8 * PAGE) < 0 &&
	                fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) < 0,
	        "and never changes its size");
	munmap(map, 4 * PAGE);
	close(fd);
	verdict(app_handle(&app, CTL_FREE_BACKING, handle) == 0, "free it");
	verdict(app_handle(&app, CTL_FREE_BACKING, handle) == EINVAL, "free it twice");
	app_close(&app);
}

/* Where registrations of these tests begin, and how long they are, if a row says nothing else. */
#define VA UINT64_C(0x700000000000)
#define LEN UINT64_C(8192)
/* A backing that no row means. */
#define NONE 1
#define WRONG 2

static void
runs_of_a_registration_cover_it(void)
{
	static const struct {
		const char *name;
		int want;
		uint32_t nb_segs;
		struct {
			uint64_t at, len, offset; /* at: from the registration's begin */
		} seg[2];
		/* 0 = the usual */
		uint64_t va, iova, len;
		uint32_t access, backing, pd;
	} rows[] = {
		{"one run", 0, 1, {{0, LEN, 0}}},
		{"two runs", 0, 2, {{0, 100, 50}, {100, LEN - 100, 3}}},
		{"bits that are hints", 0, 1, {{0, LEN, 0}}, .access = 1 | 1 << 20 | 1 << 29},
		{"all rights", 0, 1, {{0, LEN, 0}}, .access = 63},
		{"no run", EINVAL, 0},
		{"too many runs", EINVAL, WEFT_MAX_SEGS + 1},
		{"a short run", EINVAL, 1, {{0, PAGE, 0}}},
		{"a long run", EINVAL, 1, {{0, LEN + 1, 0}}},
		{"a late run", EINVAL, 1, {{1, LEN - 1, 0}}},
		{"a gap", EINVAL, 2, {{0, PAGE, 0}, {PAGE + 1, PAGE - 1, 0}}},
		{"an overlap", EINVAL, 2, {{0, PAGE, 0}, {PAGE - 1, PAGE + 1, 0}}},
		{"an empty run", EINVAL, 2, {{0, 0, 0}, {0, LEN, 0}}},
		{"beyond the backing", EINVAL, 1, {{0, LEN, LEN + 1}}},
		{"an offset that wraps", EINVAL, 1, {{0, LEN, UINT64_MAX - PAGE}}},
		{"addresses that wrap", EINVAL, 1, {{0, LEN, 0}}, .va = UINT64_MAX - PAGE},
		{"an iova that wraps", EINVAL, 1, {{0, LEN, 0}}, .iova = UINT64_MAX - PAGE},
		{"more than an address space", EINVAL, 1, {{0, LEN, 0}}, .len = UINT64_C(1) << 48},
		{"another's PD", EINVAL, 1, {{0, LEN, 0}}, .pd = WRONG},
		{"no such backing", EINVAL, 1, {{0, LEN, 0}}, .backing = WRONG},
		{"memory that was not passed", EOPNOTSUPP, 1, {{0, LEN, 0}}, .backing = NONE},
		{"remote write without local write", EINVAL, 1, {{0, LEN, 0}}, .access = 2},
		{"atomics without local write", EINVAL, 1, {{0, LEN, 0}}, .access = 8},
	};
	struct app app;
	struct reply reply;
	uint32_t pd, b;

	app_open(&app, false);
	pd = app_pd(&app);
	b = app_backing(&app, 4 * PAGE, NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t va = rows[i].va ? rows[i].va : VA;
		union ctl_msg msg = {
			.mr = {.pd = rows[i].pd == WRONG ? pd + 1000 : pd,
		               .va = va,
		               .iova = rows[i].iova ? rows[i].iova : va,
		               .length = rows[i].len ? rows[i].len : LEN,
		               .access = rows[i].access ? rows[i].access : 1,
		               .nb_segs = rows[i].nb_segs},
		};
		int status;

		for (uint32_t k = 0; k < 2; k++)
			msg.mr.seg[k] = (struct ctl_seg){
				.va = va + rows[i].seg[k].at,
				.length = rows[i].seg[k].len,
				.offset = rows[i].seg[k].offset,
				.backing = rows[i].backing == NONE    ? 0
			                   : rows[i].backing == WRONG ? b + 1000
			                                              : b,
			};
		status = ctl_request(app.sock, CTL_REG_MR, &msg, sizeof(msg.mr), -1, &reply);
		verdict(status == rows[i].want, "register, %s: %s", rows[i].name, strerror(status));
		if (status == 0) {
			verdict(app_handle(&app, CTL_FREE_BACKING, b) == EBUSY,
			        "its backing is in use");
			verdict(app_handle(&app, CTL_DEALLOC_PD, pd) == EBUSY, "and so is its PD");
			verdict(app_handle(&app, CTL_DEREG_MR, msg.mr.key ^ 1) == EINVAL,
			        "another key does not end it");
			verdict(app_handle(&app, CTL_DEREG_MR, msg.mr.key) == 0, "its own does");
		}
	}
	verdict(app_handle(&app, CTL_FREE_BACKING, b) == 0, "the backing is free then");
	verdict(app_handle(&app, CTL_DEALLOC_PD, pd) == 0, "the PD is free then");
	app_close(&app);
}

/* To make all its pages would take seconds in which nobody else is served. */
static void
a_large_registration_takes_a_short_time(void)
{
	const uint64_t len = UINT64_C(4) << 30, va = UINT64_C(1) << 32;
	union ctl_msg msg;
	struct reply reply;
	struct app app;
	struct stat st;
	int fd, status;

	app_open(&app, true);
	msg.mr = (struct ctl_mr){.pd = app_pd(&app),
	                         .access = SHM_ACCESS_LOCAL_WRITE,
	                         .va = va,
	                         .length = len,
	                         .iova = va,
	                         .nb_segs = 1,
	                         .seg = {{.va = va, .length = len}}};
	msg.mr.seg[0].backing = app_backing(&app, len, &fd);
	status = ctl_request(app.sock, CTL_REG_MR, &msg, sizeof(msg.mr), -1, &reply);
	verdict(status == 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_blocks * 512 < len,
	        "of 4 GB never touched, few pages are made at once");
	close(fd);
	app_close(&app);
}

static void
objects_in_use_stay(void)
{
	struct app app, other;
	struct reply reply;
	union ctl_msg msg = {0};
	uint32_t pd, cq, channel, srq;
	struct ctl_qp qp;

	app_open(&app, true);
	app_open(&other, true);
	pd = app_pd(&app);
	ctl_request(app.sock, CTL_NEW_CHANNEL, &msg, sizeof(msg.hdr), -1, &reply);
	channel = msg.handle.handle;
	verdict(reply.status == 0 && reply.nb_fds == 1, "a channel comes with its socket");
	cq = app_cq(&app, 10, channel);
	qp = app_qp(&app, pd, cq);
	msg = (union ctl_msg){.srq = {.pd = pd, .max_wr = 5, .max_sge = 1}};
	ctl_request(app.sock, CTL_CREATE_SRQ, &msg, sizeof(msg.srq), -1, &reply);
	srq = msg.srq.handle;
	verdict(reply.status == 0 && msg.srq.ring.nb_slots == 8, "an SRQ has a ring");

	verdict(app_handle(&app, CTL_FREE_CHANNEL, channel) == EBUSY, "the CQ uses the channel");
	verdict(app_handle(&app, CTL_DESTROY_CQ, cq) == EBUSY, "the QP uses the CQ");
	verdict(app_handle(&app, CTL_DEALLOC_PD, pd) == EBUSY, "the QP uses the PD");
	verdict(app_handle(&other, CTL_DESTROY_QP, qp.qpn) == EINVAL,
	        "a QP of another application");
	verdict(app_handle(&other, CTL_DESTROY_CQ, cq) == EINVAL, "a CQ of another application");
	verdict(app_handle(&other, CTL_DEALLOC_PD, pd) == EINVAL, "a PD of another application");
	verdict(app_handle(&app, CTL_DESTROY_QP, qp.qpn) == 0, "destroy the QP");
	verdict(app_handle(&app, CTL_DESTROY_QP, qp.qpn) == EINVAL, "destroy it twice");
	verdict(app_handle(&app, CTL_DESTROY_CQ, cq) == 0, "destroy the CQ");
	verdict(app_handle(&app, CTL_FREE_CHANNEL, channel) == 0, "free the channel");
	verdict(app_handle(&app, CTL_DEALLOC_PD, pd) == EBUSY, "the SRQ uses the PD");
	verdict(app_handle(&app, CTL_DESTROY_SRQ, srq) == 0, "destroy the SRQ");
	verdict(app_handle(&app, CTL_DEALLOC_PD, pd) == 0, "free the PD");
	verdict(read(reply.nb_fds ? reply.fds[0] : -1, &msg, 8) <= 0,
	        "nothing came on the channel");
	close_fds(&reply);
	app_close(&app);
	app_close(&other);
}

static void
sizes_of_queues_have_limits(void)
{
	struct app app;
	struct reply reply;
	uint32_t pd, cq;

	static const struct {
		const char *name;
		int want;
		struct shm_qp_cap cap;
		/* 0 = what there is */
		uint32_t type, pd, recv_cq, srq;
	} rows[] = {
		{"without queues", 0},
		{"the largest",
	         0,
	         {WEFT_MAX_WR, WEFT_MAX_WR, WEFT_MAX_SGE, WEFT_MAX_SGE, WEFT_MAX_INLINE}},
		{"too many sends", EINVAL, {WEFT_MAX_WR + 1, 1, 1, 1, 0}},
		{"too many receives", EINVAL, {1, WEFT_MAX_WR + 1, 1, 1, 0}},
		{"too many entries", EINVAL, {1, 1, WEFT_MAX_SGE + 1, 1, 0}},
		{"too many entries to receive", EINVAL, {1, 1, 1, UINT32_MAX, 0}},
		{"too much inline", EINVAL, {1, 1, 1, 1, WEFT_MAX_INLINE + 1}},
		{"an unknown type", EOPNOTSUPP, .type = 8},
		{"no such PD", EINVAL, .pd = UINT32_MAX},
		{"no such CQ", EINVAL, .recv_cq = UINT32_MAX},
		{"no such SRQ", EINVAL, .srq = UINT32_MAX},
	};
	static const struct {
		uint32_t nb_cqe;
		int want;
		uint32_t granted;
	} cqs[] = {
		{0, EINVAL, 0},
		{1, 0, 1},
		{3, 0, 4},
		{WEFT_MAX_CQE, 0, WEFT_MAX_CQE},
		{WEFT_MAX_CQE + 1, EINVAL, 0},
		{UINT32_MAX, EINVAL, 0},
	};

	app_open(&app, false);
	pd = app_pd(&app);
	cq = app_cq(&app, 1, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		union ctl_msg msg = {
			.qp = {.type = rows[i].type ? rows[i].type : SHM_QPT_RC,
		               .pd = rows[i].pd ? rows[i].pd : pd,
		               .send_cq = cq,
		               .recv_cq = rows[i].recv_cq ? rows[i].recv_cq : cq,
		               .srq = rows[i].srq,
		               .cap = rows[i].cap},
		};
		int status = ctl_request(app.sock, CTL_CREATE_QP, &msg, sizeof(msg.qp), -1, &reply);

		verdict(status == rows[i].want, "create QP, %s: %s", rows[i].name,
		        strerror(status));
		if (status == 0)
			verdict(app_handle(&app, CTL_DESTROY_QP, msg.qp.qpn) == 0, "destroy it");
	}
	for (size_t i = 0; i < sizeof(cqs) / sizeof(cqs[0]); i++) {
		union ctl_msg msg = {.cq = {.nb_cqe = cqs[i].nb_cqe}};
		int status = ctl_request(app.sock, CTL_CREATE_CQ, &msg, sizeof(msg.cq), -1, &reply);

		verdict(status == cqs[i].want && (status || msg.cq.nb_cqe == cqs[i].granted),
		        "create CQ of %u: %s", cqs[i].nb_cqe, strerror(status));
		if (status == 0)
			app_handle(&app, CTL_DESTROY_CQ, msg.cq.handle);
	}
	app_close(&app);
}

/* All there is of one kind, and one more. */
static void
an_application_can_have_so_many_objects(void)
{
	struct app app;
	struct reply reply;
	union ctl_msg msg;
	/* To the limit is a long way. */
	uint32_t max_qps = getenv("WEFT_TEST_LONG") ? WEFT_MAX_QP : 5000;
	uint32_t n, cq, pd;

	app_open(&app, false);
	for (n = 0; n <= WEFT_MAX_PD; n++) {
		msg = (union ctl_msg){0};
		if (ctl_request(app.sock, CTL_ALLOC_PD, &msg, sizeof(msg.hdr), -1, &reply) != 0)
			break;
	}
	verdict(n == WEFT_MAX_PD && reply.status == ENOMEM, "%u PDs: %s", n,
	        strerror(reply.status));
	app_close(&app);

	app_open(&app, false);
	pd = app_pd(&app);
	cq = app_cq(&app, 1, 0);
	for (n = 0; n <= max_qps; n++) {
		msg = (union ctl_msg){.qp = {.type = SHM_QPT_UD,
		                             .pd = pd,
		                             .send_cq = cq,
		                             .recv_cq = cq,
		                             .cap = {1, 1, 1, 1, 0}}};
		if (ctl_request(app.sock, CTL_CREATE_QP, &msg, sizeof(msg.qp), -1, &reply) != 0)
			break;
	}
	verdict(max_qps < WEFT_MAX_QP ? n > max_qps : n == max_qps && reply.status == ENOMEM,
	        "%u QPs: %s", n, strerror(reply.status));
	app_close(&app);

	app_open(&app, false);
	for (n = 0; n <= WEFT_MAX_CQ; n++) {
		msg = (union ctl_msg){.cq = {.nb_cqe = WEFT_MAX_CQE}};
		if (ctl_request(app.sock, CTL_CREATE_CQ, &msg, sizeof(msg.cq), -1, &reply) != 0)
			break;
	}
	verdict(n == 7 && reply.status == ENOMEM, "%u CQs of the largest size: %s", n,
	        strerror(reply.status));
	app_close(&app);
}

/* A child of the application holds everything open: the application's end is the end. */
static void
an_application_ends_with_its_process(void)
{
	uint32_t nb_fds = daemon_fds(), nb_maps = daemon_maps();
	int ready[2], hold[2];
	pid_t pid;
	char c;

	if (pipe(ready) < 0 || pipe(hold) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		struct app app;

		app_open(&app, true);
		app_qp(&app, app_pd(&app), app_cq(&app, 64, 0));
		if (fork() == 0) {
			close(hold[1]);
			_exit(read(hold[0], &c, 1) < 0);
		}
		(void)!write(ready[1], "x", 1);
		pause();
	}
	(void)!read(ready[0], &c, 1);
	verdict(daemon_fds() > nb_fds, "an application with a child");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	verdict(daemon_settles(nb_fds, nb_maps),
	        "it is killed: its objects end, whoever holds the socket");
	close(hold[1]);
	close(hold[0]);
	close(ready[0]);
	close(ready[1]);
}

static void
who_finds_no_descriptor_is_served_when_there_is_one(void)
{
	struct ctl_hdr hdr = {.op = CTL_LIST, .len = sizeof(hdr)};
	int first = ctl_open_socket(), late;
	union ctl_msg msg = {0};
	struct reply reply;
	struct pollfd p;

	ctl_request(first, CTL_LIST, &msg, sizeof(msg.hdr), -1, &reply);
	daemon_may_open(false);
	late = ctl_open_socket();
	p = (struct pollfd){.fd = late, .events = POLLIN};
	ctl_send(late, &hdr, sizeof(hdr), NULL, 0);
	verdict(poll(&p, 1, 500) == 0, "without a descriptor an application waits");
	verdict(ctl_request(first, CTL_LIST, &msg, sizeof(msg.hdr), -1, &reply) == 0,
	        "and others do not");
	daemon_may_open(true);
	reply = ctl_receive(late, &msg, sizeof(msg)); /* or the test ends after 5 s */
	verdict(reply.status == 0 && reply.len > 0, "it is served though nobody has ended");
	close(late);
	close(first);
}

/* A TCP socket whose close() waits a minute for a peer who does not read. */
static int
lingering_socket(int *peer)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
	                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct linger linger = {.l_onoff = 1, .l_linger = 60};
	static const char bytes[65536];
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);

	*peer = -1;
	if (bind(listener, (struct sockaddr *)&addr, sizeof(addr)) == 0 &&
	    listen(listener, 1) == 0 &&
	    getsockname(listener, (struct sockaddr *)&addr, &len) == 0 &&
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		*peer = accept(listener, NULL, NULL);
	close(listener);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	return fd;
}

static void
descriptors_that_do_not_close_hold_up_nobody(void)
{
	struct ctl_hdr hdr = {.op = CTL_LIST, .len = sizeof(hdr)};
	int others = ctl_open_socket(), hostile = ctl_open_socket(), peers[3];
	union ctl_msg msg = {0};
	struct reply reply;
	uint32_t nb_sent = 0;

	/* So that the daemon's copies are the last ones, and not ours. */
	daemon_pause(true);
	for (int i = 0; i < 3; i++) {
		int fds[2] = {lingering_socket(&peers[i]), dup(STDERR_FILENO)};

		nb_sent += peers[i] >= 0 && ctl_send(hostile, &hdr, sizeof(hdr), fds, 1 + i % 2);
		close(fds[0]);
		close(fds[1]);
	}
	daemon_pause(false);
	for (uint32_t i = 0; i < nb_sent; i++)
		reply = ctl_receive(hostile, &msg, sizeof(msg)); /* or the test ends after 5 s */
	verdict(nb_sent == 3 && reply.status == 0, "sockets that linger hold up no answer");
	verdict(ctl_request(others, CTL_LIST, &msg, sizeof(msg.hdr), -1, &reply) == 0,
	        "and no other application");
	for (int i = 0; i < 3; i++)
		close(peers[i]);
	close(hostile);
	close(others);
}

static void
a_daemon_that_ends_is_noticed(struct app *app)
{
	struct pollfd p = {.fd = app->events_fd, .events = POLLIN};
	char c;

	verdict(poll(&p, 1, 5000) == 1 && read(app->events_fd, &c, 1) == 0,
	        "applications hear of the daemon's end");
}

int
main(void)
{
	uint32_t nb_fds, nb_maps;
	struct app app;

	daemon_begin();
	nb_fds = daemon_fds();
	nb_maps = daemon_maps();
	who_finds_no_descriptor_is_served_when_there_is_one();
	requests_have_a_size_and_an_order();
	open_is_checked();
	backings_are_sealed_memory();
	a_new_backing_is_shared_and_keeps_its_size();
	runs_of_a_registration_cover_it();
	a_large_registration_takes_a_short_time();
	objects_in_use_stay();
	sizes_of_queues_have_limits();
	an_application_can_have_so_many_objects();
	an_application_ends_with_its_process();
	descriptors_that_do_not_close_hold_up_nobody();
	verdict(daemon_settles(nb_fds, nb_maps),
	        "no descriptor or mapping of an application is left");
	app_open(&app, true);
	app_qp(&app, app_pd(&app), app_cq(&app, 64, 0));
	verdict(daemon_end(), "the daemon ends with 0 and removes its socket");
	a_daemon_that_ends_is_noticed(&app);
	app_close(&app);
	return verdicts_end();
}
