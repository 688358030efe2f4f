/* SPDX-License-Identifier: BSD-3-Clause */
#include "crash.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Who is killed, who talks to it, and who has nothing to do with it. */

#define VENDOR_RETRY 2 /* enum qp_reason of the daemon: no answer within the retries */
#define CHUNK 8192u

/* What the two ends tell each other. */
struct hello {
	uint32_t qpn;
	uint32_t rkey;
	uint64_t addr;
	union ibv_gid gid;
};

/* The other end, as far as it is known. */
struct other {
	struct end end;
	struct ibv_qp qp;
	struct ibv_mr mr;
};

/* @return false if the other end is gone. */
static bool
exchange(int sock, const struct end *end, struct other *other)
{
	struct hello mine = {end->qp->qp_num, end->mr->rkey, (uintptr_t)end->buffer, end->gid};
	struct hello theirs;

	if (send(sock, &mine, sizeof(mine), MSG_NOSIGNAL) != sizeof(mine) ||
	    recv(sock, &theirs, sizeof(theirs), MSG_WAITALL) != sizeof(theirs))
		return false;
	memset(other, 0, sizeof(*other));
	other->qp.qp_num = theirs.qpn;
	other->mr.rkey = theirs.rkey;
	other->end = (struct end){.qp = &other->qp,
	                          .mr = &other->mr,
	                          .buffer = (uint8_t *)(uintptr_t)theirs.addr,
	                          .gid = theirs.gid};
	return true;
}

/* Both ends are connected. */
static bool
meet(int sock)
{
	char c = 0;

	return send(sock, &c, 1, MSG_NOSIGNAL) == 1 && recv(sock, &c, 1, 0) == 1;
}

static int
drain(struct end *end)
{
	struct ibv_wc wc[16];
	int nb = ibv_poll_cq(end->cq, 16, wc), nb_recvs = 0;

	must(nb >= 0);
	for (int i = 0; i < nb; i++) {
		if (wc[i].status != IBV_WC_SUCCESS)
			exit(0); /* the other end has given up */
		nb_recvs += (wc[i].opcode & IBV_WC_RECV) != 0;
	}
	for (int i = 0; i < nb_recvs; i++)
		end_recv(end, 1, 0, CHUNK);
	return nb;
}

/* ---- what a victim does ---- */

static void
run_wr(struct end *end, const struct end *peer, struct ibv_send_wr wr, uint32_t bytes)
{
	wr.send_flags |= IBV_SEND_SIGNALED;
	if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = ((uintptr_t)peer->buffer + 63) & ~UINT64_C(63);
		wr.wr.atomic.rkey = peer->mr->rkey;
	} else if (end->qp->qp_type != IBV_QPT_UD) {
		wr.wr.rdma.remote_addr = (uintptr_t)peer->buffer;
		wr.wr.rdma.rkey = peer->mr->rkey;
	}
	for (uint32_t nb_out = 0;;) {
		for (; nb_out < 16; nb_out++)
			end_send(end, wr, 0, bytes);
		nb_out -= (uint32_t)drain(end);
	}
}

#define OP(name, code, bytes, flags)                                                               \
	static void name(struct end *end, const struct end *peer)                                  \
	{                                                                                          \
		run_wr(end, peer, (struct ibv_send_wr){.opcode = (code), .send_flags = (flags)},   \
		       bytes);                                                                     \
	}
OP(do_send, IBV_WR_SEND, CHUNK, 0)
OP(do_send_inline, IBV_WR_SEND_WITH_IMM, 40, IBV_SEND_INLINE)
OP(do_write, IBV_WR_RDMA_WRITE, 65536, 0)
OP(do_write_imm, IBV_WR_RDMA_WRITE_WITH_IMM, 100, 0)
OP(do_read, IBV_WR_RDMA_READ, 65536, 0)
OP(do_cmp_swap, IBV_WR_ATOMIC_CMP_AND_SWP, 8, 0)
OP(do_fetch_add, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 0)

