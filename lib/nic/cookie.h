/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_COOKIE_H
#define WEFT_COOKIE_H

#include <stdbool.h>
#include <stdint.h>

#include "hello.h"

/**
 * @file
 * What a NIC knows of who asks without remembering anything: cookies, which show that somebody
 * receives what is sent to his address, and tokens, which show that he was told so since our start.
 * Both are keyed hashes (SipHash-2-4) of addresses: J.-P. Aumasson, D. J. Bernstein, "SipHash: a
 * fast short-input PRF", INDOCRYPT 2012.
 */

/** A secret is used for new cookies for so long, and good for as long again. Our choice. */
#define COOKIE_SECRET_NS UINT64_C(60000000000)
#define COOKIE_KEY_LEN 16

struct cookie_jar {
	uint8_t secret[2][COOKIE_KEY_LEN]; /**< the present one, the one before */
	uint8_t token_key[COOKIE_KEY_LEN];
	uint64_t renewed_ns;
};

/** Whose cookie or token it is: he at peer speaks to us at own, and hears us at this MAC. Of no use
 * to anybody with the same address and another MAC. */
struct cookie_pair {
	struct ip_addr peer, own;
	uint16_t vlan;
	uint8_t mac[6];
};

/** Numbers that nobody can guess. */
struct cookie_random {
	uint64_t (*next)(void *arg);
	void *arg;
};

void cookie_init(struct cookie_jar *jar, const struct cookie_random *random, uint64_t now_ns);

/** The cookie for who asks with this nonce. */
void cookie_make(struct cookie_jar *jar, const struct cookie_random *random,
                 const struct cookie_pair *pair, uint64_t nonce, uint64_t now_ns,
                 uint8_t cookie[HELLO_COOKIE_LEN]);
/** Whether that is one which cookie_make gave in the last minute, or in the one or two before. */
bool cookie_ok(struct cookie_jar *jar, const struct cookie_random *random,
               const struct cookie_pair *pair, uint64_t nonce, uint64_t now_ns,
               const uint8_t cookie[HELLO_COOKIE_LEN]);

/** What he must show in OPENs; never 0. The same as long as the jar is. */
uint64_t cookie_token(const struct cookie_jar *jar, const struct cookie_pair *pair);

#endif
