/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes may come from the wire: none crash the parser, and what it takes as RoCE can be built
 * again and then reads the same. What a switch takes as a packet of the weft framing it may write
 * to, within the frame, and it is such a packet afterwards.
 *
 * Inputs are frames: golden ones, mutated.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "differ.h"
#include "frames.h"
#include "fuzz.h"
#include "golden.h"
#include "int.h"
#include "trim.h"
#include "weft_hdr.h"
#include "wire.h"

static uint64_t nb_by_opcode[256];
static uint64_t nb_inputs, nb_roce, nb_weft, nb_trimmed, nb_header_only;

/* What was taken is built again and reads the same. */
static void
check_same(const struct wire_pkt *a, const struct wire_pkt *b)
{
	FUZZ_CHECK(!wire_differ(a, b));
	FUZZ_CHECK(a->op == b->op && a->pad == b->pad);
	FUZZ_CHECK(!memcmp(a->payload, b->payload, a->payload_len));
	FUZZ_CHECK(a->l3_off == b->l3_off && a->end_off == b->end_off);
	FUZZ_CHECK(!memcmp(&a->src, &b->src, sizeof(a->src)) && !memcmp(&a->dst, &b->dst, 16));
	FUZZ_CHECK(a->udp_sport == b->udp_sport && a->ipv6 == b->ipv6);
	FUZZ_CHECK(a->has_vlan == b->has_vlan && a->vlan_tci == b->vlan_tci);
	FUZZ_CHECK(a->tos == b->tos && a->ttl == b->ttl && a->flow_label == b->flow_label);
}

/* wire_path_init tells the families apart by the address: mapped ones inside IPv6 it can't say. */
static bool
is_mapped(const struct ip_addr *addr)
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(addr->b, prefix, sizeof(prefix));
}

/* A copy as long as its content, so that the address sanitizer sees a byte too far. */
static uint8_t *
exact_copy(const uint8_t *data, uint32_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	FUZZ_CHECK(copy);
	memcpy(copy, data, len);
	return copy;
}

static void
check_int(const uint8_t *data, uint32_t len, const struct weft_at *at)
{
	static const struct int_stamp stamp = {.now_ns = 1,
	                                       .tx_bytes = 1,
	                                       .queue_bytes = 1,
	                                       .hop_id = 1,
	                                       .rate_code = 8,
	                                       .tbo = true};
	uint8_t *frame = exact_copy(data, len), *bth = frame + at->bth_off;
	uint32_t nb_slots = weft_is_stream(bth) && at->end_off - at->bth_off > WEFT_OFF_MAP
	                            ? weft_int_slots(bth)
	                            : 0;
	enum int_result result = int_push(bth, at->end_off - at->bth_off, &stamp);
	uint32_t begin = at->bth_off + WEFT_OFF_INT, end = begin + INT_LEN(nb_slots);
	struct int_stack stack;

	if (result == INT_NO_AREA || result == INT_LIES) {
		FUZZ_CHECK(!memcmp(frame, data, len));
	} else {
		FUZZ_CHECK(nb_slots > 0 && end + ICRC_LEN <= at->end_off);
		FUZZ_CHECK(!memcmp(frame, data, begin));
		FUZZ_CHECK(!memcmp(frame + end, data + end, len - end));
		FUZZ_CHECK(int_read(frame + begin, nb_slots, &stack) != INT_READ_LIES);
	}
	free(frame);
}

static void
check_trim(const uint8_t *data, uint32_t len, uint32_t l3_off, bool ipv6)
{
	uint8_t *frame = exact_copy(data, len);
	uint32_t trimmed_len = wire_trim(frame, l3_off, ipv6);
	struct weft_at at;

	FUZZ_CHECK(trimmed_len < len);
	FUZZ_CHECK(weft_find(frame, trimmed_len, l3_off, ipv6, &at));
	FUZZ_CHECK(at.end_off == trimmed_len && at.end_off - at.bth_off == WEFT_OFF_MAP);
	FUZZ_CHECK(weft_tag(frame + l3_off, ipv6) == DCP_HEADER_ONLY);
	FUZZ_CHECK(!wire_may_trim(frame, trimmed_len, l3_off, ipv6));
	FUZZ_CHECK(!memcmp(frame + at.bth_off, data + at.bth_off, WEFT_OFF_MAP));
	FUZZ_CHECK(!memcmp(frame + trimmed_len, data + trimmed_len, len - trimmed_len));
	free(frame);
}

