/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "cookie.h"
#include "prng.h"

#define S UINT64_C(1000000000)

static uint64_t
next(void *arg)
{
	return prng_next(arg);
}

static struct prng prng;
static const struct cookie_random random_numbers = {next, &prng};

static struct cookie_pair
pair(uint8_t peer, uint8_t own, uint16_t vlan, uint8_t mac)
{
	return (struct cookie_pair){.peer = {{[15] = peer}},
	                            .own = {{[15] = own}},
	                            .vlan = vlan,
	                            .mac = {2, [5] = mac}};
}

Test(cookie, is_of_one_pair_of_addresses_vlan_mac_and_nonce)
{
	struct cookie_pair whose[] = {pair(1, 2, 0, 1), pair(2, 1, 0, 1), pair(1, 2, 5, 1),
	                              pair(3, 2, 0, 1), pair(1, 3, 0, 1), pair(1, 2, 0, 3)};
	struct cookie_jar jar;
	uint8_t cookie[HELLO_COOKIE_LEN];

	prng_seed(&prng, 1);
	cookie_init(&jar, &random_numbers, S);
	cookie_make(&jar, &random_numbers, &whose[0], 7, S, cookie);
	for (uint32_t i = 0; i < 6; i++) {
		cr_expect_eq(cookie_ok(&jar, &random_numbers, &whose[i], 7, S, cookie), i == 0);
		cr_expect_not(cookie_ok(&jar, &random_numbers, &whose[i], 8, S, cookie));
		cr_expect_eq(cookie_token(&jar, &whose[i]) == cookie_token(&jar, &whose[0]),
		             i == 0);
	}
	for (uint32_t bit = 0; bit < 128; bit++) {
		cookie[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_expect_not(cookie_ok(&jar, &random_numbers, &whose[0], 7, S, cookie));
		cookie[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

Test(cookie, lasts_for_the_minute_after_its_own_and_tokens_for_ever)
{
	static const struct {
		uint64_t made_s, shown_s;
		bool ok;
	} rows[] = {
		{0, 0, true},    {0, 59, true},   {0, 61, true},   {59, 119, true},
		{0, 121, false}, {61, 100, true}, {61, 121, true}, {0, 1000, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cookie_pair p = pair(1, 2, 0, 1);
		struct cookie_jar jar;
		uint8_t cookie[HELLO_COOKIE_LEN];
		uint64_t token;

		prng_seed(&prng, i);
		cookie_init(&jar, &random_numbers, 10 * S);
		token = cookie_token(&jar, &p);
		cookie_make(&jar, &random_numbers, &p, 7, (10 + rows[i].made_s) * S, cookie);
		cr_expect_eq(
			cookie_ok(&jar, &random_numbers, &p, 7, (10 + rows[i].shown_s) * S, cookie),
			rows[i].ok, "row %zu", i);
		cr_expect_eq(cookie_token(&jar, &p), token);
	}
}