static void
do_datagram(struct end *end, const struct end *peer)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = {.dgid = peer->gid, .sgid_index = (uint8_t)end->gid_index, .hop_limit = 64},
	};
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};

	wr.wr.ud.ah = ibv_create_ah(end->pd, &attr);
	must(wr.wr.ud.ah);
	wr.wr.ud.remote_qpn = peer->qp->qp_num;
	wr.wr.ud.remote_qkey = 0x1234;
	run_wr(end, peer, wr, 1000);
}

static void
do_register(struct end *end, const struct end *peer)
{
	static const size_t sizes[] = {100, 4096, 70000, 1 << 20};

	(void)peer;
	for (uint32_t i = 0;; i++) {
		size_t bytes = sizes[i % 4];
		void *buf = malloc(bytes);
		struct ibv_mr *mr;

		must(buf);
		memset(buf, 1, bytes);
		mr = ibv_reg_mr(end->pd, buf, bytes, IBV_ACCESS_LOCAL_WRITE);
		must(mr && ibv_dereg_mr(mr) == 0);
		free(buf);
	}
}

static void
do_objects(struct end *end, const struct end *peer)
{
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 16, .max_sge = 1}};
	struct ibv_qp_init_attr init = {.cap = {16, 16, 1, 1, 0}, .qp_type = IBV_QPT_RC};

	(void)peer;
	for (;;) {
		struct ibv_comp_channel *channel = ibv_create_comp_channel(end->context);
		struct ibv_cq *cq = ibv_create_cq(end->context, 64, NULL, channel, 0);
		struct ibv_srq *srq = ibv_create_srq(end->pd, &srq_init);
		struct ibv_qp *qp;

		must(channel && cq && srq);
		init.send_cq = init.recv_cq = cq;
		init.srq = srq;
		qp = ibv_create_qp(end->pd, &init);
		must(qp && ibv_resize_cq(cq, 200) == 0 && ibv_destroy_qp(qp) == 0);
		must(ibv_destroy_srq(srq) == 0 && ibv_destroy_cq(cq) == 0);
		must(ibv_destroy_comp_channel(channel) == 0);
	}
}

/* A large program: what it had is not given back in a moment. */
#define MANY 1000u
#define MANY_BYTES ((size_t)65536)

static void
do_many(struct end *end, const struct end *peer)
{
	struct ibv_qp_init_attr init = {.send_cq = end->cq,
	                                .recv_cq = end->cq,
	                                .cap = {16, 16, 1, 1, 0},
	                                .qp_type = IBV_QPT_RC};
	uint8_t *memory = malloc(MANY * MANY_BYTES);

	must(memory);
	memset(memory, 1, MANY * MANY_BYTES);
	for (uint32_t i = 0; i < MANY; i++) {
		must(ibv_create_qp(end->pd, &init));
		must(ibv_reg_mr(end->pd, memory + i * MANY_BYTES, MANY_BYTES,
		                IBV_ACCESS_LOCAL_WRITE));
	}
	do_write(end, peer);
}

static void
do_windows(struct end *end, const struct end *peer)
{
	struct ibv_mw *mw = ibv_alloc_mw(end->pd, IBV_MW_TYPE_2);
	uint32_t rkey;

	(void)peer;
	must(mw);
	rkey = mw->rkey;
	for (;;) {
		struct ibv_send_wr bind = {.opcode = IBV_WR_BIND_MW,
		                           .send_flags = IBV_SEND_SIGNALED,
		                           .bind_mw = {.mw = mw, .rkey = rkey}};
		struct ibv_send_wr inv = {.opcode = IBV_WR_LOCAL_INV,
		                          .send_flags = IBV_SEND_SIGNALED,
		                          .invalidate_rkey = rkey};

		bind.bind_mw.bind_info = (struct ibv_mw_bind_info){end->mr, (uintptr_t)end->buffer,
		                                                   4096, IBV_ACCESS_REMOTE_WRITE};
		end_send(end, bind, 0, 0);
		end_send(end, inv, 0, 0);
		for (int nb = 0; nb < 2;)
			nb += drain(end);
		rkey = ibv_inc_rkey(rkey);
	}
}

