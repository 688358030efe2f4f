/* SPDX-License-Identifier: BSD-3-Clause */
#include "capture.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "pcapng.h"
#include "ring_bytes.h"

/* Copies on their way to the thread, bytes. Source: our choice, 5 ms at 25 Gbit/s. */
#define RING_BYTES (16u << 20)
/* The thread looks so often for new ones; nobody wakes it, because that would cost the worker. */
#define LOOK_MS 5
/* A reader that takes nothing for so long after the end gets no more. Source: our choice. */
#define STUCK_MS 5000
/* Written at once. */
#define OUT_BYTES (256u << 10)

/* Stands before each copy in the ring. */
struct copy {
	uint64_t time_ns; /* of the worker's clock */
	uint32_t len;     /* on the wire */
	uint32_t cap_len;
	uint16_t port;
	bool is_out;
};

struct capture {
	struct tap tap; /* first member */
	struct capture_conf conf;
	uint64_t wall_ns; /* what to add to the worker's clock */
	uint64_t since_ns;
	struct ring_bytes ring;
	/* of the worker */
	_Atomic uint64_t nb_dropped;
	/* of the thread */
	pthread_t thread;
	int fd;
	int done_fd;
	atomic_bool stop;
	atomic_bool give_up;
	uint64_t nb_packets;
	uint8_t *out;
	size_t out_len;
};

/* ---- on the worker ---- */

static void
take_frames(struct tap *tap, uint16_t port, bool is_out, struct pkt *const *pkts, uint32_t n,
            uint64_t now_ns)
{
	struct capture *c = (struct capture *)tap;

	if (c->conf.port >= 0 && port != c->conf.port)
		return;
	for (uint32_t i = 0; i < n; i++) {
		const struct copy copy = {
			.time_ns = now_ns,
			.len = pkts[i]->len,
			.cap_len = c->conf.snaplen && c->conf.snaplen < pkts[i]->len
		                           ? c->conf.snaplen
		                           : pkts[i]->len,
			.port = port,
			.is_out = is_out,
		};

		if (!ring_bytes_put(&c->ring, &copy, sizeof(copy), pkts[i]->data, copy.cap_len))
			atomic_fetch_add_explicit(&c->nb_dropped, 1, memory_order_relaxed);
	}
}

struct attach {
	struct capture *capture;
	int err;
};

static void
attach(void *arg, uint64_t now_ns)
{
	struct attach *a = arg;

	(void)now_ns;
	a->err = worker_tap(a->capture->conf.worker, a->capture->conf.node, &a->capture->tap);
}

static void
detach(void *arg, uint64_t now_ns)
{
	struct capture *c = arg;

	(void)now_ns;
	worker_untap(c->conf.worker, c->conf.node, &c->tap);
}

/* ---- on the thread ---- */

/* @return false if the reader is gone or takes nothing. */
static bool
flush(struct capture *c)
{
	size_t sent = 0;
	uint32_t stuck_ms = 0;

	while (sent < c->out_len) {
		struct pollfd p = {.fd = c->fd, .events = POLLOUT};
		ssize_t n =
			send(c->fd, c->out + sent, c->out_len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0) {
			sent += (size_t)n;
			stuck_ms = 0;
			continue;
		}
		if (errno != EAGAIN || atomic_load(&c->give_up) ||
		    (atomic_load(&c->stop) && stuck_ms >= STUCK_MS))
			return false;
		poll(&p, 1, 100);
		stuck_ms += 100;
	}
	c->out_len = 0;
	return true;
}

static bool
write_head(struct capture *c)
{
	const struct node *node = c->conf.node;
	char name[64];

	c->out_len = pcapng_section(c->out, "weft");
	for (uint16_t p = 0; p < node->nb_ports; p++) {
		snprintf(name, sizeof(name), node->nb_ports > 1 ? "%s/%u" : "%s", node->name, p);
		c->out_len += pcapng_interface(c->out + c->out_len, name, c->conf.snaplen);
		if (c->out_len > OUT_BYTES / 2 && !flush(c))
			return false;
	}
	return flush(c);
}

