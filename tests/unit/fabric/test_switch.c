/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "engine.h"
#include "mem.h"
#include "switch.h"

#define NB_PORTS 4
#define NB_PKTS 256
#define AGE_NS UINT64_C(300000000000)

static const struct switch_params params_default = {
	.macs_max = 1024,
	.mac_age_ns = AGE_NS,
	.queue_pkts_max = 64,
	.queue_bytes_max = 1 << 20,
};

struct bench {
	struct pkt_pool *pool;
	struct fabric_switch *sw;
};

static struct bench
bench_open(const struct switch_params *params, uint16_t nb_ports)
{
	struct bench b = {.pool = pkt_pool_mem_create(NB_PKTS, 2048)};

	b.sw = switch_create(nb_ports, params, b.pool);
	cr_assert_not_null(b.sw);
	return b;
}

static void
bench_close(struct bench *b)
{
	switch_destroy(b->sw);
	cr_expect_eq(pkt_pool_mem_nb_free(b->pool), NB_PKTS);
	pkt_pool_mem_destroy(b->pool);
}

/* Host n has the address 02:00:00:00:00:n; 0xff is broadcast. */
static void
put_mac(uint8_t *mac, uint8_t host)
{
	memset(mac, host == 0xff ? 0xff : 0, 6);
	if (host != 0xff)
		mac[0] = 0x02;
	mac[5] = host;
}

static struct pkt *
frame(struct bench *b, uint8_t dst, uint8_t src, uint32_t len)
{
	struct pkt *p;

	cr_assert_eq(b->pool->alloc(b->pool, &p, 1), 1);
	memset(p->data, 0x5a, len);
	put_mac(p->data, dst);
	put_mac(p->data + 6, src);
	p->data[12] = 0x08;
	p->data[13] = 0x00;
	p->len = len;
	return p;
}

static void
receive(struct bench *b, uint16_t in_port, struct pkt *p, uint64_t now_ns)
{
	switch_receive(b->sw, in_port, &p, 1, now_ns);
}

/* How many frames leave a port; they are freed. */
static uint32_t
drain(struct bench *b, uint16_t port)
{
	struct pkt *pkts[NB_PKTS];
	uint32_t n = switch_send(b->sw, port, pkts, NB_PKTS, 0);

	pkt_free(pkts, n);
	return n;
}

static void
expect_leaves(struct bench *b, const uint32_t want[NB_PORTS], const char *what)
{
	for (uint16_t i = 0; i < NB_PORTS; i++)
		cr_expect_eq(drain(b, i), want[i], "%s: port %u", what, i);
	cr_expect_eq(switch_next_ns(b->sw), NEVER_NS);
}

Test(fabric_switch, floods_until_it_has_learned)
{
	struct bench b = bench_open(&params_default, NB_PORTS);

	receive(&b, 1, frame(&b, 9, 5, 60), 0);
	cr_expect_eq(switch_next_ns(b.sw), 0);
	expect_leaves(&b, (uint32_t[]){1, 0, 1, 1}, "unknown");
	receive(&b, 3, frame(&b, 5, 9, 60), 0);
	expect_leaves(&b, (uint32_t[]){0, 1, 0, 0}, "learned from the first frame");
	receive(&b, 1, frame(&b, 9, 5, 60), 0);
	expect_leaves(&b, (uint32_t[]){0, 0, 0, 1}, "learned from the answer");
	cr_expect_eq(switch_port_stats(b.sw, 1)->rx_flooded, 1);
	bench_close(&b);
}

Test(fabric_switch, a_known_frame_goes_by_pointer_and_a_flooded_one_whole)
{
	struct bench b = bench_open(&params_default, NB_PORTS);
	struct pkt *p = frame(&b, 0xff, 5, 1500), *out;
	uint8_t bytes[1500];

	memcpy(bytes, p->data, sizeof(bytes));
	receive(&b, 2, p, 0);
	for (uint16_t i = 0; i < NB_PORTS; i++) {
		uint32_t n = switch_send(b.sw, i, &out, 1, 0);

		cr_assert_eq(n, i == 2 ? 0 : 1);
		if (n == 0)
			continue;
		cr_expect_eq(out->len, 1500);
		cr_expect_arr_eq(out->data, bytes, sizeof(bytes));
		pkt_free(&out, 1);
	}
	p = frame(&b, 5, 6, 1500);
	receive(&b, 0, p, 0);
	cr_assert_eq(switch_send(b.sw, 2, &out, 1, 0), 1);
	cr_expect_eq(out, p);
	cr_expect_eq(out->in_port, 0);
	pkt_free(&out, 1);
	bench_close(&b);
}