static void
do_sleep(struct end *end, const struct end *peer)
{
	(void)peer;
	for (;;) {
		struct ibv_cq *cq;
		void *user;

		must(ibv_req_notify_cq(end->cq, 0) == 0);
		if (drain(end) == 0) {
			must(ibv_get_cq_event(end->channel, &cq, &user) == 0);
			ibv_ack_cq_events(cq, 1);
		}
	}
}

const struct crash_op crash_ops[] = {
	{"RC SEND", IBV_QPT_RC, do_send},
	{"RC SEND inline, with immediate", IBV_QPT_RC, do_send_inline},
	{"RC WRITE", IBV_QPT_RC, do_write},
	{"RC WRITE with immediate", IBV_QPT_RC, do_write_imm},
	{"RC READ", IBV_QPT_RC, do_read},
	{"RC compare and swap", IBV_QPT_RC, do_cmp_swap},
	{"RC fetch and add", IBV_QPT_RC, do_fetch_add},
	{"UC SEND", IBV_QPT_UC, do_send},
	{"UC WRITE", IBV_QPT_UC, do_write},
	{"UD SEND", IBV_QPT_UD, do_datagram},
	{"registration", IBV_QPT_RC, do_register},
	{"creation and destruction", IBV_QPT_RC, do_objects},
	{"a thousand QPs and regions", IBV_QPT_RC, do_many, MANY *MANY_BYTES},
	{"windows", IBV_QPT_RC, do_windows},
	{"sleep on a channel", IBV_QPT_RC, do_sleep},
};
const uint32_t crash_nb_ops = sizeof(crash_ops) / sizeof(crash_ops[0]);

void
crash_victim(const struct crash_op *op, int sock)
{
	struct other other;
	struct end end = {0};

	pair_timeout = 10;
	end_open(&end, crash_dev[0], op->type);
	if (!exchange(sock, &end, &other))
		exit(0);
	end_connect(&end, &other.end);
	for (int i = 0; i < 32; i++)
		end_recv(&end, 1, 0, CHUNK);
	if (meet(sock))
		op->run(&end, &other.end);
	exit(0);
}

/* ---- the peer of a victim ---- */

/* Whether the victim's process is gone: its end of the socket is. */
static bool
is_gone(int sock)
{
	char c;

	return recv(sock, &c, 1, MSG_DONTWAIT) == 0;
}

/* The first request that fails says why, all others are flushed. */
static void
check_failure(struct end *end, const struct ibv_wc *first)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	char what[64];

	if (first->status != IBV_WC_RETRY_EXC_ERR || first->vendor_err != VENDOR_RETRY)
		fprintf(stderr, "peer: %s, vendor error %u\n", ibv_wc_status_str(first->status),
		        first->vendor_err);
	must(first->status == IBV_WC_RETRY_EXC_ERR && first->vendor_err == VENDOR_RETRY);
	must(ibv_query_qp(end->qp, &attr, IBV_QP_STATE, &init) == 0);
	must(attr.qp_state == IBV_QPS_ERR);
	snprintf(what, sizeof(what), "qp %s %u", crash_dev[1], end->qp->qp_num);
	must(crash_weftctl_says(what,
	                        (const char *const[]){"\"state\": \"ERR\"", "\"vendor_err\": 2,",
	                                              "\"error\": \"retry count exceeded", NULL}));
}

