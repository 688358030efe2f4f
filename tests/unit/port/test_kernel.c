/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "af_packet.h"
#include "af_xdp.h"
#include "engine.h"
#include "mem.h"
#include "roce_frames.h"
#include "xdp_prog.h"

/*
 * Ports on the two ends of a veth pair in a network namespace of this test's own. For root only.
 */

#define ROOM 2048
#define NB_PKTS 4095

enum kind { AF_PACKET_PORT, AF_XDP_PORT, NB_KINDS };

static const char *const kind_names[] = {"af_packet", "af_xdp"};
static char why[256];

static void
shell(const char *command)
{
	cr_assert_eq(system(command), 0, "%s", command);
}

static void
new_namespace(void)
{
	if (unshare(CLONE_NEWNET) < 0 ||
	    system("ip link add w0 type veth peer name w1 2>/dev/null") != 0)
		cr_skip_test("a network namespace needs root and iproute2");
	shell("sysctl -q net.ipv6.conf.all.disable_ipv6=1 2>/dev/null; ip link set w0 up && ip "
	      "link set w1 up && ip link set lo up");
}

static uint64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int
open_kind(enum kind kind, const char *name, enum kernel_take take, struct pkt_pool *pool,
          struct port **port)
{
	struct af_xdp_info info;

	if (kind == AF_PACKET_PORT)
		return port_af_packet_open(name, take, pool, port, why, sizeof(why));
	return port_af_xdp_open(name, take, pool, &info, port, why, sizeof(why));
}

static struct port *
open_good(enum kind kind, const char *name, enum kernel_take take, struct pkt_pool *pool)
{
	struct port *port;

	cr_assert_eq(open_kind(kind, name, take, pool, &port), 0, "%s", why);
	return port;
}

static void
send_frame(struct port *port, struct pkt_pool *pool, const uint8_t *bytes, uint32_t len)
{
	struct pkt *p;

	cr_assert_eq(pool->alloc(pool, &p, 1), 1);
	memcpy(p->data, bytes, len);
	p->len = len;
	cr_assert_gt(port->ops->tx_room(port), 0);
	cr_assert_eq(port->ops->tx_burst(port, &p, 1, now()), 1);
}

/* The next frame, or NULL after so long. Sleeps as a worker does. */
static struct pkt *
receive(struct port *port, int ms)
{
	uint64_t end_ns = now() + (uint64_t)ms * 1000000;
	struct pkt *p;

	for (;;) {
		struct pollfd fd = {.fd = port->ops->wait_fd(port), .events = POLLIN};
		uint64_t now_ns = now();

		if (port->ops->rx_burst(port, &p, 1, now_ns) == 1)
			return p;
		if (now_ns >= end_ns)
			return NULL;
		if (!port->ops->doze(port, true))
			poll(&fd, 1, (int)((end_ns - now_ns) / 1000000) + 1);
		port->ops->doze(port, false);
	}
}

/* Turns without a sleep, until the port says that its link is up or down. */
static bool
link_becomes(struct port *port, bool down)
{
	struct pkt *p;

	for (uint64_t end_ns = now() + 3000000000u; now() < end_ns; sched_yield()) {
		if (port->ops->rx_burst(port, &p, 1, now()) == 1)
			pkt_free(&p, 1);
		if (port->is_down == down)
			return true;
	}
	return false;
}

TestSuite(kernel_port, .init = new_namespace, .timeout = 60);

