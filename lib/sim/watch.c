/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "be.h"
#include "hdr.h"
#include "lab_impl.h"
#include "opcode.h"
#include "psn.h"
#include "wire.h"

/*
 * What is seen of connections from outside: frames as they leave and reach hosts, and bytes as they
 * are placed. Nothing here asks an engine.
 */

#define HISTORY_TOLD 100

/* ---- violations ---- */

void
watch_note(struct conn *conn, enum history_kind kind, uint32_t host, uint32_t number,
           uint8_t detail, uint64_t now_ps)
{
	struct history_event *e = &conn->history[conn->nb_history++ & (HISTORY_EVENTS - 1)];

	*e = (struct history_event){
		.at_ps = now_ps,
		.kind = kind,
		.psn = number,
		.detail = detail,
		.host = (uint16_t)host,
	};
}

static void
note_frame(struct conn *conn, enum history_kind kind, uint32_t host, uint8_t opcode, uint32_t psn,
           uint8_t detail, uint64_t now_ps)
{
	watch_note(conn, kind, host, psn, detail, now_ps);
	conn->history[(conn->nb_history - 1) & (HISTORY_EVENTS - 1)].opcode = opcode;
}

static void
print_event(FILE *out, const struct history_event *e)
{
	static const char *const kinds[HISTORY_NB] = {
		[HISTORY_TX] = "sends",
		[HISTORY_RX] = "gets",
		[HISTORY_POST] = "posts work request",
		[HISTORY_COMPLETE] = "completes work request",
		[HISTORY_RECV] = "completes receive",
	};
	const struct opcode_info *op;

	fprintf(out, "%14.3f us h%u %s", (double)e->at_ps / 1e6, e->host, kinds[e->kind]);
	if (e->kind > HISTORY_RX) {
		fprintf(out, " %u", e->psn);
		if (e->kind != HISTORY_POST)
			fprintf(out, ", status %u", e->detail);
		fputc('\n', out);
		return;
	}
	op = &opcode_table[e->opcode];
	fprintf(out, " %s PSN %u", op->name, e->psn);
	if (op->flags & (OPF_AETH | OPF_ACK))
		fprintf(out, " syndrome 0x%02x", e->detail);
	fputc('\n', out);
}

static char *
print_history(const struct conn *conn)
{
	uint32_t nb = conn->nb_history < HISTORY_TOLD ? conn->nb_history : HISTORY_TOLD;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fprintf(out, "connection %u, h%u to h%u, QPN 0x%06x and 0x%06x; its last %u events:\n",
	        conn->idx, conn->end[0].host, conn->end[1].host, conn->end[0].qp.qp->qpn,
	        conn->end[1].qp.qp->qpn, nb);
	for (uint32_t i = conn->nb_history - nb; i != conn->nb_history; i++)
		print_event(out, &conn->history[i & (HISTORY_EVENTS - 1)]);
	fclose(out);
	return text;
}

void
watch_violated(struct lab *lab, struct conn *conn, const char *rule, const char *fmt, ...)
{
	struct violation *v = &lab->violation;
	va_list ap;

	lab->is_over = lab->net.stop = true;
	if (v->rule)
		return; /* what follows is a consequence */
	v->rule = rule;
	v->at_ps = net_now_ps(&lab->net);
	va_start(ap, fmt);
	vsnprintf(v->what, sizeof(v->what), fmt, ap);
	va_end(ap);
	if (conn)
		v->history = print_history(conn);
}

/* ---- frames ---- */

struct seen {
	struct conn *conn;
	const struct opcode_info *op;
	uint8_t opcode, syndrome;
	uint32_t psn, payload_bytes, read_bytes;
	int to; /* end, 0 or 1 */
	bool to_requester;
};

/* IPv4 without a tag is all that hosts of a laboratory send. */
enum { BTH_OFF = ETH_LEN + IPV4_LEN + UDP_LEN, EXT_OFF = BTH_OFF + BTH_LEN };