/* What a switch does with a frame whose IP header it found. */
static void
check_weft(const uint8_t *data, uint32_t len, uint32_t l3_off, bool ipv6)
{
	uint8_t *frame = exact_copy(data, len);
	struct weft_at at;

	if (weft_find(frame, len, l3_off, ipv6, &at)) {
		nb_weft++;
		FUZZ_CHECK(at.bth_off + WEFT_OFF_MAP <= at.end_off && at.end_off <= len);
		check_int(data, len, &at);
	}
	if (wire_may_trim(frame, len, l3_off, ipv6)) {
		nb_trimmed++;
		check_trim(data, len, l3_off, ipv6);
	}
	free(frame);
}

/* A trimmed packet's bounce reads as what it was, the other way round. */
static void
check_bounce(const uint8_t *data, uint32_t len, const struct wire_pkt *w)
{
	uint8_t *frame;
	struct wire_pkt back;
	enum wire_bad bad;

	nb_header_only++;
	FUZZ_CHECK(w->payload_len == 0 && w->op->flags & (OPF_STREAM | OPF_BOUNCE));
	if (w->op->flags & OPF_BOUNCE)
		return;
	frame = exact_copy(data, len);
	FUZZ_CHECK(wire_bounce(frame, w, 0x123456) == w->end_off);
	FUZZ_CHECK(wire_parse(frame, w->end_off, &back, &bad) == WIRE_ROCE);
	FUZZ_CHECK(wire_is_header_only(&back) && back.op->flags & OPF_BOUNCE);
	FUZZ_CHECK(back.dest_qpn == 0x123456 && back.psn == w->psn && back.msn == w->msn);
	FUZZ_CHECK(back.weft.retry == w->weft.retry && back.tos == w->tos);
	FUZZ_CHECK(!memcmp(&back.src, &w->dst, 16) && !memcmp(&back.dst, &w->src, 16));
	free(frame);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t out[GOLDEN_FRAME_MAX];
	struct wire_pkt first, second;
	struct wire_pfc pfc;
	enum wire_bad bad;
	enum wire_kind kind = wire_parse(data, (uint32_t)len, &first, &bad);
	uint32_t out_len;

	nb_inputs++;
	for (uint32_t l3_off = ETH_LEN; l3_off <= ETH_LEN + VLAN_LEN && l3_off <= len;
	     l3_off += VLAN_LEN) {
		check_weft(data, (uint32_t)len, l3_off, false);
		check_weft(data, (uint32_t)len, l3_off, true);
	}
	FUZZ_CHECK((kind == WIRE_BAD) == (bad != WIRE_BAD_NONE));
	FUZZ_CHECK((kind == WIRE_PFC) == wire_parse_pfc(data, (uint32_t)len, &pfc));
	if (kind != WIRE_ROCE)
		return 0;
	nb_roce++;
	nb_by_opcode[first.opcode]++;
	FUZZ_CHECK(first.end_off <= len);
	if (wire_is_header_only(&first)) {
		check_bounce(data, (uint32_t)len, &first);
		return 0;
	}
	wire_icrc_ok(data, &first);
	if (first.ipv6 && (is_mapped(&first.src) || is_mapped(&first.dst)))
		return 0;
	out_len = golden_rebuild(out, data, &first);
	FUZZ_CHECK(wire_parse(out, out_len, &second, &bad) == WIRE_ROCE);
	FUZZ_CHECK(wire_icrc_ok(out, &second));
	check_same(&first, &second);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
/* Opcodes of the weft framing that no input got through with. */
static uint32_t
nb_weft_missing(void)
{
	uint32_t nb = 0;

	for (uint32_t i = OP_WEFT; i < 256; i++)
		nb += opcode_table[i].flags && !nb_by_opcode[i];
	return nb;
}

int
main(int argc, char **argv)
{
	static const struct fuzz fuzz = {
		.name = "wire",
		.unit = "packets",
		.max_len = FRAMES_MAX_LEN,
		.make = frames_make,
		.nb_done = &nb_inputs,
	};
	int code = fuzz_main(argc, argv, &fuzz);

	printf("%llu of them taken as RoCE, %llu as weft, %llu trimmed, %llu header-only\n",
	       (unsigned long long)nb_roce, (unsigned long long)nb_weft,
	       (unsigned long long)nb_trimmed, (unsigned long long)nb_header_only);
	/* Else the mutations have become too wild to test much. */
	if (code || nb_inputs < 10000)
		return code;
	return nb_roce < nb_inputs / 10 || nb_weft < nb_inputs / 20 || !nb_trimmed ||
	       !nb_header_only || nb_weft_missing();
}
#endif
