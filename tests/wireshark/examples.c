/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the worked examples of docs/wire.md as a capture, for the dissector's test.
 *
 *   examples          packets of the weft framing, then messages of HELLO and OPEN
 *   examples N SEED   so many copies of them with bytes changed, or cut short
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "hello.h"
#include "hello_examples.h"
#include "pcapng.h"
#include "prng.h"
#include "weft_examples.h"

#define FRAME_MAX 2048

struct frame {
	uint8_t bytes[FRAME_MAX];
	uint32_t len;
};

static void
put(const struct frame *f)
{
	uint8_t block[FRAME_MAX + PCAPNG_PACKET_EXTRA + 3];
	size_t len = pcapng_packet(block, 0, false, 0, f->bytes, f->len, f->len);

	fwrite(block, 1, len, stdout);
}

/* From A to B of the examples. */
static struct frame
hello_frame_of(const struct hello_example *e)
{
	struct wire_addr addr = {.dmac = {2, 0, 0, 0, 0, 2},
	                         .smac = {2, 0, 0, 0, 0, 1},
	                         .src = {{[10] = 0xff, 0xff, 10, 0, 0, 1}},
	                         .dst = {{[10] = 0xff, 0xff, 10, 0, 0, 2}},
	                         .ttl = 64};
	uint8_t payload[HELLO_MSG_MAX];
	struct hello_msg msg;
	struct frame f;

	if (!hello_parse(payload, golden_hex(payload, e->hex), &msg))
		abort();
	f.len = hello_frame(f.bytes, &addr, &msg);
	return f;
}

static struct frame
frame_at(uint32_t i)
{
	const struct weft_example *weft;
	struct frame f;
	uint32_t nb;

	weft = weft_examples(&nb);
	if (i >= nb)
		return hello_frame_of(&hello_examples[i - nb]);
	f.len = weft[i].len;
	memcpy(f.bytes, weft[i].frame, f.len);
	return f;
}

/* Behind the UDP ports of IPv4, so that most are still looked at. */
static void
mutate(struct frame *f, struct prng *prng)
{
	uint32_t nb = 1 + (uint32_t)prng_below(prng, 4);

	while (nb--)
		f->bytes[38 + prng_below(prng, f->len - 38)] = (uint8_t)prng_next(prng);
	if (prng_below(prng, 3) == 0)
		f->len = 43 + (uint32_t)prng_below(prng, f->len - 42);
}

int
main(int argc, char **argv)
{
	uint8_t block[PCAPNG_BLOCK_MAX];
	uint32_t nb;
	struct prng prng;

	weft_examples(&nb);
	nb += HELLO_EXAMPLES_NB;
	fwrite(block, 1, pcapng_section(block, "examples"), stdout);
	fwrite(block, 1, pcapng_interface(block, "examples", 0), stdout);
	for (uint32_t i = 0; argc < 3 && i < nb; i++) {
		struct frame f = frame_at(i);

		put(&f);
	}
	prng_seed(&prng, argc < 3 ? 0 : (uint64_t)atoll(argv[2]));
	for (long i = 0; argc >= 3 && i < atol(argv[1]); i++) {
		struct frame f = frame_at((uint32_t)prng_below(&prng, nb));

		mutate(&f, &prng);
		put(&f);
	}
	return fflush(stdout) ? 1 : 0;
}
