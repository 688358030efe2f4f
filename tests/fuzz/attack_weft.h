/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TESTS_ATTACK_WEFT_H
#define WEFT_TESTS_ATTACK_WEFT_H

#include "crowd.h"

/**
 * A packet of the weft framing to the attacked RC QP of this end, which speaks it (QP_WEFT), as
 * from somebody who knows the QP's state: the next of a message that is open, the first of another,
 * or an acknowledgement; in half of the cases with something that is not as it should be.
 *
 * @param w  written; BTH's constant fields are the caller's.
 */
void attack_weft_pick(struct script *s, const struct crowd_end *to, struct wire_pkt *w);

/** The opcode's next message of so many bytes, as one packet, with nothing wrong but its length. */
void attack_weft_whole(const struct crowd_end *to, uint8_t opcode, uint32_t len,
                       struct wire_pkt *w);

#endif
