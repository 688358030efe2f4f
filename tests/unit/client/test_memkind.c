/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "client.h"
#include "fake.h"
#include "memkind.h"
#include "remap.h"

#define KB UINT64_C(1024)
#define RW (PROT_READ | PROT_WRITE)

static struct fake daemon_;
static struct weft *weft;

static void
start(const struct fake_conf *conf)
{
	fake_start(&daemon_, conf);
	cr_assert_eq(client_open(NULL, &weft), 0);
	memkind_allow_remap(true);
}

static void
stop(void)
{
	client_close(weft);
	fake_kill(&daemon_);
}

static uint8_t *
anon(uint64_t bytes)
{
	uint8_t *mem = mmap(NULL, bytes, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(mem, MAP_FAILED);
	return mem;
}

static int
reg(struct weft_mr *mr, void *mem, uint64_t bytes)
{
	const struct client_region region = {1, SHM_ACCESS_LOCAL_WRITE, (uintptr_t)mem, bytes,
	                                     (uintptr_t)mem};

	return client_mr_init(mr, weft, &region);
}

/** The kinds of the last registration's runs, in letters: v = vm, b = backed. */
static const char *
kinds(void)
{
	static char text[WEFT_MAX_SEGS + 1];
	volatile struct ctl_mr *mr = &fake_view(weft->arena)->mr;
	uint64_t va = mr->va;

	for (uint32_t i = 0; i < mr->nb_segs; i++) {
		cr_expect_eq(mr->seg[i].va, va, "runs touch");
		va += mr->seg[i].length;
		text[i] = mr->seg[i].backing ? 'b' : 'v';
	}
	cr_expect_eq(va, mr->va + mr->length, "runs cover the registration");
	text[mr->nb_segs] = '\0';
	return text;
}

static uint32_t
nb_backings(void)
{
	return fake_view(weft->arena)->nb_backings;
}

Test(memkind, private_pages_are_remapped_and_the_rest_is_reached_through_proc)
{
	static const struct {
		uint64_t from, bytes;
		const char *want;
	} rows[] = {
		{0, 4 * KB, "b"},       {0, 4 * KB - 1, "v"},   {100, 4 * KB, "v"},
		{100, 8 * KB, "vbv"},   {0, 64 * KB + 1, "bv"}, {4095, 64 * KB + 1, "vb"},
		{4096, 1024 * KB, "b"}, {8, 100, "v"},
	};
	uint8_t *mem = anon(2048 * KB);

	start(NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct weft_mr mr;
		uint8_t *fresh = anon(2048 * KB);

		for (uint64_t at = 0; at < 2048 * KB; at++)
			fresh[at] = (uint8_t)(at * 7 >> 3);
		cr_assert_eq(reg(&mr, fresh + rows[i].from, rows[i].bytes), 0, "row %zu", i);
		cr_expect_str_eq(kinds(), rows[i].want, "row %zu", i);
		for (uint64_t at = 0; at < 2048 * KB; at++)
			cr_assert_eq(fresh[at], (uint8_t)(at * 7 >> 3), "row %zu, byte %lu", i, at);
		fresh[rows[i].from] ^= 1;
		cr_expect_eq(client_mr_fini(&mr), 0);
		munmap(fresh, 2048 * KB);
	}
	munmap(mem, 2048 * KB);
	stop();
}

Test(memkind, what_is_mapped_is_checked)
{
	uint8_t *mem = anon(256 * KB);
	struct weft_mr mr;
	struct client_region region = {1, 0, (uintptr_t)mem, 256 * KB, 0};

	start(NULL);
	mprotect(mem + 64 * KB, 4096, PROT_READ);
	cr_expect_eq(reg(&mr, mem, 256 * KB), -EFAULT, "not writable");
	cr_expect_eq(client_mr_init(&mr, weft, &region), 0, "readable is enough");
	cr_expect_str_eq(kinds(), "bvb");
	cr_expect_eq(client_mr_fini(&mr), 0);
	mprotect(mem + 64 * KB, 4096, PROT_NONE);
	cr_expect_eq(client_mr_init(&mr, weft, &region), -EFAULT, "not readable");
	munmap(mem + 64 * KB, 4096);
	cr_expect_eq(client_mr_init(&mr, weft, &region), -EFAULT, "a hole");
	cr_expect_eq(reg(&mr, (void *)(uintptr_t)-4096, 8192), -EINVAL, "a wrap");
	cr_expect_eq(reg(&mr, mem, 0), -EINVAL, "nothing");
	region.access = SHM_ACCESS_REMOTE_WRITE;
	cr_expect_eq(client_mr_init(&mr, weft, &region), -EINVAL, "remote but not local write");
	stop();
}

Test(memkind, overlapping_registrations_share_one_object)
{
	uint8_t *mem = anon(1024 * KB);
	struct weft_mr first, second, third;

	start(NULL);
	cr_assert_eq(reg(&first, mem, 512 * KB), 0);
	cr_expect_eq(nb_backings(), 1);
	cr_assert_eq(reg(&second, mem + 4096 + 10, 100 * KB), 0);
	cr_expect_str_eq(kinds(), "b");
	cr_expect_eq(fake_view(weft->arena)->mr.seg[0].offset, 4096 + 10);
	cr_expect_eq(nb_backings(), 1);
	cr_assert_eq(reg(&third, mem, 1024 * KB), 0);
	cr_expect_str_eq(kinds(), "bb");
	cr_expect_eq(nb_backings(), 2);
	cr_expect_eq(client_mr_fini(&first), 0);
	cr_expect_eq(client_mr_fini(&third), 0);
	cr_expect_eq(client_mr_fini(&second), 0);
	/* Nothing was copied again: it was kept. */
	cr_assert_eq(reg(&first, mem, 1024 * KB), 0);
	cr_expect_str_eq(kinds(), "bb");
	cr_expect_eq(nb_backings(), 2);
	cr_expect_eq(client_mr_fini(&first), 0);
	stop();
}

Test(memkind, memory_that_is_freed_or_replaced_is_forgotten)
{
	uint8_t *mem = anon(512 * KB), *other = anon(64 * KB);
	struct weft_mr mr;

	start(NULL);
	cr_assert_eq(reg(&mr, mem, 512 * KB), 0);
	cr_expect_eq(client_mr_fini(&mr), 0);
	cr_expect_eq(nb_backings(), 1, "kept for the next time");
	munmap(mem, 512 * KB);
	/* Something else at the same address is not taken for it. */
	cr_assert_eq(mmap(mem, 512 * KB, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), mem);
	memset(mem, 5, 512 * KB);
	cr_assert_eq(reg(&mr, mem, 512 * KB), 0);
	cr_expect_eq(nb_backings(), 1, "the old object is gone, a new one is there");
	cr_expect_eq(mem[100 * KB], 5);
	cr_expect_eq(client_mr_fini(&mr), 0);
	munmap(mem, 512 * KB);
	cr_assert_eq(reg(&mr, other, 64 * KB), 0);
	cr_expect_eq(nb_backings(), 1);
	stop();
}

Test(memkind, much_memory_is_not_kept_but_stays_usable)
{
	const uint64_t bytes = 100 << 20;
	uint8_t *mem = anon(bytes);
	struct weft_mr mr;

	start(NULL);
	mem[bytes / 2] = 1;
	for (int round = 0; round < 3; round++) {
		cr_assert_eq(reg(&mr, mem, bytes), 0);
		cr_expect_str_eq(kinds(), "b");
		cr_expect_eq(nb_backings(), 1);
		cr_expect_eq(mem[bytes / 2]++, round + 1);
		cr_expect_eq(client_mr_fini(&mr), 0);
		cr_expect_eq(nb_backings(), 0);
	}
	munmap(mem, bytes);
	stop();
}

Test(memkind, pages_in_use_through_proc_are_not_moved)
{
	uint8_t *mem = anon(512 * KB);
	struct weft_mr small, big;

	start(NULL);
	cr_assert_eq(reg(&small, mem + 200 * KB + 8, 16), 0);
	cr_expect_str_eq(kinds(), "v");
	cr_assert_eq(reg(&big, mem, 512 * KB), 0);
	cr_expect_str_eq(kinds(), "bvb");
	cr_expect_eq(fake_view(weft->arena)->mr.seg[1].length, 4096);
	stop();
}

Test(memkind, stacks_files_and_foreign_objects_stay_where_they_are)
{
	uint8_t on_stack[256 * 1024];
	uint8_t *shared = mmap(NULL, 256 * KB, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint8_t *file, *unsealed, *sealed;
	int fd = open("/proc/self/exe", O_RDONLY);
	int mfd = memfd_create("test", MFD_ALLOW_SEALING);
	struct weft_mr mr;

	start(NULL);
	on_stack[0] = 1;
	cr_assert_eq(reg(&mr, on_stack, sizeof(on_stack)), 0);
	cr_expect_str_eq(kinds(), "v", "stack");
	cr_assert_eq(reg(&mr, shared, 256 * KB), 0);
	cr_expect_str_eq(kinds(), "v", "shared with nobody knows whom");
	file = mmap(NULL, 64 * KB, RW, MAP_PRIVATE, fd, 0);
	cr_assert_eq(reg(&mr, file, 64 * KB), 0);
	cr_expect_str_eq(kinds(), "v", "file");

	cr_assert_eq(ftruncate(mfd, 256 * KB), 0);
	unsealed = mmap(NULL, 256 * KB, RW, MAP_SHARED, mfd, 0);
	cr_assert_eq(reg(&mr, unsealed, 256 * KB), 0);
	cr_expect_str_eq(kinds(), "v", "not sealed");
	cr_expect_eq(fcntl(mfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	sealed = mmap(NULL, 128 * KB, RW, MAP_SHARED, mfd, 128 * KB);
	cr_assert_eq(reg(&mr, sealed + 1, 100 * KB), 0);
	cr_expect_str_eq(kinds(), "b", "sealed");
	cr_expect_eq(fake_view(weft->arena)->mr.seg[0].offset, 128 * KB + 1);
	cr_expect_eq(nb_backings(), 1);
	cr_expect_eq(client_mr_fini(&mr), 0);
	cr_expect_eq(nb_backings(), 0);
	stop();
}

static pthread_barrier_t barrier;

static void *
register_own_stack(void *arg)
{
	uint8_t on_stack[256 * 1024];
	struct weft_mr mr;

	(void)arg;
	on_stack[0] = 1;
	cr_assert_eq(reg(&mr, on_stack, sizeof(on_stack)), 0);
	cr_expect_str_eq(kinds(), "v");
	return NULL;
}

static void *
lend_stack(void *arg)
{
	uint8_t on_stack[256 * 1024];

	*(uint8_t **)arg = on_stack;
	on_stack[0] = 1;
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

Test(memkind, stacks_of_threads_are_no_buffers_either)
{
	pthread_t thread;
	struct weft_mr mr;
	uint8_t *stack;

	start(NULL);
	pthread_create(&thread, NULL, register_own_stack, NULL);
	pthread_join(thread, NULL);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, lend_stack, &stack);
	pthread_barrier_wait(&barrier);
	cr_assert_eq(reg(&mr, stack, 256 * KB), 0);
	cr_expect_str_eq(kinds(), "v");
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	stop();
}

Test(memkind, remapping_can_be_switched_off_or_refused)
{
	const struct fake_conf refusing = {.no_backing = true};
	uint8_t *mem = anon(256 * KB);
	struct weft_mr mr;

	setenv("WEFT_REMAP", "0", 1);
	start(NULL);
	cr_assert_eq(reg(&mr, mem, 256 * KB), 0);
	cr_expect_str_eq(kinds(), "v");
	stop();
	unsetenv("WEFT_REMAP");
	start(&refusing);
	cr_assert_eq(reg(&mr, mem, 256 * KB), 0);
	cr_expect_str_eq(kinds(), "v");
	stop();
}

Test(memkind, a_registration_of_too_many_pieces_is_one_run)
{
	uint8_t *mem = anon(200 * 64 * KB);
	struct weft_mr mr;

	start(NULL);
	/* Pieces that cannot be joined, each worth remapping. */
	for (int i = 0; i < 200; i += 2)
		mprotect(mem + (uint64_t)i * 64 * KB, 64 * KB, RW | PROT_EXEC);
	cr_assert_eq(reg(&mr, mem, 200 * 64 * KB), 0);
	cr_expect_str_eq(kinds(), "v");
	/* What was remapped on the way is still good memory. */
	memset(mem, 3, 200 * 64 * KB);
	cr_expect_eq(client_mr_fini(&mr), 0);
	munmap(mem, 200 * 64 * KB);
	stop();
}

/** Writers that never stop, each to words of its own; what they last wrote must be there. */
#define NB_WRITERS 2
static _Atomic bool writing;

struct writer {
	volatile uint64_t *words;
	uint64_t nb, count;
};

static void *
write_on(void *arg)
{
	struct writer *writer = arg;
	uint64_t at = 0;

	while (atomic_load_explicit(&writing, memory_order_relaxed)) {
		writer->words[at * NB_WRITERS]++;
		writer->count++;
		at = (at + 509) % writer->nb;
	}
	return NULL;
}

Test(memkind, no_store_of_another_thread_is_lost)
{
	const uint64_t bytes = 8 << 20;

	start(NULL);
	for (int round = 0; round < 5; round++) {
		uint64_t *mem = (uint64_t *)anon(bytes), sum = 0, want = 0;
		struct writer writers[NB_WRITERS];
		pthread_t threads[NB_WRITERS];
		struct weft_mr mr;

		/* Half of it was never touched: absent pages must be guarded as well. */
		memset(mem, 0, bytes / 2);
		atomic_store(&writing, true);
		for (int i = 0; i < NB_WRITERS; i++) {
			writers[i] = (struct writer){mem + i, bytes / 8 / NB_WRITERS, 0};
			pthread_create(&threads[i], NULL, write_on, &writers[i]);
		}
		usleep((useconds_t)round * 400);
		cr_assert_eq(reg(&mr, mem, bytes), 0);
		usleep(2000);
		atomic_store(&writing, false);
		for (int i = 0; i < NB_WRITERS; i++) {
			pthread_join(threads[i], NULL);
			want += writers[i].count;
		}
		for (uint64_t i = 0; i < bytes / 8; i++)
			sum += mem[i];
		cr_expect_eq(sum, want, "round %d, %s", round, kinds());
		munmap(mem, bytes);
	}
	stop();
}

Test(memkind, a_forked_child_has_memory_of_its_own)
{
	uint8_t *in_use = anon(256 * KB), *released = anon(256 * KB), *mem;
	struct weft_mr mr, second;
	int status;
	pid_t pid;

	start(NULL);
	memset(in_use, 1, 256 * KB);
	memset(released, 2, 256 * KB);
	cr_assert_eq(reg(&mr, in_use, 256 * KB), 0);
	cr_assert_eq(reg(&second, released, 256 * KB), 0);
	cr_assert_eq(client_mr_fini(&second), 0);
	mem = weft ? NULL : NULL;
	cr_assert_eq(memkind_alloc(weft, 10 * KB, (void **)&mem), 0);
	mem[0] = 3;
	pid = fork();
	if (pid == 0) {
		bool good = in_use[9 * KB] == 1 && released[9 * KB] == 2 && mem[0] == 3;

		memset(in_use, 11, 256 * KB);
		memset(released, 12, 256 * KB);
		mem[0] = 13;
		_exit(good ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	cr_expect_eq(status, 0, "the child saw its parent's bytes");
	cr_expect_eq(in_use[9 * KB], 1);
	cr_expect_eq(released[9 * KB], 2);
	cr_expect_eq(mem[0], 3);
	stop();
}

Test(memkind, memory_of_the_daemon_is_backed_from_the_start)
{
	struct weft_mr mr;
	uint8_t *mem;

	start(NULL);
	memkind_allow_remap(false);
	cr_expect_eq(memkind_alloc(weft, 0, (void **)&mem), -EINVAL);
	cr_assert_eq(memkind_alloc(weft, 100, (void **)&mem), 0);
	cr_assert_eq(reg(&mr, mem + 8, 50), 0);
	cr_expect_str_eq(kinds(), "b");
	cr_expect_eq(fake_view(weft->arena)->mr.seg[0].offset, 8);
	cr_expect_eq(memkind_free(weft, mem), -EBUSY);
	cr_expect_eq(memkind_free(weft, mem + 8), -EINVAL);
	cr_expect_eq(client_mr_fini(&mr), 0);
	cr_expect_eq(memkind_free(weft, mem), 0);
	cr_expect_eq(nb_backings(), 0);
	stop();
}

Test(memkind, a_device_frees_only_memory_that_it_has_a_part_in)
{
	struct weft *maker;
	struct weft_mr mr;
	uint8_t *mem;

	start(NULL);
	maker = weft;
	cr_assert_eq(memkind_alloc(maker, 100, (void **)&mem), 0);
	cr_assert_eq(client_open(NULL, &weft), 0);
	cr_expect_eq(memkind_free(weft, mem), -EINVAL);
	mem[0] = 1;
	/* Whoever has registered it may free it, for the one that made it may be closed by then. */
	cr_assert_eq(reg(&mr, mem, 100), 0);
	client_close(maker);
	cr_expect_eq(memkind_free(weft, mem), -EBUSY);
	cr_expect_eq(client_mr_fini(&mr), 0);
	cr_expect_eq(memkind_free(weft, mem), 0);
	stop();
}

Test(memkind, two_devices_reach_the_same_memory)
{
	uint8_t *mem = anon(256 * KB);
	struct weft_mr mr, other;
	struct weft *first;

	start(NULL);
	cr_assert_eq(reg(&mr, mem, 256 * KB), 0);
	first = weft;
	cr_assert_eq(client_open(NULL, &weft), 0);
	cr_assert_eq(reg(&other, mem, 256 * KB), 0);
	cr_expect_str_eq(kinds(), "b");
	cr_expect_eq(nb_backings(), 1);
	client_close(first);
	mem[0] = 1;
	cr_expect_eq(client_mr_fini(&other), 0);
	stop();
}
