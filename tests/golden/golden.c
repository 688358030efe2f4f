/* SPDX-License-Identifier: BSD-3-Clause */
#include "golden.h"

#include <assert.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 512

/*
 * From the IP header to the ICRC. The first two come from independent sources: both are in
 * Scapy's test/contrib/roce.uts, the CNP as captured from a ConnectX-4 Lx. The others were
 * computed by the rule that these two confirm.
 */
static const struct {
	const char *name, *hex;
} vectors[] = {
	{"UC SEND ONLY, pad 2",
         "45010040 04784000 4011b4d5 c0a80007 c0a80007 c00012b7 002c0000 2460ffff 000000d3 00cf1710"
         "4630818b e28935d9 0e9a9550 5401be88 5e500000 78f353f3"},
	{"CNP of a ConnectX-4 Lx",
         "45c2003c 718c4000 40119161 0a001101 0a001201 000012b7 00280000 8100ffff 40000118 00000000"
         "00000000 00000000 00000000 00000000 82fd002a"},
	{"RC WRITE ONLY",
         "45020044 00014000 401126a4 0a000001 0a000002 c00012b7 00300000 0a00ffff 00000011 80000001"
         "00000000 00001000 12345678 00000008 00010203 04050607 55c5a4a3"},
	{"RC ACKNOWLEDGE",
         "45020030 00024000 401126b7 0a000002 0a000001 c00012b7 001c0000 1100ffff 00000022 00000001"
         "1f000001 5d137517"},
	{"RC NAK sequence error",
         "45020030 00034000 401126b6 0a000002 0a000001 c00012b7 001c0000 1100ffff 00000022 00000005"
         "60000001 fe0e209f"},
	{"RC WRITE ONLY, IPv6",
         "60212345 00301140 fd000000 00000000 00000000 00000001 fd000000 00000000 00000000 00000002"
         "c00012b7 00300000 0a00ffff 00000011 80000001 00000000 00001000 12345678 00000008 00010203"
         "04050607 2dfade14"},
};

static const char *const captures[] = {
	"rxe-send.pcap",   "rxe-write.pcap", "rxe-read.pcap",
	"rxe-atomic.pcap", "rxe-loss.pcap",  "rxe-ipv6.pcap",
};

static struct golden_frame frames[FRAMES_MAX];
static uint32_t nb;

static void
add(const char *name, const uint8_t *data, uint32_t len)
{
	assert(nb < FRAMES_MAX);
	frames[nb++] = (struct golden_frame){.name = name, .data = data, .len = len};
}

uint32_t
golden_hex(uint8_t *out, const char *hex)
{
	uint32_t len = 0;
	uint32_t byte;

	for (; *hex; hex += 2) {
		int got;

		hex += *hex == ' ';
		got = sscanf(hex, "%2x", &byte);
		assert(got == 1);
		out[len++] = (uint8_t)byte;
	}
	return len;
}

static void
add_vector(const char *name, const char *hex)
{
	static const uint8_t eth[12] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
	uint8_t *frame = malloc(sizeof(eth) + 2 + strlen(hex) / 2);

	assert(frame);
	memcpy(frame, eth, sizeof(eth));
	memcpy(frame + sizeof(eth), hex[0] == '4' ? "\x08\x00" : "\x86\xdd", 2);
	add(name, frame, sizeof(eth) + 2 + golden_hex(frame + sizeof(eth) + 2, hex));
}

static uint32_t
le32_at(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

/* The classic format, little-endian, link type Ethernet: what tcpdump -w writes on x86. */
static void
add_capture(const char *name)
{
	char path[512];
	static uint8_t chunk[1 << 20];
	uint8_t *data;
	size_t len, off;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", GOLDEN_DIR, name);
	f = fopen(path, "rb");
	assert(f);
	len = fread(chunk, 1, sizeof(chunk), f);
	fclose(f);
	assert(len > 24 && len < sizeof(chunk));
	assert(le32_at(chunk) == 0xa1b2c3d4 && le32_at(chunk + 20) == 1);
	for (off = 24; off < len; off += 16 + le32_at(chunk + off + 8)) {
		uint32_t frame_len = le32_at(chunk + off + 8);

		assert(len - off >= 16 && len - off - 16 >= frame_len);
		assert(frame_len == le32_at(chunk + off + 12));
		data = malloc(frame_len);
		assert(data);
		memcpy(data, chunk + off + 16, frame_len);
		add(name, data, frame_len);
	}
}

const struct golden_frame *
golden_frames(uint32_t *nb_frames)
{
	if (nb == 0) {
		for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
			add_vector(vectors[i].name, vectors[i].hex);
		for (size_t i = 0; i < sizeof(captures) / sizeof(captures[0]); i++)
			add_capture(captures[i]);
	}
	*nb_frames = nb;
	return frames;
}

uint32_t
golden_rebuild(uint8_t *out, const uint8_t *frame, const struct wire_pkt *w)
{
	struct wire_addr addr = {
		.dst = w->dst,
		.src = w->src,
		.vlan_tci = w->vlan_tci,
		.has_vlan = w->has_vlan,
		.tos = w->tos,
		.ttl = w->ttl,
		.flow_label = w->flow_label,
	};
	const uint8_t *ip = frame + w->l3_off;
	struct wire_path path;
	uint32_t len, crc;

	memcpy(addr.dmac, frame, 6);
	memcpy(addr.smac, frame + 6, 6);
	addr.ip_id = (uint16_t)(ip[4] << 8 | ip[5]);
	wire_path_init(&path, &addr);
	len = wire_build(out, &path, w, w->udp_sport, w->tos & 3, &crc);
	crc = icrc_copy(crc, out + len, w->payload, w->payload_len);
	len += w->payload_len;
	return len + wire_end(out + len, w->payload_len, crc);
}
