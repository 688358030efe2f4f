/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_TOPO_RIG_H
#define WEFT_TEST_TOPO_RIG_H

#include "topo.h"

#define TOPO_RIG_MAX 4096
#define BIT(port) (UINT64_C(1) << (port))

/* A map that grows, with the next free port of each switch. */
struct builder {
	struct topo_map map;
	struct topo_link links[TOPO_RIG_MAX];
	struct topo_attachment atts[TOPO_RIG_MAX];
	struct topo_prefix prefixes[TOPO_RIG_MAX];
	uint8_t next_port[TOPO_RIG_MAX];
};

/* Switches and nothing else. The caller's to free. */
struct builder *builder(uint32_t nb_switches);
/* Takes the next port of both. */
struct topo_link *join(struct builder *b, uint16_t x, uint16_t y);
struct topo_attachment *attach(struct builder *b, uint32_t host, uint16_t sw);
/* A prefix of this many of 32 bits. */
void give(struct builder *b, uint32_t host, uint8_t b0, uint8_t b1, uint8_t b2, uint8_t b3,
          uint8_t bits);

/* Paths are the shortest, by another way to find them, and a flood reaches each host once. */
void expect_sound(const struct topo *t, const struct topo_map *m);

#endif
