/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "be.h"
#include "engine.h"
#include "fabric_rig.h"
#include "hdr.h"
#include "int.h"
#include "weft_examples.h"
#include "weft_hdr.h"
#include "wire.h"

/* What happens to a frame between admission and its link: classes, marks, telemetry, time. */

#define TOS_CLASS(class) ((uint8_t)((class) << 5))
#define L3 ETH_LEN
#define BTH (ETH_LEN + IPV4_LEN + UDP_LEN)

static struct rig rig;

/* A switch of four ports that knows where hosts 1 to 4 are. */
static void
begin(void)
{
	rig_open(&rig);
	rig_learn(&rig, 4);
}

static void
send_udp(uint8_t tos, uint32_t len, uint64_t now_ns)
{
	rig_receive(&rig, 0, rig_udp(&rig, 2, 1, tos, 0xc000, len), now_ns);
}

static void
send_weft(uint8_t tos, uint8_t nb_slots, uint32_t len, uint64_t now_ns)
{
	rig_receive(&rig, 0, rig_weft(&rig, 2, 1, tos, nb_slots, len), now_ns);
}

Test(pipeline, a_link_of_10_gbit_and_5_us_delivers_when_it_would)
{
	rig_init(&rig, 4);
	rig.ports[1].rate_bps = UINT64_C(10000000000);
	rig.ports[1].delay_ns = 5000;
	begin();
	/* 1226 + 24 bytes take 1 us. */
	for (int i = 0; i < 3; i++)
		send_udp(0, 1226, 1000);
	cr_expect_eq(rig_drain(&rig, 1, 1000), 0);
	for (int i = 0; i < 3; i++) {
		uint64_t due_ns = 1000 + 1000 * (uint64_t)(i + 1) + 5000;

		cr_expect_eq(rig_drain(&rig, 1, due_ns - 1), 0, "frame %d", i);
		cr_expect_leq(switch_next_ns(rig.sw), due_ns);
		cr_expect_eq(rig_drain(&rig, 1, due_ns), 1, "frame %d", i);
	}
	cr_expect_eq(switch_next_ns(rig.sw), NEVER_NS);
	rig_close(&rig);
}

/* Driven exactly when it asks to be, a link carries its rate to the byte, over a second. */
Test(pipeline, rates_do_not_drift)
{
	static const uint64_t rates[] = {UINT64_C(400000000000), UINT64_C(25000000000),
	                                 UINT64_C(1000000000), 7777777777};

	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		uint64_t now_ns = 0, bytes = 0, want;

		rig_init(&rig, 4);
		rig.ports[1].rate_bps = rates[r];
		begin();
		for (int i = 0; i < 10; i++)
			send_udp(0, 1000, now_ns);
		for (int i = 0; i < 20000; i++) {
			uint64_t next_ns = switch_next_ns(rig.sw);
			struct pkt *p;

			now_ns = next_ns > now_ns ? next_ns : now_ns;
			p = rig_take(&rig, 1, now_ns);
			if (!p)
				continue;
			bytes += p->len + 24;
			switch_receive(rig.sw, 0, &p, 1, now_ns);
		}
		want = (uint64_t)((double)now_ns * (double)rates[r] / 8e9);
		cr_expect_leq(llabs((long long)bytes - (long long)want), 1024 + 60,
		              "%lu bit/s: %lu bytes in %lu ns, %lu wanted", rates[r], bytes, now_ns,
		              want);
		rig_close(&rig);
	}
}

Test(pipeline, a_late_driver_catches_up_within_bounds_and_idle_time_earns_nothing)
{
	rig_init(&rig, 4);
	rig.ports[1].rate_bps = UINT64_C(10000000000);
	rig.ports[1].catch_up_ns = 10000;
	begin();
	for (int i = 0; i < 30; i++)
		send_udp(0, 1226, 50000);
	cr_expect_eq(rig_drain(&rig, 1, 50000), 0, "it was idle before: the first needs its 1 us");
	cr_expect_eq(rig_drain(&rig, 1, 55000), 5);
	cr_expect_eq(rig_drain(&rig, 1, 75000), 1 + 10,
	             "one was on its way, and 10 of the 20 us that were missed");
	cr_expect_eq(rig_drain(&rig, 1, 76000), 1);
	/* The link was free from 56000 on, and caught up from 65000 on. */
	cr_expect_eq(rig_stats(&rig, 1)->tx_late_ns, 9000);
	rig_close(&rig);
}

