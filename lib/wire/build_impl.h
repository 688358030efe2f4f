/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_BUILD_IMPL_H
#define WEFT_BUILD_IMPL_H

#include <assert.h>

#include "icrc_impl.h"
#include "psn.h"
#include "wire_impl.h"

/*
 * What building has in common in both framings. Inside this folder only.
 */

/** Fill in a path's headers, and its register and key, for packets like the next one. */
void path_fit(struct wire_path *path, uint32_t udp_len, uint16_t udp_sport, uint8_t tos);

/** What a path's headers were last made for; never 0. */
static inline uint64_t
path_key(uint32_t udp_len, uint16_t udp_sport, uint8_t tos)
{
	return (uint64_t)tos << 32 | (uint64_t)udp_sport << 16 | udp_len;
}

/** Write the headers of a path. Nearly all packets have length, port and ToS of the one before. */
static inline void
put_path(uint8_t *buf, struct wire_path *path, uint32_t udp_len, uint16_t udp_sport, uint8_t tos)
{
	if (path->key != path_key(udp_len, udp_sport, tos))
		path_fit(path, udp_len, udp_sport, tos);
	/* All of it whatever its length: a fixed size is a few stores, and the BTH overwrites. */
	memcpy(buf, path->hdr, sizeof(path->hdr));
}

/** Programmers' mistakes that would spill into other fields. */
static inline void
assert_fits(const struct wire_pkt *w, uint32_t flags)
{
	assert(flags & OPF_VALID);
	assert(flags & OPF_PAYLOAD ? w->payload_len <= PMTU_MAX : w->payload_len == 0);
	assert(((w->psn | w->dest_qpn) & ~PSN_MASK) == 0);
}

/** The words of a BTH in the order of its bytes. */
static inline void
bth_words(uint32_t bth[3], const struct wire_pkt *w, uint32_t pad)
{
	bth[0] = htobe32((uint32_t)w->opcode << 24 | (uint32_t)w->solicited << 23 |
	                 (uint32_t)w->mig_req << 22 | pad << 20 | w->pkey);
	bth[1] = htobe32((uint32_t)w->fecn << 31 | (uint32_t)w->becn << 30 | w->dest_qpn);
	bth[2] = htobe32((uint32_t)w->ack_req << 31 | w->psn);
}

/** FECN, BECN and what is reserved beside them: ones for the ICRC. */
#define BTH_VARIANT htobe32(0xff000000)

/** One by one: as a whole they would be loaded again, and that waits for their stores. */
static inline void
put_words(uint8_t *p, const uint32_t *words, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++)
		memcpy(p + 4 * i, &words[i], 4);
}

/** Two words of four bytes as one of eight, in the order of their bytes. */
static inline uint64_t
join(uint32_t first, uint32_t second)
{
	return htole64((uint64_t)le32toh(first) | (uint64_t)le32toh(second) << 32);
}

#endif
