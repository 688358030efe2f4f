/* SPDX-License-Identifier: BSD-3-Clause */
#include "cookie.h"

#include <assert.h>
#include <sodium/crypto_shorthash.h>
#include <sodium/utils.h>
#include <string.h>

#include "be.h"

static_assert(crypto_shorthash_siphashx24_BYTES == HELLO_COOKIE_LEN, "128 bits");
static_assert(crypto_shorthash_siphashx24_KEYBYTES == COOKIE_KEY_LEN, "128 bits");

/* Addresses, VLAN, MAC, nonce. */
#define INPUT_LEN 48

static void
fill(const struct cookie_random *random, uint8_t key[COOKIE_KEY_LEN])
{
	put_be64(key, random->next(random->arg));
	put_be64(key + 8, random->next(random->arg));
}

void
cookie_init(struct cookie_jar *jar, const struct cookie_random *random, uint64_t now_ns)
{
	fill(random, jar->secret[0]);
	fill(random, jar->secret[1]);
	fill(random, jar->token_key);
	jar->renewed_ns = now_ns;
}

/* Nobody needs a secret while nobody asks: whatever is too old is renewed when it is wanted. */
static void
renew(struct cookie_jar *jar, const struct cookie_random *random, uint64_t now_ns)
{
	uint64_t age_ns = now_ns - jar->renewed_ns;

	if (age_ns < COOKIE_SECRET_NS)
		return;
	if (age_ns < 2 * COOKIE_SECRET_NS)
		memcpy(jar->secret[1], jar->secret[0], COOKIE_KEY_LEN);
	else
		fill(random, jar->secret[1]);
	fill(random, jar->secret[0]);
	jar->renewed_ns = now_ns;
}

static void
hash(const uint8_t key[COOKIE_KEY_LEN], const struct cookie_pair *pair, uint64_t nonce,
     uint8_t out[HELLO_COOKIE_LEN])
{
	uint8_t in[INPUT_LEN];

	memcpy(in, pair->peer.b, 16);
	memcpy(in + 16, pair->own.b, 16);
	put_be16(in + 32, pair->vlan);
	memcpy(in + 34, pair->mac, 6);
	put_be64(in + 40, nonce);
	crypto_shorthash_siphashx24(out, in, sizeof(in), key);
}

void
cookie_make(struct cookie_jar *jar, const struct cookie_random *random,
            const struct cookie_pair *pair, uint64_t nonce, uint64_t now_ns,
            uint8_t cookie[HELLO_COOKIE_LEN])
{
	renew(jar, random, now_ns);
	hash(jar->secret[0], pair, nonce, cookie);
}

bool
cookie_ok(struct cookie_jar *jar, const struct cookie_random *random,
          const struct cookie_pair *pair, uint64_t nonce, uint64_t now_ns,
          const uint8_t cookie[HELLO_COOKIE_LEN])
{
	uint8_t want[HELLO_COOKIE_LEN];

	renew(jar, random, now_ns);
	for (uint32_t i = 0; i < 2; i++) {
		hash(jar->secret[i], pair, nonce, want);
		if (sodium_memcmp(want, cookie, sizeof(want)) == 0)
			return true;
	}
	return false;
}

uint64_t
cookie_token(const struct cookie_jar *jar, const struct cookie_pair *pair)
{
	uint8_t out[HELLO_COOKIE_LEN];
	uint64_t token;

	hash(jar->token_key, pair, 0, out);
	token = get_be64(out);
	return token ? token : 1;
}
