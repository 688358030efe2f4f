/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "hello.h"
#include "hello_examples.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* By their places among the examples. */
enum { ASK, COOKIE, ASK_AGAIN, WELCOME, OPEN, AGREED, DIFFERS };

static const uint8_t cookie[HELLO_COOKIE_LEN] = {0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7,
                                                 0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf};

/* Parse from memory of just this size, so that the address sanitizer sees one byte too far. */
static bool
parse(const uint8_t *p, uint32_t len, struct hello_msg *msg)
{
	uint8_t *exact = malloc(len ? len : 1);
	bool ok;

	cr_assert(exact);
	memcpy(exact, p, len);
	ok = hello_parse(exact, len, msg);
	free(exact);
	return ok;
}

static struct hello_who
who(uint64_t boot_id, uint64_t token)
{
	return (struct hello_who){.boot_id = boot_id,
	                          .token = token,
	                          .engine = "irn",
	                          .version_min = 1,
	                          .nb_slots = 5,
	                          .lanes_shift = 5,
	                          .features = HELLO_INT | HELLO_TS | HELLO_CE_ECHO | HELLO_SACK |
	                                      HELLO_TRIM};
}

#define NONCE UINT64_C(0x0102030405060708)
#define OPEN_NONCE UINT64_C(0x1112131415161718)
#define BOOT_A UINT64_C(0xb00700000000000a)
#define BOOT_B UINT64_C(0xb00700000000000b)
#define TOKEN_A UINT64_C(0x70ce00000000000a)
#define TOKEN_B UINT64_C(0x70ce00000000000b)

static struct hello_msg
example(uint32_t i)
{
	struct hello_msg msg = {.version = 1, .nonce = NONCE, .nb_qps = 1};
	struct hello_terms *t = &msg.qp[0];

	if (i != ASK)
		memcpy(msg.cookie, cookie, sizeof(cookie));
	switch (i) {
	case ASK:
	case ASK_AGAIN:
		msg.type = HELLO_ASK;
		msg.who = who(BOOT_A, i == ASK ? 0 : TOKEN_A);
		return msg;
	case COOKIE:
		msg.type = HELLO_COOKIE;
		return msg;
	case WELCOME:
		msg.type = HELLO_WELCOME;
		msg.who = who(BOOT_B, TOKEN_B);
		return msg;
	}
	*t = (struct hello_terms){.own_qpn = i == OPEN ? 0x22 : 0x11,
	                          .peer_qpn = i == OPEN ? 0x11 : 0x22,
	                          .rq_psn = i == OPEN ? 0x900 : 0x100,
	                          .sq_psn = i == OPEN ? 0x100 : 0,
	                          .options = i == OPEN ? HELLO_OPT_SQ_PSN : 0,
	                          .window_pkts = i == DIFFERS ? 1u << 22 : 512,
	                          .max_msgs = 256,
	                          .mtu_code = 3,
	                          .ack_every = i == DIFFERS ? 0 : 1,
	                          .ack_delay_us = i == DIFFERS ? 0 : 10,
	                          .max_rd_atomic = 16,
	                          .max_dest_rd_atomic = 16,
	                          .status = i == DIFFERS ? HELLO_ENGINES : HELLO_AGREED};
	strcpy(t->engine, i == DIFFERS ? "dcp" : "irn");
	msg.type = i == OPEN ? HELLO_OPEN : HELLO_ANSWER;
	msg.nonce = OPEN_NONCE;
	msg.token = i == OPEN ? TOKEN_B : TOKEN_A;
	return msg;
}

static void
expect_same_terms(const struct hello_terms *a, const struct hello_terms *b)
{
	cr_expect_eq(a->own_qpn, b->own_qpn);
	cr_expect_eq(a->peer_qpn, b->peer_qpn);
	cr_expect_eq(a->rq_psn, b->rq_psn);
	cr_expect_eq(a->sq_psn, b->sq_psn);
	cr_expect_eq(a->window_pkts, b->window_pkts);
	cr_expect_eq(a->max_msgs, b->max_msgs);
	cr_expect_eq(a->options, b->options);
	cr_expect_eq(a->mtu_code, b->mtu_code);
	cr_expect_eq(a->nb_slots, b->nb_slots);
	cr_expect_eq(a->lanes_shift, b->lanes_shift);
	cr_expect_eq(a->ack_every, b->ack_every);
	cr_expect_eq(a->ack_delay_us, b->ack_delay_us);
	cr_expect_eq(a->max_rd_atomic, b->max_rd_atomic);
	cr_expect_eq(a->max_dest_rd_atomic, b->max_dest_rd_atomic);
	cr_expect_eq(a->status, b->status);
	cr_expect_eq(a->reason, b->reason);
	cr_expect_str_eq(a->engine, b->engine);
}

