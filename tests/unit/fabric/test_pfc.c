/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "engine.h"
#include "fabric_rig.h"
#include "wire.h"

/* Pauses of a switch: those that it asks for, and those that it obeys. Class 3 is lossless. */

#define CLASS 3
#define TOS (CLASS << 5)
#define RATE UINT64_C(10000000000)
/* 0xffff quanta at 10 Gb/s. */
#define PAUSE_NS 3355392

static struct rig rig;

static void
begin(uint64_t buffer_bytes, uint64_t headroom_bytes)
{
	rig_init(&rig, 4);
	rig.conf.lossless = 1 << CLASS;
	rig.conf.params.buffer_bytes = buffer_bytes;
	for (int i = 0; i < QUEUES_NB; i++)
		rig.conf.queues[i].reserve_bytes = 0;
	for (int i = 0; i < 4; i++) {
		rig.ports[i].headroom_bytes = headroom_bytes;
		rig.ports[i].rate_bps = RATE;
	}
	rig_open(&rig);
	rig_learn(&rig, 4);
}

static void
send(uint16_t from, uint8_t tos, uint32_t len, uint64_t now_ns)
{
	rig_receive(&rig, from, rig_udp(&rig, 2, (uint8_t)(from + 1), tos, 0xc000, len), now_ns);
}

/* The pause frame that leaves a port, up to this time; false if another frame or none does. */
static bool
take_pause(uint16_t port, uint64_t now_ns, struct wire_pfc *pfc)
{
	struct pkt *p;
	bool is;

	rig_drain(&rig, port, now_ns);
	p = rig_take(&rig, port, now_ns + 100);
	if (!p)
		return false;
	is = wire_parse_pfc(p->data, p->len, pfc);
	cr_expect_eq(p->len, WIRE_PFC_LEN);
	pkt_free(&p, 1);
	return is;
}

Test(pfc, pauses_who_holds_too_much_and_lets_go_when_it_holds_less)
{
	struct wire_pfc pfc;
	uint32_t nb = 0;
	uint64_t now_ns = 1000000;

	/* Shared: 100000; pause from (100000 - s) / 8 on: 11112. */
	begin(100000 + 4 * 20000, 20000);
	while (rig_stats(&rig, 0)->tx_pause[CLASS] == 0) {
		send(0, TOS, 1000, now_ns);
		nb++;
		rig_drain(&rig, 0, now_ns);
		cr_assert_lt(nb, 100);
	}
	cr_expect_eq(nb, 12);
	cr_expect(take_pause(0, now_ns, &pfc));
	cr_expect_eq(pfc.classes, 1 << CLASS);
	cr_expect_eq(pfc.time_quanta[CLASS], 0xffff);
	cr_expect_eq(rig_stats(&rig, 1)->tx_pause[CLASS], 0, "the egress asks for nothing");
	/* Resume at 8382 or less: after four have left. */
	for (nb = 0;; nb++) {
		rig_drain(&rig, 1, now_ns);
		if (take_pause(0, now_ns, &pfc))
			break;
		now_ns += 820; /* 1024 bytes of the link */
		cr_assert_lt(nb, 100);
	}
	cr_expect_eq(nb + 1, 4);
	cr_expect_eq(rig_stats(&rig, 0)->tx_resume[CLASS], 1);
	cr_expect_eq(pfc.classes, 1 << CLASS);
	cr_expect_eq(pfc.time_quanta[CLASS], 0);
	rig_drain(&rig, 1, now_ns + 1000000);
	rig_drain(&rig, 1, now_ns + 2000000);
	rig_close(&rig);
}

Test(pfc, tells_again_before_a_pause_ends_by_itself)
{
	uint64_t now_ns = 1000000;
	struct wire_pfc pfc;

	begin(100000 + 4 * 20000, 20000);
	rig_receive(&rig, 1, rig_pause(&rig, 1 << CLASS, 0xffff), now_ns);
	for (int i = 0; i < 15; i++)
		send(0, TOS, 1000, now_ns);
	cr_expect(take_pause(0, now_ns, &pfc));
	for (int i = 0; i < 5; i++) {
		uint64_t next_ns;

		rig_receive(&rig, 1, rig_pause(&rig, 1 << CLASS, 0xffff), now_ns);
		next_ns = switch_next_ns(rig.sw);
		/* Also for a peer that counts in units of 100 Gb/s. */
		cr_assert_leq(next_ns, now_ns + PAUSE_NS / 20 + 200);
		now_ns = next_ns;
		cr_expect(take_pause(0, now_ns, &pfc), "refresh %d", i);
		cr_expect_eq(pfc.time_quanta[CLASS], 0xffff);
	}
	cr_expect_eq(rig_stats(&rig, 0)->tx_pause[CLASS], 1, "the same pause");
	cr_expect_eq(rig_stats(&rig, 0)->tx_pause_frames, 6);
	rig_close(&rig);
}

