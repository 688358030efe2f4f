/* SPDX-License-Identifier: BSD-3-Clause */
#include "memkind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backing.h"
#include "client.h"
#include "forkguard.h"
#include "pieces.h"
#include "remap.h"

/** A run that goes through /proc/self/mem. */
struct vm_run {
	uint64_t lo, hi;
};

struct mem_use {
	struct weft *weft;
	struct mem_use *next, **link;
	struct backing_share **shares; /**< behind the runs */
	uint32_t nb_shares, nb_vm;
	struct vm_run vm[];
};

/** Registrations that are alive, guarded by backing_lock. */
static struct mem_use *uses;
static bool remap_allowed;
static uint64_t page_size;

static uint64_t
page_up(uint64_t va)
{
	return (va + page_size - 1) & ~(page_size - 1);
}

static uint64_t
page_down(uint64_t va)
{
	return va & ~(page_size - 1);
}

void
memkind_allow_remap(bool allow)
{
	const char *wish = getenv("WEFT_REMAP");

	if (allow)
		forkguard_start();
	remap_allowed = allow && !(wish && strcmp(wish, "0") == 0);
}

/** A registration being described. */
struct plan {
	struct weft *weft;
	struct ctl_seg *segs;
	uint32_t nb_segs, nb_shares, nb_vm;
	bool overflow; /**< more than WEFT_MAX_SEGS runs */
	struct backing_share *shares[WEFT_MAX_SEGS];
	struct vm_run vm[WEFT_MAX_SEGS];
};

/** Append [lo, hi), joined to the run before if it goes on there. */
static void
add_run(struct plan *plan, uint64_t lo, uint64_t hi, struct backing_share *share, uint64_t offset)
{
	struct ctl_seg *last = plan->nb_segs ? &plan->segs[plan->nb_segs - 1] : NULL;
	uint32_t handle = share ? share->handle : 0;

	if (lo == hi || plan->overflow)
		return;
	if (last && last->backing == handle && (!share || last->offset + last->length == offset)) {
		last->length += hi - lo;
		if (!share)
			plan->vm[plan->nb_vm - 1].hi = hi;
		return;
	}
	if (plan->nb_segs == WEFT_MAX_SEGS) {
		plan->overflow = true;
		return;
	}
	plan->segs[plan->nb_segs++] =
		(struct ctl_seg){.va = lo, .length = hi - lo, .offset = offset, .backing = handle};
	if (!share)
		plan->vm[plan->nb_vm++] = (struct vm_run){lo, hi};
}

/** Count a use of an object for this registration. NULL: its daemon does not want it. */
static struct backing_share *
take_share(struct plan *plan, struct backing *backing)
{
	struct backing_share *share;

	for (uint32_t i = 0; i < plan->nb_shares; i++) {
		if (plan->shares[i]->backing == backing)
			return plan->shares[i];
	}
	if (plan->nb_shares == WEFT_MAX_SEGS)
		return NULL;
	share = backing_use(backing, plan->weft);
	if (share)
		plan->shares[plan->nb_shares++] = share;
	return share;
}

/** Lowest run of a live registration in [lo, hi) that goes through /proc/self/mem. */
static bool
find_vm_run(uint64_t lo, uint64_t hi, struct vm_run *found)
{
	*found = (struct vm_run){hi, hi};
	for (const struct mem_use *use = uses; use; use = use->next) {
		for (uint32_t i = 0; i < use->nb_vm; i++) {
			const struct vm_run *run = &use->vm[i];

			if (run->lo < hi && run->hi > lo && run->lo < found->lo)
				*found = *run;
		}
	}
	return found->lo < hi;
}