Test(fabric_switch, broadcast_and_multicast_go_everywhere_else)
{
	static const uint8_t groups[][6] = {
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		{0x33, 0x33, 0xff, 0, 0, 1},
		{0x01, 0x00, 0x5e, 0, 0, 1},
		{0x01, 0x80, 0xc2, 0x00, 0x00, 0x10},
	};
	struct bench b = bench_open(&params_default, NB_PORTS);

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		struct pkt *p = frame(&b, 0, 5, 60);

		memcpy(p->data, groups[i], 6);
		receive(&b, 0, p, 0);
		expect_leaves(&b, (uint32_t[]){0, 1, 1, 1}, "group");
	}
	bench_close(&b);
}

Test(fabric_switch, never_forwards_pause_frames_or_reserved_groups)
{
	static const struct {
		uint8_t dst[6];
		uint8_t type[2];
		const char *what;
	} rows[] = {
		{{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01}, {0x88, 0x08}, "PFC"},
		{{0x02, 0x00, 0x00, 0x00, 0x00, 0x09}, {0x88, 0x08}, "PFC to a unicast address"},
		{{0x01, 0x80, 0xc2, 0x00, 0x00, 0x00}, {0x00, 0x27}, "spanning tree"},
		{{0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e}, {0x88, 0xcc}, "LLDP"},
		{{0x01, 0x80, 0xc2, 0x00, 0x00, 0x0f}, {0x08, 0x00}, "the last reserved one"},
	};
	struct bench b = bench_open(&params_default, NB_PORTS);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pkt *p = frame(&b, 0, 5, 60);

		memcpy(p->data, rows[i].dst, 6);
		memcpy(p->data + 12, rows[i].type, 2);
		receive(&b, 0, p, 0);
		expect_leaves(&b, (uint32_t[]){0, 0, 0, 0}, rows[i].what);
		cr_expect_eq(switch_port_stats(b.sw, 0)->rx_control, i + 1);
	}
	receive(&b, 1, frame(&b, 5, 6, 60), 0);
	expect_leaves(&b, (uint32_t[]){1, 0, 1, 1}, "and learns nothing from them");
	bench_close(&b);
}

Test(fabric_switch, filters_what_would_go_back)
{
	struct bench b = bench_open(&params_default, NB_PORTS);

	receive(&b, 1, frame(&b, 0xff, 5, 60), 0);
	expect_leaves(&b, (uint32_t[]){1, 0, 1, 1}, "learn");
	receive(&b, 1, frame(&b, 5, 6, 60), 0);
	expect_leaves(&b, (uint32_t[]){0, 0, 0, 0}, "same port");
	cr_expect_eq(switch_port_stats(b.sw, 1)->rx_filtered, 1);
	bench_close(&b);
}

Test(fabric_switch, follows_a_host_that_moves_even_within_a_burst)
{
	struct bench b = bench_open(&params_default, NB_PORTS);
	struct pkt *burst[3];

	receive(&b, 1, frame(&b, 0xff, 5, 60), 0);
	expect_leaves(&b, (uint32_t[]){1, 0, 1, 1}, "at port 1");
	/* Port 2 sends to 5, then 5 itself speaks there, then somebody sends to it again. */
	burst[0] = frame(&b, 5, 6, 60);
	burst[1] = frame(&b, 7, 5, 60);
	burst[2] = frame(&b, 5, 6, 60);
	switch_receive(b.sw, 2, burst, 3, 0);
	expect_leaves(&b, (uint32_t[]){1, 2, 0, 1},
	              "first to port 1, second flooded, third filtered");
	cr_expect_eq(switch_port_stats(b.sw, 2)->rx_filtered, 1);
	receive(&b, 0, frame(&b, 5, 8, 60), 0);
	expect_leaves(&b, (uint32_t[]){0, 0, 1, 0}, "at port 2");
	bench_close(&b);
}

Test(fabric_switch, forgets_after_the_age)
{
	struct bench b = bench_open(&params_default, NB_PORTS);

	receive(&b, 1, frame(&b, 0xff, 5, 60), 0);
	expect_leaves(&b, (uint32_t[]){1, 0, 1, 1}, "learn");
	receive(&b, 0, frame(&b, 5, 6, 60), AGE_NS - 1);
	expect_leaves(&b, (uint32_t[]){0, 1, 0, 0}, "young");
	receive(&b, 0, frame(&b, 5, 6, 60), AGE_NS);
	expect_leaves(&b, (uint32_t[]){0, 1, 1, 1}, "old");
	bench_close(&b);
}

Test(fabric_switch, a_zero_or_group_source_is_forwarded_and_not_learned)
{
	struct bench b = bench_open(&params_default, NB_PORTS);
	struct pkt *p = frame(&b, 9, 0, 60);

	memset(p->data + 6, 0, 6);
	receive(&b, 1, p, 0);
	expect_leaves(&b, (uint32_t[]){1, 0, 1, 1}, "zero source");
	p = frame(&b, 0, 9, 60);
	memset(p->data, 0, 6);
	receive(&b, 0, p, 0);
	expect_leaves(&b, (uint32_t[]){0, 1, 1, 1}, "zero destination");
	receive(&b, 1, frame(&b, 9, 0xff, 60), 0);
	expect_leaves(&b, (uint32_t[]){1, 0, 0, 0}, "group source");
	receive(&b, 2, frame(&b, 0xff, 5, 60), 0);
	expect_leaves(&b, (uint32_t[]){1, 1, 0, 1}, "broadcast still floods");
	bench_close(&b);
}