static bool
is_over(const struct capture *c)
{
	return (c->conf.max_packets && c->nb_packets >= c->conf.max_packets) ||
	       (c->conf.max_ns && worker_clock_ns() - c->since_ns >= c->conf.max_ns);
}

/* What is in the ring. @return false if nobody reads it. */
static bool
write_packets(struct capture *c)
{
	uint8_t data[65536];
	struct copy copy;

	while (!(c->conf.max_packets && c->nb_packets >= c->conf.max_packets) &&
	       ring_bytes_get(&c->ring, &copy, sizeof(copy), data, sizeof(data))) {
		if (c->out_len + copy.cap_len + PCAPNG_PACKET_EXTRA + 3 > OUT_BYTES && !flush(c))
			return false;
		c->out_len +=
			pcapng_packet(c->out + c->out_len, copy.port, copy.is_out,
		                      copy.time_ns + c->wall_ns, data, copy.cap_len, copy.len);
		c->nb_packets++;
	}
	return flush(c);
}

/* Of the one interface, or of all ports together in the first. */
static void
write_tail(struct capture *c)
{
	uint64_t nb_dropped = atomic_load(&c->nb_dropped);

	c->out_len = pcapng_stats(c->out, c->conf.port < 0 ? 0 : (uint32_t)c->conf.port,
	                          worker_clock_ns() + c->wall_ns, c->nb_packets + nb_dropped,
	                          nb_dropped);
	flush(c);
}

static void *
write_file(void *arg)
{
	static const uint64_t one = 1;
	struct capture *c = arg;
	bool is_read = write_head(c);

	pthread_setname_np(pthread_self(), "weft-capture");
	while (is_read && !is_over(c) && !atomic_load(&c->stop)) {
		poll(NULL, 0, LOOK_MS);
		is_read = write_packets(c);
	}
	/* From now on the worker's copies are for nobody; capture_free takes it off the node. */
	if (is_read)
		is_read = write_packets(c);
	if (is_read)
		write_tail(c);
	shutdown(c->fd, SHUT_RDWR);
	(void)!write(c->done_fd, &one, sizeof(one));
	return NULL;
}

/* ---- on the caller's thread ---- */

static uint64_t
wall_minus_worker_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - worker_clock_ns();
}

static void
release(struct capture *c)
{
	if (c->fd >= 0)
		close(c->fd);
	if (c->done_fd >= 0)
		close(c->done_fd);
	ring_bytes_fini(&c->ring);
	free(c->out);
	free(c);
}

int
capture_start(struct capture **capture, const struct capture_conf *conf, int *reader_fd)
{
	struct capture *c = calloc(1, sizeof(*c));
	struct attach a = {.capture = c};
	int fds[2] = {-1, -1}, err;

	if (!c)
		return -ENOMEM;
	c->tap.frames = take_frames;
	c->conf = *conf;
	c->wall_ns = wall_minus_worker_ns();
	c->since_ns = worker_clock_ns();
	c->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->out = malloc(OUT_BYTES);
	err = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0 ? -errno : 0;
	c->fd = fds[0];
	if (!err && (c->done_fd < 0 || !c->out || !ring_bytes_init(&c->ring, RING_BYTES)))
		err = -ENOMEM;
	if (!err) {
		worker_call(conf->worker, attach, &a);
		err = a.err;
	}
	if (err)
		goto fail;
	err = -pthread_create(&c->thread, NULL, write_file, c);
	if (err) {
		worker_call(conf->worker, detach, c);
		goto fail;
	}
	*capture = c;
	*reader_fd = fds[1];
	return 0;
fail:
	if (fds[1] >= 0)
		close(fds[1]);
	release(c);
	return err;
}

int
capture_done_fd(const struct capture *c)
{
	return c->done_fd;
}

void
capture_stop(struct capture *c)
{
	atomic_store(&c->stop, true);
}

void
capture_free(struct capture *c, struct capture_stats *stats)
{
	worker_call(c->conf.worker, detach, c);
	atomic_store(&c->give_up, true);
	atomic_store(&c->stop, true);
	shutdown(c->fd, SHUT_RDWR);
	pthread_join(c->thread, NULL);
	*stats = (struct capture_stats){c->nb_packets, atomic_load(&c->nb_dropped)};
	release(c);
}
