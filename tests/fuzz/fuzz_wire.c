/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes may come from the wire: none crash the parser, and what it takes as RoCE can be built
 * again and then reads the same.
 *
 * Inputs are frames: golden ones, mutated.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fuzz.h"
#include "golden.h"
#include "wire.h"

static uint64_t nb_inputs, nb_roce;

/* All that the opcode has and build is given; the fields of other headers are not defined. */
static void
check_same(const struct wire_pkt *a, const struct wire_pkt *b)
{
	uint32_t flags = a->op->flags;

	FUZZ_CHECK(a->opcode == b->opcode && a->op == b->op && a->pad == b->pad);
	FUZZ_CHECK(a->solicited == b->solicited && a->mig_req == b->mig_req);
	FUZZ_CHECK(a->fecn == b->fecn && a->becn == b->becn && a->ack_req == b->ack_req);
	FUZZ_CHECK(a->pkey == b->pkey && a->dest_qpn == b->dest_qpn && a->psn == b->psn);
	if (flags & OPF_AETH)
		FUZZ_CHECK(a->syndrome == b->syndrome && a->msn == b->msn);
	if (flags & (OPF_RETH | OPF_ATOMIC_ETH))
		FUZZ_CHECK(a->va == b->va && a->rkey == b->rkey);
	if (flags & OPF_RETH)
		FUZZ_CHECK(a->dma_len == b->dma_len);
	if (flags & OPF_ATOMIC_ETH)
		FUZZ_CHECK(a->swap_add == b->swap_add && a->compare == b->compare);
	if (flags & OPF_ATOMIC_ACK_ETH)
		FUZZ_CHECK(a->atomic_orig == b->atomic_orig);
	if (flags & OPF_IMM)
		FUZZ_CHECK(a->imm == b->imm);
	if (flags & OPF_IETH)
		FUZZ_CHECK(a->inv_rkey == b->inv_rkey);
	if (flags & OPF_DETH)
		FUZZ_CHECK(a->qkey == b->qkey && a->src_qpn == b->src_qpn);
	FUZZ_CHECK(a->payload_len == b->payload_len);
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
	FUZZ_CHECK((kind == WIRE_BAD) == (bad != WIRE_BAD_NONE));
	FUZZ_CHECK((kind == WIRE_PFC) == wire_parse_pfc(data, (uint32_t)len, &pfc));
	if (kind != WIRE_ROCE)
		return 0;
	nb_roce++;
	FUZZ_CHECK(first.end_off <= len);
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
/* Most mutants die at the checksum, so half of them get a right one again. */
static void
mend_ipv4(uint8_t *frame, uint32_t len)
{
	uint32_t sum = 0;

	if (len < 34)
		return;
	frame[24] = frame[25] = 0;
	for (uint32_t i = 14; i < 34; i += 2)
		sum += (uint32_t)frame[i] << 8 | frame[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~(sum + (sum >> 16));
	frame[24] = (uint8_t)(sum >> 8);
	frame[25] = (uint8_t)sum;
}

/* Headers are what is read: aim there. */
static uint32_t
mutate_once(struct prng *rng, uint8_t *frame, uint32_t len)
{
	switch (prng_below(rng, 4)) {
	case 0:
		frame[prng_below(rng, len < 90 ? len : 90)] ^= (uint8_t)(1 << prng_below(rng, 8));
		break;
	case 1:
		frame[prng_below(rng, len < 90 ? len : 90)] = (uint8_t)prng_next(rng);
		break;
	case 2:
		len -= prng_below(rng, prng_below(rng, 4) ? (len < 32 ? len : 32) : len);
		break;
	default:
		if (len > 43)
			frame[42] = (uint8_t)prng_next(rng); /* the opcode, often */
		break;
	}
	return len;
}

static size_t
make(struct prng *rng, uint8_t *frame)
{
	uint32_t nb;
	const struct golden_frame *frames = golden_frames(&nb), *f = &frames[prng_below(rng, nb)];
	uint32_t len = f->len;

	memcpy(frame, f->data, len);
	if (len > 18 && prng_below(rng, 4) == 0) { /* a VLAN tag */
		memmove(frame + 16, frame + 12, len - 12);
		memcpy(frame + 12, "\x81\x00", 2);
		len += 4;
	}
	for (uint32_t n = prng_below(rng, 4); n > 0 && len > 0; n--)
		len = mutate_once(rng, frame, len);
	if (prng_below(rng, 2))
		mend_ipv4(frame, len);
	return len;
}

int
main(int argc, char **argv)
{
	static const struct fuzz fuzz = {
		.name = "wire",
		.unit = "packets",
		.max_len = GOLDEN_FRAME_MAX + 4,
		.make = make,
		.nb_done = &nb_inputs,
	};
	int code = fuzz_main(argc, argv, &fuzz);

	printf("%llu of them taken as RoCE\n", (unsigned long long)nb_roce);
	/* Else the mutations have become too wild to test much. */
	return code ? code : nb_roce < nb_inputs / 10;
}
#endif