/** Say once why registered memory stays on the slow way. */
static void
explain(const struct plan *plan, int err)
{
	static bool told;

	if (told)
		return;
	told = true;
	if (err == -EPERM)
		client_log("%s: the program has several threads and may not use userfaultfd, so "
		           "registered memory is reached through /proc/self/mem, which is slower; "
		           "see userfaultfd in weft.conf(5)",
		           plan->weft->name);
	else
		client_log("%s: registered memory could not be remapped (%s), so it is reached "
		           "through /proc/self/mem, which is slower",
		           plan->weft->name, strerror(-err));
}

/** Move whole pages to a memfd of the daemon's. NULL: they stay where they are. */
static struct backing_share *
remap(struct plan *plan, uint64_t lo, uint64_t hi)
{
	struct backing *backing;
	struct backing_share *share;
	int err = backing_create(plan->weft, BACKING_REMAPPED, hi - lo, &backing);

	if (err) {
		explain(plan, err);
		return NULL;
	}
	err = backing_place(backing, lo);
	if (!err)
		err = remap_range(lo, hi, backing->fd, plan->weft->uffd_dev);
	if (err) {
		backing_destroy(backing);
		explain(plan, err);
		return NULL;
	}
	share = take_share(plan, backing);
	if (!share)
		backing_orphan(backing);
	return share;
}

/** Private memory that nothing else uses: its whole pages are remapped if they are worth it. */
static void
add_free(struct plan *plan, const struct piece *piece, uint64_t lo, uint64_t hi)
{
	uint64_t from = page_up(lo), to = page_down(hi);
	struct backing_share *share = NULL;

	if (remap_allowed && from < to && to - from >= REMAP_MIN_BYTES &&
	    piece_may_move(piece, from))
		share = remap(plan, from, to);
	if (!share)
		from = to = hi;
	add_run(plan, lo, from, NULL, 0);
	add_run(plan, from, to, share, 0);
	add_run(plan, to, hi, NULL, 0);
}

/**
 * Private memory. Pages that another registration reaches through /proc/self/mem stay: what the
 * daemon wrote to them while they are copied would be lost.
 */
static void
add_private(struct plan *plan, const struct piece *piece, uint64_t lo, uint64_t hi)
{
	while (lo < hi) {
		uint64_t stop = hi, next = hi;
		struct vm_run busy;

		if (find_vm_run(page_up(lo), page_down(hi), &busy)) {
			stop = page_down(busy.lo) > lo ? page_down(busy.lo) : lo;
			next = page_up(busy.hi) < hi ? page_up(busy.hi) : hi;
		}
		add_free(plan, piece, lo, stop);
		add_run(plan, stop, next, NULL, 0);
		lo = next;
	}
}

/** One mapping's part of the range. */
static void
add_piece(struct plan *plan, const struct piece *piece, uint64_t lo, uint64_t hi)
{
	const struct maps_entry *entry = &piece->entry;
	struct backing *backing = backing_find(entry);
	struct backing_share *share = NULL;

	if (!backing)
		backing = backing_adopt(entry);
	if (!backing || (backing->fd < 0 && backing->origin == BACKING_REMAPPED)) {
		add_private(plan, piece, lo, hi);
		return;
	}
	if (entry->offset + (hi - entry->lo) <= backing->length)
		share = take_share(plan, backing);
	add_run(plan, lo, hi, share, share ? entry->offset + (lo - entry->lo) : 0);
	if (!share && backing->origin == BACKING_FOREIGN && backing->nb_uses == 0)
		backing_destroy(backing);
}

static void
release(struct backing_share *const *shares, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++)
		backing_unuse(shares[i]);
}

static void
make_plan(struct plan *plan, const struct piece *pieces, int nb, uint64_t va, uint64_t end)
{
	for (int i = 0; nb <= PIECES_MAX && i < nb; i++) {
		const struct maps_entry *entry = &pieces[i].entry;

		add_piece(plan, &pieces[i], entry->lo < va ? va : entry->lo,
		          entry->hi > end ? end : entry->hi);
	}
	if (nb <= PIECES_MAX && !plan->overflow)
		return;
	release(plan->shares, plan->nb_shares);
	plan->nb_segs = plan->nb_shares = plan->nb_vm = 0;
	plan->overflow = false;
	add_run(plan, va, end, NULL, 0);
}

