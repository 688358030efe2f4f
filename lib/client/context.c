/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "advice.h"
#include "client.h"
#include "connections.h"
#include "forkguard.h"
#include "memkind.h"

/** The socket of the daemon that has a device. */
struct search {
	const char *wanted; /**< NULL = the first */
	char name[WEFT_NAME_LEN];
	char path[128];
	char known[256]; /**< names of the others */
};

/** What there is, for a user who asked for something else. */
static void
add_known(struct search *search, const char *name)
{
	size_t len = strlen(search->known);

	snprintf(search->known + len, sizeof(search->known) - len, "%s%s", len ? ", " : "", name);
}

static bool
matches(void *arg, const char *path, const struct ctl_list *list)
{
	struct search *search = arg;

	for (uint32_t i = 0; i < list->nb_devices; i++) {
		if (search->wanted && strcmp(search->wanted, list->device[i].name) != 0) {
			add_known(search, list->device[i].name);
			continue;
		}
		memcpy(search->name, list->device[i].name, sizeof(search->name));
		strncpy(search->path, path, sizeof(search->path) - 1);
		return true;
	}
	return false;
}

static int
map_arena(struct weft *weft, int fd)
{
	struct stat st;

	/* A shorter object would mean SIGBUS later. */
	if (fstat(fd, &st) < 0 || weft->info.arena_bytes < sizeof(struct shm_bell) ||
	    (uint64_t)st.st_size < weft->info.arena_bytes)
		return -EPROTO;
	weft->arena = mmap(NULL, weft->info.arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (weft->arena == MAP_FAILED)
		return -errno;
	weft->bell = (struct shm_bell *)weft->arena;
	return 0;
}

/** Make the connection; on failure the caller frees what is there. */
static int
attach(struct weft *weft, const struct search *search)
{
	union ctl_msg msg = {.open = {.version = WEFT_ABI_VERSION}};
	struct ctl_fds fds = {.keep = 4};
	char why[CTL_WHY_BYTES];
	int err;

	weft->ctl_fd = ctl_connect(search->path, 0);
	if (weft->ctl_fd < 0)
		return weft->ctl_fd;
	memcpy(msg.open.device, search->name, sizeof(msg.open.device));
	memcpy(weft->name, search->name, sizeof(search->name));
	/* Unlike a pid, this descriptor is bound to the address space: exec and reuse are harmless.
	 */
	fds.send = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (fds.send < 0) {
		err = -errno;
		client_log("%s: cannot open /proc/self/mem: %s%s", weft->name, strerror(errno),
		           errno == EACCES || errno == EPERM
		                   ? ": is this program set-uid or not dumpable?"
		                   : "");
		return err;
	}
	err = ctl_exchange(weft->ctl_fd, CTL_OPEN, &msg, sizeof(msg.open), sizeof(msg.opened), &fds,
	                   3, why);
	close(fds.send);
	if (*why)
		advice_refusal(weft->name, CTL_OPEN, why);
	if (err)
		return err;
	weft->info = msg.opened;
	weft->bell_fd = fds.recv[1];
	weft->events_fd = fds.recv[2];
	weft->uffd_dev = fds.recv[3];
	err = map_arena(weft, fds.recv[0]);
	close(fds.recv[0]);
	return err;
}

static void
free_weft(struct weft *weft)
{
	const int fds[] = {weft->ctl_fd, weft->bell_fd, weft->events_fd, weft->uffd_dev};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	if (weft->arena != MAP_FAILED)
		munmap(weft->arena, weft->info.arena_bytes);
	pthread_mutex_destroy(&weft->ctl_lock);
	pthread_mutex_destroy(&weft->obj_lock);
	free(weft->slots);
	free(weft);
}

int
client_open(const char *name, struct weft **out)
{
	struct search search = {.wanted = name};
	struct weft *weft;
	int err;

	forkguard_start();
	client_discover(matches, &search);
	if (!search.path[0]) {
		if (errno == EAGAIN)
			return -EAGAIN;
		if (name)
			advice_device(name, search.known);
		return -ENODEV;
	}
	weft = calloc(1, sizeof(*weft));
	if (!weft)
		return -ENOMEM;
	weft->slots = calloc(CLIENT_MAX_OBJS, sizeof(*weft->slots));
	if (!weft->slots) {
		free(weft);
		return -ENOMEM;
	}
	weft->ctl_fd = weft->bell_fd = weft->events_fd = weft->uffd_dev = -1;
	weft->arena = MAP_FAILED;
	pthread_mutex_init(&weft->ctl_lock, NULL);
	pthread_mutex_init(&weft->obj_lock, NULL);
	err = attach(weft, &search);
	if (err) {
		free_weft(weft);
		return err;
	}
	connections_add(weft);
	*out = weft;
	return 0;
}

void
client_close(struct weft *weft)
{
	memkind_forget(weft);
	connections_remove(weft);
	free_weft(weft);
}

void *
client_ring(const struct weft *weft, const struct shm_ring_loc *loc, size_t header,
            uint32_t min_slots, uint32_t min_stride)
{
	uint64_t bytes = header + (uint64_t)loc->nb_slots * loc->stride;

	if (loc->nb_slots == 0 || (loc->nb_slots & (loc->nb_slots - 1)) ||
	    loc->nb_slots < min_slots || loc->stride < min_stride || loc->stride % 16 ||
	    loc->offset % 64 || loc->offset < sizeof(struct shm_bell))
		return NULL;
	if (loc->offset > weft->info.arena_bytes || bytes > weft->info.arena_bytes - loc->offset)
		return NULL;
	return weft->arena + loc->offset;
}

/** What comes next on the control socket. An answer that another thread waits for stays there. */
static ssize_t
peek(const struct weft *weft, struct ctl_hdr *hdr)
{
	return recv(weft->ctl_fd, hdr, sizeof(*hdr), MSG_PEEK | MSG_DONTWAIT);
}

bool
client_alive(struct weft *weft)
{
	struct ctl_hdr hdr;
	ssize_t len;

	if (atomic_load_explicit(&weft->dead, memory_order_relaxed))
		return false;
	len = peek(weft, &hdr);
	if ((len == sizeof(hdr) && hdr.op != CTL_REFUSAL) ||
	    (len < 0 && (errno == EAGAIN || errno == EINTR)))
		return true;
	client_die(weft);
	return false;
}

/** Whether the daemon lives on, and has only sent us away: it said so last. */
static bool
was_drained(struct weft *weft)
{
	struct ctl_hdr hdr;
	ssize_t len = peek(weft, &hdr);

	/* If it did not read our request, that is told first. */
	if (len < 0 && errno == ECONNRESET)
		len = peek(weft, &hdr);
	return atomic_load(&weft->drained) ||
	       (len == sizeof(hdr) && hdr.op == CTL_REFUSAL && hdr.status == ECONNABORTED);
}

void
client_die(struct weft *weft)
{
	if (atomic_exchange(&weft->dead, true))
		return;
	client_log("%s: %s; everything outstanding is flushed", weft->name,
	           was_drained(weft) ? "drained by an operator, who sent all programs away"
	                             : "the daemon is gone");
	/* Its ends are closed if it died. If it only talks nonsense, sleepers must wake up, too. */
	shutdown(weft->events_fd, SHUT_RDWR);
	pthread_mutex_lock(&weft->obj_lock);
	for (struct weft_channel *channel = weft->channels; channel; channel = channel->next)
		shutdown(channel->fd, SHUT_RDWR);
	pthread_mutex_unlock(&weft->obj_lock);
}
