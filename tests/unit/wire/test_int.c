/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "be.h"
#include "int.h"
#include "weft_examples.h"
#include "weft_hdr.h"

#define BTH_OFF 42 /* of the examples here: IPv4, no VLAN */

static const struct int_stamp at_100g = {
	.now_ns = 1000000,
	.tx_bytes = 12800000,
	.queue_bytes = 80000,
	.hop_id = 0x3a01,
	.rate_code = 8,
};
static const struct int_stamp at_400g = {
	.now_ns = 0xfffff0,
	.tx_bytes = 0xfffffull * 256,
	.queue_bytes = 4000 * 1024,
	.hop_id = 0x51c7,
	.rate_code = 10,
	.tbo = true,
};

static enum int_result
push(uint8_t *frame, uint32_t len, const struct int_stamp *stamp)
{
	return int_push(frame + BTH_OFF, len - BTH_OFF, stamp);
}

Test(int, two_ports_write_the_examples_bytes)
{
	const struct weft_example *sent = weft_example("21");
	uint8_t frame[256];

	memcpy(frame, sent->frame, sent->len);
	cr_expect_eq(push(frame, sent->len, &at_100g), INT_WRITTEN);
	cr_expect_arr_eq(frame, weft_example("22")->frame, sent->len);
	cr_expect_eq(push(frame, sent->len, &at_400g), INT_WRITTEN);
	cr_expect_arr_eq(frame, weft_example("23")->frame, sent->len);
}

Test(int, a_third_port_finds_the_area_full)
{
	const struct weft_example *full = weft_example("23");
	uint8_t frame[256], want[256];
	struct int_stamp stamp = at_100g;

	memcpy(want, full->frame, full->len);
	memcpy(frame, full->frame, full->len);
	put_be16(want + BTH_OFF + 18, 0x6bc6 ^ 0x3a01);
	want[BTH_OFF + 16] |= 0x04;
	cr_expect_eq(push(frame, full->len, &stamp), INT_FULL);
	cr_expect_arr_eq(frame, want, full->len);
}

Test(int, the_flag_is_set_also_when_the_area_is_full)
{
	const struct weft_example *x = weft_example("23");
	uint8_t frame[256];
	struct int_stack stack;

	memcpy(frame, x->frame, x->len);
	frame[BTH_OFF + 16] &= (uint8_t)~0x08;
	cr_expect_eq(push(frame, x->len, &at_400g), INT_FULL);
	cr_expect_eq(int_read(frame + BTH_OFF + 16, 2, &stack), INT_READ_OK);
	cr_expect(stack.tbo && stack.overflow);
}

Test(int, what_is_written_reads_back)
{
	/* In the order of the stamps above; the queue of 80,000 B is 312 units of 256 B. */
	static const struct int_hop want[2] = {
		{100000000000, 12800000, 1 << 26, 1000000, 312 * 256},
		{400000000000, 0xfffffu * 256, 1 << 28, 0xfffff0, 4000 * 1024},
	};
	static const struct {
		const char *id;
		uint32_t off; /* of the area */
	} rows[] = {{"23", BTH_OFF + 16}, {"24", BTH_OFF + 20}};

	for (size_t i = 0; i < 2; i++) {
		struct int_stack stack;

		cr_assert_eq(int_read(weft_example(rows[i].id)->frame + rows[i].off, 2, &stack),
		             INT_READ_OK);
		cr_expect_eq(stack.nb_hops, 2);
		cr_expect_eq(stack.path_id, 0x6bc6);
		cr_expect(stack.tbo);
		cr_expect_not(stack.overflow);
		for (uint32_t k = 0; k < 2; k++) {
			const struct int_hop *hop = &stack.hops[k];

			cr_expect_eq(hop->rate_bps, want[k].rate_bps);
			cr_expect_eq(hop->tx_bytes, want[k].tx_bytes);
			cr_expect_eq(hop->tx_wrap_bytes, want[k].tx_wrap_bytes);
			cr_expect_eq(hop->ts_ns, want[k].ts_ns);
			cr_expect_eq(hop->queue_bytes, want[k].queue_bytes);
		}
	}
}

Test(int, differences_are_right_where_time_and_bytes_come_round)
{
	const struct weft_example *sent = weft_example("21");

	for (uint8_t code = 1; code < INT_RATE_NB; code++) {
		struct int_stamp stamp = {.rate_code = code, .now_ns = 0x7fffffff0};
		struct int_stack before, after;
		uint8_t frame[256];

		/* One unit before the bytes come round, at code's unit or a multiple of it. */
		stamp.tx_bytes = (UINT64_C(1) << 40) - 1024;
		memcpy(frame, sent->frame, sent->len);
		push(frame, sent->len, &stamp);
		int_read(frame + BTH_OFF + 16, 2, &before);
		stamp.now_ns += 0x20;
		stamp.tx_bytes += 4096;
		memcpy(frame, sent->frame, sent->len);
		push(frame, sent->len, &stamp);
		int_read(frame + BTH_OFF + 16, 2, &after);
		cr_expect_eq(int_ts_delta(&after.hops[0], &before.hops[0]), 0x20, "%u", code);
		cr_expect_eq(int_tx_delta(&after.hops[0], &before.hops[0]), 4096, "%u", code);
	}
}

