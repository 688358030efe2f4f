/* SPDX-License-Identifier: BSD-3-Clause */
#include "mark.h"

#include "be.h"
#include "csum.h"
#include "wire.h"

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
		put_be16(ip + 10, csum_adjust(get_be16(ip + 10), ecn, ECN_CE));
	return true;
}
