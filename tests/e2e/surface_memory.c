/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases of memory: regions, windows, fork. */
#include <sys/wait.h>
#include <unistd.h>

#include "surface.h"

static struct end *const a = &pair.a, *const b = &pair.b;

/** A window of type 1: what it covers can be written, its old key is dead. */
static void
windows_type_1(void)
{
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {.length = 4096, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE}};
	struct ibv_mw *mw;
	uint32_t first;

	open_pair(IBV_QPT_RC);
	mw = ibv_alloc_mw(b->pd, IBV_MW_TYPE_1);
	must(mw);
	bind.bind_info.mr = b->mr;
	bind.bind_info.addr = (uintptr_t)b->buffer + 8192;
	must(ibv_bind_mw(b->qp, mw, &bind) == 0);
	must(end_poll_good(b).opcode == IBV_WC_BIND_MW);
	first = mw->rkey;
	memset(a->buffer, 5, 4096);
	end_send(a, remote(IBV_WR_RDMA_WRITE, 8192, mw->rkey), 0, 4096);
	end_poll_good(a);
	must(b->buffer[8192] == 5 && b->buffer[8192 + 4095] == 5 && b->buffer[8192 + 4096] == 0);

	must(ibv_bind_mw(b->qp, mw, &bind) == 0);
	end_poll_good(b);
	must(mw->rkey != first);
	end_send(a, remote(IBV_WR_RDMA_WRITE, 8192, first), 0, 64);
	must(end_poll(a).status == IBV_WC_REM_ACCESS_ERR);
	pair_connect(&pair);
	end_send(a, remote(IBV_WR_RDMA_WRITE, 8192 + 4090, mw->rkey), 0, 64);
	must(end_poll(a).status == IBV_WC_REM_ACCESS_ERR);
	pair_connect(&pair);
	end_send(a, remote(IBV_WR_RDMA_READ, 8192, mw->rkey), 0, 64);
	must(end_poll(a).status == IBV_WC_REM_ACCESS_ERR);
	must(ibv_dereg_mr(b->mr) == EBUSY);

	/* A bind that fails, and one that is flushed behind it, do not spoil the window. */
	pair_connect(&pair);
	bind.bind_info.length = PAIR_BYTES;
	must(ibv_bind_mw(b->qp, mw, &bind) == 0 && ibv_bind_mw(b->qp, mw, &bind) == 0);
	must(end_poll(b).status == IBV_WC_MW_BIND_ERR);
	must(end_poll(b).status == IBV_WC_WR_FLUSH_ERR);
	pair_connect(&pair);
	bind.bind_info.length = 4096;
	must(ibv_bind_mw(b->qp, mw, &bind) == 0);
	end_poll_good(b);
	end_send(a, remote(IBV_WR_RDMA_WRITE, 8192, mw->rkey), 0, 4096);
	end_poll_good(a);
	must(ibv_dealloc_mw(mw) == 0);
	pair_close(&pair);
}

