/* SPDX-License-Identifier: BSD-3-Clause */
#include "hello.h"

#include <assert.h>
#include <string.h>

#include "be.h"
#include "csum.h"
#include "psn.h"

static const uint8_t magic[4] = {'W', 'E', 'F', 'T'};

#define FRAME_MIN 60
#define FRAMING_WEFT_CODE 1
/** INT slots and lanes: three bits, and K of at most 2^15. */
#define SLOTS_MAX 7
#define LANES_SHIFT_MAX 15

/* ---- reading ---- */

static bool
is_zero(const uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		if (p[i])
			return false;
	return true;
}

/* Printable and without a blank, then zeros. */
static bool
read_name(const uint8_t *p, char name[HELLO_NAME_MAX + 1])
{
	uint32_t len = 0;

	while (len < HELLO_NAME_MAX && p[len] > ' ' && p[len] <= '~')
		len++;
	if (!len || !is_zero(p + len, HELLO_NAME_MAX - len))
		return false;
	memcpy(name, p, HELLO_NAME_MAX);
	name[HELLO_NAME_MAX] = '\0';
	return true;
}

static bool
read_who(const uint8_t *p, uint32_t len, struct hello_msg *msg)
{
	struct hello_who *who = &msg->who;
	bool is_later = msg->version > HELLO_VERSION;

	if (is_later ? len < HELLO_WHO_LEN : len != HELLO_WHO_LEN)
		return false;
	memcpy(msg->cookie, p + 16, HELLO_COOKIE_LEN);
	who->boot_id = get_be64(p + 32);
	who->token = get_be64(p + 40);
	who->version_min = p[64];
	who->nb_slots = p[65];
	who->lanes_shift = p[66];
	who->features = get_be32(p + 68);
	if (!is_later && (p[67] || !is_zero(p + 72, 8)))
		return false;
	return read_name(p + 48, who->engine) && who->version_min >= 1 &&
	       who->version_min <= msg->version && who->nb_slots <= SLOTS_MAX &&
	       who->lanes_shift <= LANES_SHIFT_MAX;
}

static bool
read_cookie(const uint8_t *p, uint32_t len, struct hello_msg *msg)
{
	if (len != HELLO_HDR_LEN + HELLO_COOKIE_LEN)
		return false;
	memcpy(msg->cookie, p + 16, HELLO_COOKIE_LEN);
	return true;
}

static bool
terms_ok(const struct hello_terms *t, bool is_answer)
{
	if (t->mtu_code < 1 || t->mtu_code > 5 || t->nb_slots > SLOTS_MAX ||
	    t->lanes_shift > LANES_SHIFT_MAX)
		return false;
	if (t->window_pkts < 1 || t->window_pkts > HELLO_WINDOW_MAX)
		return false;
	if (t->max_msgs < HELLO_MSGS_MIN || t->max_msgs > HELLO_MSGS_MAX ||
	    t->max_msgs & (t->max_msgs - 1))
		return false;
	if (t->options & ~HELLO_OPT_ALL || (!(t->options & HELLO_OPT_SQ_PSN) && t->sq_psn))
		return false;
	if (t->status >= HELLO_STATUS_NB || t->reason >= HELLO_REASON_NB)
		return false;
	if ((t->status == HELLO_UNFIT) != (t->reason != HELLO_REASON_NONE))
		return false;
	return is_answer || t->status == HELLO_AGREED;
}

static bool
read_terms(const uint8_t *p, bool is_answer, struct hello_terms *t)
{
	t->own_qpn = get_be32(p) >> 8;
	t->peer_qpn = get_be32(p + 4) >> 8;
	t->mtu_code = p[7];
	t->rq_psn = get_be32(p + 8) >> 8;
	t->nb_slots = p[11];
	t->sq_psn = get_be32(p + 12) >> 8;
	t->lanes_shift = p[15];
	t->window_pkts = get_be32(p + 32);
	t->max_msgs = get_be16(p + 36);
	t->options = get_be16(p + 38);
	t->ack_every = p[40];
	t->ack_delay_us = p[41];
	t->max_rd_atomic = p[42];
	t->max_dest_rd_atomic = p[43];
	t->status = p[44];
	t->reason = p[45];
	return p[3] == FRAMING_WEFT_CODE && is_zero(p + 46, 2) && read_name(p + 16, t->engine) &&
	       terms_ok(t, is_answer);
}

static bool
read_open(const uint8_t *p, uint32_t len, struct hello_msg *msg)
{
	uint32_t nb;

	if (msg->version != HELLO_VERSION || len < HELLO_OPEN_LEN(1))
		return false;
	msg->token = get_be64(p + 16);
	nb = get_be16(p + 24);
	if (nb < 1 || nb > HELLO_ENTRIES_MAX || len != HELLO_OPEN_LEN(nb) || !is_zero(p + 26, 6))
		return false;
	msg->nb_qps = (uint8_t)nb;
	for (uint32_t i = 0; i < nb; i++)
		if (!read_terms(p + HELLO_OPEN_LEN(i), msg->type == HELLO_ANSWER, &msg->qp[i]))
			return false;
	return true;
}

