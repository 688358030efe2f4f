/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>

#include "verbs_world.h"

Test(mem, memory_is_registered_and_checked)
{
	struct ibv_mr *mr;

	world_start(NULL, IBV_QPT_RC);
	mr = ibv_reg_mr_iova2(world_pd, world_buffer, 100, 0x1000,
	                      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING);
	cr_assert_not_null(mr);
	cr_expect_eq(world_view()->mr.iova, 0x1000);
	cr_expect_eq(world_view()->mr.access, IBV_ACCESS_LOCAL_WRITE, "hints are dropped");
	cr_expect_eq(mr->lkey, mr->rkey);
	cr_expect_eq(ibv_dereg_mr(mr), 0);

	errno = 0;
	cr_expect_null((ibv_reg_mr)(world_pd, world_buffer, 100, IBV_ACCESS_ON_DEMAND));
	cr_expect_eq(errno, EOPNOTSUPP);
	cr_expect_null((ibv_reg_mr)(world_pd, NULL, 100, 0));
	cr_expect_eq(errno, EFAULT);
	cr_expect_null((ibv_reg_mr)(world_pd, world_buffer, 100, IBV_ACCESS_REMOTE_WRITE));
	cr_expect_eq(errno, EINVAL);
	mr = (ibv_reg_mr)(world_pd, world_buffer, 100, IBV_ACCESS_ZERO_BASED);
	cr_assert_not_null(mr);
	cr_expect_eq(world_view()->mr.iova, 0);
	cr_expect_eq(ibv_dereg_mr(mr), 0);
	cr_expect_null(ibv_reg_dmabuf_mr(world_pd, 0, 1, 0, 0, 0));
	world_stop();
}

#define TRANSLATION IBV_REREG_MR_CHANGE_TRANSLATION
#define PD IBV_REREG_MR_CHANGE_PD
#define ACCESS IBV_REREG_MR_CHANGE_ACCESS

/** What the daemon knows of a registration, as far as it can be changed. */
struct facts {
	uint64_t va, iova, length;
	uint32_t pd, access;
};

static void
expect_facts(const struct ibv_mr *mr, const struct facts *want, size_t row)
{
	volatile struct ctl_mr *got = &world_view()->mr;

	cr_expect(got->va == want->va && got->iova == want->iova && got->length == want->length,
	          "row %zu: %lx, called %lx, %lu bytes", row, got->va, got->iova, got->length);
	cr_expect(got->pd == want->pd && got->access == want->access, "row %zu: PD %u, access %x",
	          row, got->pd, got->access);
	cr_expect(got->key == mr->lkey && got->key == mr->rkey && mr->pd->handle == want->pd &&
	                  (uintptr_t)mr->addr == want->va && mr->length == want->length,
	          "row %zu: the application sees the same", row);
}

