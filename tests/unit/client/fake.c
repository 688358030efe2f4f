/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wqe.h"

#define MAX_OBJS 64
#define MAX_CONNS 8

struct fake_cq {
	struct shm_cq *ring;
	uint32_t nb_slots, tail;
	int channel_fd; /**< -1 = none */
	uint64_t cookie;
};

struct fake_qp {
	bool used;
	uint8_t state;
	bool sig_all;
	uint64_t cookie;
	struct fake_cq *send_cq, *recv_cq;
	struct shm_wq *sq, *rq;
	uint32_t sq_slots, sq_stride, rq_slots, rq_stride;
	struct shm_qp_attr attr;
};

struct conn {
	int fd;
	uint8_t *arena;
	uint64_t arena_used;
	int events_fd;
	int channel_fds[MAX_OBJS];
	uint32_t nb_channels, nb_cqs, nb_qps, nb_handles;
	struct fake_cq cqs[MAX_OBJS];
	struct fake_qp qps[MAX_OBJS];
};

static struct fake_conf conf;
static struct conn conns[MAX_CONNS];
static uint32_t nb_conns;

static volatile struct fake_view *
view(struct conn *conn)
{
	return fake_view(conn->arena);
}

static int
sealed_memfd(uint64_t bytes)
{
	int fd = memfd_create("fake", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		abort();
	return fd;
}

static void
answer(struct conn *conn, union ctl_msg *msg, size_t size, const int *fds, uint32_t nb_fds)
{
	char control[CMSG_SPACE(6 * sizeof(int))] = {0};
	struct iovec iov = {msg, size};
	struct msghdr hdr = {.msg_iov = &iov, .msg_iovlen = 1};
	enum fake_lie lie = msg->hdr.op == conf.lie_op ? conf.lie : FAKE_HONEST;
	int many[6] = {2, 2, 2, 2, 2, 2};

	msg->hdr.len = (uint16_t)size;
	msg->hdr.status = 0;
	switch (lie) {
	case FAKE_HONEST:
	case FAKE_BAD_RING:
		break;
	case FAKE_SHORT:
		iov.iov_len = size > sizeof(msg->hdr) ? size - 4 : 4;
		msg->hdr.len = (uint16_t)iov.iov_len;
		break;
	case FAKE_WRONG_OP:
		msg->hdr.op++;
		break;
	case FAKE_WRONG_LEN:
		msg->hdr.len++;
		break;
	case FAKE_NEGATIVE:
		msg->hdr.status = -1;
		break;
	case FAKE_NO_FDS:
		nb_fds = 0;
		break;
	case FAKE_MANY_FDS:
		fds = many;
		nb_fds = 6;
		break;
	case FAKE_SILENT:
		shutdown(conn->fd, SHUT_RDWR);
		return;
	case FAKE_REFUSE:
		msg->hdr.status = EACCES;
		iov.iov_len = sizeof(msg->hdr);
		msg->hdr.len = sizeof(msg->hdr);
		nb_fds = 0;
		break;
	}
	if (nb_fds) {
		struct cmsghdr *cmsg;

		hdr.msg_control = control;
		hdr.msg_controllen = CMSG_SPACE(nb_fds * sizeof(int));
		cmsg = CMSG_FIRSTHDR(&hdr);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(nb_fds * sizeof(int));
		memcpy(CMSG_DATA(cmsg), fds, nb_fds * sizeof(int));
	}
	sendmsg(conn->fd, &hdr, MSG_NOSIGNAL);
}

static void
refuse(struct conn *conn, union ctl_msg *msg, int why)
{
	msg->hdr.len = sizeof(msg->hdr);
	msg->hdr.status = why;
	send(conn->fd, msg, sizeof(msg->hdr), MSG_NOSIGNAL);
}

static uint32_t
power_of_two(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static void *
lay_out(struct conn *conn, size_t header, uint32_t slots, uint32_t stride, struct shm_ring_loc *loc)
{
	uint64_t offset = (conn->arena_used + 63) & ~UINT64_C(63);

	conn->arena_used = offset + header + (uint64_t)slots * stride;
	if (conn->arena_used > FAKE_ARENA_BYTES - 8192)
		abort();
	*loc = (struct shm_ring_loc){offset, slots, stride};
	return conn->arena + offset;
}

static void
do_open(struct conn *conn, union ctl_msg *msg)
{
	int pair[2];
	int fds[3] = {sealed_memfd(FAKE_ARENA_BYTES), eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	conn->arena = mmap(NULL, FAKE_ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	conn->arena_used = sizeof(struct shm_bell);
	conn->events_fd = pair[0];
	fds[2] = pair[1];
	memset(&msg->opened, 0, sizeof(msg->opened));
	msg->opened.hdr.op = CTL_OPEN;
	msg->opened.arena_bytes = FAKE_ARENA_BYTES;
	msg->opened.guid = 0x1122334455667788;
	msg->opened.nb_gids = 4;
	msg->opened.max_qp = 100;
	msg->opened.max_mr_size = UINT64_C(1) << 46;
	answer(conn, msg, sizeof(msg->opened), fds, 3);
	close(fds[0]);
	close(fds[1]);
	close(fds[2]);
}

static void
do_cq(struct conn *conn, union ctl_msg *msg, bool resize)
{
	struct fake_cq *cq = &conn->cqs[resize ? msg->cq.handle : ++conn->nb_cqs];
	struct shm_cq *old = cq->ring;
	uint32_t old_slots = cq->nb_slots, head = old ? atomic_load(&old->ring.head) : 0;
	uint32_t nb = 0;

	if (!resize) {
		msg->cq.handle = conn->nb_cqs;
		cq->cookie = msg->cq.cookie;
		cq->channel_fd = msg->cq.channel ? conn->channel_fds[msg->cq.channel] : -1;
	}
	cq->nb_slots = power_of_two(msg->cq.nb_cqe);
	cq->ring = lay_out(conn, SHM_CQ_SLOTS, cq->nb_slots, sizeof(struct shm_cqe), &msg->cq.ring);
	for (; resize && head != cq->tail; head++, nb++)
		((struct shm_cqe *)(cq->ring + 1))[nb] =
			((struct shm_cqe *)(old + 1))[head & (old_slots - 1)];
	cq->tail = nb;
	atomic_store(&cq->ring->ring.tail, nb);
	if (resize)
		atomic_store(&cq->ring->armed, atomic_load(&old->armed));
	if (conf.lie == FAKE_BAD_RING && conf.lie_op == msg->hdr.op)
		msg->cq.ring.offset = FAKE_ARENA_BYTES - 64;
	answer(conn, msg, sizeof(msg->cq), NULL, 0);
}

static void
do_qp(struct conn *conn, union ctl_msg *msg)
{
	struct ctl_qp *in = &msg->qp;
	struct fake_qp *qp = &conn->qps[conn->nb_qps];
	uint32_t tail = in->cap.max_send_sge * 16;

	if (in->cap.max_inline > tail)
		tail = in->cap.max_inline;
	*qp = (struct fake_qp){
		.used = true,
		.sig_all = in->sq_sig_all,
		.cookie = in->cookie,
		.send_cq = &conn->cqs[in->send_cq],
		.recv_cq = &conn->cqs[in->recv_cq],
		.sq_slots = power_of_two(in->cap.max_send_wr),
		.sq_stride = (64 + tail + 63) & ~63u,
		.rq_slots = in->srq ? 0 : power_of_two(in->cap.max_recv_wr),
		.rq_stride = 16 + in->cap.max_recv_sge * 16,
	};
	qp->sq = lay_out(conn, SHM_WQ_SLOTS, qp->sq_slots, qp->sq_stride, &in->sq);
	if (qp->rq_slots)
		qp->rq = lay_out(conn, SHM_WQ_SLOTS, qp->rq_slots, qp->rq_stride, &in->rq);
	in->bell = conn->nb_qps * 65; /* in different words */
	in->qpn = 0x100 + conn->nb_qps++;
	if (conf.lie == FAKE_BAD_RING && conf.lie_op == CTL_CREATE_QP)
		in->sq.stride = 64;
	answer(conn, msg, sizeof(msg->qp), NULL, 0);
}

static void
do_srq(struct conn *conn, union ctl_msg *msg)
{
	msg->srq.handle = ++conn->nb_handles;
	lay_out(conn, SHM_WQ_SLOTS, power_of_two(msg->srq.max_wr), 16 + 16 * msg->srq.max_sge,
	        &msg->srq.ring);
	answer(conn, msg, sizeof(msg->srq), NULL, 0);
}

static void
do_modify(struct conn *conn, union ctl_msg *msg)
{
	struct fake_qp *qp = &conn->qps[msg->qp_attr.qpn - 0x100];

	*(struct shm_qp_attr *)&view(conn)->attr = msg->qp_attr.attr;
	view(conn)->mask = msg->qp_attr.mask;
	qp->attr = msg->qp_attr.attr;
	if (msg->qp_attr.mask & SHM_QP_STATE)
		qp->state = msg->qp_attr.attr.state;
	if (qp->state == SHM_QPS_RESET) {
		atomic_store(&qp->sq->ring.head, atomic_load(&qp->sq->ring.tail));
		if (qp->rq)
			atomic_store(&qp->rq->ring.head, atomic_load(&qp->rq->ring.tail));
	}
	answer(conn, msg, sizeof(msg->hdr), NULL, 0);
}

static void
do_backing(struct conn *conn, union ctl_msg *msg, int passed)
{
	int fd = passed >= 0 ? passed : -1;

	if (msg->hdr.op == CTL_NEW_BACKING) {
		if (conf.no_backing) {
			refuse(conn, msg, ENOMEM);
			return;
		}
		fd = sealed_memfd(msg->backing.length);
	} else {
		msg->backing.length = (uint64_t)lseek(fd, 0, SEEK_END);
	}
	msg->backing.handle = ++conn->nb_handles;
	view(conn)->nb_backings++;
	answer(conn, msg, sizeof(msg->backing), &fd, msg->hdr.op == CTL_NEW_BACKING);
	close(fd);
}

static void
handle(struct conn *conn, union ctl_msg *msg, int passed)
{
	int pair[2];

	switch ((enum ctl_op)msg->hdr.op) {
	case CTL_LIST:
		memset(&msg->list, 0, sizeof(msg->list));
		msg->list.nb_devices = 1;
		msg->list.version = conf.version ? conf.version : WEFT_ABI_VERSION;
		strcpy(msg->list.device[0].name, FAKE_DEVICE);
		msg->list.device[0].guid = 0x1122334455667788;
		answer(conn, msg, sizeof(msg->list), NULL, 0);
		return;
	case CTL_OPEN:
		do_open(conn, msg);
		return;
	case CTL_QUERY_PORT:
		msg->port.state = 4;
		msg->port.max_mtu = msg->port.active_mtu = 5;
		msg->port.speed_mbps = 100000;
		answer(conn, msg, sizeof(msg->port), NULL, 0);
		return;
	case CTL_QUERY_GID:
		memset(msg->gid.gid, 0, 16);
		msg->gid.ifindex = msg->gid.zero = 0;
		msg->gid.valid = msg->gid.index == FAKE_GID_INDEX;
		if (msg->gid.valid)
			msg->gid.ifindex = FAKE_IFINDEX;
		if (msg->gid.valid)
			memcpy(msg->gid.gid + 10, "\xff\xff\x0a\x4d\x00\x01", 6);
		answer(conn, msg, sizeof(msg->gid), NULL, 0);
		return;
	case CTL_NEW_BACKING:
	case CTL_ADD_BACKING:
		do_backing(conn, msg, passed);
		return;
	case CTL_FREE_BACKING:
		view(conn)->nb_backings--;
		break;
	case CTL_REG_MR:
		msg->mr.key = 0x1000 + (++conn->nb_handles << 8);
		*(struct ctl_mr *)&view(conn)->mr = msg->mr;
		view(conn)->nb_mrs++;
		answer(conn, msg, sizeof(msg->mr), NULL, 0);
		return;
	case CTL_DEREG_MR:
		view(conn)->nb_mrs--;
		break;
	case CTL_ALLOC_MW:
		msg->mw.key = 0x1000 + (++conn->nb_handles << 8);
		answer(conn, msg, sizeof(msg->mw), NULL, 0);
		return;
	case CTL_ALLOC_PD:
		msg->handle.handle = ++conn->nb_handles;
		answer(conn, msg, sizeof(msg->handle), NULL, 0);
		return;
	case CTL_NEW_CHANNEL:
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
			abort();
		msg->handle.handle = ++conn->nb_channels;
		conn->channel_fds[conn->nb_channels] = pair[0];
		answer(conn, msg, sizeof(msg->handle), &pair[1], 1);
		close(pair[1]);
		return;
	case CTL_CREATE_CQ:
		do_cq(conn, msg, false);
		return;
	case CTL_RESIZE_CQ:
		do_cq(conn, msg, true);
		return;
	case CTL_CREATE_SRQ:
		do_srq(conn, msg);
		return;
	case CTL_QUERY_SRQ:
		msg->srq.limit = 7;
		answer(conn, msg, sizeof(msg->srq), NULL, 0);
		return;
	case CTL_CREATE_QP:
		do_qp(conn, msg);
		return;
	case CTL_MODIFY_QP:
		do_modify(conn, msg);
		return;
	case CTL_QUERY_QP:
		msg->qp_attr.attr = conn->qps[msg->qp_attr.qpn - 0x100].attr;
		strcpy(msg->qp_attr.reason, "because");
		answer(conn, msg, sizeof(msg->qp_attr), NULL, 0);
		return;
	case CTL_DESTROY_QP:
		conn->qps[msg->handle.handle - 0x100].used = false;
		break;
	case CTL_DEALLOC_PD:
	case CTL_DEALLOC_MW:
	case CTL_FREE_CHANNEL:
	case CTL_DESTROY_CQ:
	case CTL_MODIFY_SRQ:
	case CTL_DESTROY_SRQ:
	case CTL_NB:
		break;
	}
	answer(conn, msg, sizeof(msg->hdr), NULL, 0);
}

static void
complete(struct fake_cq *cq, const struct shm_cqe *cqe)
{
	((struct shm_cqe *)(cq->ring + 1))[cq->tail++ & (cq->nb_slots - 1)] = *cqe;
	atomic_store(&cq->ring->ring.tail, cq->tail);
	if (atomic_exchange(&cq->ring->armed, SHM_ARM_NONE) != SHM_ARM_NONE)
		send(cq->channel_fd, &cq->cookie, sizeof(cq->cookie), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/** A SEND comes out of the QP's own receive queue. */
static void
loop_back(struct fake_qp *qp, uint32_t qpn, const struct shm_send_wqe *wqe)
{
	uint32_t head = qp->rq ? atomic_load(&qp->rq->ring.head) : 0;
	struct shm_recv_wqe *recv;

	if (!qp->rq || head == atomic_load(&qp->rq->ring.tail))
		return;
	recv = (struct shm_recv_wqe *)((uint8_t *)(qp->rq + 1) +
	                               (head & (qp->rq_slots - 1)) * qp->rq_stride);
	complete(qp->recv_cq, &(struct shm_cqe){
				      .wr_id = recv->wr_id,
				      .op = SHM_WC_RECV,
				      .qpn = qpn,
				      .cookie = qp->cookie,
				      .byte_len = wqe->inline_len,
				      .imm = wqe->imm,
				      .flags = wqe->op == SHM_WR_SEND_IMM ? SHM_WC_WITH_IMM : 0,
				      .sl = 2,
				      .ts_ns = 12345,
			      });
	atomic_store(&qp->rq->ring.head, head + 1);
}

static void
work(struct conn *conn, uint32_t i)
{
	struct fake_qp *qp = &conn->qps[i];
	uint32_t head = atomic_load(&qp->sq->ring.head);

	while (head != atomic_load(&qp->sq->ring.tail)) {
		struct shm_send_wqe *wqe =
			(struct shm_send_wqe *)((uint8_t *)(qp->sq + 1) +
		                                (head & (qp->sq_slots - 1)) * qp->sq_stride);
		struct shm_cqe cqe = {.wr_id = wqe->wr_id,
		                      .op = shm_wc_op_of(wqe->op),
		                      .qpn = 0x100 + i,
		                      .wqe_idx = head,
		                      .cookie = qp->cookie};

		memcpy((void *)&view(conn)->wqe, wqe, 64);
		memcpy((void *)view(conn)->behind, wqe + 1, qp->sq_stride > 64 ? 64 : 0);
		if (qp->state == SHM_QPS_ERR)
			cqe.status = SHM_WC_WR_FLUSH_ERR;
		if (wqe->op == SHM_WR_SEND || wqe->op == SHM_WR_SEND_IMM)
			loop_back(qp, cqe.qpn, wqe);
		if ((wqe->flags & SHM_SEND_SIGNALED) || qp->sig_all || cqe.status)
			complete(qp->send_cq, &cqe);
		atomic_store(&qp->sq->ring.head, ++head);
	}
}

/** Take the bells as a worker does; queues that did not ring are left alone. */
static void
take_bells(struct conn *conn)
{
	struct shm_bell *bell = (struct shm_bell *)conn->arena;
	uint64_t words = atomic_exchange(&bell->summary[0], 0);

	for (uint32_t w = 0; w < 64; w++) {
		uint64_t bits = words >> w & 1 ? atomic_exchange(&bell->bits[w], 0) : 0;

		for (uint32_t b = 0; b < 64; b++) {
			uint32_t idx = w * 64 + b;

			if (!(bits >> b & 1))
				continue;
			view(conn)->nb_wakes++;
			if (idx % 65 == 0 && idx / 65 < conn->nb_qps && conn->qps[idx / 65].used)
				work(conn, idx / 65);
		}
	}
}

/** One request. @return false at the end. */
static bool
serve(struct conn *conn)
{
	union ctl_msg msg;
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = {&msg, sizeof(msg)};
	struct msghdr hdr = {.msg_iov = &iov,
	                     .msg_iovlen = 1,
	                     .msg_control = control,
	                     .msg_controllen = sizeof(control)};
	ssize_t len = recvmsg(conn->fd, &hdr, MSG_CMSG_CLOEXEC);
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&hdr);
	int passed = -1;

	if (len < (ssize_t)sizeof(msg.hdr))
		return false;
	if (cmsg)
		memcpy(&passed, CMSG_DATA(cmsg), sizeof(int));
	handle(conn, &msg, passed);
	if (passed >= 0 && msg.hdr.op == CTL_OPEN)
		close(passed);
	return true;
}

static _Noreturn void
run(int listener)
{
	for (;;) {
		struct pollfd fds[MAX_CONNS + 1] = {{.fd = listener, .events = POLLIN}};
		bool busy = false;

		for (uint32_t i = 0; i < nb_conns; i++) {
			fds[i + 1] = (struct pollfd){.fd = conns[i].fd, .events = POLLIN};
			busy |= conns[i].arena && !conf.idle;
		}
		poll(fds, nb_conns + 1, busy ? 0 : 100);
		for (uint32_t i = 0; i < nb_conns; i++) {
			if (fds[i + 1].revents && !serve(&conns[i])) {
				close(conns[i].fd);
				conns[i].fd = -1;
			}
			if (conns[i].fd >= 0 && conns[i].arena && !conf.idle)
				take_bells(&conns[i]);
		}
		if (fds[0].revents) {
			int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
			uint32_t i = 0;

			while (i < nb_conns && conns[i].fd >= 0)
				i++;
			if (i == MAX_CONNS)
				abort();
			nb_conns = i == nb_conns ? i + 1 : nb_conns;
			conns[i] = (struct conn){.fd = fd};
		}
		if (getppid() == 1)
			_exit(0);
	}
}

void
fake_start(struct fake *fake, const struct fake_conf *wanted)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	conf = wanted ? *wanted : (struct fake_conf){0};
	strcpy(fake->dir, "/tmp/weft-fake-XXXXXX");
	if (!mkdtemp(fake->dir))
		abort();
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/fake.sock", fake->dir);
	if (bind(listener, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(listener, 8) < 0)
		abort();
	setenv("WEFT_RUNTIME_DIR", fake->dir, 1);
	unsetenv("WEFT_SOCKET");
	fake->pid = fork();
	if (fake->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run(listener);
	}
	close(listener);
}

void
fake_kill(struct fake *fake)
{
	char path[128];

	if (fake->pid > 0) {
		kill(fake->pid, SIGKILL);
		waitpid(fake->pid, NULL, 0);
	}
	fake->pid = 0;
	snprintf(path, sizeof(path), "%s/fake.sock", fake->dir);
	unlink(path);
	rmdir(fake->dir);
}
