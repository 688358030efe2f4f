/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "engine.h"
#include "fabric_rig.h"

#define NB_PORTS 4
#define AGE_NS UINT64_C(300000000000)

static struct rig
open_rig(uint16_t nb_ports)
{
	struct rig r;

	rig_init(&r, nb_ports);
	r.nb_pkts = 256;
	rig_open(&r);
	return r;
}

static void
expect_leaves(struct rig *b, const uint32_t want[NB_PORTS], const char *what)
{
	for (uint16_t i = 0; i < NB_PORTS; i++)
		cr_expect_eq(rig_drain(b, i, 0), want[i], "%s: port %u", what, i);
	cr_expect_eq(switch_next_ns(b->sw), NEVER_NS);
}

Test(fabric_switch, floods_until_it_has_learned)
{
	struct rig b = open_rig(NB_PORTS);

	rig_receive(&b, 1, rig_frame(&b, 9, 5, 60), 0);
	cr_expect_eq(switch_next_ns(b.sw), 0);
	expect_leaves(&b, (uint32_t[]){1, 0, 1, 1}, "unknown");
	rig_receive(&b, 3, rig_frame(&b, 5, 9, 60), 0);
	expect_leaves(&b, (uint32_t[]){0, 1, 0, 0}, "learned from the first frame");
	rig_receive(&b, 1, rig_frame(&b, 9, 5, 60), 0);
	expect_leaves(&b, (uint32_t[]){0, 0, 0, 1}, "learned from the answer");
	cr_expect_eq(rig_stats(&b, 1)->rx_flooded, 1);
	rig_close(&b);
}

Test(fabric_switch, a_known_frame_goes_by_pointer_and_a_flooded_one_whole)
{
	struct rig b = open_rig(NB_PORTS);
	struct pkt *p = rig_frame(&b, 0xff, 5, 1500), *out;
	uint8_t bytes[1500];

	memcpy(bytes, p->data, sizeof(bytes));
	rig_receive(&b, 2, p, 0);
	for (uint16_t i = 0; i < NB_PORTS; i++) {
		uint32_t n = switch_send(b.sw, i, &out, 1, 0);

		cr_assert_eq(n, i == 2 ? 0 : 1);
		if (n == 0)
			continue;
		cr_expect_eq(out->len, 1500);
		cr_expect_arr_eq(out->data, bytes, sizeof(bytes));
		pkt_free(&out, 1);
	}
	p = rig_frame(&b, 5, 6, 1500);
	rig_receive(&b, 0, p, 0);
	cr_assert_eq(switch_send(b.sw, 2, &out, 1, 0), 1);
	cr_expect_eq(out, p);
	cr_expect_eq(out->in_port, 0);
	pkt_free(&out, 1);
	rig_close(&b);
}

Test(fabric_switch, broadcast_and_multicast_go_everywhere_else)
{
	static const uint8_t groups[][6] = {
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		{0x33, 0x33, 0xff, 0, 0, 1},
		{0x01, 0x00, 0x5e, 0, 0, 1},
		{0x01, 0x80, 0xc2, 0x00, 0x00, 0x10},
	};
	struct rig b = open_rig(NB_PORTS);

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		struct pkt *p = rig_frame(&b, 0, 5, 60);

		memcpy(p->data, groups[i], 6);
		rig_receive(&b, 0, p, 0);
		expect_leaves(&b, (uint32_t[]){0, 1, 1, 1}, "group");
	}
	rig_close(&b);
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
	struct rig b = open_rig(NB_PORTS);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pkt *p = rig_frame(&b, 0, 5, 60);

		memcpy(p->data, rows[i].dst, 6);
		memcpy(p->data + 12, rows[i].type, 2);
		rig_receive(&b, 0, p, 0);
		expect_leaves(&b, (uint32_t[]){0, 0, 0, 0}, rows[i].what);
		cr_expect_eq(rig_stats(&b, 0)->rx_control, i + 1);
	}
	rig_receive(&b, 1, rig_frame(&b, 5, 6, 60), 0);
	expect_leaves(&b, (uint32_t[]){1, 0, 1, 1}, "and learns nothing from them");
	rig_close(&b);
}

Test(fabric_switch, filters_what_would_go_back)
{
	struct rig b = open_rig(NB_PORTS);

	rig_receive(&b, 1, rig_frame(&b, 0xff, 5, 60), 0);
	expect_leaves(&b, (uint32_t[]){1, 0, 1, 1}, "learn");
	rig_receive(&b, 1, rig_frame(&b, 5, 6, 60), 0);
	expect_leaves(&b, (uint32_t[]){0, 0, 0, 0}, "same port");
	cr_expect_eq(rig_stats(&b, 1)->rx_filtered, 1);
	rig_close(&b);
}

