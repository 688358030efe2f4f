/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "int.h"
#include "weft_examples.h"
#include "weft_hdr.h"

static bool
find(const struct weft_example *x, struct weft_at *at)
{
	return weft_find(x->frame, x->len, x->l3_off, x->ipv6, at);
}

Test(weft_hdr, finds_every_example_and_its_end)
{
	uint32_t nb;
	const struct weft_example *all = weft_examples(&nb);

	cr_assert_eq(nb, 26);
	for (uint32_t i = 0; i < nb; i++) {
		struct weft_at at;

		cr_assert(find(&all[i], &at), "%s", all[i].id);
		cr_expect_eq(at.bth_off, all[i].l3_off + (all[i].ipv6 ? 48u : 28u));
		cr_expect_eq(at.end_off, all[i].len, "%s", all[i].id);
	}
}

/* Their ICRCs: as RoCEv2's, with the INT area of stream packets as ones. */
Test(weft_hdr, examples_have_the_icrc_that_masks_the_int_area)
{
	uint32_t nb;
	const struct weft_example *all = weft_examples(&nb);

	for (uint32_t i = 0; i < nb; i++) {
		uint8_t frame[512];
		struct weft_at at;
		const uint8_t *bth;
		uint32_t icrc;

		if (!all[i].has_icrc)
			continue;
		cr_assert(find(&all[i], &at));
		memcpy(frame, all[i].frame, all[i].len);
		bth = frame + at.bth_off;
		if (weft_is_stream(bth) && weft_int_slots(bth))
			memset(frame + at.bth_off + WEFT_OFF_INT, 0xff,
			       INT_LEN(weft_int_slots(bth)));
		icrc = ~icrc_headers(frame + all[i].l3_off, all[i].ipv6,
		                     at.end_off - ICRC_LEN - all[i].l3_off);
		icrc = htole32(icrc);
		cr_expect_arr_eq(&icrc, frame + at.end_off - ICRC_LEN, ICRC_LEN, "%s", all[i].id);
	}
}

Test(weft_hdr, tells_streams_and_tags)
{
	static const struct {
		const char *id;
		bool stream;
		enum dcp_tag tag;
		uint8_t tos;
	} rows[] = {
		{"2", true, DCP_DATA, 0x6a},        {"3c", true, DCP_DATA, 0x6a},
		{"4", true, DCP_HEADER_ONLY, 0x6e}, {"5", false, DCP_HEADER_ONLY, 0x6e},
		{"6", true, DCP_HEADER_ONLY, 0x6e}, {"7", false, DCP_ACK, 0x64},
		{"8", false, DCP_OTHER, 0x60},      {"12", true, DCP_OTHER, 0x62},
		{"15", true, DCP_OTHER, 0x62},      {"18", true, DCP_OTHER, 0x62},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct weft_example *x = weft_example(rows[i].id);
		const uint8_t *l3 = x->frame + x->l3_off;
		struct weft_at at;

		cr_assert(find(x, &at));
		cr_expect_eq(weft_is_stream(x->frame + at.bth_off), rows[i].stream, "%s", x->id);
		cr_expect_eq(weft_tag(l3, x->ipv6), rows[i].tag, "%s", x->id);
		cr_expect_eq(weft_tos(l3, x->ipv6), rows[i].tos, "%s", x->id);
	}
}

Test(weft_hdr, plain_rocev2_is_none)
{
	uint32_t nb;
	const struct golden_frame *frames = golden_frames(&nb);
	struct weft_at at;

	for (uint32_t i = 0; i < nb; i++) {
		bool ipv6 = frames[i].data[12] == 0x86;

		cr_expect_not(weft_find(frames[i].data, frames[i].len, 14, ipv6, &at), "%s",
		              frames[i].name);
	}
}

Test(weft_hdr, takes_nothing_that_is_cut_short)
{
	const struct weft_example *x = weft_example("2");
	struct weft_at at;

	for (uint32_t len = x->l3_off; len < x->len; len++) {
		uint8_t *exact = malloc(len);

		memcpy(exact, x->frame, len);
		cr_expect_not(weft_find(exact, len, x->l3_off, false, &at), "%u bytes", len);
		free(exact);
	}
}

/* Each row changes one byte of an example. */
Test(weft_hdr, one_wrong_byte_makes_it_none)
{
	static const struct {
		const char *id;
		uint32_t off;
		uint8_t value;
	} rows[] = {
		{"2", 14, 0x46},  /* IPv4 options */
		{"2", 14, 0x65},  /* version 6 behind IPv4's EtherType */
		{"2", 17, 0x41},  /* total length beyond the frame's end */
		{"2", 17, 0x3f},  /* total length that is not UDP's */
		{"2", 20, 0x60},  /* more fragments */
		{"2", 21, 0x01},  /* a later fragment */
		{"2", 23, 6},     /* TCP */
		{"2", 37, 0xb8},  /* port 4792 */
		{"2", 39, 0x2d},  /* UDP length beyond IP's */
		{"2", 42, 0xc7},  /* another opcode group */
		{"2", 43, 0x00},  /* plain RoCEv2's TVer */
		{"2", 43, 0x02},  /* a TVer that there is not yet */
		{"3c", 14, 0x46}, /* version 4 behind IPv6's EtherType */
		{"3c", 20, 44},   /* a fragment header */
		{"3c", 20, 0},    /* hop-by-hop options */
		{"3c", 19, 0x2d}, /* beyond the frame's end */
		{"4", 17, 0x2a},  /* shorter than a header-only packet */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct weft_example *x = weft_example(rows[i].id);
		uint8_t frame[512];
		struct weft_at at;

		memcpy(frame, x->frame, x->len);
		frame[rows[i].off] = rows[i].value;
		cr_expect_not(weft_find(frame, x->len, x->l3_off, x->ipv6, &at), "row %zu", i);
	}
}
