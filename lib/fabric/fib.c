/* SPDX-License-Identifier: BSD-3-Clause */
#include "fib.h"

#include <assert.h>
#include <stdlib.h>

#define LINE_BYTES 64
#define WAYS 4

#define MAC_BITS 48
#define MAC_MASK ((UINT64_C(1) << MAC_BITS) - 1)

struct fib_entry {
	uint64_t mac_port; /* the port above the 48 bits of the address; 0 = free */
	uint64_t seen_ns;
};

struct fib_line {
	struct fib_entry ways[WAYS];
};

static_assert(sizeof(struct fib_line) == LINE_BYTES, "one look-up is one cache line");

struct fib {
	struct fib_line *lines;
	uint64_t nb_lines;
	uint32_t shift; /* 64 - log2 of the number of lines */
	uint64_t age_ns;
};

struct fib *
fib_create(uint32_t max_macs, uint64_t age_ns)
{
	struct fib *fib = calloc(1, sizeof(*fib));
	uint32_t log2 = 1;
	void *lines;

	assert(max_macs >= 1 && max_macs <= 1u << 24);
	if (!fib)
		return NULL;
	while (UINT64_C(2) << log2 < max_macs)
		log2++;
	if (posix_memalign(&lines, LINE_BYTES, sizeof(struct fib_line) << log2)) {
		free(fib);
		return NULL;
	}
	memset(lines, 0, sizeof(struct fib_line) << log2);
	fib->lines = lines;
	fib->nb_lines = UINT64_C(1) << log2;
	fib->shift = 64 - log2;
	fib->age_ns = age_ns;
	return fib;
}

void
fib_destroy(struct fib *fib)
{
	if (!fib)
		return;
	free(fib->lines);
	free(fib);
}

/* The last bytes of an address differ most and are the upper ones: fold, or they never mix. */
static struct fib_line *
fib_line(const struct fib *fib, uint64_t mac)
{
	uint64_t h = mac * UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ h >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
	return &fib->lines[h >> fib->shift];
}

static uint64_t
silent_ns(const struct fib_entry *e, uint64_t now_ns)
{
	return e->mac_port ? now_ns - e->seen_ns : UINT64_MAX;
}

/* The entry of an address; else the one to give up for it. */
static struct fib_entry *
fib_slot(struct fib_line *line, uint64_t mac, uint64_t now_ns)
{
	struct fib_entry *slot = &line->ways[0];

	for (int i = 0; i < WAYS; i++) {
		struct fib_entry *e = &line->ways[i];

		if ((e->mac_port & MAC_MASK) == mac)
			return e;
		if (silent_ns(e, now_ns) > silent_ns(slot, now_ns))
			slot = e;
	}
	return slot;
}

bool
fib_learn(struct fib *fib, uint64_t mac, uint16_t port, uint64_t now_ns)
{
	uint64_t mac_port = mac | (uint64_t)port << MAC_BITS;
	struct fib_entry *e;
	bool is_news;

	assert(mac <= MAC_MASK);
	assert(port != FIB_NO_PORT);
	if (mac == 0 || fib_mac_is_group(mac))
		return false;
	e = fib_slot(fib_line(fib, mac), mac, now_ns);
	is_news = e->mac_port != mac_port || silent_ns(e, now_ns) >= fib->age_ns;
	*e = (struct fib_entry){.mac_port = mac_port, .seen_ns = now_ns};
	return is_news;
}

void
fib_forget_port(struct fib *fib, uint16_t port)
{
	for (uint64_t i = 0; i < fib->nb_lines; i++)
		for (int way = 0; way < WAYS; way++)
			if (fib->lines[i].ways[way].mac_port >> MAC_BITS == port)
				fib->lines[i].ways[way] = (struct fib_entry){0};
}

void
fib_forget_all(struct fib *fib)
{
	memset(fib->lines, 0, fib->nb_lines * sizeof(fib->lines[0]));
}

uint16_t
fib_find(const struct fib *fib, uint64_t mac, uint64_t now_ns)
{
	const struct fib_entry *e = fib_line(fib, mac)->ways;

	for (int i = 0; i < WAYS; i++, e++)
		if ((e->mac_port & MAC_MASK) == mac && silent_ns(e, now_ns) < fib->age_ns)
			return (uint16_t)(e->mac_port >> MAC_BITS);
	return FIB_NO_PORT;
}
