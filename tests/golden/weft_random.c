/* SPDX-License-Identifier: BSD-3-Clause */
#include "weft_random.h"

#include <assert.h>
#include <string.h>

#include "int.h"
#include "weft_hdr.h"

#define NOISE_LEN 8192

/* Payload, INT areas, blocks X: any bytes, the same in each process. */
static const uint8_t *
noise(void)
{
	static uint8_t bytes[NOISE_LEN];
	struct prng rng;

	if (bytes[0])
		return bytes;
	prng_seed(&rng, 1);
	for (uint32_t i = 0; i < NOISE_LEN; i++)
		bytes[i] = (uint8_t)prng_next(&rng);
	bytes[0] |= 1;
	return bytes;
}

static uint32_t
bits(struct prng *rng, uint32_t nb)
{
	return (uint32_t)(prng_next(rng) & ((UINT64_C(1) << nb) - 1));
}

/* Sizes are often the smallest or the largest. */
static uint32_t
between(struct prng *rng, uint32_t low, uint32_t high)
{
	switch (prng_below(rng, 4)) {
	case 0:
		return low;
	case 1:
		return high;
	default:
		return low + (uint32_t)(prng_next(rng) % ((uint64_t)high - low + 1));
	}
}

static uint32_t
random_payload_len(struct prng *rng, uint32_t flags)
{
	if (!(flags & OPF_PAYLOAD))
		return 0;
	if (flags & (OPF_FIRST | OPF_MIDDLE))
		return 256u << prng_below(rng, 5);
	return between(rng, flags & OPF_ONLY ? 0 : 1, 4096);
}

/* Where the payload belongs, in agreement with the opcode. */
static void
random_place(struct prng *rng, struct wire_pkt *w, uint32_t flags)
{
	struct wire_weft *x = &w->weft;
	uint32_t room = WEFT_MSG_MAX - w->payload_len;

	if (flags & (OPF_FIRST | OPF_ONLY))
		x->offset = 0;
	else
		x->offset = between(rng, flags & OPF_VOID ? 0 : 1, room - 1);
	x->msg_len = x->offset + w->payload_len;
	if (flags & (OPF_FIRST | OPF_MIDDLE | OPF_VOID))
		x->msg_len = between(rng, x->msg_len + 1, WEFT_MSG_MAX);
	w->dma_len = x->msg_len;
	if (flags & OPF_WRITE && flags & OPF_LAST)
		w->dma_len = between(rng, w->payload_len + 1, WEFT_MSG_MAX);
	if (flags & OPF_READ)
		w->dma_len = bits(rng, 32);
}

static void
random_options(struct prng *rng, struct wire_weft *x, uint32_t flags)
{
	static const uint8_t ext_lens[] = {0, 0, 3, 7, 11, 15};
	bool is_stream = flags & OPF_STREAM;

	if (prng_below(rng, 2))
		return;
	x->nb_slots = (uint8_t)bits(rng, 3);
	x->has_ts = bits(rng, 1);
	x->ext_len = ext_lens[prng_below(rng, sizeof(ext_lens))];
	x->has_lane = is_stream && bits(rng, 1);
	x->retransmit = is_stream && bits(rng, 1);
	x->sync = is_stream && bits(rng, 1);
	x->has_sack = !is_stream && bits(rng, 1);
	x->has_rnr = !is_stream && bits(rng, 1);
	x->ce = !is_stream && bits(rng, 1);
}

