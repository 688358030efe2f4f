/* SPDX-License-Identifier: BSD-3-Clause */
#include "fabric_rig.h"

#include <criterion/criterion.h>
#include <string.h>

#include "be.h"
#include "bind.h"
#include "csum.h"
#include "hdr.h"
#include "weft_hdr.h"
#include "wire.h"

#define BURST 32

void
rig_init(struct rig *r, uint16_t nb_ports)
{
	*r = (struct rig){.nb_pkts = 1024, .room_bytes = 9300};
	cr_assert_leq(nb_ports, RIG_PORTS_MAX);
	switch_conf_default(&r->conf);
	r->conf.nb_ports = nb_ports;
	r->conf.lb = lb_find("ecmp", LB_SWITCH);
	for (uint16_t i = 0; i < nb_ports; i++)
		param_defaults(switch_port_descs, &r->ports[i]);
}

void
rig_open(struct rig *r)
{
	struct switch_mistake mistakes[SWITCH_MISTAKES_MAX] = {0};

	r->conf.ports = r->ports;
	cr_assert_eq(switch_conf_check(&r->conf, mistakes), 0, "%s", mistakes[0].why);
	r->pool = pkt_pool_mem_create(r->nb_pkts, r->room_bytes);
	r->sw = switch_create(&r->conf, r->pool);
	cr_assert_not_null(r->sw);
}

void
rig_close(struct rig *r)
{
	switch_check(r->sw);
	switch_destroy(r->sw);
	cr_expect_eq(pkt_pool_mem_nb_free(r->pool), r->nb_pkts, "%u of %u packets",
	             pkt_pool_mem_nb_free(r->pool), r->nb_pkts);
	pkt_pool_mem_destroy(r->pool);
}

static void
put_mac(uint8_t *mac, uint8_t host)
{
	memset(mac, host == RIG_BROADCAST ? 0xff : 0, 6);
	if (host != RIG_BROADCAST)
		mac[0] = 0x02;
	mac[5] = host;
}

static struct pkt *
take_pkt(struct rig *r, uint32_t len)
{
	struct pkt *p;

	cr_assert_eq(r->pool->alloc(r->pool, &p, 1), 1);
	p->len = len;
	return p;
}

struct pkt *
rig_frame(struct rig *r, uint8_t dst, uint8_t src, uint32_t len)
{
	struct pkt *p = take_pkt(r, len);

	memset(p->data, 0x5a, len < 64 ? 64 : len);
	put_mac(p->data, dst);
	put_mac(p->data + 6, src);
	put_be16(p->data + 12, 0x88b5); /* local experimental */
	return p;
}

struct pkt *
rig_copy(struct rig *r, const uint8_t *data, uint32_t len)
{
	struct pkt *p = take_pkt(r, len);

	memcpy(p->data, data, len);
	return p;
}

struct pkt *
rig_udp(struct rig *r, uint8_t dst, uint8_t src, uint8_t tos, uint16_t sport, uint32_t len)
{
	struct pkt *p = rig_frame(r, dst, src, len);
	uint8_t *ip = p->data + ETH_LEN, *udp = ip + IPV4_LEN;

	cr_assert_geq(len, 42);
	put_be16(p->data + 12, ETH_TYPE_IPV4);
	memset(ip, 0, IPV4_LEN + UDP_LEN);
	ip[0] = IPV4_VERSION_IHL;
	ip[1] = tos;
	put_be16(ip + 2, (uint16_t)(len - ETH_LEN));
	put_be16(ip + 6, IPV4_DF);
	ip[8] = 64;
	ip[9] = IP_PROTO_UDP;
	put_be32(ip + 12, 0x0a000000u + src);
	put_be32(ip + 16, 0x0a000000u + dst);
	put_be16(ip + 10, (uint16_t)~csum_fold(csum_add(0, ip, IPV4_LEN)));
	put_be16(udp, sport);
	put_be16(udp + 2, UDP_PORT_ROCE);
	put_be16(udp + 4, (uint16_t)(len - ETH_LEN - IPV4_LEN));
	return p;
}

struct pkt *
rig_weft(struct rig *r, uint8_t dst, uint8_t src, uint8_t tos, uint8_t nb_slots, uint32_t len)
{
	struct pkt *p = rig_udp(r, dst, src, tos, 0xc000, len);
	uint8_t *bth = p->data + ETH_LEN + IPV4_LEN + UDP_LEN;

	cr_assert_geq(len, 100);
	memset(bth, 0, 58);
	bth[0] = WEFT_GROUP + 1; /* SEND MIDDLE */
	bth[1] = WEFT_TVER;
	bth[WEFT_OFF_MAP] = (uint8_t)(nb_slots << 5);
	return p;
}

struct pkt *
rig_pause(struct rig *r, uint8_t classes, uint16_t quanta)
{
	static const uint8_t smac[6] = {0x02, 0, 0, 0, 0, 0x77};
	struct wire_pfc pfc = {.classes = classes};
	struct pkt *p = take_pkt(r, WIRE_PFC_LEN);

	for (int i = 0; i < 8; i++)
		pfc.time_quanta[i] = quanta;
	wire_build_pfc(p->data, smac, &pfc);
	return p;
}

void
rig_receive(struct rig *r, uint16_t in_port, struct pkt *p, uint64_t now_ns)
{
	switch_receive(r->sw, in_port, &p, 1, now_ns);
	switch_check(r->sw);
}

/* Frames to a port that their destination is behind as well are learned from and go nowhere. */
void
rig_learn(struct rig *r, uint16_t nb_hosts)
{
	for (uint16_t i = 0; i < nb_hosts; i++) {
		uint8_t host = (uint8_t)(i + 1);

		for (int twice = 0; twice < 2; twice++)
			rig_receive(r, i, rig_frame(r, host, host, 60), 0);
	}
}

uint32_t
rig_drain(struct rig *r, uint16_t port, uint64_t now_ns)
{
	struct pkt *pkts[BURST];
	uint32_t n, sum = 0;

	do {
		n = switch_send(r->sw, port, pkts, BURST, now_ns);
		pkt_free(pkts, n);
		sum += n;
	} while (n == BURST);
	switch_check(r->sw);
	return sum;
}

struct pkt *
rig_take(struct rig *r, uint16_t port, uint64_t now_ns)
{
	struct pkt *p;

	return switch_send(r->sw, port, &p, 1, now_ns) ? p : NULL;
}

const struct switch_port_stats *
rig_stats(const struct rig *r, uint16_t port)
{
	return switch_port_stats(r->sw, port);
}
