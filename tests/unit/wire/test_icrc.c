/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "golden.h"
#include "icrc.h"
#include "icrc_impl.h"

#define BIG 9000

/* The definition: one bit at a time. */
static uint32_t
reference(uint32_t crc, const uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		crc ^= p[i];
		for (uint32_t bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/* The rule of IBA annex A17, spelled out over a copy. */
static uint32_t
reference_headers(const uint8_t *l3, bool ipv6, uint32_t len)
{
	static const uint8_t variant_ipv4[] = {1, 8, 10, 11, 26, 27, 32};
	static const uint8_t variant_ipv6[] = {1, 2, 3, 7, 46, 47, 52};
	const uint8_t *variant = ipv6 ? variant_ipv6 : variant_ipv4;
	uint8_t lrh[8], copy[BIG];

	memset(lrh, 0xff, sizeof(lrh));
	memcpy(copy, l3, len);
	for (uint32_t i = 0; i < sizeof(variant_ipv4); i++)
		copy[variant[i]] = 0xff;
	if (ipv6)
		copy[0] |= 0x0f;
	return reference(reference(ICRC_INIT, lrh, 8), copy, len);
}

static uint8_t noise[BIG + 64];

static void
make_noise(void)
{
	srandom(1);
	for (uint32_t i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)(random() >> 7);
}

TestSuite(icrc, .init = make_noise);

/* Bytes in memory of their own size, so that the address sanitizer sees the first one too far. */
static uint8_t *
exact(const uint8_t *src, uint32_t len)
{
	uint8_t *p = malloc(len ? len : 1);

	cr_assert(p);
	return memcpy(p, src, len);
}

static void
expect_same(const struct icrc_ops *ops, uint32_t crc, uint32_t off, uint32_t len)
{
	uint32_t want = reference(crc, noise + off, len);
	uint8_t *src = exact(noise + off, len);
	uint8_t *dst = malloc(len ? len : 1);

	cr_expect_eq(ops->update(crc, src, len), want, "%s, %u bytes", ops->name, len);
	cr_assert(dst);
	memset(dst, 0, len);
	cr_expect_eq(ops->copy(crc, dst, src, len), want, "%s, %u copied", ops->name, len);
	cr_expect_eq(memcmp(dst, src, len), 0, "%s, %u copied", ops->name, len);
	free(dst);
	free(src);
}

#define FOREACH_IMPL(ops)                                                                          \
	for (const struct icrc_ops *const *at_ = icrc_impls, *ops; (ops = *at_); at_++)            \
		if (ops->usable())

Test(icrc, reference_gives_the_well_known_check_value)
{
	cr_expect_eq(~reference(ICRC_INIT, (const uint8_t *)"123456789", 9), 0xcbf43926);
	/* The local routing header of ones. Linux drivers/infiniband/sw/rxe/rxe_icrc.c */
	cr_expect_eq(reference(ICRC_INIT, (const uint8_t *)"\xff\xff\xff\xff\xff\xff\xff\xff", 8),
	             0xdebb20e3);
}

Test(icrc, every_path_equals_the_reference_at_every_length)
{
	FOREACH_IMPL(ops)
	{
		for (uint32_t len = 0; len <= 1300; len++)
			expect_same(ops, ICRC_INIT, 0, len);
		for (uint32_t i = 0; i < 300; i++) {
			uint32_t len = (uint32_t)random() % BIG;

			expect_same(ops, (uint32_t)random(), (uint32_t)random() % 64, len);
		}
	}
}

Test(icrc, alignment_of_source_and_destination_makes_no_difference_and_nothing_else_is_written)
{
	static const uint32_t lens[] = {0, 1, 3, 4, 16, 63, 64, 65, 130, 300, 1024, 1100};
	uint8_t dst[64 + 1100 + 64], src[64 + 1100];

	FOREACH_IMPL(ops)
	{
		for (uint32_t i = 0; i < 64 * 64; i++) {
			uint32_t len = lens[i % (sizeof(lens) / sizeof(lens[0]))];
			uint8_t *from = src + i % 64, *to = dst + i / 64;
			uint32_t want = reference(7, noise, len);

			memcpy(from, noise, len);
			memset(dst, 0xee, sizeof(dst));
			cr_assert_eq(ops->update(7, from, len), want, "%s", ops->name);
			cr_assert_eq(ops->copy(7, to, from, len), want, "%s", ops->name);
			cr_assert_arr_eq(to, noise, len);
			for (uint8_t *p = dst; p < dst + sizeof(dst); p++)
				cr_assert((p >= to && p < to + len) || *p == 0xee);
		}
	}
}

/* The address sanitizer doesn't see what vector instructions read and write; the MMU does. */
Test(icrc, nothing_beyond_either_end_is_touched)
{
	uint8_t *map[2], *page[2];

	for (uint32_t i = 0; i < 2; i++) {
		map[i] = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		cr_assert_neq(map[i], MAP_FAILED);
		page[i] = map[i] + 4096;
		cr_assert_eq(mprotect(page[i], 4096, PROT_READ | PROT_WRITE), 0);
	}
	FOREACH_IMPL(ops)
	{
		for (uint32_t len = 0; len <= 600; len++) {
			uint32_t want = reference(ICRC_INIT, noise, len);

			for (uint32_t at = 0; at < 4; at++) {
				uint8_t *src = at & 1 ? page[0] : page[0] + 4096 - len;
				uint8_t *dst = at & 2 ? page[1] : page[1] + 4096 - len;

				memcpy(src, noise, len);
				cr_assert_eq(ops->update(ICRC_INIT, src, len), want);
				cr_assert_eq(ops->copy(ICRC_INIT, dst, src, len), want);
				cr_assert_arr_eq(dst, src, len);
			}
			if (len < 60)
				continue;
			for (uint32_t at = 0; at < 4; at++) {
				uint8_t *l3 = at & 1 ? page[0] : page[0] + 4096 - len;

				memcpy(l3, noise, len);
				cr_assert_eq(ops->headers(l3, at & 2, len),
				             reference_headers(l3, at & 2, len));
			}
		}
	}
}

Test(icrc, a_run_may_be_split_anywhere)
{
	uint32_t whole = reference(ICRC_INIT, noise, 400);

	FOREACH_IMPL(ops)
	{
		uint8_t dst[400];

		for (uint32_t cut = 0; cut <= 400; cut++) {
			uint32_t crc = ops->update(ICRC_INIT, noise, cut);

			cr_expect_eq(ops->update(crc, noise + cut, 400 - cut), whole, "%s at %u",
			             ops->name, cut);
			cr_expect_eq(ops->copy(crc, dst, noise + cut, 400 - cut), whole, "%s at %u",
			             ops->name, cut);
		}
	}
}

Test(icrc, headers_mask_what_routers_may_change)
{
	FOREACH_IMPL(ops)
	{
		for (uint32_t i = 0; i < 2000; i++) {
			bool ipv6 = i & 1;
			uint32_t len = (ipv6 ? 60 : 40) + (i < 1000 ? i / 2 : 3900 + i / 20);
			uint8_t *l3 = exact(noise + i % 64, len);

			cr_expect_eq(ops->headers(l3, ipv6, len), reference_headers(l3, ipv6, len),
			             "%s, IPv%u, %u bytes", ops->name, ipv6 ? 6 : 4, len);
			free(l3);
		}
	}
}

Test(icrc, sixteen_bytes_in_registers_equal_sixteen_in_memory)
{
	for (uint32_t i = 0; i < 200; i++) {
		uint64_t words[2];

		memcpy(words, noise + i, sizeof(words));
		FOREACH_IMPL(ops)
		{
			cr_expect_eq(ops->unit(words[0], words[1]),
			             reference(0, noise + i, sizeof(words)), "%s", ops->name);
		}
	}
}

Test(icrc, every_path_takes_two_units_as_their_bytes)
{
	uint64_t words[4];

	for (uint32_t i = 0; i + sizeof(words) <= sizeof(noise); i += 3) {
		memcpy(words, noise + i, sizeof(words));
		FOREACH_IMPL(ops)
		{
			cr_expect_eq(ops->two_units(words[0], words[1], words[2], words[3]),
			             reference(0, noise + i, sizeof(words)), "%s", ops->name);
		}
	}
}

Test(icrc, every_path_finds_the_golden_icrcs)
{
	uint32_t nb;
	const struct golden_frame *frames = golden_frames(&nb);

	FOREACH_IMPL(ops)
	{
		for (uint32_t i = 0; i < nb; i++) {
			const uint8_t *l3 = frames[i].data + 14;
			uint32_t len = frames[i].len - 14 - ICRC_LEN;
			uint32_t crc = ~ops->headers(l3, l3[0] >> 4 == 6, len);
			uint8_t wire[4] = {(uint8_t)crc, (uint8_t)(crc >> 8), (uint8_t)(crc >> 16),
			                   (uint8_t)(crc >> 24)};

			cr_expect_arr_eq(wire, l3 + len, 4, "%s, %s (frame %u)", ops->name,
			                 frames[i].name, i);
		}
	}
}
