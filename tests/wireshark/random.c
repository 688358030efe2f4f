/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets of the weft framing as lib/wire reads them, for a dissector to agree with.
 *
 *   random                  names of the fields, one a line
 *   random N SEED CAPTURE   N packets into a file, of any opcode with any optional parts, some
 *                           trimmed, bounced, or with a wrong length; and a line of values for each
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "int.h"
#include "pcapng.h"
#include "trim.h"
#include "weft_random.h"

#define FIELDS_MAX 80

/* What one packet shows; a field that it has not is empty. */
struct line {
	struct {
		const char *name;
		char value[160];
	} fields[FIELDS_MAX];
	uint32_t nb;
};

__attribute__((format(printf, 4, 5))) static void
add(struct line *l, const char *name, bool is_there, const char *format, ...)
{
	va_list args;

	if (l->nb == FIELDS_MAX)
		abort();
	l->fields[l->nb].name = name;
	l->fields[l->nb].value[0] = 0;
	va_start(args, format);
	if (is_there)
		vsnprintf(l->fields[l->nb].value, sizeof(l->fields[0].value), format, args);
	va_end(args);
	l->nb++;
}

static void
add_front(struct line *l, const struct wire_pkt *w)
{
	bool is_ack = w->op->flags & OPF_ACK, is_header_only = wire_is_header_only(w);

	add(l, "weft.opcode", true, "0x%02x", w->opcode);
	add(l, "weft.solicited", true, "%d", w->solicited);
	add(l, "weft.migreq", true, "%d", w->mig_req);
	add(l, "weft.fecn", true, "%d", w->fecn);
	add(l, "weft.becn", true, "%d", w->becn);
	add(l, "weft.pkey", true, "0x%04x", w->pkey);
	add(l, "weft.qpn", true, "0x%06x", w->dest_qpn);
	add(l, "weft.a", true, "%d", w->ack_req);
	add(l, "weft.retry", true, "%u", w->weft.retry);
	add(l, "weft.psn", !is_ack, "%u", w->psn);
	add(l, "weft.cum", is_ack, "%u", w->psn);
	add(l, "weft.msn", !is_ack, "%u", w->msn);
	add(l, "weft.emsn", is_ack, "%u", w->msn);
	add(l, "weft.tag", true, "%u", w->weft.tag);
	add(l, "weft.header_only", is_header_only, "1");
}

/* Values of all hops; of one whose rate no code names only the time has a meaning. */
static void
add_int(struct line *l, const struct wire_weft *x)
{
	char rates[160] = "", times[160] = "", bytes[160] = "", queues[160] = "";
	static const uint8_t none[INT_LEN(0)];
	const uint8_t *area = x->nb_slots ? x->int_area : none;
	uint32_t nb = area[0] >> 4;
	bool lies = nb > x->nb_slots;

	for (uint32_t i = 0; i < nb && !lies; i++) {
		uint8_t one[INT_LEN(1)] = {0x10};
		struct int_stack stack;
		const uint8_t *hop = area + INT_LEN(i);
		uint32_t time = (uint32_t)(hop[0] & 0xf) << 20 | (uint32_t)hop[1] << 12 |
		                (uint32_t)hop[2] << 4 | hop[3] >> 4;

		sprintf(times + strlen(times), "%s%u", *times ? "," : "", time);
		memcpy(one + INT_LEN(0), hop, 8);
		if (int_read(one, 1, &stack) != INT_READ_OK)
			continue;
		sprintf(rates + strlen(rates), "%s%g", *rates ? "," : "",
		        (double)stack.hops[0].rate_bps / 1e9);
		sprintf(bytes + strlen(bytes), "%s%u", *bytes ? "," : "", stack.hops[0].tx_bytes);
		sprintf(queues + strlen(queues), "%s%u", *queues ? "," : "",
		        stack.hops[0].queue_bytes);
	}
	add(l, "weft.int.nhop", x->nb_slots, "%u", nb);
	add(l, "weft.int.tbo", x->nb_slots, "%d", area[0] >> 3 & 1);
	add(l, "weft.int.ovf", x->nb_slots, "%d", area[0] >> 2 & 1);
	add(l, "weft.int.path", x->nb_slots, "0x%02x%02x", area[2], area[3]);
	add(l, "weft.int.hop.rate", true, "%s", rates);
	add(l, "weft.int.hop.time", true, "%s", times);
	add(l, "weft.int.hop.bytes", true, "%s", bytes);
	add(l, "weft.int.hop.queue", true, "%s", queues);
	add(l, "weft.int.lies", lies, "1");
}

