/* SPDX-License-Identifier: BSD-3-Clause */
#include "attack.h"

#include <string.h>

#include "attack_weft.h"
#include "be.h"
#include "trim.h"
#include "weft_random.h"

#define L3_OFF 14u

static const uint8_t rc_ops[] = {0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
                                 0x09, 0x0a, 0x0b, 0x0c, 0x0c, 0x0d, 0x0e, 0x0f, 0x10,
                                 0x11, 0x11, 0x11, 0x12, 0x13, 0x14, 0x16, 0x17, OP_CNP};

static uint8_t
pick_opcode(struct script *s, int type)
{
	if (script_below(s, 16) == 0)
		type = (int)script_below(s, CROWD_TYPES);
	switch (type) {
	case CROWD_RC:
		return rc_ops[script_below(s, sizeof(rc_ops))];
	case CROWD_UC:
		return (uint8_t)(OP_UC | script_below(s, 12));
	default:
		return (uint8_t)(OP_UD | OP_SEND_ONLY | script_below(s, 2));
	}
}

/* Mostly near what is due, at the responder or at the requester; or as far as a circle allows. */
static uint32_t
pick_psn(struct script *s, const struct qp *qp)
{
	static const uint32_t far[] = {0x7fffff, 0x800000, 0x800001, 0x400000, 0xc00000, 0xffffff};
	uint32_t due = (uint32_t)(script_below(s, 2) ? qp->rel->rx_cum : qp->rel->tx_una);

	switch (script_below(s, 12)) {
	case 0:
		return (uint32_t)script_take(s, 3);
	case 1:
		return (due + (uint32_t)(int8_t)script_take(s, 1)) & 0xffffff;
	case 2:
		return (uint32_t)(qp->tx_nxt_psn - script_below(s, 4)) & 0xffffff;
	case 3:
		return (due + far[script_below(s, 6)]) & 0xffffff;
	default:
		return due & 0xffffff;
	}
}

uint32_t
attack_pick_len(struct script *s)
{
	static const uint32_t lens[] = {0, 1, 4, 8, 1023, 1024, 1025, 2048, 4095, 4096};

	return script_below(s, 3) ? lens[script_below(s, 10)] : (uint32_t)script_take(s, 2) % 4097;
}

static uint32_t
pick_dma_len(struct script *s, uint32_t payload_len)
{
	switch (script_below(s, 4)) {
	case 0:
		return (uint32_t)script_take(s, 4);
	case 1:
		return payload_len;
	case 2:
		return 1024u * script_below(s, 17);
	default:
		return attack_pick_len(s);
	}
}

/* Address and key of memory: right, a little beside, or anything. */
static void
pick_memory(struct script *s, const struct crowd_end *to, struct wire_pkt *w)
{
	w->va = (uintptr_t)to->buf;
	w->rkey = to->mr.mr->key;
	switch (script_below(s, 8)) {
	case 0:
		w->va += script_take(s, 2);
		break;
	case 1:
		w->va -= script_take(s, 1);
		break;
	case 2:
		w->va = script_take(s, 8);
		break;
	case 3:
		w->rkey = to->window->key;
		break;
	case 4:
		w->rkey ^= (uint32_t)script_take(s, 1);
		break;
	default:
		break;
	}
}

/* ACKs and NAKs of all kinds, also such as the standard doesn't have. */
static uint8_t
pick_syndrome(struct script *s)
{
	switch (script_below(s, 8)) {
	case 0:
		return (uint8_t)script_take(s, 1);
	case 1:
		return (uint8_t)(AETH_RNR | script_below(s, 32));
	case 2:
		return (uint8_t)(AETH_NAK_PSN + script_below(s, 6));
	default:
		return AETH_ACK;
	}
}