Test(fabric_switch, follows_a_host_that_moves_even_within_a_burst)
{
	struct rig b = open_rig(NB_PORTS);
	struct pkt *burst[3];

	rig_receive(&b, 1, rig_frame(&b, 0xff, 5, 60), 0);
	expect_leaves(&b, (uint32_t[]){1, 0, 1, 1}, "at port 1");
	/* Port 2 sends to 5, then 5 itself speaks there, then somebody sends to it again. */
	burst[0] = rig_frame(&b, 5, 6, 60);
	burst[1] = rig_frame(&b, 7, 5, 60);
	burst[2] = rig_frame(&b, 5, 6, 60);
	switch_receive(b.sw, 2, burst, 3, 0);
	expect_leaves(&b, (uint32_t[]){1, 2, 0, 1},
	              "first to port 1, second flooded, third filtered");
	cr_expect_eq(rig_stats(&b, 2)->rx_filtered, 1);
	rig_receive(&b, 0, rig_frame(&b, 5, 8, 60), 0);
	expect_leaves(&b, (uint32_t[]){0, 0, 1, 0}, "at port 2");
	rig_close(&b);
}

Test(fabric_switch, forgets_after_the_age)
{
	struct rig b = open_rig(NB_PORTS);

	rig_receive(&b, 1, rig_frame(&b, 0xff, 5, 60), 0);
	expect_leaves(&b, (uint32_t[]){1, 0, 1, 1}, "learn");
	rig_receive(&b, 0, rig_frame(&b, 5, 6, 60), AGE_NS - 1);
	expect_leaves(&b, (uint32_t[]){0, 1, 0, 0}, "young");
	rig_receive(&b, 0, rig_frame(&b, 5, 6, 60), AGE_NS);
	expect_leaves(&b, (uint32_t[]){0, 1, 1, 1}, "old");
	rig_close(&b);
}

Test(fabric_switch, a_zero_or_group_source_is_forwarded_and_not_learned)
{
	struct rig b = open_rig(NB_PORTS);
	struct pkt *p = rig_frame(&b, 9, 0, 60);

	memset(p->data + 6, 0, 6);
	rig_receive(&b, 1, p, 0);
	expect_leaves(&b, (uint32_t[]){1, 0, 1, 1}, "zero source");
	p = rig_frame(&b, 0, 9, 60);
	memset(p->data, 0, 6);
	rig_receive(&b, 0, p, 0);
	expect_leaves(&b, (uint32_t[]){0, 1, 1, 1}, "zero destination");
	rig_receive(&b, 1, rig_frame(&b, 9, 0xff, 60), 0);
	expect_leaves(&b, (uint32_t[]){1, 0, 0, 0}, "group source");
	rig_receive(&b, 2, rig_frame(&b, 0xff, 5, 60), 0);
	expect_leaves(&b, (uint32_t[]){1, 1, 0, 1}, "broadcast still floods");
	rig_close(&b);
}

Test(fabric_switch, survives_frames_of_any_length)
{
	struct rig b = open_rig(NB_PORTS);

	for (uint32_t len = 0; len < 20; len++) {
		struct pkt *p = rig_frame(&b, 9, 5, 20);

		p->len = len;
		rig_receive(&b, 0, p, 0);
		expect_leaves(&b, len < 14 ? (uint32_t[]){0, 0, 0, 0} : (uint32_t[]){0, 1, 1, 1},
		              "short");
	}
	cr_expect_eq(rig_stats(&b, 0)->rx_bad, 14);
	rig_close(&b);
}

Test(fabric_switch, bounds_a_queue_in_bytes_and_all_of_them_in_frames)
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
		struct rig b;
		const struct switch_port_stats *st;

		rig_init(&b, 2);
		b.conf.params.buffer_pkts = rows[i].pkts_max;
		b.conf.queues[0].limit_bytes = rows[i].bytes_max;
		rig_open(&b);
		for (uint32_t n = 0; n < rows[i].nb_sent; n++)
			rig_receive(&b, 0, rig_frame(&b, 9, 5, rows[i].len), 0);
		st = rig_stats(&b, 1);
		cr_expect_eq(st->q[0].full + st->tx_full_pkts, rows[i].nb_sent - rows[i].nb_left,
		             "row %zu", i);
		cr_expect_eq(st->q[0].bytes_max, rows[i].nb_left * rows[i].len);
		cr_expect_eq(rig_drain(&b, 1, 0), rows[i].nb_left, "row %zu", i);
		rig_receive(&b, 0, rig_frame(&b, 9, 5, rows[i].len), 0);
		cr_expect_eq(rig_drain(&b, 1, 0), 1, "room again");
		rig_close(&b);
	}
}