Test(fabric_switch, survives_frames_of_any_length)
{
	struct bench b = bench_open(&params_default, NB_PORTS);

	for (uint32_t len = 0; len < 20; len++) {
		struct pkt *p = frame(&b, 9, 5, 20);

		p->len = len;
		receive(&b, 0, p, 0);
		expect_leaves(&b, len < 14 ? (uint32_t[]){0, 0, 0, 0} : (uint32_t[]){0, 1, 1, 1},
		              "short");
	}
	cr_expect_eq(switch_port_stats(b.sw, 0)->rx_bad, 14);
	bench_close(&b);
}

Test(fabric_switch, bounds_each_queue_in_packets_and_bytes)
{
	static const struct {
		uint32_t pkts_max;
		uint64_t bytes_max;
		uint32_t nb_sent, len, nb_left;
	} rows[] = {
		{10, 1 << 20, 12, 60, 10},
		{64, 5999, 10, 1000, 5},
		{64, 6000, 10, 1000, 6},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct switch_params params = params_default;
		struct bench b;

		params.queue_pkts_max = rows[i].pkts_max;
		params.queue_bytes_max = rows[i].bytes_max;
		b = bench_open(&params, 2);
		for (uint32_t n = 0; n < rows[i].nb_sent; n++)
			receive(&b, 0, frame(&b, 9, 5, rows[i].len), 0);
		cr_expect_eq(switch_port_stats(b.sw, 1)->tx_queue_full,
		             rows[i].nb_sent - rows[i].nb_left, "row %zu", i);
		cr_expect_eq(drain(&b, 1), rows[i].nb_left, "row %zu", i);
		receive(&b, 0, frame(&b, 9, 5, rows[i].len), 0);
		cr_expect_eq(drain(&b, 1), 1, "room again");
		bench_close(&b);
	}
}

Test(fabric_switch, a_full_queue_takes_no_copy_of_a_flooded_frame)
{
	struct switch_params params = params_default;
	struct bench b;

	params.queue_pkts_max = 2;
	b = bench_open(&params, NB_PORTS);
	for (int i = 0; i < 5; i++)
		receive(&b, 3, frame(&b, 0xff, 5, 60), 0);
	for (uint16_t i = 0; i < 3; i++)
		cr_expect_eq(switch_port_stats(b.sw, i)->tx_queue_full, 3, "port %u", i);
	expect_leaves(&b, (uint32_t[]){2, 2, 2, 0}, "two each");
	bench_close(&b);
}

Test(fabric_switch, an_empty_pool_costs_copies_and_counts_them)
{
	struct bench b = bench_open(&params_default, NB_PORTS);
	struct pkt *p = frame(&b, 0xff, 5, 60), *rest[NB_PKTS];

	cr_assert_eq(b.pool->alloc(b.pool, rest, NB_PKTS - 2), NB_PKTS - 2);
	receive(&b, 0, p, 0);
	expect_leaves(&b, (uint32_t[]){0, 1, 1, 0}, "the frame and one copy");
	cr_expect_eq(switch_port_stats(b.sw, 3)->tx_no_buffer, 1);
	pkt_free(rest, NB_PKTS - 2);
	bench_close(&b);
}

Test(fabric_switch, counts_frames_and_bytes_of_each_port)
{
	struct bench b = bench_open(&params_default, 2);

	receive(&b, 0, frame(&b, 9, 5, 100), 0);
	receive(&b, 0, frame(&b, 9, 5, 200), 0);
	drain(&b, 1);
	cr_expect_eq(switch_port_stats(b.sw, 0)->rx_packets, 2);
	cr_expect_eq(switch_port_stats(b.sw, 0)->rx_bytes, 300);
	cr_expect_eq(switch_port_stats(b.sw, 1)->tx_packets, 2);
	cr_expect_eq(switch_port_stats(b.sw, 1)->tx_bytes, 300);
	bench_close(&b);
}

Test(fabric_switch, frees_at_the_end_what_is_still_queued_and_lives_with_one_port)
{
	struct bench b = bench_open(&params_default, 1);

	receive(&b, 0, frame(&b, 0xff, 5, 60), 0);
	cr_expect_eq(drain(&b, 0), 0);
	bench_close(&b);
	b = bench_open(&params_default, NB_PORTS);
	receive(&b, 0, frame(&b, 0xff, 5, 60), 0);
	bench_close(&b);
}

Test(fabric_switch, keys_have_a_default_in_range)
{
	for (const struct param_desc *d = switch_param_descs; d->name; d++) {
		cr_expect(d->min <= d->def && d->def <= d->max, "%s", d->name);
		cr_expect_lt(d->offset, sizeof(struct switch_params), "%s", d->name);
	}
}
