/* SPDX-License-Identifier: BSD-3-Clause */
#include "path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "batch.h"

static bool
is_multicast(const struct ip_addr *a)
{
	return ip_addr_is_ipv4(a) ? a->b[12] >= 224 : a->b[0] == 0xff;
}

/* Everything but the MAC, which the neighbour gives. */
static void
lay_out(struct qp *qp, const struct shm_av *av)
{
	const struct nic *nic = qp->nic;
	const struct nic_conf *conf = &nic->conf;
	uint8_t tos = conf->traffic_class >= 0 ? (uint8_t)conf->traffic_class : av->traffic_class;
	uint8_t cls = tos_class(tos);
	struct wire_addr addr = {
		.dst = qp->peer_ip,
		.src = qp->own_ip,
		.vlan_tci = (uint16_t)(cls << 13 | qp->own_vlan),
		.has_vlan = qp->own_vlan != 0,
		.tos = tos,
		.ttl = conf->ttl ? conf->ttl : av->hop_limit,
		.flow_label = av->flow_label,
	};

	if (!addr.ttl)
		addr.ttl = 64;
	memcpy(addr.dmac, qp->neigh->mac, sizeof(addr.dmac));
	memcpy(addr.smac, nic->self.mac, sizeof(addr.smac));
	wire_path_init(&qp->path, &addr);
	qp->asked_ecn = (tos & IP_ECN_MASK) == ECN_CE ? ECN_NOT_ECT : tos & IP_ECN_MASK;
	if (cls != qp->sched.cls)
		qp_set_class(qp, cls);
	qp->path_to_self = !memcmp(addr.dmac, addr.smac, sizeof(addr.dmac));
	qp->neigh_generation = qp->neigh->generation;
}

/*
 * What congestion control wants; if it wants nothing, the ToS byte is the application's, as in
 * plain RoCEv2. That its data met congestion is not for it to say.
 */
uint8_t
path_data_ecn(const struct qp *qp)
{
	return qp->ecn != ECN_NOT_ECT ? qp->ecn : qp->asked_ecn;
}

bool
path_is_valid(const struct nic *nic, const struct shm_av *av)
{
	const struct gid *src = gid_at(&nic->gids, av->sgid_index);
	struct ip_addr dst;

	memcpy(dst.b, av->dgid, sizeof(dst.b));
	return src && !ip_addr_is_unspecified(&dst) && !is_multicast(&dst) &&
	       ip_addr_is_ipv4(&src->ip) == ip_addr_is_ipv4(&dst);
}

void
path_explain(const struct nic *nic, const struct shm_av *av, char *why, size_t size)
{
	const struct gid *src = gid_at(&nic->gids, av->sgid_index);
	char own[IP_ADDR_TEXT], peer[IP_ADDR_TEXT], used[64];
	struct ip_addr dst;

	memcpy(dst.b, av->dgid, sizeof(dst.b));
	if (!src)
		snprintf(why, size, "there is no GID %u; there are %s (see 'ibv_devinfo -v')",
		         av->sgid_index, gid_indices_text(&nic->gids, used, sizeof(used)));
	else if (ip_addr_is_unspecified(&dst))
		snprintf(why, size,
		         "the peer's GID is all zero: the peer must choose one and send it");
	else if (is_multicast(&dst))
		snprintf(why, size, "the peer's GID %s is a multicast address",
		         ip_addr_text(&dst, peer));
	else
		snprintf(why, size,
		         "GID %u is %s, and the peer's %s: choose both of IPv4 or both of IPv6",
		         av->sgid_index, ip_addr_text(&src->ip, own), ip_addr_text(&dst, peer));
}

int
path_set(struct qp *qp, const struct shm_av *av, uint64_t now_ns)
{
	struct nic *nic = qp->nic;
	struct ip_addr dst;
	const struct gid *src;
	struct neigh *neigh;

	if (!path_is_valid(nic, av))
		return -EINVAL;
	src = gid_at(&nic->gids, av->sgid_index);
	memcpy(dst.b, av->dgid, sizeof(dst.b));
	neigh = neigh_get(nic->neigh, &dst, src->vlan, now_ns);
	if (!neigh)
		return -ENOMEM;
	path_drop(qp);
	qp->neigh_wait_ns = 0;
	qp->neigh = neigh;
	qp->peer_ip = dst;
	qp->own_ip = src->ip;
	qp->own_vlan = src->vlan;
	qp->av = *av;
	lay_out(qp, av);
	qp->has_path = true;
	return 0;
}

void
path_drop(struct qp *qp)
{
	if (qp->neigh)
		neigh_put(qp->nic->neigh, qp->neigh);
	qp->neigh = NULL;
	qp->has_path = false;
}

bool
path_renew(struct qp *qp, uint64_t now_ns)
{
	if (!qp->neigh->valid) {
		neigh_want(qp->nic->neigh, qp->neigh, now_ns);
		return false;
	}
	lay_out(qp, &qp->av);
	return true;
}

uint16_t
path_sport(const struct qp *qp)
{
	/* As RoCE NICs do: a port of the dynamic range that stays with the pair of QPs. */
	uint32_t h = (qp->qpn ^ (qp->attr.dest_qpn << 7)) * UINT32_C(0x9e3779b1);

	return (uint16_t)(0xc000 | (h >> 18));
}

/* Without headers of the link. */
static uint32_t
ip_bytes(const struct qp *qp, const struct out_pkt *o)
{
	return o->hdr_len - qp->path.l3_off + ((o->payload_len + 3) & ~3u) + ICRC_LEN;
}

/* What the link can't take is as good as lost. */
static bool
may_leave(const struct qp *qp, const struct out_pkt *o)
{
	struct nic *nic = qp->nic;

	if (o->to_self)
		return true;
	if (!nic->is_up)
		nic_drop(nic, DROP_LINK);
	else if (ip_bytes(qp, o) > nic->ip_mtu_bytes)
		nic_drop(nic, DROP_MTU);
	else
		return true;
	return false;
}

struct out_pkt *
path_plan(struct qp *qp, const struct wire_pkt *w, uint16_t sport, uint8_t ecn)
{
	struct nic *nic = qp->nic;
	struct batch *b = nic->batch;
	struct out_pkt *o = &b->out[b->nb_out];
	struct pkt *p;

	if (!path_ready(qp, nic->now_ns)) {
		nic_drop(nic, DROP_NO_NEIGH);
		return NULL;
	}
	assert(b->nb_spare);
	p = b->spare[b->nb_spare - 1];
	assert(p->room >= WIRE_HDR_MAX);
	o->pkt = p;
	o->qp = qp;
	o->payload_len = w->payload_len;
	o->to_self = qp->path_to_self;
	o->is_request = o->waits = o->failed = false;
	o->psn = w->psn;
	o->hdr_len =
		wire_build(p->data, &qp->path, w, sport, ecn, b->payload_absent ? NULL : &o->crc);
	assert(p->room >= o->hdr_len + (b->payload_absent ? 0 : w->payload_len + 3 + ICRC_LEN));
	o->payload = p->data + o->hdr_len;
	if (!may_leave(qp, o))
		return NULL;
	b->nb_spare--;
	b->nb_out++;
	return o;
}
