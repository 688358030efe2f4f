/* SPDX-License-Identifier: BSD-3-Clause */
#include "nic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "open.h"
#include "path_mtu.h"

static_assert(SCHED_CLASSES == PAUSE_CLASSES, "the scheduler's classes are those of the link");

/* Resolution of retransmission timers: 2^11 ns. The shortest timeout is 8.192 us. */
#define WHEEL_SHIFT 11

/* Of all that the NIC may run. */
static uint32_t
overhead_max(const struct nic_conf *conf)
{
	uint32_t max = path_mtu_overhead(&conf->bind.set, conf->bind.framing);

	for (uint32_t i = 0; i < conf->nb_peers; i++) {
		const struct nic_bind *b = &conf->peers[i];
		uint32_t bytes = path_mtu_overhead(&b->set, b->framing);

		max = bytes > max ? bytes : max;
	}
	return max;
}

uint8_t
nic_mtu_code(const struct nic *nic, uint32_t ip_mtu_bytes)
{
	return path_mtu_code(ip_mtu_bytes, nic->overhead_bytes);
}

void
nic_client_init(struct nic_client *client)
{
	sched_group_init(&client->sched);
	for (uint32_t i = 0; i < PAUSE_CLASSES; i++)
		turn_group_init(&client->resp[i]);
	turn_group_init(&client->cnp);
	turn_group_init(&client->done);
}

/* The link-local address, then those of the conf: that will do for ever. */
static void
set_up_alone(struct nic *nic, const struct nic_conf *conf)
{
	struct gid gids[GID_TABLE_MAX] = {gid_link_local(conf->mac)};

	for (uint32_t i = 0; i < conf->nb_ips; i++)
		gids[i + 1].ip = conf->ips[i];
	for (uint32_t i = 0; i <= conf->nb_ips; i++)
		gids[i].vlan = conf->vlan;
	nic->gids.len = conf->nb_ips + 1;
	gid_table_set(&nic->gids, gids, conf->nb_ips + 1);
	memcpy(nic->self.mac, conf->mac, sizeof(conf->mac));
	nic->ip_mtu_bytes = conf->ip_mtu_bytes;
	nic->iface_is_up = true;
}

/* What an interface has, and may get. */
static void
set_up_on(struct nic *nic, const struct nic_iface *iface)
{
	nic->gids.len = GID_TABLE_MAX;
	gid_table_set(&nic->gids, iface->gids, iface->nb_gids);
	memcpy(nic->self.mac, iface->mac, sizeof(iface->mac));
	nic->ip_mtu_bytes = iface->ip_mtu_bytes;
	nic->iface_is_up = iface->is_up;
}

const struct nic_bind *
nic_bind_of(const struct nic *nic, const struct ip_addr *peer)
{
	const struct nic_bind *best = NULL;

	for (uint32_t i = 0; i < nic->conf.nb_peers; i++) {
		const struct nic_bind *b = &nic->conf.peers[i];

		if (ip_prefix_covers(&b->peers, peer) &&
		    (!best || b->peers.bits > best->peers.bits))
			best = b;
	}
	return best ? best : &nic->conf.bind;
}

/* Remember the congestion control whose QPs share a state; false if another was there already. */
static bool
add_shared(const struct cc_ops *cc, const struct cc_ops **shared)
{
	if (cc->nic_state_size == 0)
		return true;
	if (!*shared)
		*shared = cc;
	return *shared == cc;
}

bool
nic_find_shared_cc(const struct nic_conf *conf, const struct cc_ops **shared)
{
	bool is_only;

	*shared = NULL;
	is_only = add_shared(conf->bind.set.cc, shared) && add_shared(conf->plain.cc, shared);
	for (uint32_t i = 0; is_only && i < conf->nb_peers; i++)
		is_only = add_shared(conf->peers[i].set.cc, shared);
	return is_only;
}

static bool
wishes_weft(const struct nic_conf *conf)
{
	bool wishes = conf->bind.framing != FRAMING_WISH_ROCEV2;

	for (uint32_t i = 0; i < conf->nb_peers; i++)
		wishes |= conf->peers[i].framing != FRAMING_WISH_ROCEV2;
	return wishes;
}

struct nic *
nic_create(const struct nic_conf *conf, uint64_t now_ns)
{
	const struct cc_ops *cc;
	struct nic *nic;

	if (conf->nb_ips > GID_TABLE_MAX - 1 || !nic_find_shared_cc(conf, &cc)) {
		errno = EINVAL;
		return NULL;
	}
	nic = calloc(1, sizeof(*nic));
	if (!nic)
		return NULL;
	nic->conf = *conf;
	if (!nic_find_engine_stats(nic)) {
		free(nic);
		errno = EINVAL;
		return NULL;
	}
	nic->now_ns = now_ns;
	nic->mr_generation = 1;
	nic->trim_ns = NEVER_NS;
	nic->self = (struct neigh_self){
		.name = conf->name, .gids = &nic->gids, .resolver = conf->resolver};
	if (conf->iface)
		set_up_on(nic, conf->iface);
	else
		set_up_alone(nic, conf);
	nic->port_is_up = true;
	nic->is_up = nic->iface_is_up;
	nic->link_ns = now_ns;
	nic->overhead_bytes = overhead_max(conf);
	nic->active_mtu = nic_mtu_code(nic, nic->ip_mtu_bytes);
	nic->cc_nic.line_rate_bps = conf->line_rate_bps;
	prng_seed(&nic->prng, conf->seed);
	sched_init(&nic->sched, now_ns);
	wheel_init(&nic->wheel, now_ns, WHEEL_SHIFT);
	nic_client_init(&nic->own_client);
	for (uint32_t i = 0; i < PAUSE_CLASSES; i++)
		turns_init(&nic->resp_qps[i]);
	turns_init(&nic->cnp_qps);
	pause_init(&nic->pause, &nic->stats.pfc, conf->pfc_watchdog_ns);
	turns_init(&nic->done_qps);
	nic->batch = batch_create(conf->payload_absent);
	nic->neigh = neigh_create(&nic->self, conf->pool, NIC_MAX_NEIGHS);
	if (cc)
		nic->cc_nic.shared = calloc(1, cc->nic_state_size);
	if (!nic->batch || !nic->neigh || (cc && !nic->cc_nic.shared)) {
		nic_destroy(nic);
		errno = ENOMEM;
		return NULL;
	}
	if (wishes_weft(conf) && !conf->opens_pairs && !(nic->peers = open_peers(nic))) {
		nic_destroy(nic);
		errno = ENOMEM;
		return NULL;
	}
	neigh_announce(nic->neigh, now_ns);
	return nic;
}

void
nic_destroy(struct nic *nic)
{
	struct pkt *p;

	assert(!nic->qps.nb_objs && !nic->keys.nb_objs);
	while ((p = pkt_queue_pop(&nic->loop)) || (p = pkt_queue_pop(&nic->bounces)))
		pkt_free(&p, 1);
	peers_destroy(nic->peers);
	neigh_destroy(nic->neigh);
	batch_destroy(nic->batch);
	slab_set_fini(&nic->slabs);
	keytab_fini(&nic->qps);
	keytab_fini(&nic->keys);
	free(nic->cc_nic.shared);
	free(nic);
}
