/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes may come from the wire: none crash the parser, and what it takes as RoCE can be built
 * again and then reads the same.
 *
 *   fuzz_wire [SEED [COUNT]]   mutated golden packets; says which input of the seed failed
 *   clang -fsanitize=fuzzer -DFUZZ_LIBFUZZER: the same function under libFuzzer, without main
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static uint64_t nb_inputs, nb_roce;

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "fuzz_wire: input %llu, line %d: %s\n",                    \
			        (unsigned long long)nb_inputs, __LINE__, #what);                   \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* All that the opcode has and build is given; the fields of other headers are not defined. */
static void
check_same(const struct wire_pkt *a, const struct wire_pkt *b)
{
	uint32_t flags = a->op->flags;

	CHECK(a->opcode == b->opcode && a->op == b->op && a->pad == b->pad);
	CHECK(a->solicited == b->solicited && a->mig_req == b->mig_req);
	CHECK(a->fecn == b->fecn && a->becn == b->becn && a->ack_req == b->ack_req);
	CHECK(a->pkey == b->pkey && a->dest_qpn == b->dest_qpn && a->psn == b->psn);
	if (flags & OPF_AETH)
		CHECK(a->syndrome == b->syndrome && a->msn == b->msn);
	if (flags & (OPF_RETH | OPF_ATOMIC_ETH))
		CHECK(a->va == b->va && a->rkey == b->rkey);
	if (flags & OPF_RETH)
		CHECK(a->dma_len == b->dma_len);
	if (flags & OPF_ATOMIC_ETH)
		CHECK(a->swap_add == b->swap_add && a->compare == b->compare);
	if (flags & OPF_ATOMIC_ACK_ETH)
		CHECK(a->atomic_orig == b->atomic_orig);
	if (flags & OPF_IMM)
		CHECK(a->imm == b->imm);
	if (flags & OPF_IETH)
		CHECK(a->inv_rkey == b->inv_rkey);
	if (flags & OPF_DETH)
		CHECK(a->qkey == b->qkey && a->src_qpn == b->src_qpn);
	CHECK(a->payload_len == b->payload_len);
	CHECK(!memcmp(a->payload, b->payload, a->payload_len));
	CHECK(a->l3_off == b->l3_off && a->end_off == b->end_off);
	CHECK(!memcmp(&a->src, &b->src, sizeof(a->src)) && !memcmp(&a->dst, &b->dst, 16));
	CHECK(a->udp_sport == b->udp_sport && a->ipv6 == b->ipv6);
	CHECK(a->has_vlan == b->has_vlan && a->vlan_tci == b->vlan_tci);
	CHECK(a->tos == b->tos && a->ttl == b->ttl && a->flow_label == b->flow_label);
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
	CHECK((kind == WIRE_BAD) == (bad != WIRE_BAD_NONE));
	CHECK((kind == WIRE_PFC) == wire_parse_pfc(data, (uint32_t)len, &pfc));
	if (kind != WIRE_ROCE)
		return 0;
	nb_roce++;
	CHECK(first.end_off <= len);
	wire_icrc_ok(data, &first);
	if (first.ipv6 && (is_mapped(&first.src) || is_mapped(&first.dst)))
		return 0;
	out_len = golden_rebuild(out, data, &first);
	CHECK(wire_parse(out, out_len, &second, &bad) == WIRE_ROCE);
	CHECK(wire_icrc_ok(out, &second));
	check_same(&first, &second);
	return 0;
}

#ifndef FUZZ_LIBFUZZER

static uint64_t rng;

/* Below n. splitmix64, G. Steele et al., OOPSLA 2014. */
static uint32_t
below(uint32_t n)
{
	uint64_t z = rng += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (uint32_t)((z ^ z >> 31) >> 32) % n;
}

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

static uint32_t
mutate(uint8_t *frame, uint32_t len)
{
	if (len > 18 && below(4) == 0) { /* a VLAN tag */
		memmove(frame + 16, frame + 12, len - 12);
		memcpy(frame + 12, "\x81\x00", 2);
		len += 4;
	}
	for (uint32_t n = below(4); n > 0 && len > 0; n--)
		/* Headers are what is read: aim there. */
		switch (below(4)) {
		case 0:
			frame[below(len < 90 ? len : 90)] ^= (uint8_t)(1 << below(8));
			break;
		case 1:
			frame[below(len < 90 ? len : 90)] = (uint8_t)below(256);
			break;
		case 2:
			len -= below(len < 32 ? len : 32);
			break;
		case 3:
			if (len > 43)
				frame[42] = (uint8_t)below(256); /* the opcode, often */
			break;
		}
	if (below(2))
		mend_ipv4(frame, len);
	return len;
}

int
main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint32_t count = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 1000000;
	uint32_t nb;
	const struct golden_frame *frames = golden_frames(&nb);
	uint8_t mutant[GOLDEN_FRAME_MAX + 4];

	printf("seed %llu, %u packets\n", (unsigned long long)seed, count);
	fflush(stdout);
	rng = seed;
	for (uint32_t i = 0; i < count; i++) {
		const struct golden_frame *f = &frames[below(nb)];
		uint8_t *exact;
		uint32_t len;

		memcpy(mutant, f->data, f->len);
		len = mutate(mutant, f->len);
		/* In memory of its own size, so that the address sanitizer sees one byte too far.
		 */
		exact = malloc(len ? len : 1);
		if (!exact)
			return 1;
		memcpy(exact, mutant, len);
		LLVMFuzzerTestOneInput(exact, len);
		free(exact);
	}
	printf("%llu of them taken as RoCE\n", (unsigned long long)nb_roce);
	return nb_roce < count / 10; /* else the mutations have become too wild to test much */
}

#endif