/* The host that a MAC of ours is of; lab_host.c makes them. */
static uint32_t
host_of_mac(const uint8_t *mac)
{
	return get_be32(mac + 2);
}

/* Headers of the weft framing differ in length by packet. */
static bool
see_weft(const struct pkt *p, struct seen *s)
{
	struct wire_pkt w;
	enum wire_bad bad;

	if (wire_parse(p->data, p->len, &w, &bad) != WIRE_ROCE || wire_is_header_only(&w))
		return false;
	s->payload_bytes = w.payload_len;
	s->syndrome = w.op->flags & OPF_ACK ? w.syndrome : 0;
	s->read_bytes = 0;
	return true;
}

static void
see_plain(const uint8_t *d, struct seen *s)
{
	const uint8_t *bth = d + BTH_OFF;

	s->payload_bytes = get_be16(d + BTH_OFF - 4) - UDP_LEN - BTH_LEN - s->op->ext_len -
	                   (bth[1] >> 4 & 3) - ICRC_LEN;
	s->syndrome = s->op->flags & OPF_AETH ? bth[BTH_LEN] : 0;
	s->read_bytes = s->op->flags & OPF_READ ? get_be32(bth + BTH_LEN + 12) : 0;
}

/* What a frame is of: false for all that is not of a connection, or damaged. */
static bool
see(struct lab *lab, const struct pkt *p, bool has_arrived, struct seen *s)
{
	const uint8_t *d = p->data, *bth = d + BTH_OFF;
	uint32_t host = host_of_mac(d);
	struct conn_end *end;

	if (pkt_held(p) < EXT_OFF || get_be16(d + 12) != ETH_TYPE_IPV4 || host >= lab->net.nb_hosts)
		return false;
	if (has_arrived && p->absent == 0) {
		struct wire_pkt w;
		enum wire_bad bad;

		if (wire_parse(d, p->len, &w, &bad) != WIRE_ROCE || wire_is_header_only(&w) ||
		    !wire_icrc_ok(d, &w))
			return false;
	} else if (p->is_damaged) {
		return false;
	}
	s->opcode = bth[0];
	s->op = &opcode_table[s->opcode];
	end = conn_end_of(lab, host, get_be32(bth + 4) & 0xffffff);
	if (!s->op->name || !end)
		return false;
	s->conn = end->conn;
	s->to = (int)(end - s->conn->end);
	s->to_requester = end == conn_requester(s->conn);
	s->psn = get_be32(bth + 8) & 0xffffff;
	if (s->op->flags & OPF_WEFT)
		return see_weft(p, s);
	see_plain(d, s);
	return true;
}

static bool
is_data(const struct seen *s)
{
	return s->op->flags & (OPF_SEND | OPF_WRITE | OPF_READ_RESP);
}

static uint64_t
psns_of_read(const struct lab *lab, const struct seen *s)
{
	return s->read_bytes ? (s->read_bytes - 1) / lab->conf.host.path_mtu_bytes + 1 : 1;
}

/* Of all QPs, packets that a NIC made and did not send. */
static uint64_t
unsent_pkts(const struct lab_host *host)
{
	const uint64_t *drop = host->nic->stats.drop;

	return drop[DROP_LINK] + drop[DROP_NO_NEIGH] + drop[DROP_MTU];
}