Test(int, a_queue_beyond_the_field_reads_as_the_most)
{
	const struct weft_example *sent = weft_example("21");
	struct int_stamp stamp = at_100g;
	struct int_stack stack;
	uint8_t frame[256];

	stamp.queue_bytes = UINT64_MAX;
	memcpy(frame, sent->frame, sent->len);
	push(frame, sent->len, &stamp);
	cr_expect_eq(int_read(frame + BTH_OFF + 16, 2, &stack), INT_READ_OK);
	cr_expect_eq(stack.hops[0].queue_bytes, 0xffff * 256);
	cr_expect_eq(stack.hops[0].tx_bytes, 12800000);
}

Test(int, rates_have_codes_or_none)
{
	static const struct {
		uint64_t rate_bps;
		uint8_t code;
	} rows[] = {
		{1000000000, 1},
		{2500000000, 2},
		{5000000000, 3},
		{10000000000, 4},
		{25000000000, 5},
		{40000000000, 6},
		{50000000000, 7},
		{100000000000, 8},
		{200000000000, 9},
		{400000000000, 10},
		{800000000000, 11},
		{1600000000000, 12},
		{0, 0},
		{100000000001, 0},
		{99999999999, 0},
		{20000000000, 0},
		{UINT64_MAX, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(int_rate_code(rows[i].rate_bps), rows[i].code, "row %zu", i);
}

Test(int, leaves_packets_without_an_area_as_they_are)
{
	uint32_t nb;
	const struct weft_example *all = weft_examples(&nb);

	for (uint32_t i = 0; i < nb; i++) {
		uint8_t frame[512];
		struct weft_at at;

		cr_assert(weft_find(all[i].frame, all[i].len, all[i].l3_off, all[i].ipv6, &at));
		if (!strcmp(all[i].id, "21") || !strcmp(all[i].id, "22") ||
		    !strcmp(all[i].id, "23"))
			continue;
		memcpy(frame, all[i].frame, all[i].len);
		cr_expect_eq(int_push(frame + at.bth_off, at.end_off - at.bth_off, &at_400g),
		             INT_NO_AREA, "%s", all[i].id);
		cr_expect_arr_eq(frame, all[i].frame, all[i].len, "%s", all[i].id);
	}
}

/* Each buffer is as long as the datagram and not a byte longer, for the address sanitizer. */
Test(int, survives_areas_that_lie)
{
	const struct weft_example *sent = weft_example("21");

	for (uint32_t len = 15; len <= sent->len - BTH_OFF; len++)
		for (uint32_t nb_slots = 0; nb_slots < 8; nb_slots++)
			for (uint32_t nb_hops = 0; nb_hops < 16; nb_hops++) {
				uint8_t *bth = malloc(len), before[64];
				enum int_result result;
				bool fits = len >= 16 + INT_LEN(nb_slots) + 4;

				memcpy(bth, sent->frame + BTH_OFF, len);
				if (len > 15)
					bth[15] = (uint8_t)(nb_slots << 5);
				if (len > 16)
					bth[16] = (uint8_t)(nb_hops << 4);
				memcpy(before, bth, len);
				result = int_push(bth, len, &at_100g);
				if (len < 20 || nb_slots == 0)
					cr_expect_eq(result, INT_NO_AREA);
				else if (!fits || nb_hops > nb_slots)
					cr_expect_eq(result, INT_LIES);
				else
					cr_expect_eq(result,
					             nb_hops == nb_slots ? INT_FULL : INT_WRITTEN);
				if (result == INT_NO_AREA || result == INT_LIES)
					cr_expect_arr_eq(bth, before, len);
				else
					cr_expect_arr_eq(bth + 16 + INT_LEN(nb_slots),
					                 before + 16 + INT_LEN(nb_slots),
					                 len - 16 - INT_LEN(nb_slots));
				free(bth);
			}
}

Test(int, reads_no_hop_that_lies)
{
	uint8_t area[INT_LEN(7)] = {0};
	struct int_stack stack;

	area[0] = 3 << 4;
	cr_expect_eq(int_read(area, 2, &stack), INT_READ_LIES);
	cr_expect_eq(int_read(area, 3, &stack), INT_READ_RATE, "code 0");
	for (uint32_t i = 0; i < 7; i++)
		area[INT_LEN(i)] = 1 << 4;
	cr_expect_eq(int_read(area, 3, &stack), INT_READ_OK);
	for (uint8_t code = 13; code < 16; code++) {
		area[INT_LEN(2)] = (uint8_t)(code << 4);
		cr_expect_eq(int_read(area, 3, &stack), INT_READ_RATE);
		cr_expect_eq(int_read(area, 2, &stack), INT_READ_LIES);
	}
	area[0] = 0;
	cr_expect_eq(int_read(area, 0, &stack), INT_READ_OK);
	cr_expect_eq(stack.nb_hops, 0);
}