Test(kernel_port, a_host_stack_gets_its_frames_whole_and_no_others)
{
	struct pkt_pool *pool = pkt_pool_mem_create(NB_PKTS, ROOM);
	struct roce_frame frames[ROCE_FRAMES_MAX];
	uint32_t nb_frames = roce_frames(frames);

	for (enum kind kind = 0; kind < NB_KINDS; kind++) {
		struct port *a = open_good(kind, "w0", KERNEL_TAKE_ROCE, pool);
		struct port *b = open_good(kind, "w1", KERNEL_TAKE_ROCE, pool);

		cr_expect(link_becomes(a, false) && link_becomes(b, false));
		for (uint32_t i = 0; i < nb_frames; i++) {
			struct roce_frame *f = &frames[i];
			struct pkt *p;

			send_frame(a, pool, f->bytes, f->len);
			p = receive(b, f->is_ours ? 1000 : 5);
			cr_expect_eq(p != NULL, f->is_ours, "%s: %s", kind_names[kind], f->name);
			if (!p)
				continue;
			cr_expect(p->len == f->len && !memcmp(p->data, f->bytes, f->len), "%s: %s",
			          kind_names[kind], f->name);
			pkt_free(&p, 1);
		}
		a->ops->close(a);
		b->ops->close(b);
		cr_expect_eq(pkt_pool_mem_nb_free(pool), NB_PKTS);
	}
	pkt_pool_mem_destroy(pool);
}

Test(kernel_port, a_switch_gets_all_frames)
{
	struct pkt_pool *pool = pkt_pool_mem_create(NB_PKTS, ROOM);
	struct roce_frame frames[ROCE_FRAMES_MAX];
	uint32_t nb_frames = roce_frames(frames);

	for (enum kind kind = 0; kind < NB_KINDS; kind++) {
		struct port *a = open_good(kind, "w0", KERNEL_TAKE_ALL, pool);
		struct port *b = open_good(kind, "w1", KERNEL_TAKE_ALL, pool);

		cr_expect(link_becomes(a, false) && link_becomes(b, false));
		for (uint32_t i = 0; i < nb_frames; i++) {
			struct pkt *p;

			/* The kernel itself drops a tag with nothing behind it. */
			if (frames[i].has_tag && frames[i].len < 20)
				continue;
			send_frame(a, pool, frames[i].bytes, frames[i].len);
			p = receive(b, 1000);
			cr_assert_not_null(p, "%s: %s", kind_names[kind], frames[i].name);
			cr_expect(p->len == frames[i].len &&
			                  !memcmp(p->data, frames[i].bytes, p->len),
			          "%s: %s", kind_names[kind], frames[i].name);
			pkt_free(&p, 1);
		}
		a->ops->close(a);
		b->ops->close(b);
	}
	pkt_pool_mem_destroy(pool);
}

/* More frames than either side has room for, turn by turn: what is not lost arrives in order. */
Test(kernel_port, many_frames_come_in_order_and_every_packet_comes_home)
{
	struct pkt_pool *pool = pkt_pool_mem_create(NB_PKTS, ROOM);
	struct roce_frame frames[ROCE_FRAMES_MAX];

	roce_frames(frames);
	for (enum kind kind = 0; kind < NB_KINDS; kind++) {
		struct port *a = open_good(kind, "w0", KERNEL_TAKE_ROCE, pool);
		struct port *b = open_good(kind, "w1", KERNEL_TAKE_ROCE, pool);
		uint32_t nb_got = 0, next = 0;

		cr_expect(link_becomes(a, false) && link_becomes(b, false));
		for (uint32_t i = 0; i < 20000; i += 32) {
			struct pkt *pkts[32];
			uint32_t n;

			cr_assert_eq(pool->alloc(pool, pkts, 32), 32);
			for (uint32_t k = 0; k < 32; k++) {
				uint32_t number = i + k;

				memcpy(pkts[k]->data, frames[0].bytes, frames[0].len);
				memcpy(pkts[k]->data + frames[0].len, &number, sizeof(number));
				pkts[k]->len = 1000;
			}
			n = a->ops->tx_burst(a, pkts, 32, now());
			pkt_free(pkts + n, 32 - n);
			while ((n = b->ops->rx_burst(b, pkts, 32, now())) > 0) {
				for (uint32_t k = 0; k < n; k++) {
					uint32_t number;

					memcpy(&number, pkts[k]->data + frames[0].len,
					       sizeof(number));
					cr_assert_geq(number, next);
					next = number + 1;
				}
				nb_got += n;
				pkt_free(pkts, n);
			}
		}
		cr_expect_gt(nb_got, 1000, "%s: %u", kind_names[kind], nb_got);
		a->ops->close(a);
		b->ops->close(b);
		cr_expect_eq(pkt_pool_mem_nb_free(pool), NB_PKTS, "%s", kind_names[kind]);
	}
	pkt_pool_mem_destroy(pool);
}