/* A packet with a PSN of its sender's leaves: within its window, and is it the first time? */
static void
on_stream(struct lab_host *host, const struct seen *s)
{
	struct conn *c = s->conn;
	struct conn_stream *st = &c->stream[!s->to];
	uint64_t psn = psn_unwrap(st->next_psn, s->psn), ahead;
	bool is_read = (s->op->flags & OPF_READ) && !(s->op->flags & OPF_WEFT);
	uint64_t end = psn + (is_read ? psns_of_read(host->lab, s) : 1);
	uint64_t window = is_read ? UINT64_C(1) << 23 : host->lab->conf.host.window_pkts;

	if (psn < st->una_psn && is_read)
		st->una_psn = psn; /* asks for the rest of what was answered in part */
	ahead = end - st->una_psn;
	if (psn >= st->una_psn && ahead > window)
		watch_violated(host->lab, c, "no PSN beyond its window",
		               "PSN %u is the %lu. beyond what was acknowledged; the window is %lu",
		               s->psn, (unsigned long)ahead, (unsigned long)window);
	if (psn > st->next_psn && unsent_pkts(host) == st->nb_unsent)
		watch_violated(host->lab, c, "PSNs follow each other",
		               "PSN %u was sent where %u was due", s->psn,
		               (uint32_t)st->next_psn & 0xffffff);
	st->nb_unsent = unsent_pkts(host);
	if (end > st->next_psn)
		st->next_psn = end;
	if (ahead > host->result->inflight_max_pkts && !is_read && psn >= st->una_psn)
		host->result->inflight_max_pkts = ahead;
}

static void
on_data_sent(struct lab_host *host, const struct seen *s)
{
	struct conn *c = s->conn;
	uint64_t psn = psn_unwrap(c->data_next_psn, s->psn);

	host->result->tx_data_pkts++;
	host->result->tx_data_bytes += s->payload_bytes;
	if (psn < c->data_next_psn)
		host->result->retransmitted_pkts++;
	else
		c->data_next_psn = psn + 1;
}

void
watch_tx(struct lab_host *host, const struct pkt *p, uint64_t now_ps)
{
	struct seen s;

	if (!see(host->lab, p, false, &s))
		return;
	note_frame(s.conn, HISTORY_TX, host->idx, s.opcode, s.psn, s.syndrome, now_ps);
	if (s.op->flags & (OPF_REQUEST | OPF_STREAM))
		on_stream(host, &s);
	if (is_data(&s))
		on_data_sent(host, &s);
}

/* A whole data packet is at its NIC: had another copy been there before? */
static void
on_data_arrived(struct lab_host *host, const struct seen *s)
{
	struct conn *c = s->conn;
	uint64_t psn = psn_unwrap(c->rx_next_psn, s->psn), *word;
	uint64_t bit = UINT64_C(1) << (psn & 63);

	host->result->rx_data_pkts++;
	for (; c->rx_next_psn <= psn; c->rx_next_psn++)
		c->arrived[(c->rx_next_psn & c->arrived_mask) / 64] &=
			~(UINT64_C(1) << (c->rx_next_psn & 63));
	word = &c->arrived[(psn & c->arrived_mask) / 64];
	if (c->rx_next_psn - psn > c->arrived_mask || (*word & bit))
		host->result->spurious_pkts++;
	else
		*word |= bit;
}

/* An answer acknowledges; never what was not sent. A weft one has the next PSN that is expected. */
static void
on_answer(struct lab_host *host, const struct seen *s)
{
	struct conn *c = s->conn;
	struct conn_stream *st = &c->stream[s->to];
	bool is_next =
		(s->op->flags & OPF_WEFT) || (s->op->flags & OPF_ACK && s->syndrome >> 5 != 0);
	uint64_t psn = psn_unwrap(st->next_psn, s->psn), una = psn + !is_next;

	if (una > st->next_psn)
		watch_violated(host->lab, c, "only what was sent is acknowledged",
		               "PSN %u was acknowledged, and %u is the next to be sent", s->psn,
		               (uint32_t)st->next_psn & 0xffffff);
	else if (una > st->una_psn)
		st->una_psn = una;
}

/* Whether a frame acknowledges: of weft, only what is no packet of a stream. */
static bool
is_answer(const struct seen *s)
{
	if (s->op->flags & OPF_WEFT)
		return !(s->op->flags & OPF_STREAM);
	return s->to_requester && (s->op->flags & OPF_RESPONSE);
}

void
watch_rx(struct lab_host *host, const struct pkt *p, uint64_t now_ps)
{
	struct seen s;

	if (!see(host->lab, p, true, &s))
		return;
	note_frame(s.conn, HISTORY_RX, host->idx, s.opcode, s.psn, s.syndrome, now_ps);
	if (is_data(&s))
		on_data_arrived(host, &s);
	if (is_answer(&s))
		on_answer(host, &s);
}