Test(pipeline, the_class_is_the_upper_half_of_the_dscp_or_what_the_map_says)
{
	static const struct {
		uint8_t tos;
		int want;
	} rows[] = {{0, 0}, {0x1c, 0}, {0x20, 1}, {0x68, 3}, {0xc0, 6}, {0xff, 7}, {46 << 2, 2}};

	rig_init(&rig, 4);
	rig.conf.class_of_dscp[46] = 2;
	begin();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t before = rig_stats(&rig, 1)->q[rows[i].want].packets;

		send_udp(rows[i].tos, 100, 0);
		cr_expect_eq(rig_drain(&rig, 1, 0), 1);
		cr_expect_eq(rig_stats(&rig, 1)->q[rows[i].want].packets, before + 1, "row %zu", i);
	}
	rig_close(&rig);
}

static struct pkt *
tagged(uint8_t pcp, uint8_t tos)
{
	struct pkt *p = rig_udp(&rig, 2, 1, tos, 0xc000, 104);

	memmove(p->data + 16, p->data + 12, 88);
	put_be16(p->data + 12, ETH_TYPE_VLAN);
	put_be16(p->data + 14, (uint16_t)(pcp << 13 | 5));
	return p;
}

Test(pipeline, with_trust_in_pcp_the_tag_decides_and_without_the_packet_behind_it)
{
	for (int trust = TRUST_DSCP; trust <= TRUST_PCP; trust++) {
		rig_init(&rig, 4);
		rig.conf.trust = (enum switch_trust)trust;
		rig.conf.class_of_pcp[5] = 1;
		begin();
		rig_receive(&rig, 0, tagged(5, TOS_CLASS(3)), 0);
		cr_expect_eq(rig_drain(&rig, 1, 0), 1);
		cr_expect_eq(rig_stats(&rig, 1)->q[trust == TRUST_PCP ? 1 : 3].packets, 1);
		send_udp(TOS_CLASS(3), 100, 0);
		cr_expect_eq(rig_drain(&rig, 1, 0), 1);
		cr_expect_eq(rig_stats(&rig, 1)->q[trust == TRUST_PCP ? 0 : 3].packets,
		             trust == TRUST_PCP ? 1 : 2);
		rig_close(&rig);
	}
}

Test(pipeline, marks_above_the_step_what_is_ect_and_what_waits_there)
{
	uint32_t nb_marked = 0;

	rig_init(&rig, 4);
	rig.conf.queues[3].kmin_bytes = rig.conf.queues[3].kmax_bytes = 3000;
	begin();
	for (int i = 0; i < 10; i++)
		send_udp(TOS_CLASS(3) | ECN_ECT0, 1000, 0);
	send_udp(TOS_CLASS(4) | ECN_ECT0, 1000, 0);
	for (int i = 0; i < 11; i++) {
		struct pkt *p = rig_take(&rig, 1, 0);

		cr_assert_not_null(p);
		nb_marked += (p->data[L3 + 1] & IP_ECN_MASK) == ECN_CE;
		pkt_free(&p, 1);
	}
	/* Behind the n-th of ten wait 10 - n; more than 3000 bytes up to the sixth. */
	cr_expect_eq(nb_marked, 6);
	cr_expect_eq(rig_stats(&rig, 1)->q[3].marked, 6);
	for (int i = 0; i < 10; i++)
		send_udp(TOS_CLASS(3), 1000, 0);
	cr_expect_eq(rig_drain(&rig, 1, 0), 10);
	cr_expect_eq(rig_stats(&rig, 1)->q[3].marked, 6, "not ECT");
	rig_close(&rig);
}

Test(pipeline, telemetry_tells_the_state_of_the_egress_at_departure)
{
	struct int_stack stack;
	struct pkt *p;

	rig_init(&rig, 4);
	rig.conf.has_int = true;
	rig.conf.params.buffer_bytes = 1 << 20;
	rig.conf.params.alpha_tbo = 3000.0 / (1 << 20);
	rig.conf.id = 0x1234;
	for (int i = 0; i < 4; i++)
		rig.ports[i].rate_bps = UINT64_C(100000000000);
	begin();
	for (int i = 0; i < 6; i++)
		send_weft(TOS_CLASS(3), 2, 976, 1000);
	cr_expect_eq(rig_drain(&rig, 1, 1000), 0);
	for (uint64_t i = 0; i < 6; i++) {
		p = rig_take(&rig, 1, 1000 + 80 * (i + 1));
		cr_assert_not_null(p, "frame %lu", i);
		cr_assert_eq(int_read(p->data + BTH + WEFT_OFF_INT, 2, &stack), INT_READ_OK);
		cr_expect_eq(stack.nb_hops, 1);
		cr_expect_eq(stack.hops[0].rate_bps, UINT64_C(100000000000));
		cr_expect_eq(stack.hops[0].ts_ns, 1000 + 80 * i, "when it began to leave");
		cr_expect_eq(stack.hops[0].tx_bytes, 1000 * i / 64 * 64, "what left before it");
		cr_expect_eq(stack.hops[0].queue_bytes, 976 * (5 - i) / 256 * 256);
		cr_expect_eq(stack.tbo, 976 * (5 - i) > 3000, "frame %lu", i);
		pkt_free(&p, 1);
	}
	cr_expect_eq(rig_stats(&rig, 1)->int_written, 6);
	cr_expect_eq(rig_stats(&rig, 1)->int_tbo, 2);
	rig_close(&rig);
}

