/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes may come to the port of HELLO: none crash its parser, what it takes is written again as
 * the same bytes, and a NIC that hears several of them remembers nobody who has not shown his
 * cookie, says nothing longer than what it hears, and gives each packet back.
 *
 * Inputs are one to four messages: a length of two bytes, then so many. The examples, mutated. The
 * NIC asks with the examples' nonce, so that answers may be believed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "gid.h"
#include "golden.h"
#include "hello.h"
#include "hello_examples.h"
#include "mem.h"
#include "peers.h"

#define NB_PKTS 16
#define MSGS_MAX 4
#define MSG_MAX (HELLO_PAYLOAD_MAX + 8)

static uint64_t nb_msgs, nb_taken, nb_known;

/* ---- the parser ---- */

static void
check_parse(const uint8_t *data, uint32_t len)
{
	static struct hello_msg msg;
	uint8_t out[HELLO_MSG_MAX];
	uint8_t *exact = malloc(len ? len : 1);

	FUZZ_CHECK(exact);
	memcpy(exact, data, len);
	nb_msgs++;
	if (hello_parse(exact, len, &msg)) {
		nb_taken++;
		if (msg.version == HELLO_VERSION) {
			FUZZ_CHECK(hello_build(out, &msg) == len);
			FUZZ_CHECK(!memcmp(out, data, len));
		}
	}
	free(exact);
}

/* ---- a NIC ---- */

static bool
on_offer(void *arg, const struct ip_addr *peer, struct hello_who *who)
{
	(void)arg;
	(void)peer;
	strcpy(who->engine, "irn");
	return true;
}

static uint64_t
on_random(void *arg)
{
	(void)arg;
	return UINT64_C(0x0102030405060708);
}

static void
on_news(void *arg, struct peer *p, uint64_t now_ns)
{
	(void)arg;
	(void)now_ns;
	nb_known += p->state == PEER_WEFT;
}

/* Nobody can know our token. */
static void
on_opened(void *arg, struct peer *p, const struct hello_msg *msg, uint64_t now_ns)
{
	(void)arg;
	(void)p;
	(void)msg;
	(void)now_ns;
	FUZZ_CHECK(!"an OPEN or ANSWER was believed");
}

static uint32_t
on_next_open(void *arg, struct peer *p, struct hello_msg *msg, uint64_t now_ns)
{
	(void)arg;
	(void)p;
	(void)now_ns;
	return msg->nb_qps = 0;
}

/* Us, and whom we ask. */
static const struct ip_addr own = {{[10] = 0xff, 0xff, 10, 0, 0, 1}};
static const struct ip_addr other = {{[10] = 0xff, 0xff, 10, 0, 0, 2}};
static const uint8_t macs[12] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2};

static struct pkt_pool *pool;
static struct gid_table gids;
static struct neigh_self self;

static void
hear(struct peers *ps, const uint8_t *data, uint32_t len, uint64_t now_ns)
{
	const struct wire_pkt w = {.src = other, .dst = own, .payload = data, .payload_len = len};
	uint64_t nb_answers = peers_stats(ps)->tx_answers;
	struct pkt *pkts[NB_PKTS];
	uint32_t n;

	peers_rx(ps, macs, &w, now_ns);
	FUZZ_CHECK(peers_stats(ps)->tx_answers <= nb_answers + 1);
	n = peers_tx(ps, pkts, NB_PKTS, now_ns);
	FUZZ_CHECK(n <= 2); /* an answer, and a HELLO of our own with the cookie that came */
	pkt_free(pkts, n);
}

/* Each message comes to a NIC that asks the peer who it is. */
static void
check_nic(const uint8_t *data, size_t len)
{
	static const struct peers_ops ops = {on_news, on_news, on_opened, on_next_open};
	struct neigh_table *neigh = neigh_create(&self, pool, 2);
	const struct peers_conf conf = {&self, neigh, pool, &ops, on_offer, on_random, NULL};
	struct peers *ps = peers_create(&conf);
	uint64_t now_ns = UINT64_C(1000000000);
	struct peer *p;

	FUZZ_CHECK(neigh && ps);
	p = peers_get(ps, &own, &other, 0, now_ns);
	FUZZ_CHECK(p);
	neigh_set(neigh, &other, 0, macs + 6, now_ns);
	for (uint32_t i = 0; i < MSGS_MAX && len >= 2; i++) {
		uint32_t msg_len = (uint32_t)(data[0] << 8 | data[1]);

		msg_len = msg_len > len - 2 ? (uint32_t)len - 2 : msg_len;
		check_parse(data + 2, msg_len);
		hear(ps, data + 2, msg_len, now_ns += 1000000);
		data += 2 + msg_len;
		len -= 2 + msg_len;
	}
	FUZZ_CHECK(peers_nb(ps) == 1);
	peers_put(ps, p, now_ns);
	peers_destroy(ps);
	neigh_destroy(neigh);
	FUZZ_CHECK(pkt_pool_mem_nb_free(pool) == NB_PKTS);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (!pool) {
		pool = pkt_pool_mem_create(NB_PKTS, HELLO_FRAME_MAX(HELLO_MSG_MAX));
		FUZZ_CHECK(pool);
		gids = (struct gid_table){.entry = {{.ip = own}}, .len = 1, .nb_used = 1};
		self = (struct neigh_self){.name = "fuzz", .gids = &gids};
		memcpy(self.mac, macs, 6);
	}
	check_nic(data, len);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
static uint32_t
mutate(struct prng *rng, uint8_t *msg, uint32_t len)
{
	switch (prng_below(rng, 4)) {
	case 0:
		msg[prng_below(rng, len)] ^= (uint8_t)(1 << prng_below(rng, 8));
		return len;
	case 1:
		msg[prng_below(rng, len)] = (uint8_t)prng_next(rng);
		return len;
	case 2:
		len -= prng_below(rng, len);
		break;
	default:
		len += prng_below(rng, MSG_MAX - len);
		break;
	}
	if (len >= 8 && prng_below(rng, 2)) { /* its own length agrees */
		msg[6] = (uint8_t)(len >> 8);
		msg[7] = (uint8_t)len;
	}
	return len;
}

static size_t
make(struct prng *rng, uint8_t *buf)
{
	size_t at = 0;

	for (uint32_t n = 1 + prng_below(rng, MSGS_MAX); n > 0; n--) {
		uint8_t *msg = buf + at + 2;
		const char *hex = hello_examples[prng_below(rng, HELLO_EXAMPLES_NB)].hex;
		uint32_t len;

		memset(msg, 0, MSG_MAX);
		len = golden_hex(msg, hex);
		for (uint32_t times = prng_below(rng, 3); times > 0 && len; times--)
			len = mutate(rng, msg, len);
		buf[at] = (uint8_t)(len >> 8);
		buf[at + 1] = (uint8_t)len;
		at += 2 + len;
	}
	return at;
}

int
main(int argc, char **argv)
{
	static const struct fuzz fuzz = {
		.name = "hello",
		.unit = "messages",
		.max_len = MSGS_MAX * (2 + MSG_MAX),
		.make = make,
		.nb_done = &nb_msgs,
	};
	int code = fuzz_main(argc, argv, &fuzz);

	printf("%llu of them taken, %llu peers known\n", (unsigned long long)nb_taken,
	       (unsigned long long)nb_known);
	/* Else the mutations have become too wild to test much. */
	return code ? code : nb_taken < nb_msgs / 10 || nb_known < nb_msgs / 1000;
}
#endif