/* The map and what it announces. */
static void
add_options(struct line *l, const struct wire_weft *x, uint32_t flags)
{
	bool is_stream = flags & OPF_STREAM, is_ack = flags & OPF_ACK;
	char ext[40];

	add(l, "weft.map.n", is_stream || is_ack, "%u", x->nb_slots);
	add(l, "weft.map.p", is_stream, "%d", x->has_lane);
	add(l, "weft.map.b", is_ack, "%d", x->has_sack);
	add(l, "weft.map.t", is_stream || is_ack, "%d", x->has_ts);
	add(l, "weft.map.r", is_stream, "%d", x->retransmit);
	add(l, "weft.map.c", is_ack, "%d", x->ce);
	add(l, "weft.map.s", is_stream, "%d", x->sync);
	add(l, "weft.map.rnr", is_ack, "%d", x->has_rnr);
	add(l, "weft.map.x", is_stream || is_ack, "%d", x->ext_len != 0);
	add_int(l, x);
	add(l, "weft.path.k", x->has_lane, "%u", x->lane.lanes);
	add(l, "weft.path.o", x->has_lane, "%u", x->lane.offset);
	add(l, "weft.path.fpsn", x->has_lane, "%u", x->lane.first_psn);
	add(l, "weft.path.back", x->has_lane, "%u", x->lane.back);
	add(l, "weft.ts", x->has_ts, "%u", x->ts_ns);
	add(l, "weft.held", is_ack && x->has_ts, "%u", x->held_ns);
	snprintf(ext, sizeof(ext), "%02x", (x->ext_len + 1) / 4);
	for (uint32_t i = 0; i < x->ext_len; i++)
		snprintf(ext + 2 + 2 * i, 3, "%02x", x->ext[i]);
	add(l, "weft.ext", x->ext_len, "%s", ext);
}

static void
add_placement(struct line *l, const struct wire_pkt *w, uint32_t flags)
{
	const struct wire_weft *x = &w->weft;
	bool has_sph = flags & OPF_SPH, is_resp = flags & OPF_READ_RESP;
	bool has_va = flags & (OPF_RETH | OPF_ATOMIC_ETH);

	add(l, "weft.sph.offset", has_sph, "%u", x->offset);
	add(l, "weft.sph.length", has_sph, "%u", x->msg_len);
	add(l, "weft.ssn", flags & OPF_SSN || (has_sph && !is_resp), "%u", x->ssn);
	add(l, "weft.request", flags & OPF_REQ_MSN || is_resp, "%u", x->req_msn);
	add(l, "weft.reth.va", has_va, "0x%016llx", (unsigned long long)w->va);
	add(l, "weft.reth.rkey", has_va, "0x%08x", w->rkey);
	add(l, "weft.reth.length", flags & OPF_RETH, "%u", w->dma_len);
	add(l, "weft.order.ssn", flags & OPF_ORDER, "%u", x->ssn);
	add(l, "weft.order.emsn", flags & OPF_ORDER, "%u", x->opp_emsn);
	add(l, "weft.atomic.swap", flags & OPF_ATOMIC_ETH, "0x%016llx",
	    (unsigned long long)w->swap_add);
	add(l, "weft.atomic.compare", flags & OPF_ATOMIC_ETH, "0x%016llx",
	    (unsigned long long)w->compare);
	add(l, "weft.atomic.orig", flags & OPF_ATOMIC_ACK_ETH, "0x%016llx",
	    (unsigned long long)w->atomic_orig);
	add(l, "weft.imm", flags & OPF_IMM, "0x%08x", w->imm);
	add(l, "weft.ieth", flags & OPF_IETH, "0x%08x", w->inv_rkey);
	add(l, "weft.pad", true, "%u", w->pad);
	add(l, "weft.payload.length", flags & OPF_PAYLOAD, "%u", w->payload_len);
}

static void
add_ack(struct line *l, const struct wire_pkt *w, uint32_t flags)
{
	const struct wire_weft *x = &w->weft;
	bool is_ack = flags & OPF_ACK;

	add(l, "weft.syndrome", is_ack, "0x%02x", w->syndrome);
	add(l, "weft.value", is_ack, "%u", x->value);
	add(l, "weft.n.ssn", x->has_rnr, "%u", x->rnr_ssn);
	add(l, "weft.n.timer", x->has_rnr, "%u", x->rnr_code);
	add(l, "weft.n.msn", x->has_rnr, "%u", x->rnr_msn);
	add(l, "weft.b.offset", x->has_sack, "%u", x->sack_off);
	add(l, "weft.b.bits", x->has_sack, "0x%016llx", (unsigned long long)x->sack_bits);
}

/* All fields of a parsed packet. What is left of one that was cut is not said by its opcode. */
static void
add_all(struct line *l, const struct wire_pkt *w)
{
	uint32_t flags = wire_is_header_only(w) ? 0 : w->op->flags;

	l->nb = 0;
	add_front(l, w);
	add_options(l, &w->weft, flags);
	add_placement(l, w, flags);
	add_ack(l, w, flags);
	add(l, "weft.cut", false, "1");
	add(l, "weft.behind", false, "1");
	add(l, "weft.unknown", false, "1");
}

/* Of a packet whose headers do not fit, only what is said of it is compared. */
static void
expect_only(struct line *l, const char *name)
{
	for (uint32_t i = 0; i < l->nb; i++)
		strcpy(l->fields[i].value, strcmp(l->fields[i].name, name) ? "-" : "1");
}

