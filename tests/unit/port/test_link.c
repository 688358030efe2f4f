/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "link.h"
#include "log.h"
#include "mem.h"
#include "prng.h"

/* Long enough on any machine; a test that waits so long has failed. */
#define PATIENCE_NS UINT64_C(10000000000)
#define ROOM_BYTES 9300
#define BURST 32

static char dir[] = "/tmp/weft-link-XXXXXX";
static char path[64];
static struct pkt_pool *pool;
/* What was logged; by several threads, one line after the other. */
static char logged[16][LOG_LINE_MAX];
static atomic_uint nb_logged;

static void
keep_line(enum log_level level, const char *line)
{
	(void)level;
	snprintf(logged[atomic_fetch_add(&nb_logged, 1) % 16], LOG_LINE_MAX, "%s", line);
}

static void
begin(void)
{
	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/x", dir);
	pool = pkt_pool_mem_create(4 * BURST, ROOM_BYTES);
	log_fn = keep_line;
}

static void
end(void)
{
	pkt_pool_mem_destroy(pool);
	cr_expect_eq(rmdir(dir), 0, "nothing was left behind");
}

TestSuite(link, .init = begin, .fini = end);

static uint64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void
nap(void)
{
	usleep(200);
}

static struct port *
open_end(void)
{
	struct port *port;

	cr_assert_eq(port_link_open(path, pool, &port), 0);
	return port;
}

/* Frames that come meanwhile are thrown away. */
static bool
becomes(struct port *port, bool is_down)
{
	uint64_t end_ns = now() + PATIENCE_NS;
	struct pkt *pkts[BURST];

	while (now() < end_ns) {
		pkt_free(pkts, port->ops->rx_burst(port, pkts, BURST, now()));
		if (port->is_down == is_down)
			return true;
		nap();
	}
	return false;
}

/* A frame tells its length and what fills it. */
static void
fill(struct pkt *p, uint32_t len, uint32_t seed)
{
	p->len = len;
	for (uint32_t i = 0; i < len; i++)
		p->data[i] = (uint8_t)(len + seed + i);
}

static bool
is_whole(const struct pkt *p, uint32_t seed)
{
	for (uint32_t i = 0; i < p->len; i++) {
		if (p->data[i] != (uint8_t)(p->len + seed + i))
			return false;
	}
	return true;
}

/* Send as much as there is room for, up to n. */
static uint32_t
push(struct port *port, uint32_t n, uint32_t len, uint32_t seed)
{
	struct pkt *pkts[BURST];
	uint32_t room = port->ops->tx_room(port);

	n = n < room ? n : room;
	n = n < BURST ? n : BURST;
	if (n == 0 || pool->alloc(pool, pkts, n) == 0)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		fill(pkts[i], len, seed);
	cr_assert_eq(port->ops->tx_burst(port, pkts, n, now()), n, "it has promised");
	return n;
}

/* n frames arrive, whole; more do not. */
static uint32_t
pull(struct port *port, uint32_t n, uint32_t seed)
{
	uint64_t end_ns = now() + PATIENCE_NS;
	struct pkt *pkts[BURST];
	uint32_t nb = 0;

	while (nb < n && now() < end_ns) {
		uint32_t k = port->ops->rx_burst(port, pkts, BURST, now());

		for (uint32_t i = 0; i < k; i++)
			cr_expect(is_whole(pkts[i], seed), "frame %u of %u", nb + i, n);
		pkt_free(pkts, k);
		nb += k;
		if (k == 0)
			nap();
	}
	return nb;
}

Test(link, carries_frames_of_every_length_both_ways)
{
	struct port *ends[2] = {open_end(), open_end()};

	for (int i = 0; i < 2; i++) {
		cr_expect(ends[i]->is_down);
		cr_assert(becomes(ends[i], false));
	}
	for (uint32_t len = 1; len <= ROOM_BYTES; len += len < 200 ? 1 : 97) {
		for (int way = 0; way < 2; way++) {
			cr_assert_eq(push(ends[way], 3, len, len), 3);
			cr_assert_eq(pull(ends[!way], 3, len), 3);
		}
	}
	cr_expect_eq(ends[0]->stats.tx_bytes, ends[1]->stats.rx_bytes);
	cr_expect_eq(ends[0]->stats.tx_packets, ends[1]->stats.rx_packets);
	cr_expect_eq(ends[0]->stats.tx_dropped, 0);
	for (int i = 0; i < 2; i++)
		ends[i]->ops->close(ends[i]);
}