/* Writes to the victim all the time, answers what it asks; until the QP fails. */
static void
talk(struct end *end, const struct end *victim)
{
	uint64_t limit_ns = crash_now_ns() + UINT64_C(60000000000);
	struct ibv_send_wr wr = {.wr_id = 2,
	                         .opcode = IBV_WR_RDMA_WRITE,
	                         .send_flags = IBV_SEND_SIGNALED,
	                         .wr.rdma = {(uintptr_t)victim->buffer + 100000, victim->mr->rkey}};

	end_send(end, wr, 100000, 3000);
	for (;;) {
		struct ibv_wc wc;
		int nb = ibv_poll_cq(end->cq, 1, &wc);

		must(nb >= 0 && crash_now_ns() < limit_ns);
		if (nb == 0)
			continue;
		if (wc.status == IBV_WC_WR_FLUSH_ERR && wc.wr_id == 1)
			continue; /* a receive, flushed before the send is told */
		if (wc.status != IBV_WC_SUCCESS) {
			check_failure(end, &wc);
			return;
		}
		if (wc.wr_id == 1)
			end_recv(end, 1, 0, CHUNK);
		else
			end_send(end, wr, 100000, 3000);
	}
}

void
crash_peer(const struct crash_op *op, int sock)
{
	struct other other;
	struct end end = {0};

	pair_timeout = 10;
	end_open(&end, crash_dev[1], op->type);
	if (!exchange(sock, &end, &other))
		exit(0);
	end_connect(&end, &other.end);
	for (int i = 0; i < PAIR_DEPTH; i++)
		end_recv(&end, 1, 0, CHUNK);
	if (!meet(sock))
		exit(0);
	atomic_fetch_add(&board->nb_ready, 1);
	if (op->type == IBV_QPT_RC)
		talk(&end, &other.end);
	else
		while (!is_gone(sock))
			drain(&end);
	end_close(&end);
	exit(0);
}

/* ---- the innocent ---- */

/* So many transfers at a time, each at a place of its own. */
#define NB_SLOTS 4
/* Where they arrive, and where they are read back to. */
#define TARGET (PAIR_BYTES / 2)
static_assert(NB_SLOTS * CRASH_INNOCENT_BYTES <= PAIR_BYTES / 2, "both halves hold them");

static void
fill(uint8_t *p, uint32_t len, uint64_t nb)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = (uint8_t)(nb * 31 + i * 7 + (i >> 8));
}

/* Begin the n-th transfer: even ones write new bytes, odd ones read back what the last wrote. */
static void
transfer(struct pair *p, uint64_t n)
{
	uint64_t at = n / 2 % NB_SLOTS * CRASH_INNOCENT_BYTES;
	bool is_read = n % 2;
	struct ibv_send_wr wr = {
		.wr_id = n,
		.opcode = is_read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {(uintptr_t)p->b.buffer + TARGET + at, p->b.mr->rkey},
	};

	if (is_read)
		memset(p->a.buffer + TARGET + at, 0, CRASH_INNOCENT_BYTES);
	else
		fill(p->a.buffer + at, CRASH_INNOCENT_BYTES, n);
	end_send(&p->a, wr, is_read ? TARGET + at : at, CRASH_INNOCENT_BYTES);
}

/* The n-th transfer is complete: its bytes are where they should be. */
static void
check_transfer(const struct pair *p, uint64_t n)
{
	uint64_t at = n / 2 % NB_SLOTS * CRASH_INNOCENT_BYTES;
	const uint8_t *to = n % 2 ? p->a.buffer : p->b.buffer;

	must(memcmp(p->a.buffer + at, to + TARGET + at, CRASH_INNOCENT_BYTES) == 0);
	crash_count(CRASH_INNOCENT_BYTES);
}

void
crash_innocent(const char *dev_a, const char *dev_b)
{
	struct pair p;
	uint64_t nb_out = NB_SLOTS;

	pair_open(&p, dev_a, dev_b, IBV_QPT_RC);
	for (uint64_t i = 0; i < NB_SLOTS; i++)
		transfer(&p, 2 * i);
	atomic_fetch_add(&board->nb_ready, 1);
	while (nb_out > 0) {
		uint64_t n = end_poll_good(&p.a).wr_id;

		check_transfer(&p, n);
		/* What was written is read back; then the next is written to the same place. */
		if (n % 2 == 0)
			transfer(&p, n + 1);
		else if (!atomic_load(&board->stop))
			transfer(&p, n - 1 + 2 * NB_SLOTS);
		else
			nb_out--;
	}
	pair_close(&p);
	exit(0);
}
