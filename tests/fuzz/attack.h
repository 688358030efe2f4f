/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TESTS_ATTACK_H
#define WEFT_TESTS_ATTACK_H

#include "crowd.h"

/* Frames that an enemy on the wire sends to the attacked QPs, from all that he can know. */

/** No frame is longer. */
#define ATTACK_FRAME_MAX 4352u

/** What was seen on the wire, to be sent once more. */
struct attack_seen {
	uint8_t data[ATTACK_FRAME_MAX];
	uint32_t len;
};
#define ATTACK_NB_SEEN 8
struct attack {
	struct crowd *crowd;
	struct attack_seen seen[2][ATTACK_NB_SEEN]; /**< towards each side */
	uint32_t nb_seen[2];
};

/** A tap of struct world_conf, with a struct attack. */
void attack_tap(void *arg, const struct pkt *pkt);

/** A length of payload, mostly one at a limit; 0 to 4096. */
uint32_t attack_pick_len(struct script *s);

/**
 * Make one frame towards a side: nearly right, forged, cut, stretched, seen before or noise.
 *
 * @param frame  room for ATTACK_FRAME_MAX bytes.
 * @return       bytes, 0 to ATTACK_FRAME_MAX.
 */
uint32_t attack_make(struct attack *a, struct script *s, int side, int type, uint8_t *frame);

/**
 * A whole frame with one opcode and so many bytes behind its headers, whatever the opcode says;
 * lengths, checksum and ICRC are right. The PSN is the one that is due.
 */
uint32_t attack_make_len(struct attack *a, int side, int type, uint8_t opcode, uint32_t len,
                         uint8_t *frame);

#endif