void
weft_random(struct prng *rng, uint8_t opcode, struct wire_pkt *w)
{
	uint32_t flags = opcode_table[opcode].flags;

	assert(flags & OPF_WEFT && !(flags & OPF_BOUNCE));
	*w = (struct wire_pkt){
		.opcode = opcode,
		.solicited = bits(rng, 1),
		.mig_req = bits(rng, 1),
		.fecn = bits(rng, 1),
		.becn = bits(rng, 1),
		.ack_req = bits(rng, 1),
		.pkey = (uint16_t)bits(rng, 16),
		.dest_qpn = bits(rng, 24),
		.psn = bits(rng, 24),
		.syndrome = (uint8_t)bits(rng, 8),
		.msn = bits(rng, 24),
		.va = prng_next(rng),
		.rkey = bits(rng, 32),
		.swap_add = prng_next(rng),
		.compare = prng_next(rng),
		.atomic_orig = prng_next(rng),
		.imm = bits(rng, 32),
		.inv_rkey = bits(rng, 32),
		.payload_len = random_payload_len(rng, flags),
		.weft = {.retry = (uint8_t)bits(rng, 7),
	                 .tag = (uint8_t)bits(rng, 2),
	                 .lane = {.lanes = (uint16_t)bits(rng, 16),
	                          .offset = (uint16_t)bits(rng, 16),
	                          .first_psn = bits(rng, 24),
	                          .back = (uint8_t)bits(rng, 8)},
	                 .ts_ns = bits(rng, 32),
	                 .ssn = bits(rng, 24),
	                 .req_msn = bits(rng, 24),
	                 .opp_emsn = bits(rng, 24),
	                 .value = bits(rng, 24),
	                 .rnr_ssn = bits(rng, 24),
	                 .rnr_msn = bits(rng, 24),
	                 .rnr_code = (uint8_t)bits(rng, 5),
	                 .sack_off = (uint16_t)(bits(rng, 16) & ~63u),
	                 .sack_bits = prng_next(rng),
	                 .held_ns = bits(rng, 32),
	                 .int_area = bits(rng, 2) ? noise() + 4096 + bits(rng, 11) : NULL,
	                 .ext = noise() + 4096 + bits(rng, 11)},
	};
	random_place(rng, w, flags);
	random_options(rng, &w->weft, flags);
}

uint8_t
weft_random_opcode(struct prng *rng)
{
	uint32_t operation;

	do
		operation = prng_below(rng, OP_SEND_ONLY_INV + 1);
	while (!opcode_table[OP_WEFT | operation].flags);
	return (uint8_t)(OP_WEFT | operation);
}

uint32_t
weft_frame(uint8_t *frame, const struct wire_pkt *w, const struct wire_addr *addr,
           uint16_t udp_sport, uint8_t ecn)
{
	struct wire_path path;
	uint32_t len, crc;

	wire_path_init(&path, addr);
	len = wire_build(frame, &path, w, udp_sport, ecn, &crc);
	crc = icrc_copy(crc, frame + len, noise(), w->payload_len);
	len += w->payload_len;
	return len + wire_end(frame + len, w->payload_len, crc);
}

uint32_t
weft_random_frame(struct prng *rng, uint8_t *frame, struct wire_pkt *w)
{
	bool ipv6 = bits(rng, 1), has_vlan = bits(rng, 2) == 0;
	struct wire_addr addr = {
		.dmac = {2, 0, 0, 0, 0, 2},
		.smac = {2, 0, 0, 0, 0, 1},
		.dst.b = {[10] = 0xff, 0xff, 10, 0, 0, 2},
		.src.b = {[10] = 0xff, 0xff, 10, 0, 0, 1},
		.vlan_tci = has_vlan ? (uint16_t)bits(rng, 16) : 0,
		.has_vlan = has_vlan,
		.tos = (uint8_t)(bits(rng, 4) << 4),
		.ttl = (uint8_t)bits(rng, 8),
		.ip_id = (uint16_t)bits(rng, 16),
		.flow_label = ipv6 ? bits(rng, 20) : 0,
	};

	if (ipv6)
		addr.dst.b[0] = addr.src.b[0] = 0xfd;
	weft_random(rng, weft_random_opcode(rng), w);
	return weft_frame(frame, w, &addr, (uint16_t)bits(rng, 16), (uint8_t)bits(rng, 2));
}