Test(kernel_port, a_frame_too_large_for_a_packet_is_dropped_and_counted)
{
	struct pkt_pool *large = pkt_pool_mem_create(64, 1600);
	struct pkt_pool *small = pkt_pool_mem_create(64, 100);
	struct roce_frame frames[ROCE_FRAMES_MAX];
	uint8_t bytes[1000];

	roce_frames(frames);
	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, frames[0].bytes, frames[0].len);
	for (enum kind kind = 0; kind < NB_KINDS; kind++) {
		struct port *a = open_good(kind, "w0", KERNEL_TAKE_ROCE, large);
		struct port *b = open_good(kind, "w1", KERNEL_TAKE_ROCE, small);

		cr_expect(link_becomes(a, false) && link_becomes(b, false));
		send_frame(a, large, bytes, sizeof(bytes));
		cr_expect_null(receive(b, 50));
		cr_expect_eq(b->stats.rx_dropped, 1, "%s", kind_names[kind]);
		a->ops->close(a);
		b->ops->close(b);
	}
	pkt_pool_mem_destroy(large);
	pkt_pool_mem_destroy(small);
}

/* veth says of such frames that it has no room. */
Test(kernel_port, frames_too_long_for_the_other_end_do_not_stop_those_behind_them)
{
	struct pkt_pool *pool = pkt_pool_mem_create(NB_PKTS, ROOM);
	struct roce_frame frames[ROCE_FRAMES_MAX];
	uint8_t bytes[1400] = {0};

	roce_frames(frames);
	memcpy(bytes, frames[0].bytes, frames[0].len);
	for (enum kind kind = 0; kind < NB_KINDS; kind++) {
		struct port *a = open_good(kind, "w0", KERNEL_TAKE_ROCE, pool);
		struct port *b = open_good(kind, "w1", KERNEL_TAKE_ROCE, pool);
		struct pkt *p = NULL, *none;

		cr_expect(link_becomes(a, false) && link_becomes(b, false));
		shell("ip link set w1 mtu 600");
		for (int i = 0; i < 50; i++)
			send_frame(a, pool, bytes, sizeof(bytes));
		send_frame(a, pool, frames[0].bytes, frames[0].len);
		for (int i = 0; i < 300 && !p; i++) {
			cr_expect_eq(a->ops->rx_burst(a, &none, 1, now()), 0);
			p = receive(b, 10);
		}
		cr_assert_not_null(p, "%s", kind_names[kind]);
		cr_expect_eq(p->len, frames[0].len);
		pkt_free(&p, 1);
		shell("ip link set w1 mtu 1500");
		a->ops->close(a);
		b->ops->close(b);
		cr_expect_eq(pkt_pool_mem_nb_free(pool), NB_PKTS);
	}
	pkt_pool_mem_destroy(pool);
}

