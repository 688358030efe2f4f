/* SPDX-License-Identifier: BSD-3-Clause */
#include "path_mtu.h"

#include "hdr.h"
#include "icrc.h"
#include "int.h"
#include "opcode.h"

/* Behind the BTH of packets with payload; of weft without optional parts. */
static uint32_t
headers_max(bool has_weft)
{
	uint32_t max = 0;

	for (int op = 0; op < 256; op++) {
		const struct opcode_info *info = &opcode_table[op];

		if ((info->flags & OPF_PAYLOAD) && (has_weft || !(info->flags & OPF_WEFT)) &&
		    info->ext_len > max)
			max = info->ext_len;
	}
	return max;
}

static uint32_t
options_max(const struct engine_set *set)
{
	uint32_t wire = engine_set_wire(set), bytes = 0;

	if (wire & WIRE_INT)
		bytes += INT_LEN(INT_SLOTS_DEFAULT);
	if (wire & WIRE_PATH)
		bytes += LANE_LEN;
	if (wire & WIRE_TS)
		bytes += TS_LEN;
	if (set->rel->data_ext_len)
		bytes += 1 + (uint32_t)set->rel->data_ext_len;
	return bytes;
}

uint32_t
path_mtu_overhead(const struct engine_set *set, enum framing_wish wish)
{
	bool has_weft = wish != FRAMING_WISH_ROCEV2;

	return IPV6_LEN + UDP_LEN + BTH_LEN + headers_max(has_weft) + ICRC_LEN +
	       (has_weft ? options_max(set) : 0);
}

uint8_t
path_mtu_code(uint32_t ip_mtu_bytes, uint32_t overhead_bytes)
{
	uint8_t code = 5;

	while (code > 1 && (UINT32_C(128) << code) + overhead_bytes > ip_mtu_bytes)
		code--;
	return code;
}