static struct wire_pkt
pick_pkt(struct script *s, const struct crowd_end *to, const struct crowd_end *from, int type)
{
	const struct qp *qp = to->qp[type].qp;
	struct wire_pkt w = {
		.opcode = pick_opcode(s, type),
		.mig_req = true,
		.pkey = PKEY_DEFAULT,
		.dest_qpn = qp->qpn,
		.psn = pick_psn(s, qp),
		.ack_req = script_below(s, 2),
		.solicited = script_below(s, 2),
		.fecn = script_below(s, 2),
		.syndrome = pick_syndrome(s),
		.msn = (uint32_t)script_take(s, 1),
		.inv_rkey = to->window->key,
		.qkey = script_below(s, 8) ? 0x1234 : 0x4321,
		.src_qpn = from->qp[type].qp->qpn,
		.swap_add = script_take(s, 1),
	};

	if (opcode_table[w.opcode].flags & OPF_PAYLOAD && w.opcode != OP_CNP)
		w.payload_len = attack_pick_len(s);
	w.dma_len = pick_dma_len(s, w.payload_len);
	pick_memory(s, to, &w);
	if (type == CROWD_RC && world_speaks_weft() && script_below(s, 16))
		attack_weft_pick(s, to, &w);
	return w;
}

/* ---- the frame ---- */

static struct wire_addr
addr_of(const struct crowd *c, int side)
{
	int gid = c->w.conf.ipv6 ? 2 : 1;

	return (struct wire_addr){.ttl = 64,
	                          .dst = c->w.nic[side]->gids.entry[gid].ip,
	                          .src = c->w.nic[!side]->gids.entry[gid].ip,
	                          .dmac = {2, 0, 0, 0, 0, (uint8_t)(side + 1)},
	                          .smac = {2, 0, 0, 0, 0, (uint8_t)(!side + 1)}};
}

/* Payload bytes that are told apart by frame and place. */
static void
fill(uint8_t *p, uint32_t len, uint8_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = (uint8_t)(seed + i * 7 + (i >> 8) * 13);
}

static uint32_t
build(const struct wire_addr *addr, const struct wire_pkt *w, uint8_t seed, uint8_t ecn,
      uint8_t *frame)
{
	struct wire_path path;
	uint32_t crc, len;

	wire_path_init(&path, addr);
	len = wire_build(frame, &path, w, 0xc000, ecn, &crc);
	fill(frame + len, w->payload_len, seed);
	crc = icrc_update(crc, frame + len, w->payload_len);
	len += w->payload_len;
	return len + wire_end(frame + len, w->payload_len, crc);
}

/* Lengths, checksum and ICRC of a frame without VLAN tag, as if it had been meant so. */
static void
reseal(uint8_t *frame, uint32_t len, bool ipv6)
{
	uint8_t *l3 = frame + L3_OFF;
	uint32_t hdr = ipv6 ? 40 : 20, l3_len = len - L3_OFF, sum = 0, crc;

	if (len < L3_OFF + hdr + 8 + 12 + ICRC_LEN)
		return;
	if (ipv6)
		put_be16(l3 + 4, (uint16_t)(l3_len - hdr));
	else
		put_be16(l3 + 2, (uint16_t)l3_len);
	put_be16(l3 + hdr + 4, (uint16_t)(l3_len - hdr));
	if (!ipv6) {
		put_be16(l3 + 10, 0);
		for (uint32_t i = 0; i < 20; i += 2)
			sum += get_be16(l3 + i);
		sum = (sum & 0xffff) + (sum >> 16);
		put_be16(l3 + 10, (uint16_t) ~(sum + (sum >> 16)));
	}
	crc = ~icrc_headers(l3, ipv6, l3_len - ICRC_LEN);
	for (uint32_t i = 0; i < ICRC_LEN; i++)
		frame[len - ICRC_LEN + i] = (uint8_t)(crc >> 8 * i);
}

/* From or to somebody else. */
static void
disguise(struct script *s, const struct crowd *c, int side, struct wire_addr *addr,
         struct wire_pkt *w)
{
	switch (script_below(s, 8)) {
	case 0:
		addr->src.b[15] ^= (uint8_t)(1 + script_below(s, 255));
		break;
	case 1:
		addr->dst.b[15] ^= (uint8_t)(1 + script_below(s, 255));
		break;
	case 2:
		addr->dmac[script_below(s, 6)] ^= (uint8_t)(1 << script_below(s, 8));
		break;
	case 3: /* of the innocent, but from a stranger */
		addr->src.b[14] ^= 1;
		w->dest_qpn = c->good[side].qp->qpn;
		break;
	case 4:
		w->dest_qpn = (w->dest_qpn + 1 + (uint32_t)script_take(s, 2)) & 0xffffff;
		break;
	case 5:
		w->dest_qpn = script_below(s, 3) == 0 ? 0xffffff : script_below(s, 2);
		break;
	case 6:
		w->pkey = (uint16_t)script_take(s, 2);
		break;
	default:
		addr->has_vlan = true;
		addr->vlan_tci = (uint16_t)script_take(s, 2);
		break;
	}
}

