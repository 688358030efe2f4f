/* SPDX-License-Identifier: BSD-3-Clause */
#include "be.h"
#include "fault_lane.h"
#include "hdr.h"
#include "psn.h"
#include "trim.h"
#include "wire.h"

bool
fault_lane_throws(struct fault_lane *lane, enum fault_kind kind, uint32_t ppm)
{
	return prng_below(&lane->dice[kind], MILLION) < ppm;
}

static bool
loses_some(struct fault_lane *lane)
{
	uint32_t ppm = lane->dir.ppm[FAULT_LOSS];

	return ppm && fault_lane_throws(lane, FAULT_LOSS, ppm);
}

/* Two throws for each frame, whatever the shares: a change of one moves no other. */
static bool
loses_in_burst(struct fault_lane *lane)
{
	const struct fault_burst *b = &lane->dir.burst;
	bool is_lost;

	if (b->p_ppm == 0)
		return false;
	is_lost = fault_lane_throws(lane, FAULT_BURST, lane->is_bad ? b->bad_ppm : b->good_ppm);
	if (fault_lane_throws(lane, FAULT_BURST, lane->is_bad ? b->r_ppm : b->p_ppm))
		lane->is_bad = !lane->is_bad;
	return is_lost;
}

static bool
loses_by_pattern(struct fault_lane *lane)
{
	const struct param_pattern *pattern = &lane->dir.pattern;
	bool is_lost;

	if (pattern->nb_bits == 0)
		return false;
	is_lost = pattern->bits >> lane->pattern_at & 1;
	if (++lane->pattern_at == pattern->nb_bits)
		lane->pattern_at = 0;
	return is_lost;
}

/* Behind Ethernet and VLAN tags; 0 = there is no IP packet. */
static uint32_t
find_ip(const struct pkt *p, uint16_t *type)
{
	uint32_t off = ETH_LEN;

	*type = 0;
	while (off <= p->len) {
		*type = get_be16(p->data + off - 2);
		if (*type == ETH_TYPE_IPV4 || *type == ETH_TYPE_IPV6)
			return off;
		if (*type != ETH_TYPE_VLAN)
			return 0;
		off += VLAN_LEN;
	}
	return 0;
}

/*
 * The BTH of a frame to RoCE's port, of either framing; NULL = it has none. Lengths and sums that
 * are wrong are the receiver's business: such a frame counts as the one that it pretends to be.
 */
static const uint8_t *
find_bth(const struct pkt *p)
{
	uint16_t type;
	uint32_t off = find_ip(p, &type), hdr_len = IPV6_LEN;
	const uint8_t *ip = p->data + off;

	if (off == 0 || p->len - off < IPV4_LEN)
		return NULL;
	if (type == ETH_TYPE_IPV4) {
		hdr_len = (ip[0] & 0x0fu) * 4;
		if (hdr_len < IPV4_LEN || get_be16(ip + 6) & IPV4_OFFSET_MASK)
			return NULL;
	}
	if (p->len - off < hdr_len + UDP_LEN + BTH_LEN)
		return NULL;
	if (ip[type == ETH_TYPE_IPV4 ? 9 : 6] != IP_PROTO_UDP)
		return NULL;
	if (get_be16(ip + hdr_len + 2) != UDP_PORT_ROCE)
		return NULL;
	return ip + hdr_len + UDP_LEN;
}

static bool
loses_of_qpn(struct fault_lane *lane, const struct pkt *p)
{
	const struct fault_qpn *q = &lane->dir.qpn;
	const uint8_t *bth;
	bool is_lost = false;

	if (q->qpn == 0)
		return false;
	bth = find_bth(p);
	if (!bth || (get_be32(bth + 4) & PSN_MASK) != q->qpn)
		return false;
	if (q->every && ++lane->nb_qpn >= q->every) {
		lane->nb_qpn = 0;
		is_lost = true;
	}
	if (lane->nb_psn < q->psn_times && (get_be32(bth + 8) & PSN_MASK) == q->psn) {
		lane->nb_psn++;
		is_lost = true;
	}
	return is_lost;
}

/* @return whether that could not be. */
static bool
loses_by_trim(struct fault_lane *lane, struct pkt *p)
{
	uint16_t type;
	uint32_t off = find_ip(p, &type);
	bool ipv6 = type == ETH_TYPE_IPV6;

	if (off == 0 || !wire_may_trim(p->data, p->len, off, ipv6)) {
		lane->hits[FAULT_NO_TRIM]++;
		return true;
	}
	p->len = wire_trim(p->data, off, ipv6);
	p->absent = 0;
	lane->hits[FAULT_TRIM]++;
	return false;
}

bool
fault_lane_loses(struct fault_lane *lane, struct pkt *p)
{
	uint32_t trim_ppm = lane->dir.ppm[FAULT_TRIM];
	bool is_trim = trim_ppm && fault_lane_throws(lane, FAULT_TRIM, trim_ppm);
	const struct {
		enum fault_kind kind;
		bool is_lost;
	} ways[] = {
		{FAULT_LOSS, loses_some(lane)},
		{FAULT_BURST, loses_in_burst(lane)},
		{FAULT_PATTERN, loses_by_pattern(lane)},
		{FAULT_QPN, loses_of_qpn(lane, p)},
	};

	for (uint32_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (!ways[i].is_lost)
			continue;
		lane->hits[ways[i].kind]++;
		return true;
	}
	return is_trim && loses_by_trim(lane, p);
}
