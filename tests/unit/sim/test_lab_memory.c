/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lab_rig.h"

/*
 * A run to which the system refuses memory once, whenever that is. The linker puts these in the
 * place of the library's functions (meson.build: --wrap); a sanitizer sees what is not given back,
 * and what is not set is no zero.
 */

static uint64_t nb_asked, refused; /* the refused-th; 0 = none */

static bool
is_refused(void)
{
	return ++nb_asked == refused;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t nb, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **p, size_t alignment, size_t size);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t nb, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **p, size_t alignment, size_t size);

void *
__wrap_malloc(size_t size)
{
	void *p = is_refused() ? NULL : __real_malloc(size);

	return p ? memset(p, 0xa5, size) : NULL;
}

void *
__wrap_calloc(size_t nb, size_t size)
{
	return is_refused() ? NULL : __real_calloc(nb, size);
}

void *
__wrap_realloc(void *old, size_t size)
{
	return is_refused() ? NULL : __real_realloc(old, size);
}

void *
__wrap_aligned_alloc(size_t alignment, size_t size)
{
	void *p = is_refused() ? NULL : __real_aligned_alloc(alignment, size);

	return p ? memset(p, 0xa5, size) : NULL;
}

int
__wrap_posix_memalign(void **p, size_t alignment, size_t size)
{
	return is_refused() ? ENOMEM : __real_posix_memalign(p, alignment, size);
}

static void
init(struct lab_rig *r)
{
	static const char *const probes[] = {"goodput", "buffer"};
	static const char *const kinds[] = {"incast", "hotspot", "allreduce"};
	struct plan_params topology = lab_rig_topology();

	topology.leaves = topology.hosts_per_leaf = 2;
	lab_rig_init(r, PLAN_LEAF_SPINE, &topology);
	r->conf.duration_ns = 30000;
	r->conf.sample_ns = 10000;
	r->conf.probes = probes;
	r->conf.nb_probes = 2;
	lab_rig_faults(r, 4)->tx.ppm[FAULT_DUPLICATE] = 10000;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		lab_rig_workload(r, kinds[i], (enum flow_verb)i);
}

/* Whether it asked so often at all: make it and let it run; it may end as without memory, and not
 * otherwise. */
static bool
run(uint64_t n)
{
	const struct violation *v;
	struct lab_rig r;
	bool was_refused;

	init(&r);
	nb_asked = 0;
	refused = n;
	r.lab = lab_create(&r.conf);
	while (r.lab && lab_run(r.lab, 1000000))
		;
	was_refused = nb_asked >= n;
	refused = 0;
	if (r.lab) {
		v = &lab_result(r.lab)->violation;
		/* A packet that is not to be had may be dropped by who wanted it. */
		cr_expect(!v->rule || strcmp(v->rule, "there is memory for all") == 0,
		          "refused the %luth time: %s: %s", (unsigned long)n, v->rule, v->what);
	}
	lab_rig_fini(&r);
	return was_refused;
}

Test(lab_memory, a_run_without_it_ends_and_gives_back_what_it_has)
{
	uint64_t n = 1;

	while (run(n))
		n++;
	cr_expect_gt(n, 100, "it asks for a lot");
}