/* What is on its way when the pause is sent finds room in the headroom, and not more than that. */
Test(pfc, drops_only_what_overflows_the_headroom)
{
	begin(100000 + 4 * 20000, 20000);
	rig_receive(&rig, 1, rig_pause(&rig, 1 << CLASS, 0xffff), 0);
	for (int i = 0; i < 11 + 20; i++)
		send(0, TOS, 1000, 0);
	cr_expect_eq(rig_stats(&rig, 0)->q[CLASS].headroom, 0);
	send(0, TOS, 1000, 0);
	cr_expect_eq(rig_stats(&rig, 0)->q[CLASS].headroom, 1);
	send(2, TOS, 1000, 0);
	cr_expect_eq(rig_stats(&rig, 2)->q[CLASS].headroom, 0, "others have their own");
	rig_close(&rig);
}

Test(pfc, obeys_by_class_and_until_the_time_is_over)
{
	begin(1 << 20, 20000);
	rig_receive(&rig, 1, rig_pause(&rig, 1 << CLASS | 1, 0xffff), 0);
	send(0, TOS, 1000, 0);
	send(0, 0, 1000, 0);
	rig_drain(&rig, 1, 0);
	cr_expect_eq(rig_drain(&rig, 1, 10000), 1, "class 0 is lossy: its pause is not obeyed");
	cr_expect_eq(rig_stats(&rig, 1)->q[0].packets, 1);
	cr_expect_leq(switch_next_ns(rig.sw), PAUSE_NS);
	rig_drain(&rig, 1, PAUSE_NS - 1);
	cr_expect_eq(rig_stats(&rig, 1)->q[CLASS].packets, 0);
	rig_drain(&rig, 1, PAUSE_NS);
	cr_expect_eq(rig_stats(&rig, 1)->q[CLASS].packets, 1);
	cr_expect_eq(rig_drain(&rig, 1, PAUSE_NS + 1000), 1);
	cr_expect_geq(rig_stats(&rig, 1)->rx_pause.duration_us[CLASS], PAUSE_NS / 1000 - 1);
	rig_close(&rig);
}

Test(pfc, a_resume_ends_a_pause_at_once)
{
	begin(1 << 20, 20000);
	rig_receive(&rig, 1, rig_pause(&rig, 1 << CLASS, 0xffff), 0);
	send(0, TOS, 1000, 0);
	rig_drain(&rig, 1, 0);
	rig_receive(&rig, 1, rig_pause(&rig, 1 << CLASS, 0), 500);
	rig_drain(&rig, 1, 500);
	cr_expect_eq(rig_drain(&rig, 1, 1500), 1);
	rig_close(&rig);
}

/* Driven as a worker does: a turn when something is due, and at least every 100 us. */
Test(pfc, a_forged_storm_is_broken_within_twice_the_watchdog)
{
	uint64_t sent_ns = 0, watchdog_ns = 100000000;

	begin(1 << 20, 20000);
	send(0, TOS, 1000, 0);
	for (uint64_t now_ns = 0; now_ns < 1000000000; now_ns += 100000) {
		/* A resume and a pause back to back must not fool it. */
		rig_receive(&rig, 1, rig_pause(&rig, 1 << CLASS, 0), now_ns);
		rig_receive(&rig, 1, rig_pause(&rig, 1 << CLASS, 0xffff), now_ns);
		rig_drain(&rig, 1, now_ns);
		if (!sent_ns && rig_stats(&rig, 1)->q[CLASS].packets == 1)
			sent_ns = now_ns;
	}
	cr_expect_geq(sent_ns, watchdog_ns - 100000);
	cr_expect_leq(sent_ns, 2 * watchdog_ns);
	cr_expect_eq(rig_stats(&rig, 1)->rx_pause.storms[CLASS], 1);
	cr_expect_gt(rig_stats(&rig, 1)->rx_pause.ignored[CLASS], 1000);
	rig_close(&rig);
}

Test(pfc, a_link_that_went_down_begins_without_pauses)
{
	begin(1 << 20, 20000);
	rig_receive(&rig, 1, rig_pause(&rig, 1 << CLASS, 0xffff), 0);
	switch_set_link(rig.sw, 1, false, 10);
	switch_set_link(rig.sw, 1, true, 20);
	rig_learn(&rig, 4);
	send(0, TOS, 1000, 30);
	rig_drain(&rig, 1, 30);
	cr_expect_eq(rig_drain(&rig, 1, 1030), 1);
	rig_close(&rig);
}

Test(pfc, pauses_stay_in_order_on_a_link_with_delay_and_go_before_frames_that_wait)
{
	struct wire_pfc pfc;
	struct pkt *p;

	begin(100000 + 4 * 20000, 20000);
	/* Port 0 has frames to send itself, five of 1 us; and must pause its peer. */
	for (int i = 0; i < 5; i++)
		rig_receive(&rig, 1, rig_udp(&rig, 1, 2, 0, 0xc000, 1226), 0);
	rig_drain(&rig, 0, 0);
	for (int i = 0; i < 15; i++)
		send(0, TOS, 1000, 10);
	rig_drain(&rig, 0, 10);
	p = rig_take(&rig, 0, 1000);
	cr_assert_not_null(p);
	cr_expect_eq(p->len, 1226, "the one that had begun");
	pkt_free(&p, 1);
	p = rig_take(&rig, 0, 1100);
	cr_assert_not_null(p);
	cr_expect(wire_parse_pfc(p->data, p->len, &pfc));
	pkt_free(&p, 1);
	rig_close(&rig);
}