bool
hello_parse(const uint8_t *p, uint32_t len, struct hello_msg *msg)
{
	if (len < HELLO_HDR_LEN || memcmp(p, magic, sizeof(magic)) != 0)
		return false;
	msg->version = p[4];
	msg->type = p[5];
	msg->nonce = get_be64(p + 8);
	if (msg->version < 1 || get_be16(p + 6) != len)
		return false;
	switch (msg->type) {
	case HELLO_ASK:
	case HELLO_WELCOME:
		return read_who(p, len, msg);
	case HELLO_COOKIE:
		return read_cookie(p, len, msg);
	case HELLO_OPEN:
	case HELLO_ANSWER:
		return read_open(p, len, msg);
	case HELLO_STALE:
		return msg->version == HELLO_VERSION && len == HELLO_HDR_LEN;
	}
	return false;
}

/* ---- writing ---- */

static void
write_name(uint8_t *p, const char *name)
{
	size_t len = strlen(name);

	assert(len >= 1 && len <= HELLO_NAME_MAX);
	memcpy(p, name, len);
}

static void
write_who(uint8_t *p, const struct hello_msg *msg)
{
	const struct hello_who *who = &msg->who;

	memcpy(p + 16, msg->cookie, HELLO_COOKIE_LEN);
	put_be64(p + 32, who->boot_id);
	put_be64(p + 40, who->token);
	write_name(p + 48, who->engine);
	p[64] = who->version_min;
	p[65] = who->nb_slots;
	p[66] = who->lanes_shift;
	put_be32(p + 68, who->features);
}

static void
write_terms(uint8_t *p, const struct hello_terms *t)
{
	assert(terms_ok(t, true));
	put_be32(p, t->own_qpn << 8 | FRAMING_WEFT_CODE);
	put_be32(p + 4, t->peer_qpn << 8 | t->mtu_code);
	put_be32(p + 8, t->rq_psn << 8 | t->nb_slots);
	put_be32(p + 12, t->sq_psn << 8 | t->lanes_shift);
	write_name(p + 16, t->engine);
	put_be32(p + 32, t->window_pkts);
	put_be16(p + 36, t->max_msgs);
	put_be16(p + 38, t->options);
	p[40] = t->ack_every;
	p[41] = t->ack_delay_us;
	p[42] = t->max_rd_atomic;
	p[43] = t->max_dest_rd_atomic;
	p[44] = t->status;
	p[45] = t->reason;
}

static uint32_t
len_of(const struct hello_msg *msg)
{
	switch ((enum hello_type)msg->type) {
	case HELLO_ASK:
	case HELLO_WELCOME:
		return HELLO_WHO_LEN;
	case HELLO_COOKIE:
		return HELLO_HDR_LEN + HELLO_COOKIE_LEN;
	case HELLO_OPEN:
	case HELLO_ANSWER:
		assert(msg->nb_qps >= 1 && msg->nb_qps <= HELLO_ENTRIES_MAX);
		return HELLO_OPEN_LEN(msg->nb_qps);
	case HELLO_STALE:
		break;
	}
	return HELLO_HDR_LEN;
}

uint32_t
hello_build(uint8_t *buf, const struct hello_msg *msg)
{
	uint32_t len = len_of(msg);

	memset(buf, 0, len);
	memcpy(buf, magic, sizeof(magic));
	buf[4] = msg->version;
	buf[5] = msg->type;
	put_be16(buf + 6, (uint16_t)len);
	put_be64(buf + 8, msg->nonce);
	switch ((enum hello_type)msg->type) {
	case HELLO_ASK:
	case HELLO_WELCOME:
		write_who(buf, msg);
		break;
	case HELLO_COOKIE:
		memcpy(buf + 16, msg->cookie, HELLO_COOKIE_LEN);
		break;
	case HELLO_OPEN:
	case HELLO_ANSWER:
		put_be64(buf + 16, msg->token);
		put_be16(buf + 24, msg->nb_qps);
		for (uint32_t i = 0; i < msg->nb_qps; i++)
			write_terms(buf + HELLO_OPEN_LEN(i), &msg->qp[i]);
		break;
	case HELLO_STALE:
		break;
	}
	return len;
}

uint32_t
hello_frame(uint8_t *buf, const struct wire_addr *addr, const struct hello_msg *msg)
{
	struct wire_path path;
	uint8_t *ip, *udp;
	uint32_t len;

	wire_path_init(&path, addr);
	memcpy(buf, path.hdr, path.len);
	ip = buf + path.l3_off;
	udp = buf + path.len - UDP_LEN;
	len = hello_build(udp + UDP_LEN, msg);
	if (path.ipv6) {
		put_be16(ip + 4, (uint16_t)(UDP_LEN + len));
	} else {
		ip[1] = path.tos;
		put_be16(ip + 2, (uint16_t)(IPV4_LEN + UDP_LEN + len));
		put_be16(ip + 10, 0);
		put_be16(ip + 10, (uint16_t)~csum_fold(csum_add(0, ip, IPV4_LEN)));
	}
	put_be16(udp, UDP_PORT_HELLO);
	put_be16(udp + 2, UDP_PORT_HELLO);
	put_be16(udp + 4, (uint16_t)(UDP_LEN + len));
	put_be16(udp + 6, csum_udp(ip, path.ipv6));
	len += path.len;
	if (len < FRAME_MIN)
		memset(buf + len, 0, FRAME_MIN - len);
	return len < FRAME_MIN ? FRAME_MIN : len;
}