Test(fabric_switch, an_empty_pool_costs_copies_and_counts_them)
{
	struct rig b = open_rig(NB_PORTS);
	struct pkt *p = rig_frame(&b, 0xff, 5, 60), *rest[256];

	cr_assert_eq(b.pool->alloc(b.pool, rest, 256 - 2), 256 - 2);
	rig_receive(&b, 0, p, 0);
	expect_leaves(&b, (uint32_t[]){0, 1, 0, 1}, "one copy and the frame");
	cr_expect_eq(rig_stats(&b, 2)->tx_no_buffer, 1);
	pkt_free(rest, 256 - 2);
	rig_close(&b);
}

Test(fabric_switch, counts_frames_and_bytes_of_each_port)
{
	struct rig b = open_rig(2);

	rig_receive(&b, 0, rig_frame(&b, 9, 5, 100), 0);
	rig_receive(&b, 0, rig_frame(&b, 9, 5, 200), 0);
	rig_drain(&b, 1, 0);
	cr_expect_eq(rig_stats(&b, 0)->rx_packets, 2);
	cr_expect_eq(rig_stats(&b, 0)->rx_bytes, 300);
	cr_expect_eq(rig_stats(&b, 1)->tx_packets, 2);
	cr_expect_eq(rig_stats(&b, 1)->tx_bytes, 300);
	rig_close(&b);
}

Test(fabric_switch, frees_at_the_end_what_is_still_queued_and_lives_with_one_port)
{
	struct rig b = open_rig(1);

	rig_receive(&b, 0, rig_frame(&b, 0xff, 5, 60), 0);
	cr_expect_eq(rig_drain(&b, 0, 0), 0);
	rig_close(&b);
	b = open_rig(NB_PORTS);
	rig_receive(&b, 0, rig_frame(&b, 0xff, 5, 60), 0);
	rig_close(&b);
}

Test(fabric_switch, a_frame_that_came_in_beside_the_flood_tree_is_neither_flooded_nor_learned)
{
	struct rig b = open_rig(NB_PORTS);

	switch_set_flood(b.sw, 3, false);
	rig_receive(&b, 0, rig_frame(&b, RIG_BROADCAST, 5, 60), 0);
	expect_leaves(&b, (uint32_t[]){0, 1, 1, 0}, "not to port 3");
	rig_receive(&b, 3, rig_frame(&b, RIG_BROADCAST, 6, 60), 0);
	expect_leaves(&b, (uint32_t[]){0, 0, 0, 0}, "not from port 3");
	cr_expect_eq(rig_stats(&b, 3)->rx_off_tree, 1);
	rig_receive(&b, 0, rig_frame(&b, 6, 5, 60), 0);
	expect_leaves(&b, (uint32_t[]){0, 1, 1, 0}, "6 is not known");
	rig_close(&b);
}

Test(fabric_switch, a_port_that_must_not_flood_is_never_on_the_tree)
{
	struct rig b;

	rig_init(&b, NB_PORTS);
	b.ports[3].floods = false;
	rig_open(&b);
	switch_set_flood(b.sw, 3, true);
	rig_receive(&b, 0, rig_frame(&b, RIG_BROADCAST, 5, 60), 0);
	expect_leaves(&b, (uint32_t[]){0, 1, 1, 0}, "not to port 3");
	rig_close(&b);
}

Test(fabric_switch, a_link_that_goes_down_loses_its_frames_and_addresses)
{
	struct rig b = open_rig(NB_PORTS);

	rig_learn(&b, 3);
	rig_receive(&b, 0, rig_frame(&b, 2, 1, 60), 0);
	switch_set_link(b.sw, 1, false, 0);
	expect_leaves(&b, (uint32_t[]){0, 0, 0, 0}, "gone with the link");
	cr_expect_eq(rig_stats(&b, 1)->tx_link_down, 1);
	rig_receive(&b, 0, rig_frame(&b, 2, 1, 60), 0);
	expect_leaves(&b, (uint32_t[]){0, 0, 1, 1}, "flooded to those that are up");
	switch_set_link(b.sw, 1, true, 0);
	rig_receive(&b, 0, rig_frame(&b, 2, 1, 60), 0);
	expect_leaves(&b, (uint32_t[]){0, 1, 1, 1}, "and to all again");
	rig_close(&b);
}

static void
expect_defaults_in_range(const struct param_desc *descs, size_t size)
{
	for (const struct param_desc *d = descs; d->name; d++) {
		cr_expect(d->min <= d->def && d->def <= d->max, "%s", d->name);
		cr_expect_lt(d->offset, size, "%s", d->name);
	}
}

Test(fabric_switch, keys_have_a_default_in_range)
{
	expect_defaults_in_range(switch_param_descs, sizeof(struct switch_params));
	expect_defaults_in_range(switch_queue_descs, sizeof(struct switch_queue));
	expect_defaults_in_range(switch_port_descs, sizeof(struct switch_port_params));
}
