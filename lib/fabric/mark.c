/* SPDX-License-Identifier: BSD-3-Clause */
#include "mark.h"

#include "be.h"
#include "wire.h"

/* One's complement: a sum that grows by d wants a checksum that is smaller by d. RFC 1624. */
static void
checksum_grows(uint8_t *checksum, uint16_t by)
{
	uint32_t sum = (uint16_t)~get_be16(checksum) + (uint32_t)by;

	put_be16(checksum, (uint16_t) ~((sum & 0xffff) + (sum >> 16)));
}

bool
mark_ce(uint8_t *ip)
{
	bool is_ipv6 = ip[0] >> 4 == 6;
	uint8_t shift = is_ipv6 ? 4 : 0; /* the traffic class lies across two bytes */
	uint8_t ecn = ip[1] >> shift & IP_ECN_MASK;

	if (ecn == ECN_NOT_ECT || ecn == ECN_CE)
		return false;
	ip[1] |= (uint8_t)(ECN_CE << shift);
	if (!is_ipv6)
		checksum_grows(ip + 10, ECN_CE - ecn);
	return true;
}