static void
expect_same(const struct hello_msg *a, const struct hello_msg *b)
{
	cr_assert_eq(a->type, b->type);
	cr_expect_eq(a->version, b->version);
	cr_expect_eq(a->nonce, b->nonce);
	if (a->type == HELLO_OPEN || a->type == HELLO_ANSWER) {
		cr_expect_eq(a->token, b->token);
		cr_assert_eq(a->nb_qps, b->nb_qps);
		for (uint32_t i = 0; i < a->nb_qps; i++)
			expect_same_terms(&a->qp[i], &b->qp[i]);
		return;
	}
	cr_expect_arr_eq(a->cookie, b->cookie, HELLO_COOKIE_LEN);
	if (a->type == HELLO_COOKIE)
		return;
	cr_expect_eq(a->who.boot_id, b->who.boot_id);
	cr_expect_eq(a->who.token, b->who.token);
	cr_expect_str_eq(a->who.engine, b->who.engine);
	cr_expect_eq(a->who.version_min, b->who.version_min);
	cr_expect_eq(a->who.nb_slots, b->who.nb_slots);
	cr_expect_eq(a->who.lanes_shift, b->who.lanes_shift);
	cr_expect_eq(a->who.features, b->who.features);
}

Test(hello, examples_are_read_and_written_byte_for_byte)
{
	for (uint32_t i = 0; i < HELLO_EXAMPLES_NB; i++) {
		uint8_t bytes[HELLO_MSG_MAX], out[HELLO_MSG_MAX];
		uint32_t len = golden_hex(bytes, hello_examples[i].hex);
		struct hello_msg want = example(i), msg;

		cr_assert(parse(bytes, len, &msg), "%s", hello_examples[i].what);
		expect_same(&msg, &want);
		cr_expect_eq(hello_build(out, &want), len, "%s", hello_examples[i].what);
		cr_expect_arr_eq(out, bytes, len, "%s", hello_examples[i].what);
	}
}

Test(hello, one_message_is_about_sixteen_qps)
{
	struct hello_msg msg = example(OPEN), got;
	uint8_t bytes[HELLO_MSG_MAX];
	uint32_t len;

	msg.nb_qps = HELLO_ENTRIES_MAX;
	for (uint32_t i = 0; i < HELLO_ENTRIES_MAX; i++) {
		msg.qp[i] = msg.qp[0];
		msg.qp[i].own_qpn = 0xfffff0 + i;
	}
	len = hello_build(bytes, &msg);
	cr_expect_eq(len, 800);
	cr_assert(parse(bytes, len, &got));
	expect_same(&got, &msg);
	bytes[25] = 17;
	cr_expect_not(parse(bytes, len, &got), "17 QPs");
}

Test(hello, cut_or_longer_messages_are_none)
{
	for (uint32_t i = 0; i < HELLO_EXAMPLES_NB; i++) {
		uint8_t bytes[HELLO_MSG_MAX + 1] = {0};
		uint32_t len = golden_hex(bytes, hello_examples[i].hex);
		struct hello_msg msg;

		for (uint32_t cut = 0; cut < len; cut++)
			cr_expect_not(parse(bytes, cut, &msg), "%u bytes", cut);
		cr_expect_not(parse(bytes, len + 1, &msg));
		bytes[7]++; /* its own length says so too */
		cr_expect_not(parse(bytes, len + 1, &msg));
	}
}

/* Each row changes bytes of an example. */
Test(hello, each_defect_is_seen)
{
	static const struct {
		uint32_t example, off;
		uint8_t value;
	} rows[] = {
		{ASK, 0, 'w'},      {ASK, 4, 0},      {ASK, 5, 0},      {ASK, 5, 7},
		{ASK, 48, 0}, /* no name */
		{ASK, 48, ' '},     {ASK, 49, 0x80},  {ASK, 52, 'x'},   {ASK, 64, 0},
		{ASK, 64, 2}, /* speaks nothing below 2, and nothing above 1 */
		{ASK, 65, 8},       {ASK, 66, 16},    {ASK, 67, 1},     {ASK, 79, 1},
		{COOKIE, 5, 1},     {OPEN, 4, 2},     {OPEN, 25, 0},    {OPEN, 25, 2},
		{OPEN, 31, 1},      {OPEN, 35, 0},    {OPEN, 35, 2},    {OPEN, 39, 0},
		{OPEN, 39, 6},      {OPEN, 43, 8},    {OPEN, 47, 16},   {OPEN, 66, 0},
		{OPEN, 64, 0x40},   {OPEN, 68, 3},    {OPEN, 71, 0x60}, {OPEN, 70, 1},
		{OPEN, 71, 0}, /* a PSN that is not known */
		{OPEN, 76, 1},      {OPEN, 77, 1},    {OPEN, 78, 1},    {OPEN, 79, 1},
		{DIFFERS, 76, 6},   {DIFFERS, 77, 1}, {AGREED, 76, 3},  {AGREED, 77, 4},
		{AGREED, 68, 0xff},
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		uint8_t bytes[HELLO_MSG_MAX];
		uint32_t len = golden_hex(bytes, hello_examples[rows[i].example].hex);
		struct hello_msg msg;

		bytes[rows[i].off] = rows[i].value;
		cr_expect_not(parse(bytes, len, &msg), "row %zu", i);
	}
}

