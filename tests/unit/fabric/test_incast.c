/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_rig.h"
#include "hdr.h"
#include "weft_hdr.h"

/*
 * Worst cases of a switch in time slices: what no congestion control holds back. Sizes are those of
 * frames, and links have no overhead, so that the numbers are those of the papers.
 */

#define RATE UINT64_C(100000000000)
#define DATA_LEN 1024
#define HEADER_LEN 57
/* 1,024 bytes at 100 Gb/s: 81.92 ns. */
#define SLOT_PS 81920

static struct rig rig;

static void
begin(uint16_t nb_ports, uint32_t nb_pkts, uint32_t room_bytes)
{
	rig_init(&rig, nb_ports);
	rig.nb_pkts = nb_pkts;
	rig.room_bytes = room_bytes;
	rig.conf.params.buffer_pkts = nb_pkts;
	rig.conf.params.buffer_bytes = UINT64_C(1) << 30;
	for (uint16_t i = 0; i < nb_ports; i++) {
		rig.ports[i].rate_bps = RATE;
		rig.ports[i].overhead_bytes = 0;
	}
}

/* DCP data to host 1: all are alike, and their payload is of no interest. */
static struct pkt *
data(void)
{
	static uint8_t bytes[100];
	struct pkt *p;

	if (!bytes[0]) {
		p = rig_weft(&rig, 1, 2, DCP_DATA << DCP_TAG_SHIFT, 0, DATA_LEN);
		memcpy(bytes, p->data, sizeof(bytes));
		pkt_free(&p, 1);
	}
	cr_assert_eq(rig.pool->alloc(rig.pool, &p, 1), 1);
	memcpy(p->data, bytes, sizeof(bytes));
	p->len = DATA_LEN;
	return p;
}

static uint64_t
nb_headers_waiting(void)
{
	return rig_stats(&rig, 0)->q[0].trimmed - rig_stats(&rig, 0)->q[7].packets;
}

/* Every port but the first sends one; all at once is the worst that they can do. */
static void
fill_slot(uint16_t nb_ports, uint64_t slot)
{
	for (uint16_t in = 1; in < nb_ports; in++) {
		struct pkt *p = data();

		switch_receive(rig.sw, in, &p, 1, slot * SLOT_PS / 1000);
	}
}

static void
empty_slot(uint64_t slot)
{
	for (uint64_t step = 0; step < 20; step++) {
		struct pkt *pkts[64];

		pkt_free(pkts, switch_send(rig.sw, 0, pkts, 64,
		                           (slot * SLOT_PS + step * SLOT_PS / 20) / 1000));
	}
}

/*
 * N - 1 ports send DCP data at line rate to one, for 12 ms. Data that is admitted and headers share
 * the link by 1:w. Returns by how many headers the control queue is longer than at half time.
 */
static int64_t
headers_grow(uint16_t nb_ports, double weight)
{
	const uint64_t nb_slots = UINT64_C(12000000000) / SLOT_PS;
	uint64_t half = 0, waiting;

	begin(nb_ports, 32768, 1100);
	rig.conf.trim_queue = 7;
	rig.conf.queues[0].limit_bytes = 100 << 10;
	rig.conf.queues[7].weight = weight;
	rig_open(&rig);
	rig_learn(&rig, 1);
	for (uint64_t slot = 0; slot < nb_slots; slot++) {
		fill_slot(nb_ports, slot);
		empty_slot(slot);
		if (slot == nb_slots / 2)
			half = nb_headers_waiting();
	}
	waiting = nb_headers_waiting();
	cr_expect_eq(rig_stats(&rig, 0)->q[7].full, 0, "no header was lost");
	cr_expect_eq(rig_stats(&rig, 0)->tx_full_pkts, 0);
	cr_expect_gt(rig_stats(&rig, 0)->q[0].packets, 0);
	rig_close(&rig);
	return (int64_t)(waiting - half);
}

/*
 * Of each slot, the data queue takes 1 / (1 + w) packets; N - 1 less that are cut, and the control
 * queue has room for r w / (1 + w) headers: bounded if w >= (N - 2) / (r - (N - 1)). The bound of
 * the paper has N - 1 above the line; it is sufficient.
 */
Test(incast, the_control_queue_is_bounded_just_above_the_bound_and_grows_just_below)
{
	static const uint16_t radix[] = {8, 18, 12, 16};
	size_t nb = getenv("WEFT_TEST_LONG") ? 4 : 2;

	for (size_t i = 0; i < nb; i++) {
		double r = (double)DATA_LEN / HEADER_LEN, n = radix[i];
		double bound = (n - 2) / (r - (n - 1));
		int64_t above = headers_grow(radix[i], 1.02 * bound);
		int64_t below = headers_grow(radix[i], 0.98 * bound);

		/* A turn of the control queue: what comes and goes in each round. */
		double turn = bound * 2048 / HEADER_LEN + 2 * n;

		cr_expect_leq(llabs((long long)above), turn, "N %u: %ld above", radix[i], above);
		cr_expect_gt(below, 1.5 * turn, "N %u: %ld below", radix[i], below);
	}
}

/*
 * Odin, appendix A: in slice k the other N - 1 ports each send one packet to port k, and each port
 * that has packets sends one in each slice: 0, 0, 1, ..., N - 2 wait in the end.
 */
static uint64_t
burst_pkts(uint16_t nb_ports)
{
	struct switch_stats stats;

	begin(nb_ports, 65536, 128);
	for (uint16_t i = 0; i < nb_ports; i++)
		rig.ports[i].rate_bps = 0; /* slices instead */
	rig_open(&rig);
	rig_learn(&rig, nb_ports);
	for (uint16_t k = 0; k < nb_ports; k++) {
		struct pkt *p;

		for (uint16_t in = 0; in < nb_ports; in++)
			if (in != k)
				rig_receive(
					&rig, in,
					rig_frame(&rig, (uint8_t)(k + 1), (uint8_t)(in + 1), 100),
					k);
		for (uint16_t out = 0; out < nb_ports; out++)
			if ((p = rig_take(&rig, out, k)))
				pkt_free(&p, 1);
	}
	switch_stats(rig.sw, &stats);
	rig_close(&rig);
	return stats.buffer_used_bytes / 100;
}

Test(incast, a_start_up_of_all_to_all_leaves_what_odin_says)
{
	cr_expect_eq(burst_pkts(8), 21);
	cr_expect_eq(burst_pkts(16), 105);
	cr_expect_eq(burst_pkts(128), 8001);
}