/** What is to be remembered of a plan. @return NULL: no memory. */
static struct mem_use *
begin_use(const struct plan *plan)
{
	size_t runs = plan->nb_vm * sizeof(struct vm_run);
	size_t shares = plan->nb_shares * sizeof(struct backing_share *);
	struct mem_use *use = malloc(sizeof(*use) + runs + shares);

	if (!use)
		return NULL;
	*use = (struct mem_use){
		.weft = plan->weft,
		.next = uses,
		.link = &uses,
		.shares = (struct backing_share **)(use->vm + plan->nb_vm),
		.nb_shares = plan->nb_shares,
		.nb_vm = plan->nb_vm,
	};
	memcpy(use->vm, plan->vm, runs);
	memcpy(use->shares, plan->shares, shares);
	if (uses)
		uses->link = &use->next;
	uses = use;
	return use;
}

int
memkind_map(struct weft *weft, uint64_t va, uint64_t length, bool write, struct ctl_seg *segs,
            uint32_t *nb_segs, struct mem_use **use)
{
	struct plan plan = {.weft = weft, .segs = segs};
	struct piece *pieces;
	int nb;

	if (va + length < va)
		return -EINVAL;
	pieces = malloc(PIECES_MAX * sizeof(*pieces));
	if (!pieces)
		return -ENOMEM;
	backing_lock();
	page_size = (uint64_t)getpagesize();
	backing_sweep();
	nb = pieces_look(va, va + length, write, pieces);
	if (nb >= 0) {
		make_plan(&plan, pieces, nb, va, va + length);
		*use = begin_use(&plan);
		if (!*use) {
			release(plan.shares, plan.nb_shares);
			nb = -ENOMEM;
		}
	}
	backing_unlock();
	free(pieces);
	*nb_segs = plan.nb_segs;
	return nb < 0 ? nb : 0;
}

/** Called with backing_lock. */
static void
end_use(struct mem_use *use)
{
	*use->link = use->next;
	if (use->next)
		use->next->link = use->link;
	release(use->shares, use->nb_shares);
	free(use);
}

void
memkind_unmap(struct mem_use *use)
{
	backing_lock();
	end_use(use);
	backing_unlock();
}

void
memkind_forget(struct weft *weft)
{
	struct mem_use *next;

	backing_lock();
	for (struct mem_use *use = uses; use; use = next) {
		next = use->next;
		if (use->weft == weft)
			end_use(use);
	}
	backing_forget(weft);
	backing_unlock();
}

/* ---- memory that is the daemon's from the start ---- */

int
memkind_alloc(struct weft *weft, size_t bytes, void **mem)
{
	struct backing *backing;
	int err;

	if (bytes == 0)
		return -EINVAL;
	forkguard_start();
	backing_lock();
	page_size = (uint64_t)getpagesize();
	bytes = page_up(bytes);
	err = bytes ? backing_create(weft, BACKING_ALLOCATED, bytes, &backing) : -ENOMEM;
	if (!err) {
		*mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, backing->fd, 0);
		if (*mem == MAP_FAILED) {
			err = -errno;
			backing_destroy(backing);
		} else {
			backing->va = (uintptr_t)*mem;
		}
	}
	backing_unlock();
	return err;
}

int
memkind_free(struct weft *weft, void *mem)
{
	struct backing *backing;
	int err = 0;

	backing_lock();
	backing = backing_find_allocated(weft, (uintptr_t)mem);
	if (!backing) {
		err = -EINVAL;
	} else if (backing->nb_uses) {
		err = -EBUSY;
	} else {
		munmap(mem, backing->length);
		backing_destroy(backing);
	}
	backing_unlock();
	return err;
}