static void
put_line(const struct line *l, bool names)
{
	for (uint32_t i = 0; i < l->nb; i++)
		printf("%s%s", names ? l->fields[i].name : l->fields[i].value,
		       names || i + 1 == l->nb ? "\n" : "|");
}

/* Set the datagram to so many bytes behind the UDP header. */
static uint32_t
resize(uint8_t *frame, const struct wire_pkt *w, uint32_t bytes)
{
	uint32_t udp_off = w->l3_off + (w->ipv6 ? IPV6_LEN : IPV4_LEN), udp_len = UDP_LEN + bytes;

	put_be16(frame + w->l3_off + (w->ipv6 ? 4 : 2),
	         (uint16_t)(w->ipv6 ? udp_len : IPV4_LEN + udp_len));
	put_be16(frame + udp_off + 4, (uint16_t)udp_len);
	return udp_off + udp_len;
}

/*
 * Make some length of a whole packet wrong, so that its headers do not fit.
 *
 * @param told  the field by which that is told.
 * @return      the frame's length.
 */
static uint32_t
damage(struct prng *rng, uint8_t *frame, const struct wire_pkt *w, uint32_t hdr_len,
       const char **told)
{
	uint32_t bth_off = w->l3_off + (w->ipv6 ? IPV6_LEN : IPV4_LEN) + UDP_LEN, bytes;

	if (!(w->op->flags & OPF_PAYLOAD) && prng_below(rng, 2)) {
		*told = "weft.behind";
		return resize(frame, w, w->end_off - bth_off + 4);
	}
	*told = "weft.cut";
	if (w->weft.ext_len && prng_below(rng, 2)) {
		frame[w->weft.ext - frame - 1] = prng_below(rng, 2) ? 0 : 5;
		return w->end_off;
	}
	if (w->op->flags & OPF_STREAM && !w->payload_len && prng_below(rng, 2)) {
		frame[bth_off + 1] |= 0x30; /* pad, of nothing */
		return w->end_off;
	}
	/* Opcode and TVer must be there, and what has the length of a trimmed packet not its tag.
	 */
	do
		bytes = prng_below(rng, 8) ? 2 + prng_below(rng, hdr_len + ICRC_LEN - 2)
		                           : WEFT_OFF_MAP;
	while (bytes == WEFT_OFF_MAP && w->weft.tag == DCP_HEADER_ONLY);
	return resize(frame, w, bytes);
}

/* One packet and its line. @return the frame's length. */
static uint32_t
make(struct prng *rng, uint8_t *frame, struct line *l)
{
	struct wire_pkt w;
	const char *told;
	enum wire_bad bad;
	uint32_t len = weft_random_frame(rng, frame, &w), hdr_len = wire_hdr_len(&w);

	if (wire_parse(frame, len, &w, &bad) != WIRE_ROCE)
		abort();
	/* As NICs choose it: to Wireshark some lower ones mean another protocol. */
	frame[w.l3_off + (w.ipv6 ? IPV6_LEN : IPV4_LEN)] |= 0xc0;
	if (prng_below(rng, 4) == 0 && wire_may_trim(frame, len, w.l3_off, w.ipv6)) {
		len = wire_trim(frame, w.l3_off, w.ipv6);
		if (wire_parse(frame, len, &w, &bad) != WIRE_ROCE)
			abort();
		if (prng_below(rng, 2))
			len = wire_bounce(frame, &w, 0x22);
		if (wire_parse(frame, len, &w, &bad) != WIRE_ROCE)
			abort();
	}
	add_all(l, &w);
	if (!wire_is_header_only(&w) && prng_below(rng, 8) == 0) {
		len = damage(rng, frame, &w, hdr_len, &told);
		if (wire_parse(frame, len, &w, &bad) == WIRE_ROCE)
			abort();
		expect_only(l, told);
	}
	return len;
}

int
main(int argc, char **argv)
{
	static uint8_t frame[WEFT_RANDOM_FRAME_MAX];
	static uint8_t block[WEFT_RANDOM_FRAME_MAX + PCAPNG_BLOCK_MAX];
	bool names = argc < 4;
	struct line l;
	struct prng rng;
	FILE *out = fopen(names ? "/dev/null" : argv[3], "wb");

	if (!out)
		return 1;
	prng_seed(&rng, names ? 0 : (uint64_t)atoll(argv[2]));
	fwrite(block, 1, pcapng_section(block, "random"), out);
	fwrite(block, 1, pcapng_interface(block, "random", 0), out);
	for (long i = names ? 1 : atol(argv[1]); i > 0; i--) {
		uint32_t len = make(&rng, frame, &l);

		fwrite(block, 1, pcapng_packet(block, 0, false, 0, frame, len, len), out);
		put_line(&l, names);
	}
	return fclose(out) || fflush(stdout) ? 1 : 0;
}
