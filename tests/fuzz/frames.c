/* SPDX-License-Identifier: BSD-3-Clause */
#include "frames.h"

#include <string.h>

#include "trim.h"
#include "weft_examples.h"
#include "weft_random.h"

/* Headers are what is read, and none of ours is longer. */
#define HEADERS WIRE_HDR_MAX

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

/* Some place among the headers, more often one that every packet has. */
static uint32_t
pick_off(struct prng *rng, uint32_t len)
{
	uint32_t end = prng_below(rng, 4) ? 90 : HEADERS;

	return prng_below(rng, len < end ? len : end);
}

static uint32_t
mutate_once(struct prng *rng, uint8_t *frame, uint32_t len)
{
	switch (prng_below(rng, 4)) {
	case 0:
		frame[pick_off(rng, len)] ^= (uint8_t)(1 << prng_below(rng, 8));
		break;
	case 1:
		frame[pick_off(rng, len)] = (uint8_t)prng_next(rng);
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

uint32_t
frames_roce(struct prng *rng, uint8_t *frame)
{
	uint32_t nb;
	const struct golden_frame *f = golden_frames(&nb);

	f += prng_below(rng, nb);
	memcpy(frame, f->data, f->len);
	return f->len;
}

/* Any opcode with any options, and of those that may be trimmed some trimmed. */
static uint32_t
any_weft(struct prng *rng, uint8_t *frame)
{
	struct wire_pkt w;
	enum wire_bad bad;
	uint32_t len = weft_random_frame(rng, frame, &w);

	if (prng_below(rng, 4))
		return len;
	wire_parse(frame, len, &w, &bad);
	return wire_may_trim(frame, len, w.l3_off, w.ipv6) ? wire_trim(frame, w.l3_off, w.ipv6)
	                                                   : len;
}

uint32_t
frames_weft(struct prng *rng, uint8_t *frame)
{
	uint32_t nb;
	const struct weft_example *x = weft_examples(&nb);

	if (prng_below(rng, 4))
		return any_weft(rng, frame);
	x += prng_below(rng, nb);
	memcpy(frame, x->frame, x->len);
	return x->len;
}

size_t
frames_make(struct prng *rng, uint8_t *frame)
{
	bool is_weft = prng_below(rng, 2);
	uint32_t len = is_weft ? frames_weft(rng, frame) : frames_roce(rng, frame);

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