/* ---- memory ---- */

/* What stands at an address of a connection: eight bytes at a time. */
static uint64_t
word_at(const struct conn *conn, uint64_t va)
{
	uint64_t x = conn->lab->conf.seed ^ (uint64_t)conn->idx << 40 ^ va >> 3;

	return prng_splitmix(&x);
}

static uint8_t
byte_at(const struct conn *conn, uint64_t va)
{
	return (uint8_t)(word_at(conn, va) >> (va & 7) * 8);
}

static bool
read_memory(const struct mem *mem, uint64_t va, void *dst, uint32_t len)
{
	const struct conn_end *e = mem->owner;
	uint8_t *to = dst;

	for (uint32_t i = 0; i < len; i++)
		to[i] = byte_at(e->conn, va + i);
	return true;
}

static bool
is_as_sent(struct conn *conn, uint64_t va, const uint8_t *src, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		if (src[i] == byte_at(conn, va + i))
			continue;
		watch_violated(conn->lab, conn, "payload is what was sent",
		               "byte %lu of work request %lu is 0x%02x, and was sent as 0x%02x",
		               (unsigned long)((va + i - CONN_BASE) % CONN_STRIDE),
		               (unsigned long)((va + i - CONN_BASE) / CONN_STRIDE), src[i],
		               byte_at(conn, va + i));
		return false;
	}
	return true;
}

static void
on_all_placed(struct conn *conn, struct lab_host *host, struct conn_msg *m)
{
	struct flow *f = &conn->lab->flows[m->flow];

	m->is_delivered = true;
	f->delivered_bytes += m->bytes;
	if (f->delivered_bytes == f->conf.bytes && f->status != FLOW_FAILED)
		flow_delivered(conn->lab, host, m->flow, net_now_ps(&conn->lab->net));
}

/* Bytes of whole packets; each is counted once. */
static void
count_placed(struct conn *conn, struct lab_host *host, struct conn_msg *m, uint32_t off,
             uint32_t len)
{
	uint32_t mtu = conn->lab->conf.host.path_mtu_bytes;
	uint64_t *bits = m->placed ? m->placed : &m->few_placed;

	for (uint32_t part; len > 0; off += part, len -= part) {
		uint32_t i = off / mtu;
		uint64_t bit = UINT64_C(1) << i % 64;

		part = len < mtu ? len : mtu;
		if (bits[i / 64] & bit)
			continue;
		bits[i / 64] |= bit;
		m->placed_bytes += part;
		host->result->delivered_bytes += part;
		host->result->delivered_pkts++;
		conn->lab->data_pkts++;
	}
	if (m->placed_bytes == m->bytes && !m->is_delivered)
		on_all_placed(conn, host, m);
}

static bool
write_memory(const struct mem *mem, uint64_t va, const void *src, uint32_t len)
{
	struct conn_end *e = mem->owner;
	struct conn *conn = e->conn;
	uint64_t number = (va - CONN_BASE) / CONN_STRIDE, off = (va - CONN_BASE) % CONN_STRIDE;
	struct conn_msg *m = conn_msg_at(conn, number);

	if (e != &conn->end[1] || va < CONN_BASE || number >= conn->nb_posted ||
	    number < conn->nb_good || off + len > m->bytes)
		watch_violated(conn->lab, conn, "nothing is placed outside its message",
		               "%u bytes at %lu of work request %lu; %lu to %lu are open", len,
		               (unsigned long)off, (unsigned long)number,
		               (unsigned long)conn->nb_good, (unsigned long)conn->nb_posted);
	else if (!src || is_as_sent(conn, va, src, len))
		count_placed(conn, &conn->lab->hosts[e->host], m, (uint32_t)off, len);
	return true;
}

const struct mem_ops watch_mem_ops = {.read = read_memory, .write = write_memory};
