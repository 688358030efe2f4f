/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remapped memory is shared, so a forked child would write into its parent. Its first act is to
 * make its mappings private; what happens in between is libc's, which touches no memory of that
 * kind. Then it lets go of its parent's devices.
 */
#include "forkguard.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backing.h"
#include "connections.h"

/** The child waits for nothing; the parent until the child has what is its own. */
static int fork_pipe[2] = {-1, -1};

static void
before_fork(void)
{
	backing_lock();
	connections_lock();
	if (!backing_any() || pipe2(fork_pipe, O_CLOEXEC) < 0)
		fork_pipe[0] = fork_pipe[1] = -1;
}

static void
close_end(int end)
{
	if (fork_pipe[end] >= 0)
		close(fork_pipe[end]);
	fork_pipe[end] = -1;
}

static void
after_fork_in_parent(void)
{
	char byte;

	close_end(1);
	while (fork_pipe[0] >= 0 && read(fork_pipe[0], &byte, 1) < 0 && errno == EINTR)
		;
	close_end(0);
	connections_unlock();
	backing_unlock();
}

static int
protection(const struct maps_entry *entry)
{
	return (entry->read ? PROT_READ : 0) | (entry->write ? PROT_WRITE : 0) |
	       (entry->exec ? PROT_EXEC : 0);
}

/** Give the child a copy of its own of what was ordinary memory to the application. */
static void
copy_private(const struct maps_entry *entry)
{
	size_t bytes = entry->hi - entry->lo;
	void *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* Without rights to read there is nothing that the child could rely on. */
	if (copy == MAP_FAILED)
		return;
	if (entry->read)
		memcpy(copy, (const void *)(uintptr_t)entry->lo, bytes);
	mprotect(copy, bytes, protection(entry));
	syscall(SYS_mremap, copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, entry->lo);
}

/**
 * The child's writes must not show in the parent. Registered memory becomes a private mapping of
 * the object (no copy; until the child writes to a page it sees the parent's and the peers' later
 * writes there), remapped memory that is not registered a copy as of now.
 */
static void
after_fork_in_child(void)
{
	struct maps_entry entry;
	struct maps maps;

	close_end(0);
	if (backing_any() && maps_open(&maps) == 0) {
		while (maps_next(&maps, &entry)) {
			struct backing *backing = backing_find(&entry);

			if (!backing || backing->origin == BACKING_FOREIGN)
				continue;
			if (backing->fd < 0 || backing->nb_uses == 0)
				copy_private(&entry);
			else
				mmap((void *)(uintptr_t)entry.lo, entry.hi - entry.lo,
				     protection(&entry), MAP_PRIVATE | MAP_FIXED, backing->fd,
				     (off_t)entry.offset);
		}
		maps_close(&maps);
	}
	/* Nothing here is shared with a daemon any more. */
	backing_reset();
	close_end(1);
	connections_cut();
	connections_unlock();
	backing_unlock();
}

static void
watch(void)
{
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void
forkguard_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch);
}