Test(link, either_end_goes_and_comes_and_what_is_sent_meanwhile_is_dropped)
{
	struct port *ends[2] = {open_end(), open_end()};

	for (int i = 0; i < 2; i++)
		cr_assert(becomes(ends[i], false));
	for (int round = 0; round < 6; round++) {
		struct port *stays = ends[round % 2];
		uint64_t dropped = stays->stats.tx_dropped;

		ends[!(round % 2)]->ops->close(ends[!(round % 2)]);
		cr_assert(becomes(stays, true), "round %d", round);
		cr_expect_eq(push(stays, 5, 60, 0), 5);
		cr_expect_eq(stays->stats.tx_dropped, dropped + 5);
		ends[!(round % 2)] = open_end();
		cr_assert(becomes(stays, false), "round %d", round);
		cr_assert(becomes(ends[!(round % 2)], false), "round %d", round);
		cr_expect_eq(push(stays, 5, 60, 1), 5);
		cr_expect_eq(pull(ends[!(round % 2)], 5, 1), 5);
	}
	cr_expect_eq(port_link_stats(ends[0])->resets, 0);
	for (int i = 0; i < 2; i++)
		ends[i]->ops->close(ends[i]);
}

static bool
is_logged(const char *text)
{
	for (uint64_t end_ns = now() + PATIENCE_NS; now() < end_ns; nap()) {
		for (uint32_t i = 0; i < nb_logged && i < 16; i++)
			if (strstr(logged[i], text))
				return true;
	}
	return false;
}

/* An operator or a clean-up of old files; what somebody else has put there is not ours to remove.
 */
Test(link, a_socket_that_was_removed_is_made_again_and_a_foreign_file_is_left_alone)
{
	struct port *a = open_end(), *b;
	struct stat st;

	for (uint64_t end_ns = now() + PATIENCE_NS; stat(path, &st) < 0 && now() < end_ns;)
		nap();
	cr_assert_eq(unlink(path), 0);
	b = open_end();
	cr_expect(becomes(a, false) && becomes(b, false), "removed before the other end came");

	cr_assert_eq(unlink(path), 0);
	b->ops->close(b);
	cr_expect(becomes(a, true));
	b = open_end();
	cr_expect(becomes(a, false) && becomes(b, false), "removed while there were both");

	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(mkdir(path, 0700), 0);
	b->ops->close(b);
	cr_expect(becomes(a, true));
	b = open_end();
	cr_expect(is_logged("something else lies there: remove it or choose another name"));
	cr_expect_eq(rmdir(path), 0, "it was left alone");
	cr_expect(becomes(a, false) && becomes(b, false), "replaced by a folder, which went");
	a->ops->close(a);
	b->ops->close(b);
}

Test(link, a_socket_of_another_kind_is_told_of)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct port *port;

	strcpy(addr.sun_path, path);
	cr_assert_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	cr_assert_eq(listen(fd, 1), 0);
	port = open_end();
	cr_expect(is_logged("something else lies there: remove it or choose another name"));
	port->ops->close(port);
	cr_expect_eq(unlink(path), 0, "it was left alone");
	close(fd);
}

