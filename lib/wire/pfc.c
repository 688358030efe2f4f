/* SPDX-License-Identifier: BSD-3-Clause */
#include "be.h"
#include "hdr.h"
#include "wire.h"

/* IEEE 802.1Qbb-2011, 36.2 and annex 31D: opcode, class enable vector, eight times. */
#define PFC_OPCODE 0x0101
#define PFC_OFF_OPCODE ETH_LEN
#define PFC_OFF_CLASSES (ETH_LEN + 3)
#define PFC_OFF_TIMES (ETH_LEN + 4)
#define PFC_LEN (PFC_OFF_TIMES + 8 * 2)

const uint8_t wire_pause_group[6] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};

bool
wire_parse_pfc(const uint8_t *frame, uint32_t len, struct wire_pfc *pfc)
{
	if (len < PFC_LEN || get_be16(frame + 12) != ETH_TYPE_MAC_CONTROL ||
	    get_be16(frame + PFC_OFF_OPCODE) != PFC_OPCODE)
		return false;
	pfc->classes = frame[PFC_OFF_CLASSES];
	for (uint32_t i = 0; i < 8; i++)
		pfc->time_quanta[i] = get_be16(frame + PFC_OFF_TIMES + 2 * i);
	return true;
}

void
wire_build_pfc(uint8_t buf[WIRE_PFC_LEN], const uint8_t smac[6], const struct wire_pfc *pfc)
{
	memset(buf, 0, WIRE_PFC_LEN);
	memcpy(buf, wire_pause_group, sizeof(wire_pause_group));
	memcpy(buf + 6, smac, 6);
	put_be16(buf + 12, ETH_TYPE_MAC_CONTROL);
	put_be16(buf + PFC_OFF_OPCODE, PFC_OPCODE);
	buf[PFC_OFF_CLASSES] = pfc->classes;
	for (uint32_t i = 0; i < 8; i++)
		put_be16(buf + PFC_OFF_TIMES + 2 * i, pfc->time_quanta[i]);
}
