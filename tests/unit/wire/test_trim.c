/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "be.h"
#include "golden.h"
#include "trim.h"
#include "weft_examples.h"
#include "weft_hdr.h"

static bool
may_trim(const struct weft_example *x)
{
	return wire_may_trim(x->frame, x->len, x->l3_off, x->ipv6);
}

Test(trim, gives_the_examples_bytes)
{
	static const char *const rows[][2] = {{"2", "4"}, {"3c", "6"}};

	for (size_t i = 0; i < 2; i++) {
		const struct weft_example *x = weft_example(rows[i][0]);
		const struct weft_example *want = weft_example(rows[i][1]);
		uint8_t frame[512];

		memcpy(frame, x->frame, x->len);
		cr_assert(may_trim(x));
		cr_assert_eq(wire_trim(frame, x->l3_off, x->ipv6), want->len);
		cr_expect_arr_eq(frame, want->frame, want->len, "%s", x->id);
		cr_expect_arr_eq(frame + want->len, x->frame + want->len, x->len - want->len,
		                 "nothing behind the cut is written");
	}
}

Test(trim, a_vlan_tag_makes_it_four_bytes_longer)
{
	static const uint8_t tag[4] = {0x81, 0x00, 0x60, 0x05};
	static const char *const rows[][2] = {{"2", "4"}, {"3c", "6"}};

	for (size_t i = 0; i < 2; i++) {
		const struct weft_example *x = weft_example(rows[i][0]);
		const struct weft_example *want = weft_example(rows[i][1]);
		uint8_t frame[512];

		memcpy(frame, x->frame, 12);
		memcpy(frame + 12, tag, 4);
		memcpy(frame + 16, x->frame + 12, x->len - 12);
		cr_assert(wire_may_trim(frame, x->len + 4, 18, x->ipv6));
		cr_assert_eq(wire_trim(frame, 18, x->ipv6), want->len + 4);
		cr_expect_arr_eq(frame, x->frame, 12);
		cr_expect_arr_eq(frame + 12, tag, 4);
		cr_expect_arr_eq(frame + 16, want->frame + 12, want->len - 12);
	}
}

/* Of the examples only the data of dcp has the tag. */
Test(trim, takes_tagged_stream_packets_and_nothing_else)
{
	static const char *const yes[] = {"1", "2", "3", "3b", "3c"};
	uint32_t nb, nb_yes = 0;
	const struct weft_example *all = weft_examples(&nb);

	for (uint32_t i = 0; i < nb; i++) {
		bool want = false;

		for (size_t k = 0; k < sizeof(yes) / sizeof(yes[0]); k++)
			want |= !strcmp(all[i].id, yes[k]);
		nb_yes += want;
		cr_expect_eq(may_trim(&all[i]), want, "%s", all[i].id);
	}
	cr_expect_eq(nb_yes, 5);
}

/* By opcode, of packets that have the tag: bounces, acknowledgements and unknown ones are not cut.
 */
Test(trim, asks_the_opcode_too)
{
	const struct weft_example *x = weft_example("2");
	uint8_t frame[512];

	memcpy(frame, x->frame, x->len);
	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		frame[42] = (uint8_t)opcode;
		cr_expect_eq(wire_may_trim(frame, x->len, x->l3_off, false),
		             opcode >= 0xe0 && opcode <= 0xf7 && opcode != 0xf1, "0x%02x", opcode);
	}
}

/* Common DSCPs end in 10 like the tag: 26, 46, AF11 to AF41. */
Test(trim, leaves_foreign_packets_with_such_dscps)
{
	static const uint8_t dscps[] = {26, 46, 10, 18, 34, 2};
	uint32_t nb;
	const struct golden_frame *frames = golden_frames(&nb);
	const struct weft_example *x = weft_example("2");
	uint8_t frame[512];

	for (size_t k = 0; k < sizeof(dscps); k++) {
		for (uint32_t i = 0; i < nb; i++) {
			bool ipv6 = frames[i].data[12] == 0x86;
			uint8_t *copy = malloc(frames[i].len);

			memcpy(copy, frames[i].data, frames[i].len);
			if (ipv6)
				put_be16(copy + 14, (uint16_t)(0x6000 | dscps[k] << 6));
			else
				copy[15] = (uint8_t)(dscps[k] << 2);
			cr_expect_not(wire_may_trim(copy, frames[i].len, 14, ipv6));
			free(copy);
		}
		memcpy(frame, x->frame, x->len);
		frame[15] = (uint8_t)(dscps[k] << 2);
		cr_expect(wire_may_trim(frame, x->len, x->l3_off, false));
		frame[23] = 6; /* TCP */
		cr_expect_not(wire_may_trim(frame, x->len, x->l3_off, false));
	}
}

/* A packet of 28 bytes of UDP has room for map and ICRC, one of 27 is none. */
Test(trim, leaves_what_is_too_short_to_be_whole)
{
	const struct weft_example *x = weft_example("2");

	for (uint32_t udp_len = 23; udp_len < 40; udp_len++) {
		uint32_t len = 34 + udp_len;
		uint8_t *frame = malloc(len);

		memcpy(frame, x->frame, len);
		put_be16(frame + 16, (uint16_t)(20 + udp_len));
		put_be16(frame + 38, (uint16_t)udp_len);
		cr_expect_eq(wire_may_trim(frame, len, 14, false), udp_len >= 28, "%u", udp_len);
		if (udp_len >= 28)
			cr_expect_eq(wire_trim(frame, 14, false), 57);
		free(frame);
	}
}

static uint16_t
ipv4_sum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < 20; i += 2)
		sum += get_be16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

Test(trim, keeps_a_right_header_checksum_right_and_a_wrong_one_wrong)
{
	const struct weft_example *x = weft_example("2");
	uint8_t frame[512];

	for (uint32_t id = 0; id < 0x10000; id++) {
		memcpy(frame, x->frame, 80);
		put_be16(frame + 18, (uint16_t)id);
		put_be16(frame + 24, 0);
		put_be16(frame + 24, (uint16_t)~ipv4_sum(frame + 14));
		wire_trim(frame, 14, false);
		cr_assert_eq(ipv4_sum(frame + 14), 0xffff, "identification 0x%04x", id);
	}
	memcpy(frame, x->frame, 80);
	frame[24] ^= 0x10;
	wire_trim(frame, 14, false);
	cr_expect_neq(ipv4_sum(frame + 14), 0xffff);
}

/* A sum that comes out as 0 is sent as all ones, because 0 means that there is none. */
Test(trim, never_sends_a_udp_checksum_of_zero)
{
	const struct weft_example *x = weft_example("2");
	bool had_ones = false;
	uint8_t frame[512];

	for (uint32_t port = 0; port < 0x10000; port++) {
		uint16_t checksum;

		memcpy(frame, x->frame, 80);
		put_be16(frame + 34, (uint16_t)port);
		wire_trim(frame, 14, false);
		checksum = get_be16(frame + 40);
		cr_assert_neq(checksum, 0, "source port %u", port);
		had_ones |= checksum == 0xffff;
	}
	cr_expect(had_ones);
}