Test(link, a_third_end_waits_and_is_told_why)
{
	struct port *a = open_end(), *b = open_end(), *third;
	uint64_t end_ns = now() + PATIENCE_NS;
	char want[160];

	cr_assert(becomes(a, false) && becomes(b, false));
	third = open_end();
	snprintf(want, sizeof(want),
	         "link %s has both its ends already, processes %d and %d: this one waits until one "
	         "of them ends",
	         path, (int)getpid(), (int)getpid());
	while (nb_logged < 3 && now() < end_ns)
		nap();
	cr_expect_str_eq(logged[2], want);
	cr_expect(third->is_down);
	a->ops->close(a);
	cr_expect(becomes(b, true));
	cr_expect(becomes(third, false));
	cr_expect(becomes(b, false));
	cr_expect_eq(push(b, 1, 60, 0) + push(third, 1, 60, 0), 2);
	cr_expect_eq(pull(third, 1, 0) + pull(b, 1, 0), 2);
	b->ops->close(b);
	third->ops->close(third);
}

Test(link, frames_that_are_too_long_for_the_other_end_are_counted_there)
{
	struct pkt_pool *small = pkt_pool_mem_create(BURST, 1600);
	struct port *a = open_end(), *b;

	cr_assert_eq(port_link_open(path, small, &b), 0);
	cr_assert(becomes(a, false) && becomes(b, false));
	cr_expect_eq(push(a, 1, 1600, 5) + push(a, 2, 1601, 5) + push(a, 1, 60, 5), 4);
	cr_expect_eq(pull(b, 2, 5), 2);
	cr_expect_eq(port_link_stats(b)->rx_too_long, 2);
	a->ops->close(a);
	b->ops->close(b);
	pkt_pool_mem_destroy(small);
}

/* As a worker does it. */
static bool
sleeps_until_readable(struct port *port, int timeout_ms)
{
	struct pollfd p = {.fd = port->ops->wait_fd(port), .events = POLLIN};
	bool is_ready = port->ops->doze(port, true) || poll(&p, 1, timeout_ms) == 1;

	port->ops->doze(port, false);
	return is_ready;
}

Test(link, wakes_who_sleeps_for_a_peer_for_frames_for_room_and_for_the_end)
{
	struct port *a = open_end(), *b;
	struct pkt *pkts[BURST];
	uint32_t n = 0;

	cr_expect_not(sleeps_until_readable(a, 20));
	b = open_end();
	cr_expect(sleeps_until_readable(a, 10000), "a peer");
	cr_assert(becomes(a, false) && becomes(b, false));
	cr_expect_not(sleeps_until_readable(a, 20));
	cr_assert_eq(push(b, 1, 60, 0), 1);
	cr_expect(sleeps_until_readable(a, 10000), "a frame");
	cr_expect(sleeps_until_readable(a, 10000), "a frame that was not taken yet");
	cr_assert_eq(pull(a, 1, 0), 1);
	cr_expect_not(sleeps_until_readable(a, 20));

	/* It sleeps as b reads: both in one thread, so the words are set and nobody waits. */
	while (push(a, BURST, ROOM_BYTES, 0) > 0)
		n++;
	cr_expect_gt(n, 0);
	cr_expect_not(sleeps_until_readable(a, 20), "full");
	cr_expect_not(a->ops->doze(a, true));
	do {
		n = b->ops->rx_burst(b, pkts, 4, now());
		pkt_free(pkts, n);
	} while (n > 0);
	cr_expect_eq(poll(&(struct pollfd){.fd = a->ops->wait_fd(a), .events = POLLIN}, 1, 10000),
	             1, "room");
	a->ops->doze(a, false);
	cr_expect_gt(push(a, 1, 60, 0), 0);

	b->ops->close(b);
	cr_expect(sleeps_until_readable(a, 10000), "the end");
	cr_expect(becomes(a, true));
	cr_expect_not(sleeps_until_readable(a, 20));
	a->ops->close(a);
}

/* ---- other processes ---- */

/* A child that runs fn and never returns. It ends with us. */
static pid_t
start_child(void (*fn)(uint64_t seed), uint64_t seed)
{
	pid_t pid;

	/* The end's own thread may hold the allocator's lock, which a sanitizer does not free in
	 * the child. It soon waits for a peer. */
	nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		log_fn = NULL;
		fn(seed);
		_exit(0);
	}
	return pid;
}