Test(kernel_port, a_link_goes_down_up_and_away)
{
	struct pkt_pool *pool = pkt_pool_mem_create(NB_PKTS, ROOM);
	struct roce_frame frames[ROCE_FRAMES_MAX];
	struct pkt *p;

	roce_frames(frames);
	for (enum kind kind = 0; kind < NB_KINDS; kind++) {
		struct port *a = open_good(kind, "w0", KERNEL_TAKE_ROCE, pool);
		struct port *b = open_good(kind, "w1", KERNEL_TAKE_ROCE, pool);

		cr_expect(link_becomes(a, false) && link_becomes(b, false));
		shell("ip link set w0 down");
		cr_expect(link_becomes(a, true), "%s", kind_names[kind]);
		cr_expect(link_becomes(b, true), "%s: no carrier", kind_names[kind]);
		/* Far more than any queue holds: taken, and dropped. */
		for (int i = 0; i < 3000; i++)
			send_frame(a, pool, frames[0].bytes, frames[0].len);
		cr_expect_eq(a->stats.tx_dropped, 3000, "%s: %lu", kind_names[kind],
		             (unsigned long)a->stats.tx_dropped);
		shell("ip link set w0 up");
		cr_expect(link_becomes(a, false) && link_becomes(b, false), "%s", kind_names[kind]);
		send_frame(a, pool, frames[0].bytes, frames[0].len);
		p = receive(b, 1000);
		cr_assert_not_null(p, "%s", kind_names[kind]);
		pkt_free(&p, 1);

		shell("ip link del w0");
		cr_expect(link_becomes(a, true) && link_becomes(b, true), "%s: removed",
		          kind_names[kind]);
		for (int i = 0; i < 3000; i++)
			send_frame(a, pool, frames[0].bytes, frames[0].len);
		cr_expect_null(receive(b, 20));
		a->ops->close(a);
		b->ops->close(b);
		cr_expect_eq(pkt_pool_mem_nb_free(pool), NB_PKTS);
		shell("ip link add w0 type veth peer name w1 && ip link set w0 up && ip link set "
		      "w1 "
		      "up");
	}
	pkt_pool_mem_destroy(pool);
}

/* Nothing of its comes to the port any more, so that it must not look as if it did. */
Test(kernel_port, an_interface_with_the_index_of_one_that_left_is_another)
{
	struct pkt_pool *pool = pkt_pool_mem_create(64, ROOM);
	struct pkt *p;
	char again[200];

	snprintf(again, sizeof(again),
	         "ip link del w0; ip link add w0 index %u type veth peer name w1 && ip link set w0 "
	         "up && ip link set w1 up",
	         if_nametoindex("w0"));
	for (enum kind kind = 0; kind < NB_KINDS; kind++) {
		struct port *a = open_good(kind, "w0", KERNEL_TAKE_ROCE, pool);

		cr_expect(link_becomes(a, false));
		shell(again);
		cr_expect(link_becomes(a, true), "%s", kind_names[kind]);
		while ((p = receive(a, 100)))
			pkt_free(&p, 1);
		cr_expect(a->is_down, "%s", kind_names[kind]);
		a->ops->close(a);
		a = open_good(kind, "w0", KERNEL_TAKE_ROCE, pool);
		cr_expect(link_becomes(a, false), "%s: opened again", kind_names[kind]);
		a->ops->close(a);
	}
	pkt_pool_mem_destroy(pool);
}

/* A level-triggered wait must come to rest: a descriptor that stays readable is a busy loop. */
Test(kernel_port, nothing_is_readable_when_nothing_is_to_do)
{
	struct pkt_pool *pool = pkt_pool_mem_create(64, ROOM);

	for (enum kind kind = 0; kind < NB_KINDS; kind++) {
		struct port *a = open_good(kind, "w0", KERNEL_TAKE_ROCE, pool);
		struct pollfd fd = {.fd = a->ops->wait_fd(a), .events = POLLIN};

		for (int round = 0; round < 2; round++) {
			shell(round == 0 ? "ip link set w0 down" : "ip link set w0 up");
			cr_expect(link_becomes(a, round == 0));
			cr_expect_null(receive(a, 100));
			cr_expect_eq(poll(&fd, 1, 0), 0, "%s: round %d", kind_names[kind], round);
		}
		a->ops->close(a);
	}
	pkt_pool_mem_destroy(pool);
}

Test(kernel_port, refusals_say_what_is_wrong)
{
	struct pkt_pool *pool = pkt_pool_mem_create(64, ROOM);

	for (enum kind kind = 0; kind < NB_KINDS; kind++) {
		struct port *a, *second;

		cr_expect_eq(open_kind(kind, "nowhere", KERNEL_TAKE_ROCE, pool, &a), -ENODEV);
		cr_expect_str_eq(why, "no interface nowhere here; there are: lo, w1, w0");
		cr_expect_eq(open_kind(kind, "lo", KERNEL_TAKE_ROCE, pool, &a), -ENOTSUP);
		cr_expect_str_eq(why, "lo is not an Ethernet interface");

		a = open_good(kind, "w0", KERNEL_TAKE_ROCE, pool);
		for (enum kind other = 0; other < NB_KINDS; other++) {
			cr_expect_eq(open_kind(other, "w0", KERNEL_TAKE_ROCE, pool, &second),
			             -EBUSY);
			cr_expect_str_eq(why, "w0 is in use by another port of this process: one "
			                      "port per interface");
		}
		a->ops->close(a);
		a = open_good(kind, "w0", KERNEL_TAKE_ROCE, pool);
		a->ops->close(a);
	}
	pkt_pool_mem_destroy(pool);
}