Test(mem, a_registration_changes_in_what_is_asked_for_only)
{
	const unsigned zero = IBV_ACCESS_ZERO_BASED, local = IBV_ACCESS_LOCAL_WRITE;
	const uint64_t here = (uintptr_t)world_buffer;
	static const struct {
		int flags;
		unsigned before, access; /**< of the registration, and of the change */
		uint64_t iova;           /**< wanted: 0 = the new address */
		bool moved;
	} rows[] = {
		{ACCESS, IBV_ACCESS_LOCAL_WRITE, 0, 0x10000, false},
		{PD, IBV_ACCESS_LOCAL_WRITE, 0, 0x10000, false},
		{PD | ACCESS, IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_READ, 0x10000, false},
		{TRANSLATION, IBV_ACCESS_LOCAL_WRITE, 0, 0, true},
		{TRANSLATION | PD, IBV_ACCESS_LOCAL_WRITE, 0, 0, true},
		{TRANSLATION | ACCESS, IBV_ACCESS_LOCAL_WRITE, 0, 0, true},
		{TRANSLATION | PD | ACCESS, 0, IBV_ACCESS_LOCAL_WRITE, 0, true},
	};
	struct ibv_pd *pds[2];

	world_start(NULL, IBV_QPT_RC);
	pds[0] = world_pd;
	pds[1] = ibv_alloc_pd(world_context);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int flags = rows[i].flags;
		struct facts want = {
			.va = here + (rows[i].moved ? 8 : 0),
			.iova = rows[i].iova ? rows[i].iova : here + 8,
			.length = rows[i].moved ? 50 : 100,
			.pd = pds[flags & PD ? 1 : 0]->handle,
			.access = flags & ACCESS ? rows[i].access : rows[i].before,
		};
		struct ibv_mr *mr =
			ibv_reg_mr_iova2(world_pd, world_buffer, 100, 0x10000, rows[i].before);

		cr_assert_not_null(mr);
		/* What no flag stands for is not looked at, but for access. */
		cr_expect_eq(
			ibv_rereg_mr(mr, flags, pds[1], world_buffer + 8, 50, (int)rows[i].access),
			0, "row %zu", i);
		expect_facts(mr, &want, i);
		cr_expect_eq(world_view()->nb_mrs, 2, "the old one is gone");
		/* Once more: what was kept is still there to be kept. */
		cr_expect_eq(ibv_rereg_mr(mr, ACCESS, NULL, NULL, 0, local), 0);
		want.access = local;
		expect_facts(mr, &want, i);
		cr_expect_eq(ibv_dereg_mr(mr), 0);
	}

	/* Addresses from 0 on: also of the new place, and kept when only rights change. */
	struct ibv_mr *mr = (ibv_reg_mr)(world_pd, world_buffer, 100, (int)(zero | local));
	cr_expect_eq(ibv_rereg_mr(mr, TRANSLATION, NULL, world_buffer + 8, 50, 0), 0);
	expect_facts(mr, &(struct facts){here + 8, 0, 50, world_pd->handle, local}, 100);
	cr_expect_eq(ibv_rereg_mr(mr, ACCESS, NULL, NULL, 0, 0), 0);
	expect_facts(mr, &(struct facts){here + 8, 0, 50, world_pd->handle, 0}, 101);
	cr_expect_eq(ibv_dereg_mr(mr), 0);
	cr_expect_eq(ibv_dealloc_pd(pds[1]), 0);
	world_stop();
}

Test(mem, a_registration_that_cannot_be_changed_is_as_it_was)
{
	static const struct {
		int flags, access;
		bool pd; /**< the other device's */
		char *addr;
		size_t length;
		int error;
	} rows[] = {
		{0, 0, false, NULL, 0, EINVAL},
		{8, 0, false, NULL, 0, EINVAL},
		{PD, 0, false, NULL, 0, EINVAL},
		{PD, 0, true, NULL, 0, EINVAL},
		{PD, IBV_ACCESS_LOCAL_WRITE, true, NULL, 0, EINVAL},
		{TRANSLATION, 0, false, NULL, 50, EINVAL},
		{TRANSLATION, 0, false, world_buffer, 0, EINVAL},
		{TRANSLATION, IBV_ACCESS_LOCAL_WRITE, false, world_buffer, 50, EINVAL},
		{TRANSLATION, 0, false, (char *)8, 50, EFAULT},
		{ACCESS, IBV_ACCESS_REMOTE_WRITE, false, NULL, 0, EINVAL},
		{ACCESS, IBV_ACCESS_ON_DEMAND, false, NULL, 0, EOPNOTSUPP},
	};
	struct ibv_context *other;
	struct ibv_device **list;
	struct ibv_mr *mr, before;
	struct ibv_pd *foreign;

	world_start(NULL, IBV_QPT_RC);
	list = ibv_get_device_list(NULL);
	other = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	foreign = ibv_alloc_pd(other);
	cr_assert_not_null(foreign);
	mr = ibv_reg_mr_iova2(world_pd, world_buffer, 100, 0x10000, IBV_ACCESS_LOCAL_WRITE);
	before = *mr;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		errno = 0;
		cr_expect_eq(ibv_rereg_mr(mr, rows[i].flags, rows[i].pd ? foreign : NULL,
		                          rows[i].addr, rows[i].length, rows[i].access),
		             IBV_REREG_MR_ERR_INPUT, "row %zu", i);
		cr_expect_eq(errno, rows[i].error, "row %zu: %s", i, strerror(errno));
		cr_expect_eq(memcmp(mr, &before, sizeof(before)), 0, "row %zu", i);
		cr_expect_eq(world_view()->nb_mrs, 2, "row %zu", i);
	}
	cr_expect_eq(ibv_dereg_mr(mr), 0);
	cr_expect_eq(ibv_dealloc_pd(foreign), 0);
	cr_expect_eq(ibv_close_device(other), 0);
	world_stop();
}