Test(pipeline, telemetry_that_lies_is_passed_on_and_counted)
{
	struct pkt *p;

	rig_init(&rig, 4);
	rig.conf.has_int = true;
	for (int i = 0; i < 4; i++)
		rig.ports[i].rate_bps = UINT64_C(100000000000);
	begin();
	p = rig_weft(&rig, 2, 1, 0, 2, 200);
	p->data[BTH + WEFT_OFF_INT] = 0x30; /* three hops in two slots */
	rig_receive(&rig, 0, p, 0);
	p = rig_weft(&rig, 2, 1, 0, 7, 100); /* beyond the packet's end */
	rig_receive(&rig, 0, p, 0);
	p = rig_weft(&rig, 2, 1, 0, 1, 200);
	p->data[BTH + WEFT_OFF_INT] = 0x10; /* no slot left */
	rig_receive(&rig, 0, p, 0);
	cr_expect_eq(rig_drain(&rig, 1, 0), 0);
	cr_expect_eq(rig_drain(&rig, 1, 1000000), 3);
	cr_expect_eq(rig_stats(&rig, 1)->int_lies, 2);
	cr_expect_eq(rig_stats(&rig, 1)->int_full, 1);
	rig_close(&rig);
}

/* ---- trimming ---- */

static void
begin_trimming(uint64_t limit_bytes)
{
	rig_init(&rig, 4);
	rig.conf.trim_queue = 7;
	rig.conf.queues[3].limit_bytes = limit_bytes;
	begin();
}

Test(pipeline, above_the_threshold_data_is_cut_and_all_else_is_dropped)
{
	static const struct {
		enum dcp_tag tag;
		uint32_t nb_out, nb_trimmed;
	} rows[] = {{DCP_OTHER, 1, 0}, {DCP_ACK, 1, 0}, {DCP_DATA, 3, 2}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin_trimming(1100);
		for (int k = 0; k < 3; k++)
			send_weft((uint8_t)(TOS_CLASS(3) | rows[i].tag << DCP_TAG_SHIFT), 0, 1024,
			          0);
		cr_expect_eq(rig_stats(&rig, 1)->q[3].trimmed, rows[i].nb_trimmed, "row %zu", i);
		cr_expect_eq(rig_stats(&rig, 1)->q[3].full, 3 - rows[i].nb_out, "row %zu", i);
		cr_expect_eq(rig_drain(&rig, 1, 0), rows[i].nb_out, "row %zu", i);
		cr_expect_eq(rig_stats(&rig, 1)->q[7].packets, rows[i].nb_trimmed, "row %zu", i);
		cr_expect_eq(rig_stats(&rig, 1)->q[7].bytes, 57 * rows[i].nb_trimmed, "row %zu", i);
		rig_close(&rig);
	}
}

/* The worked examples are to 02:00:00:00:00:02 or :01; both are known to be at their ports. */
Test(pipeline, a_full_queue_makes_of_the_worked_packets_the_worked_header_only_ones)
{
	static const char *rows[][2] = {{"2", "4"}, {"3c", "6"}};

	for (size_t i = 0; i < 2; i++) {
		const struct weft_example *in = weft_example(rows[i][0]),
					  *want = weft_example(rows[i][1]);
		struct pkt *p;

		begin_trimming(0);
		rig_receive(&rig, 0, rig_copy(&rig, in->frame, in->len), 0);
		p = rig_take(&rig, 1, 0);
		cr_assert_not_null(p);
		cr_expect_eq(p->len, want->len);
		cr_expect_arr_eq(p->data, want->frame, want->len);
		pkt_free(&p, 1);
		rig_close(&rig);
	}
}

Test(pipeline, header_only_packets_of_another_switch_take_the_control_queue)
{
	const struct weft_example *ho = weft_example("4");

	begin_trimming(0);
	rig_receive(&rig, 0, rig_copy(&rig, ho->frame, ho->len), 0);
	cr_expect_eq(rig_drain(&rig, 1, 0), 1);
	cr_expect_eq(rig_stats(&rig, 1)->q[7].packets, 1);
	/* The same DSCP in a plain packet says nothing. */
	send_udp((uint8_t)(DCP_HEADER_ONLY << DCP_TAG_SHIFT), 100, 0);
	cr_expect_eq(rig_drain(&rig, 1, 0), 1);
	cr_expect_eq(rig_stats(&rig, 1)->q[7].packets, 1);
	rig_close(&rig);
}