static uint32_t
make_roce(struct attack *a, struct script *s, int side, int type, bool disguised, uint8_t *frame)
{
	struct crowd *c = a->crowd;
	struct wire_pkt w = pick_pkt(s, &c->end[side], &c->end[!side], type);
	struct wire_addr addr = addr_of(c, side);
	uint8_t seed = (uint8_t)script_take(s, 1);

	if (disguised)
		disguise(s, c, side, &addr, &w);
	/* One that goes to an innocent QP by chance would be a fair hit. */
	if (w.dest_qpn == c->good[side].qp->qpn && !disguised)
		w.dest_qpn ^= 1;
	return build(&addr, &w, seed, 2 + (seed & 1), frame);
}

/* Of the weft framing: any opcode with any options, one in four with a placement that can't be. */
static uint32_t
make_weft(struct attack *a, struct script *s, int side, int type, uint8_t *frame)
{
	const struct qp *qp = a->crowd->end[side].qp[type].qp;
	struct wire_addr addr = addr_of(a->crowd, side);
	struct wire_pkt w;
	struct prng rng;
	uint32_t len;

	prng_seed(&rng, script_take(s, 4));
	weft_random(&rng, weft_random_opcode(&rng), &w);
	w.pkey = PKEY_DEFAULT;
	w.dest_qpn = qp->qpn;
	if (script_below(s, 4) == 0) {
		w.weft.offset ^= (uint32_t)script_take(s, 1);
		w.weft.msg_len ^= (uint32_t)script_take(s, 1);
		w.dma_len ^= (uint32_t)script_take(s, 1);
	}
	len = weft_frame(frame, &w, &addr, 0xc000, 2);
	if (!wire_may_trim(frame, len, L3_OFF, a->crowd->w.conf.ipv6))
		return len;
	len = wire_trim(frame, L3_OFF, a->crowd->w.conf.ipv6);
	frame[len - 1] ^= (uint8_t)script_below(s, 2); /* under its checksum */
	return len;
}

/* Neighbours that nobody asked for, questions, claims of our own address; never of a peer's. */
static uint32_t
make_arp(const struct crowd *c, struct script *s, int side, uint8_t *frame)
{
	static const uint8_t head[] = {0, 1, 8, 0, 6, 4, 0};
	const uint8_t *own = c->w.nic[side]->gids.entry[1].ip.b + 12;

	memset(frame, 0, 60);
	memset(frame, script_below(s, 2) ? 0xff : 2, 6);
	frame[6] = 2;
	frame[11] = 77;
	put_be16(frame + 12, 0x0806);
	memcpy(frame + 14, head, sizeof(head));
	frame[21] = (uint8_t)(1 + script_below(s, 3));
	memcpy(frame + 22, frame + 6, 6);
	memcpy(frame + 28, own, 4);
	if (script_below(s, 4))
		frame[31] = 77;
	memcpy(frame + 38, own, 4);
	if (script_below(s, 4) == 0)
		frame[14 + script_below(s, 8)] = (uint8_t)script_take(s, 1);
	return script_below(s, 4) ? 60 : script_below(s, 60);
}

static uint32_t
make_noise(struct script *s, uint8_t *frame)
{
	uint32_t len = (uint32_t)script_take(s, 2) % (ATTACK_FRAME_MAX + 1);

	if (script_below(s, 2))
		len %= 128;
	for (uint32_t i = 0; i < len; i++)
		frame[i] = i < 64 ? (uint8_t)script_take(s, 1) : (uint8_t)(i * len);
	return len;
}