Test(mem, a_registration_in_use_is_not_replaced)
{
	/* As when a window is bound to it. */
	const struct fake_conf conf = {.lie_op = CTL_DEREG_MR, .lie = FAKE_REFUSE};
	struct ibv_mr before;

	world_start(&conf, IBV_QPT_RC);
	before = *world_mr;
	cr_expect_eq(ibv_rereg_mr(world_mr, ACCESS, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	cr_expect_eq(errno, EACCES);
	cr_expect_eq(memcmp(world_mr, &before, sizeof(before)), 0);
	fake_kill(&world_daemon);
}

/** A buffer in private memory that was moved to a mapped object. */
static uint8_t *
remapped(size_t bytes, struct ibv_mr **mr)
{
	uint8_t *mem =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(mem, 7, bytes);
	*mr = (ibv_reg_mr)(world_pd, mem, bytes, IBV_ACCESS_LOCAL_WRITE);
	cr_assert_not_null(*mr);
	cr_assert_neq(world_view()->mr.seg[0].backing, 0, "remapped");
	return mem;
}

Test(mem, discarded_memory_reads_as_zeros_also_when_it_was_remapped)
{
	static const int advices[] = {MADV_DONTNEED, MADV_FREE};

	world_start(NULL, IBV_QPT_RC);
	for (size_t i = 0; i < 2; i++) {
		struct ibv_mr *mr;
		uint8_t *mem = remapped(256 << 10, &mr);

		cr_expect_eq(madvise(mem + 4096, 8192, advices[i]), 0);
		cr_expect_eq(mem[4096] | mem[4096 + 8191], 0, "row %zu", i);
		cr_expect(mem[4095] == 7 && mem[12288] == 7, "row %zu", i);
		/* Not aligned, and past the end: as without us. */
		cr_expect_eq(madvise(mem + 1, 4096, advices[i]), -1);
		cr_expect_eq(ibv_dereg_mr(mr), 0);
		cr_expect_eq(madvise(mem, 256 << 10, advices[i]), 0, "also when deregistered");
		cr_expect_eq(mem[0] | mem[100000], 0, "row %zu", i);
		munmap(mem, 256 << 10);
	}
	world_stop();
}

Test(mem, remapped_memory_can_grow_and_move)
{
	uint8_t *mem, *moved, *there;
	struct ibv_mr *mr;

	world_start(NULL, IBV_QPT_RC);
	mem = remapped(256 << 10, &mr);
	cr_expect_eq(mremap(mem, 256 << 10, 512 << 10, 0), MAP_FAILED, "it may not move");
	moved = mremap(mem, 256 << 10, 512 << 10, MREMAP_MAYMOVE);
	cr_assert_neq(moved, MAP_FAILED);
	cr_expect(moved[0] == 7 && moved[(256 << 10) - 1] == 7 && moved[(512 << 10) - 1] == 0);
	memset(moved, 8, 512 << 10);
	cr_expect_eq(ibv_dereg_mr(mr), 0);
	there = mmap(NULL, 512 << 10, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_expect_eq(mremap(moved, 512 << 10, 512 << 10, MREMAP_MAYMOVE | MREMAP_FIXED, there),
	             there, "what was never remapped moves as ever");
	cr_expect_eq(there[12345], 8);

	mem = remapped(256 << 10, &mr);
	cr_expect_eq(mremap(mem, 256 << 10, 256 << 10, MREMAP_MAYMOVE | MREMAP_FIXED, mem + 4096),
	             MAP_FAILED, "onto itself");
	cr_expect_eq(errno, EINVAL);
	cr_expect_eq(mremap(mem, 256 << 10, 512 << 10, MREMAP_MAYMOVE | MREMAP_FIXED, there + 1),
	             MAP_FAILED, "not to a page");
	cr_expect_eq(errno, EINVAL);
	cr_expect_eq(mremap(mem + 1, 4096, 8192, MREMAP_MAYMOVE), MAP_FAILED, "not from a page");
	cr_expect_eq(errno, EINVAL);
	cr_expect(mem[0] == 7 && mem[4096] == 7 && mem[(256 << 10) - 1] == 7);
	cr_expect_eq(mremap(mem, 256 << 10, 128 << 10, 0), mem, "shrinking");
	cr_expect_eq(mem[(128 << 10) - 1], 7);
	cr_expect_eq(ibv_dereg_mr(mr), 0);
	world_stop();
}