/* Whoever is refused is told by whom, however many were before. */
Test(kernel_port, every_refusal_names_the_process_that_has_the_interface)
{
	struct pkt_pool *pool = pkt_pool_mem_create(64, ROOM);

	for (enum kind kind = 0; kind < NB_KINDS; kind++) {
		struct port *a = open_good(kind, "w0", KERNEL_TAKE_ROCE, pool), *second;
		struct pollfd fd = {.fd = a->ops->wait_fd(a), .events = POLLIN};
		char want[128];

		snprintf(want, sizeof(want),
		         "w0 is in use by a port of process %d: one port per interface",
		         (int)getpid());
		for (int i = 0; i < 50; i++) {
			pid_t child = fork();
			int status;

			if (child == 0) {
				int err = open_kind(kind, "w0", KERNEL_TAKE_ROCE, pool, &second);

				_exit(err == -EBUSY && strcmp(why, want) == 0 ? 0 : 1);
			}
			cr_assert_eq(waitpid(child, &status, 0), child);
			cr_expect_eq(status, 0, "%s: refusal %d", kind_names[kind], i);
			cr_expect_eq(poll(&fd, 1, 1000), 1);
			cr_expect_null(receive(a, 1));
			cr_expect_eq(poll(&fd, 1, 0), 0, "%s: it comes to rest", kind_names[kind]);
		}
		a->ops->close(a);
	}
	pkt_pool_mem_destroy(pool);
}

Test(kernel_port, a_foreign_xdp_program_stays_and_is_named)
{
	static const struct bpf_insn pass[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = XDP_PASS},
		{.code = BPF_JMP | BPF_EXIT},
	};
	struct pkt_pool *pool = pkt_pool_mem_create(64, ROOM);
	int index = (int)if_nametoindex("w0"), fd;
	char name[XDP_PROG_NAME_LEN];
	struct kernel_if kif;
	struct port *port;
	uint32_t id = 0;

	fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "somebodys", "GPL", pass, 2, NULL);
	if (fd < 0)
		cr_skip_test("loading a BPF program needs root");
	cr_assert_eq(bpf_xdp_attach(index, fd, XDP_FLAGS_UPDATE_IF_NOEXIST, NULL), 0);
	cr_assert_eq(kernel_if_find("w0", &kif), 0);
	cr_expect(xdp_prog_is_foreign(&kif, name));
	cr_expect_str_eq(name, "somebodys");
	cr_expect_eq(kernel_port_holder(&kif), 0);
	cr_expect_eq(open_kind(AF_XDP_PORT, "w0", KERNEL_TAKE_ROCE, pool, &port), -EBUSY);
	cr_expect(strstr(why, "w0 has an XDP program 'somebodys'"), "%s", why);
	cr_expect_eq(bpf_xdp_query_id(index, 0, &id), 0);
	cr_expect_neq(id, 0);
	cr_assert_eq(bpf_xdp_detach(index, 0, NULL), 0);
	port = open_good(AF_XDP_PORT, "w0", KERNEL_TAKE_ROCE, pool);
	cr_expect_not(xdp_prog_is_foreign(&kif, name), "ours is not");
	cr_expect_eq(kernel_port_holder(&kif), getpid());
	port->ops->close(port);
	cr_expect_eq(bpf_xdp_query_id(index, 0, &id), 0);
	cr_expect_eq(id, 0, "ours goes with the port");
	pkt_pool_mem_destroy(pool);
}
