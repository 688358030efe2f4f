/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A store that another thread makes between the copy and the mmap would be lost. Writers are held
 * by write protection through userfaultfd, which also stops the kernel's own writes (read(2) into
 * the range); they wait in the page fault and go on in the new mapping. A process of one thread
 * needs no guard. Pages must be present to be protected, hence MADV_POPULATE_WRITE.
 */
#include "remap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/** Whether this is the only thread, by the kernel's count. */
static bool
alone(void)
{
	struct stat st;

	/* A folder has two links more than it has folders in it. */
	return stat("/proc/self/task", &st) == 0 && st.st_nlink == 3;
}

/** A userfaultfd that may handle the kernel's faults; -1: not permitted. */
static int
new_uffd(int uffd_dev)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK), dev;

	if (fd < 0 && uffd_dev >= 0)
		fd = ioctl(uffd_dev, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		return fd;
	dev = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
	if (dev < 0)
		return -1;
	fd = ioctl(dev, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
	close(dev);
	return fd;
}

/**
 * Ask for protection of pages in memory objects, too (memory that was remapped before); Linux
 * before 5.19 has it for private memory only.
 */
static bool
negotiate(int fd)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM,
	};

	if (ioctl(fd, UFFDIO_API, &api) == 0)
		return true;
	api = (struct uffdio_api){.api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP};
	return ioctl(fd, UFFDIO_API, &api) == 0;
}

/** Hold writers to the range until the descriptor is closed. @return it, or a negative errno. */
static int
hold_writers(uint64_t lo, uint64_t hi, int uffd_dev)
{
	const struct uffdio_range range = {lo, hi - lo};
	struct uffdio_register reg = {.range = range, .mode = UFFDIO_REGISTER_MODE_WP};
	struct uffdio_writeprotect protect = {.range = range, .mode = UFFDIO_WRITEPROTECT_MODE_WP};
	int fd = new_uffd(uffd_dev), err;

	if (fd < 0)
		return -EPERM;
	/* A raw call: the shim interposes madvise(). */
	if (!negotiate(fd) || syscall(SYS_madvise, lo, hi - lo, MADV_POPULATE_WRITE) < 0 ||
	    ioctl(fd, UFFDIO_REGISTER, &reg) < 0 || ioctl(fd, UFFDIO_WRITEPROTECT, &protect) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

/** pwrite() fills fresh pages without zeroing them first and without a fault for each. */
static int
copy_out(uint64_t lo, uint64_t hi, int fd)
{
	for (uint64_t at = lo; at < hi;) {
		ssize_t done = pwrite(fd, (const void *)(uintptr_t)at, hi - at, (off_t)(at - lo));

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		at += (uint64_t)done;
	}
	return 0;
}

int
remap_range(uint64_t lo, uint64_t hi, int fd, int uffd_dev)
{
	int guard = -1, err;

	if (!alone()) {
		guard = hold_writers(lo, hi, uffd_dev);
		if (guard < 0)
			return guard;
	}
	err = copy_out(lo, hi, fd);
	if (!err && mmap((void *)(uintptr_t)lo, hi - lo, PROT_READ | PROT_WRITE,
	                 MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) == MAP_FAILED)
		err = -errno;
	/* Wakes the writers; if the mapping failed, it also lifts the protection. */
	if (guard >= 0)
		close(guard);
	return err;
}
