/* SPDX-License-Identifier: BSD-3-Clause */
#include "swarm_make.h"

#include <inttypes.h>

#define MS UINT64_C(1000000)

uint64_t
dice_log(struct swarm_dice *d, uint64_t min, uint64_t max)
{
	uint64_t span = max - min + 1;
	uint32_t bits = 0;
	uint64_t x;

	while (bits < 63 && span >> bits > 1)
		bits++;
	x = prng_next(&d->prng) & ((UINT64_C(1) << dice_below(d, bits + 1)) - 1);
	return min + (x < span ? x : span - 1);
}

const char *
dice_word(struct swarm_dice *d, const char *const *words, size_t nb)
{
	return words[dice_below(d, (uint32_t)nb)];
}

/* ---- [lab] ---- */

/* PSNs have 24 bits: a few packets on, they begin again. */
static void
make_psn(struct swarm_dice *d, struct sketch_section *lab)
{
	switch (dice_below(d, 4)) {
	case 0: /* random, from the seed */
		break;
	case 1:
		sketch_set(lab, "psn", "%u", dice_once_in(d, 2) ? 0 : 0x800000 - dice_below(d, 64));
		break;
	default:
		sketch_set(lab, "psn", "%u", 0xffffff - (uint32_t)dice_log(d, 0, 1023));
		break;
	}
}

static void
make_lab(struct swarm_dice *d, uint64_t seed)
{
	struct sketch_section *lab = sketch_section(d->s, "lab");

	/* Long ones are idle most of the time: timeouts, which are the interesting part. */
	d->duration_ns = MS << dice_below(d, 10);
	d->has_end = dice_once_in(d, 2);
	sketch_set(lab, "seed", "%" PRIu64, seed & ((UINT64_C(1) << 53) - 1));
	if (d->has_end)
		sketch_set(lab, "duration", "%" PRIu64 "ms", d->duration_ns / MS);
	if (dice_once_in(d, 2))
		sketch_set(lab, "payload", "real");
	make_psn(d, lab);
	if (d->has_end && dice_once_in(d, 2))
		sketch_set(lab, "sample", "%" PRIu64 "us", d->duration_ns / 100000);
	else
		sketch_set(lab, "sample", "0");
	if (dice_once_in(d, 8))
		sketch_set(lab, "probes", "goodput, buffer, drops, inflight");
}

void
swarm_make(uint64_t seed, struct sketch *s)
{
	struct swarm_dice d = {.s = s};

	s->nb_sections = 0;
	prng_seed(&d.prng, seed);
	make_lab(&d, seed);
	swarm_make_fabric(&d);
	swarm_make_hosts(&d);
	swarm_make_links(&d);
	swarm_make_workloads(&d);
}