static void
end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Send and receive without end. */
static void
chatter(uint64_t seed)
{
	struct port *port = NULL;
	struct prng dice;

	prng_seed(&dice, seed);
	if (port_link_open(path, pool, &port))
		_exit(1);
	for (;;) {
		struct pkt *pkts[BURST];

		pkt_free(pkts, port->ops->rx_burst(port, pkts, BURST, now()));
		if (push(port, 1 + prng_below(&dice, BURST), 60 + prng_below(&dice, 9000), 3) == 0)
			sched_yield();
	}
}

/* Until n frames of chatter have come, or for some time. */
static uint32_t
talk(struct port *port, uint32_t n, uint64_t for_ns)
{
	uint64_t end_ns = now() + for_ns;
	struct pkt *pkts[BURST];
	uint32_t nb = 0;

	while (nb < n && now() < end_ns) {
		uint32_t k = port->ops->rx_burst(port, pkts, BURST, now());

		for (uint32_t i = 0; i < k; i++)
			cr_assert(is_whole(pkts[i], 3));
		pkt_free(pkts, k);
		nb += k;
		push(port, BURST, 4200, 4);
		if (k == 0)
			sched_yield();
	}
	return nb;
}

Test(link, a_peer_that_dies_at_any_moment_is_followed_by_the_next)
{
	struct port *port = open_end();
	struct prng dice;

	prng_seed(&dice, 11);
	for (int round = 0; round < 20; round++) {
		pid_t pid = start_child(chatter, (uint64_t)round);

		/* Sometimes even before it has found us. */
		if (round % 4 != 3) {
			cr_assert(becomes(port, false), "round %d", round);
			cr_assert_eq(talk(port, 1, PATIENCE_NS) > 0, true, "round %d", round);
		}
		talk(port, UINT32_MAX, prng_below(&dice, 20000000));
		end_child(pid);
		cr_assert(becomes(port, true), "round %d", round);
	}
	cr_expect_eq(port_link_stats(port)->resets, 0);
	port->ops->close(port);
	cr_expect_eq(pkt_pool_mem_nb_free(pool), 4 * BURST);
}

Test(link, when_the_one_that_was_first_dies_the_other_takes_its_place)
{
	for (int round = 0; round < 5; round++) {
		pid_t pid = start_child(chatter, 1);
		uint64_t end_ns = now() + PATIENCE_NS;
		struct port *port;

		while (access(path, F_OK) < 0 && now() < end_ns)
			nap();
		port = open_end();
		cr_assert(becomes(port, false));
		end_child(pid);
		cr_assert(becomes(port, true));
		pid = start_child(chatter, 2);
		cr_assert(becomes(port, false));
		cr_expect_gt(talk(port, 1, PATIENCE_NS), 0);
		end_child(pid);
		cr_assert(becomes(port, true));
		port->ops->close(port);
	}
}

Test(link, what_is_sent_to_a_stopped_peer_is_dropped_in_the_end_until_it_goes_on)
{
	struct port *port = open_end();
	pid_t pid = start_child(chatter, 1);
	uint64_t end_ns;

	cr_assert(becomes(port, false));
	cr_assert_gt(talk(port, 1, PATIENCE_NS), 0);
	kill(pid, SIGSTOP);
	end_ns = now() + PATIENCE_NS;
	while (port_link_stats(port)->stalls == 0 && now() < end_ns)
		talk(port, UINT32_MAX, 1000000);
	cr_expect_eq(port_link_stats(port)->stalls, 1);
	cr_expect_gt(port->ops->tx_room(port), BURST);
	cr_expect_eq(push(port, 5, 60, 0), 5);
	cr_expect_geq(port->stats.tx_dropped, 5);
	cr_expect_not(port->is_down);
	kill(pid, SIGCONT);
	cr_expect_gt(talk(port, 1, PATIENCE_NS), 0);
	end_child(pid);
	cr_assert(becomes(port, true));
	port->ops->close(port);
}