/* Cut or stretched to any length, with or without a word to the headers. */
static uint32_t
change_len(struct script *s, uint8_t *frame, uint32_t len, bool ipv6)
{
	uint32_t to = script_below(s, 2) ? (uint32_t)script_take(s, 2) % (ATTACK_FRAME_MAX + 1)
	                                 : len + script_below(s, 16) - 8;

	if (to > ATTACK_FRAME_MAX)
		to = ATTACK_FRAME_MAX;
	if (to > len)
		fill(frame + len, to - len, (uint8_t)len);
	if (script_below(s, 2))
		reseal(frame, to, ipv6);
	return to;
}

/* Bytes of the headers that say something else, under a right ICRC mostly. */
static void
flip(struct script *s, uint8_t *frame, uint32_t len, bool ipv6)
{
	uint32_t bth = L3_OFF + (ipv6 ? 48 : 28), nb = 1 + script_below(s, 4);
	uint32_t begin = script_below(s, 4) ? bth : L3_OFF, qpn_at = bth + 5;

	for (uint32_t i = 0; i < nb; i++) {
		uint32_t at = begin + script_below(s, 48);

		if (at < len && (at < qpn_at || at >= qpn_at + 3))
			frame[at] ^= (uint8_t)script_take(s, 1);
	}
	if (script_below(s, 8))
		reseal(frame, len, ipv6);
}

void
attack_tap(void *arg, const struct pkt *pkt)
{
	struct attack *a = arg;
	int side = pkt->data[5] == 2; /* the MAC of side 1 ends so */
	struct attack_seen *seen = &a->seen[side][a->nb_seen[side]++ % ATTACK_NB_SEEN];

	if (pkt->len > ATTACK_FRAME_MAX)
		return;
	memcpy(seen->data, pkt->data, pkt->len);
	seen->len = pkt->len;
}

static uint32_t
make_seen(struct attack *a, struct script *s, int side, uint8_t *frame)
{
	const struct attack_seen *seen = &a->seen[side][script_below(s, ATTACK_NB_SEEN)];

	memcpy(frame, seen->data, seen->len);
	return seen->len;
}

uint32_t
attack_make(struct attack *a, struct script *s, int side, int type, uint8_t *frame)
{
	bool ipv6 = a->crowd->w.conf.ipv6;
	uint32_t len;

	switch (script_below(s, 16)) {
	case 0:
		len = make_roce(a, s, side, type, false, frame);
		return change_len(s, frame, len, ipv6);
	case 1:
		len = make_roce(a, s, side, type, false, frame);
		flip(s, frame, len, ipv6);
		return len;
	case 2:
		return make_roce(a, s, side, type, true, frame);
	case 3:
		return make_seen(a, s, side, frame);
	case 4:
		return script_below(s, 2) ? make_arp(a->crowd, s, side, frame)
		                          : make_noise(s, frame);
	case 5:
		return make_weft(a, s, side, type, frame);
	default:
		return make_roce(a, s, side, type, false, frame);
	}
}

uint32_t
attack_make_len(struct attack *a, int side, int type, uint8_t opcode, uint32_t len, uint8_t *frame)
{
	struct crowd *c = a->crowd;
	const struct crowd_end *to = &c->end[side];
	const struct qp *qp = to->qp[type].qp;
	struct wire_addr addr = addr_of(c, side);
	uint32_t flags = opcode_table[opcode].flags, end;
	struct wire_pkt w = {
		.opcode = opcode,
		.mig_req = true,
		.pkey = PKEY_DEFAULT,
		.dest_qpn = qp->qpn,
		.psn = (uint32_t)(flags & OPF_REQUEST ? qp->rel->rx_cum : qp->rel->tx_una) &
	               0xffffff,
		.syndrome = AETH_ACK,
		.va = (uintptr_t)to->buf,
		.rkey = to->mr.mr->key,
		.dma_len = len,
		.qkey = 0x1234,
		.src_qpn = c->end[!side].qp[type].qp->qpn,
	};

	if (flags & OPF_WEFT)
		attack_weft_whole(to, opcode, len, &w);
	end = build(&addr, &w, (uint8_t)len, 2, frame) - ICRC_LEN;
	fill(frame + end, len + ICRC_LEN, (uint8_t)len);
	frame[L3_OFF + (c->w.conf.ipv6 ? 48 : 28) + 1] |= (uint8_t)((-len & 3) << 4); /* pad */
	end += len + (-len & 3) + ICRC_LEN;
	reseal(frame, end, c->w.conf.ipv6);
	return end;
}