/* Frames of a lossless class that go to all ports are lossy: nobody is paused for them. */
Test(pfc, a_flood_pauses_nobody)
{
	begin(100000 + 4 * 20000, 20000);
	for (int i = 0; i < 100; i++)
		rig_receive(&rig, 0, rig_udp(&rig, RIG_BROADCAST, 1, TOS, 0xc000, 1000), 0);
	rig_drain(&rig, 0, 0);
	cr_expect_eq(rig_stats(&rig, 0)->tx_pause[CLASS], 0);
	cr_expect_gt(rig_stats(&rig, 1)->q[CLASS].full, 0);
	rig_close(&rig);
}

/* Hosts 1 to 3 send frames of the class to host 4 as fast as their links take them, and obey. */
static void
incast(uint32_t nb_turns, uint32_t len, bool other_class, bool is_paused_for_ever)
{
	uint64_t frame_ns = (len + 24) * 8 / 10, now_ns = 1000000;
	bool stopped[4] = {false};

	for (uint32_t t = 0; t < nb_turns; t++, now_ns += frame_ns) {
		if (is_paused_for_ever && t % 100 == 0)
			rig_receive(&rig, 3, rig_pause(&rig, 1 << CLASS, 0xffff), now_ns);
		for (uint16_t i = 0; i < 3; i++) {
			struct pkt *p;

			if (other_class && t % 2)
				p = rig_udp(&rig, (uint8_t)((i + 1) % 3 + 1), (uint8_t)(i + 1), 0,
				            0xc000, len);
			else if (!stopped[i])
				p = rig_udp(&rig, 4, (uint8_t)(i + 1), TOS, 0xc000, len);
			else
				continue;
			switch_receive(rig.sw, i, &p, 1, now_ns);
		}
		for (uint16_t i = 0; i < 4; i++) {
			struct pkt *p;
			struct wire_pfc pfc;

			while ((p = rig_take(&rig, i, now_ns))) {
				if (wire_parse_pfc(p->data, p->len, &pfc))
					stopped[i] = pfc.time_quanta[CLASS] > 0;
				pkt_free(&p, 1);
			}
		}
	}
	switch_check(rig.sw);
}

static void
begin_default(uint64_t watchdog_ns)
{
	rig_init(&rig, 4);
	rig.nb_pkts = 8192;
	rig.room_bytes = 512;
	rig.conf.lossless = 1 << CLASS;
	rig.conf.params.pfc_watchdog_ns = watchdog_ns;
	for (int i = 0; i < 4; i++)
		rig.ports[i].rate_bps = RATE;
	rig_open(&rig);
	rig_learn(&rig, 4);
}

/* 16 MB of them would be more frames than a switch holds. */
Test(pfc, short_frames_are_paused_before_packets_run_out)
{
	begin_default(100000000);
	incast(10000, 64, false, false);
	cr_expect_eq(rig_stats(&rig, 3)->tx_full_pkts, 0);
	cr_expect_eq(rig_stats(&rig, 3)->q[CLASS].headroom, 0);
	cr_expect_gt(rig_stats(&rig, 0)->tx_pause[CLASS], 0);
	cr_expect_gt(rig_stats(&rig, 3)->q[CLASS].packets, 9000, "the link is full");
	rig_close(&rig);
}

Test(pfc, a_class_that_is_paused_for_ever_leaves_room_for_others)
{
	begin_default(0);
	incast(20000, 400, true, true);
	cr_expect_eq(rig_stats(&rig, 3)->q[CLASS].packets, 0);
	for (uint16_t i = 0; i < 3; i++) {
		cr_expect_eq(rig_stats(&rig, i)->tx_full_pkts, 0);
		cr_expect_eq(rig_stats(&rig, i)->q[0].full, 0);
		cr_expect_eq(rig_stats(&rig, i)->q[0].packets, 10000, "port %u", i);
	}
	rig_close(&rig);
}

/* Neither is the pause forgotten, nor does a driver turn without end until a packet comes home. */
Test(pfc, without_a_packet_for_it_a_pause_is_tried_again_soon)
{
	struct pkt *rest[1024];
	struct wire_pfc pfc;
	uint32_t nb = 0;

	begin(100000 + 4 * 20000, 20000);
	rig_receive(&rig, 1, rig_pause(&rig, 1 << CLASS, 0xffff), 1000);
	for (int i = 0; i < 15; i++)
		send(0, TOS, 1000, 1000);
	while (rig.pool->alloc(rig.pool, &rest[nb], 1) == 1)
		nb++;
	cr_expect_not(take_pause(0, 1000, &pfc));
	cr_expect_gt(switch_next_ns(rig.sw), 1000);
	cr_expect_leq(switch_next_ns(rig.sw), 20000);
	pkt_free(rest, nb);
	cr_expect(take_pause(0, 20000, &pfc));
	cr_expect_eq(pfc.time_quanta[CLASS], 0xffff);
	rig_close(&rig);
}