/* Says hello as it should, and then writes anything anywhere. */
static void
scribble(uint64_t seed)
{
	struct link_conn *conn;
	struct link_pids pids;
	struct prng dice;

	prng_seed(&dice, seed);
	while (link_hello_call(path, &conn, &pids))
		nap();
	for (;;) {
		struct link_ring_shm *ring = prng_below(&dice, 2) ? conn->tx.shm : conn->rx.shm;
		_Atomic uint32_t *words[] = {&ring->tail, &ring->head, &ring->wants_room,
		                             &ring->wants_frames, &ring->room_at};
		uint32_t v =
			prng_below(&dice, 4) ? prng_below(&dice, 64) : (uint32_t)prng_next(&dice);

		if (prng_below(&dice, 2))
			ring->lens[prng_below(&dice, LINK_RING_FRAMES)] = v;
		else if (prng_below(&dice, 500) == 0)
			*words[prng_below(&dice, 5)] = v;
		else
			atomic_fetch_add(words[prng_below(&dice, 2)], prng_below(&dice, 8) == 0);
		if (prng_below(&dice, 64) == 0)
			link_conn_ring(conn);
	}
}

Test(link, a_peer_that_scribbles_over_all_shared_words_harms_nobody)
{
	struct port *port = open_end();
	uint64_t resets = 0;
	pid_t pid;

	for (uint64_t seed = 0; seed < 30; seed++) {
		uint64_t end_ns = now() + 300000000;

		pid = start_child(scribble, seed);
		cr_assert(becomes(port, false), "seed %d", (int)seed);
		while (!port->is_down && now() < end_ns) {
			struct pkt *pkts[BURST];

			pkt_free(pkts, port->ops->rx_burst(port, pkts, BURST, now()));
			push(port, BURST, 4200, 4);
			if (now() % 16 == 0)
				sleeps_until_readable(port, 1);
		}
		end_child(pid);
		cr_assert(becomes(port, true));
		resets = port_link_stats(port)->resets;
	}
	cr_expect_geq(resets, 10, "%d", (int)resets);

	/* And an honest one is served as if nothing had been. */
	pid = start_child(chatter, 1);
	cr_assert(becomes(port, false));
	cr_expect_gt(talk(port, 1000, PATIENCE_NS), 999);
	end_child(pid);
	cr_assert(becomes(port, true));
	port->ops->close(port);
	cr_expect_eq(pkt_pool_mem_nb_free(pool), 4 * BURST);
}

/* Connects and says nothing. */
static void
be_silent(uint64_t seed)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	(void)seed;
	strcpy(addr.sun_path, path);
	while (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		nap();
	pause();
}

Test(link, a_caller_that_says_nothing_keeps_others_waiting_for_a_short_time_only)
{
	struct port *port = open_end(), *peer;
	pid_t pid = start_child(be_silent, 0);

	usleep(20000);
	peer = open_end();
	cr_expect(becomes(port, false));
	cr_expect(becomes(peer, false));
	end_child(pid);
	port->ops->close(port);
	peer->ops->close(peer);
}

static void
call_as_nobody(uint64_t seed)
{
	struct link_conn *conn;
	struct link_pids pids;

	(void)seed;
	if (setuid(65534) < 0)
		_exit(1);
	/* The folder and the socket were opened for it, so that only the check is left. */
	_exit(link_hello_call(path, &conn, &pids) == 0 ? 2 : 0);
}

Test(link, another_user_is_refused)
{
	struct port *port = open_end();
	uint64_t end_ns = now() + PATIENCE_NS;
	struct stat st;
	int status;

	while (stat(path, &st) < 0 && now() < end_ns)
		nap();
	cr_expect_eq(st.st_mode & 0777, 0600);
	if (geteuid() == 0) {
		cr_assert_eq(chmod(dir, 0755) | chmod(path, 0666), 0);
		waitpid(start_child(call_as_nobody, 0), &status, 0);
		cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		while (nb_logged < 1 && now() < end_ns)
			nap();
		cr_expect_not_null(strstr(logged[0], "belongs to another user"), "%s", logged[0]);
	}
	cr_expect(port->is_down);
	port->ops->close(port);
}