/** A window of type 2 ends by the peer's SEND with invalidate, or by its owner. */
static void
windows_type_2(void)
{
	struct ibv_send_wr wr = simple(IBV_WR_BIND_MW);
	struct ibv_mw *mw;
	uint32_t key;

	open_pair(IBV_QPT_RC);
	mw = ibv_alloc_mw(b->pd, IBV_MW_TYPE_2);
	must(mw);
	for (int round = 0; round < 2; round++) {
		struct ibv_wc wc;

		key = ibv_inc_rkey(round ? key : mw->rkey);
		wr.bind_mw.mw = mw;
		wr.bind_mw.rkey = key;
		wr.bind_mw.bind_info =
			(struct ibv_mw_bind_info){b->mr, (uintptr_t)b->buffer, 100,
		                                  IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
		end_send(b, wr, 0, 0);
		must(end_poll_good(b).opcode == IBV_WC_BIND_MW);
		a->buffer[99] = (uint8_t)(round + 1);
		end_send(a, remote(IBV_WR_RDMA_WRITE, 0, key), 0, 100);
		end_poll_good(a);
		must(b->buffer[99] == round + 1);
		if (round) {
			struct ibv_send_wr inv = simple(IBV_WR_LOCAL_INV);

			inv.invalidate_rkey = key;
			end_send(b, inv, 0, 0);
			must(end_poll_good(b).opcode == IBV_WC_LOCAL_INV);
		} else {
			struct ibv_send_wr inv = simple(IBV_WR_SEND_WITH_INV);

			inv.invalidate_rkey = key;
			end_recv(b, 3, 4096, 100);
			end_send(a, inv, 0, 10);
			end_poll_good(a);
			wc = end_poll_good(b);
			must((wc.wc_flags & IBV_WC_WITH_INV) && wc.invalidated_rkey == key);
		}
		end_send(a, remote(IBV_WR_RDMA_WRITE, 0, key), 0, 100);
		must(end_poll(a).status == IBV_WC_REM_ACCESS_ERR);
		pair_connect(&pair);
	}
	must(ibv_dealloc_mw(mw) == 0);
	pair_close(&pair);
}

/**
 * A forked child has its own memory, and what it destroys of the devices is not its parent's, whose
 * memory goes on being reached by them.
 */
static void
fork_in_between(void)
{
	int status;
	pid_t pid;

	open_pair(IBV_QPT_RC);
	memset(a->buffer, 1, PAIR_BYTES);
	pid = fork();
	if (pid == 0) {
		bool same = a->buffer[PAIR_BYTES / 2] == 1;

		memset(a->buffer, 2, PAIR_BYTES);
		memset(b->buffer, 2, PAIR_BYTES);
		must(!ibv_alloc_pd(a->context) && errno == ENODEV);
		pair_close(&pair);
		_exit(same ? 0 : 1);
	}
	must(waitpid(pid, &status, 0) == pid && status == 0);
	must(a->buffer[PAIR_BYTES / 2] == 1 && b->buffer[PAIR_BYTES / 2] == 0);
	end_send(a, remote(IBV_WR_RDMA_WRITE, 0, b->mr->rkey), 0, PAIR_BYTES);
	end_poll_good(a);
	must(memcmp(a->buffer, b->buffer, PAIR_BYTES) == 0);
	pair_close(&pair);
}

/** Memory comes and goes, is registered twice, grows, is freed while registered. */
static void
memory_comes_and_goes(void)
{
	open_pair(IBV_QPT_RC);
	srand(1);
	for (int round = 0; round < 300; round++) {
		size_t bytes = (size_t)(rand() % 400000 + 1);
		uint8_t *mem = malloc(bytes);
		struct ibv_mr *mr = ibv_reg_mr(a->pd, mem, bytes, IBV_ACCESS_LOCAL_WRITE), *again;
		struct ibv_sge sge;
		struct ibv_send_wr wr = remote(IBV_WR_RDMA_WRITE, 1, b->mr->rkey), *bad;

		must(mem && mr);
		again = ibv_reg_mr(a->pd, mem + bytes / 3, bytes / 2 + 1, IBV_ACCESS_LOCAL_WRITE);
		must(again);
		memset(mem, round, bytes);
		sge = (struct ibv_sge){(uintptr_t)mem, (uint32_t)bytes, mr->lkey};
		wr.sg_list = &sge;
		wr.num_sge = 1;
		must(ibv_post_send(a->qp, &wr, &bad) == 0);
		end_poll_good(a);
		must(memcmp(mem, b->buffer + 1, bytes) == 0);
		b->buffer[1] ^= 0xff;
		wr.opcode = IBV_WR_RDMA_READ;
		must(ibv_post_send(a->qp, &wr, &bad) == 0);
		end_poll_good(a);
		must(mem[0] == (uint8_t)(round ^ 0xff) && mem[bytes - 1] == (uint8_t)round);
		must(ibv_dereg_mr(again) == 0);
		if (round % 3 == 0)
			mem = realloc(mem, 2 * bytes);
		must(mem && mem[bytes - 1] == (uint8_t)round);
		if (round % 5 == 0)
			free(mem);
		must(ibv_dereg_mr(mr) == 0);
		if (round % 5)
			free(mem);
	}
	pair_close(&pair);
}

/** What a's write of one byte to this address under this key ends in; both QPs are fine afterwards.
 */
static enum ibv_wc_status
write_byte(uint64_t addr, uint32_t key, uint8_t value)
{
	struct ibv_send_wr wr = simple(IBV_WR_RDMA_WRITE);
	enum ibv_wc_status status;

	wr.wr.rdma.remote_addr = addr;
	wr.wr.rdma.rkey = key;
	a->buffer[0] = value;
	end_send(a, wr, 0, 1);
	status = end_poll(a).status;
	if (status != IBV_WC_SUCCESS)
		pair_connect(&pair);
	return status;
}

/** A region under addresses of its own keeps them while its rights and its domain change. */
static void
rights_and_places_change(void)
{
	const int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND;
	const uint64_t iova = UINT64_C(0xabc) << 40;
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {.length = 1, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE}};
	struct ibv_pd *other;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	uint32_t old;

	open_pair(IBV_QPT_RC);
	mr = ibv_reg_mr_iova(b->pd, b->buffer, 100000, iova, rights);
	other = ibv_alloc_pd(b->context);
	must(mr && other);
	must(write_byte(iova + 99999, mr->rkey, 1) == IBV_WC_SUCCESS && b->buffer[99999] == 1);

	old = mr->rkey;
	must(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) == 0);
	must(write_byte(iova, old, 2) == IBV_WC_REM_ACCESS_ERR);
	must(write_byte(iova, mr->rkey, 2) == IBV_WC_REM_ACCESS_ERR);
	must(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, rights) == 0);
	must(write_byte(iova, mr->rkey, 2) == IBV_WC_SUCCESS && b->buffer[0] == 2);

	must(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0) == 0);
	must(ibv_dealloc_pd(other) == EBUSY && mr->pd == other);
	must(write_byte(iova, mr->rkey, 3) == IBV_WC_REM_ACCESS_ERR);
	must(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, b->pd, NULL, 0, 0) == 0);
	must(ibv_dealloc_pd(other) == 0);
	must(write_byte(iova, mr->rkey, 3) == IBV_WC_SUCCESS && b->buffer[0] == 3);

	must(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, b->buffer + 7, 10, 0) == 0);
	must(write_byte((uintptr_t)b->buffer + 16, mr->rkey, 4) == IBV_WC_SUCCESS);
	must(b->buffer[16] == 4);
	must(write_byte((uintptr_t)b->buffer + 17, mr->rkey, 4) == IBV_WC_REM_ACCESS_ERR);

	/* A window stands on it: it cannot go, and stays as it is. */
	mw = ibv_alloc_mw(b->pd, IBV_MW_TYPE_1);
	must(mw);
	bind.bind_info.mr = mr;
	bind.bind_info.addr = (uintptr_t)mr->addr;
	must(ibv_bind_mw(b->qp, mw, &bind) == 0);
	end_poll_good(b);
	old = mr->rkey;
	must(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) ==
	     IBV_REREG_MR_ERR_INPUT);
	must(errno == EBUSY && mr->rkey == old);
	must(write_byte((uintptr_t)b->buffer + 8, old, 5) == IBV_WC_SUCCESS);
	must(b->buffer[8] == 5);
	must(ibv_dealloc_mw(mw) == 0);
	must(ibv_dereg_mr(mr) == 0);
	pair_close(&pair);
}

const struct surface_case surface_memory[] = {
	{"windows_type_1", windows_type_1},
	{"windows_type_2", windows_type_2},
	{"fork_in_between", fork_in_between},
	{"memory_comes_and_goes", memory_comes_and_goes},
	{"rights_and_places_change", rights_and_places_change},
	{NULL, NULL},
};