Test(hello, a_later_version_may_say_more_about_itself)
{
	uint8_t bytes[HELLO_MSG_MAX] = {0};
	uint32_t len = golden_hex(bytes, hello_examples[WELCOME].hex) + 20;
	struct hello_msg msg;

	bytes[4] = 2;
	bytes[7] = (uint8_t)len;
	bytes[67] = bytes[72] = 1;
	cr_assert(parse(bytes, len, &msg));
	cr_expect_eq(msg.version, 2);
	cr_expect_eq(msg.who.version_min, 1);
}

/* ---- frames ---- */

static struct wire_addr
addr(bool ipv6, bool has_vlan)
{
	struct wire_addr a = {.dmac = {2, 0, 0, 0, 0, 2},
	                      .smac = {2, 0, 0, 0, 0, 1},
	                      .has_vlan = has_vlan,
	                      .vlan_tci = 5,
	                      .ttl = 64};

	cr_assert(ip_addr_parse(ipv6 ? "fd00::1" : "10.0.0.1", &a.src));
	cr_assert(ip_addr_parse(ipv6 ? "fd00::2" : "10.0.0.2", &a.dst));
	return a;
}

Test(hello, a_frame_around_it_is_read_back)
{
	for (uint32_t i = 0; i < 4 * HELLO_EXAMPLES_NB; i++) {
		struct wire_addr a = addr(i & 1, i & 2);
		struct hello_msg msg = example(i / 4), got;
		uint8_t frame[HELLO_FRAME_MAX(HELLO_MSG_MAX)];
		uint32_t len = hello_frame(frame, &a, &msg);
		struct wire_pkt w;
		enum wire_bad bad;

		cr_expect_geq(len, 60);
		cr_assert_eq(wire_parse(frame, len, &w, &bad), WIRE_HELLO, "%u", i);
		cr_expect(!memcmp(&w.src, &a.src, 16) && !memcmp(&w.dst, &a.dst, 16));
		cr_expect_eq(w.has_vlan, a.has_vlan);
		cr_expect_eq(w.vlan_tci, a.has_vlan ? 5 : 0);
		cr_assert(parse(w.payload, w.payload_len, &got));
		expect_same(&got, &msg);
	}
}

/* Not even one whose sum is left out, as that of RoCE is. */
Test(hello, a_wrong_sum_is_seen_wherever_a_bit_is_wrong)
{
	for (uint32_t ipv6 = 0; ipv6 < 2; ipv6++) {
		struct wire_addr a = addr(ipv6, false);
		struct hello_msg msg = example(OPEN);
		uint8_t frame[HELLO_FRAME_MAX(HELLO_MSG_MAX)];
		uint32_t len = hello_frame(frame, &a, &msg), udp = ipv6 ? 54 : 34;
		struct wire_pkt w;
		enum wire_bad bad;

		for (uint32_t i = udp + 6; i < len; i++) {
			frame[i] ^= 0x10;
			wire_parse(frame, len, &w, &bad);
			cr_expect_eq(bad, WIRE_BAD_SUM, "byte %u", i);
			frame[i] ^= 0x10;
		}
		frame[udp + 6] = frame[udp + 7] = 0;
		wire_parse(frame, len, &w, &bad);
		cr_expect_eq(bad, WIRE_BAD_SUM);
		for (uint32_t cut = 0; cut < len; cut++)
			cr_expect_eq(wire_parse(frame, cut, &w, &bad), WIRE_BAD, "%u bytes", cut);
		frame[udp] ^= 1;
		wire_parse(frame, len, &w, &bad);
		cr_expect_eq(bad, WIRE_BAD_UDP, "another source port");
	}
}
