/* SPDX-License-Identifier: BSD-3-Clause */
#include "nic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "hdr.h"

/* Resolution of retransmission timers: 2^11 ns. The shortest timeout is 8.192 us. */
#define WHEEL_SHIFT 11

/* fe80::/64 with the MAC as EUI-64. Source: RFC 4291, appendix A. */
static struct ip_addr
link_local(const uint8_t mac[6])
{
	return (struct ip_addr){{0xfe, 0x80, 0, 0, 0, 0, 0, 0, mac[0] ^ 2, mac[1], mac[2], 0xff,
	                         0xfe, mac[3], mac[4], mac[5]}};
}

/* Largest path MTU whose longest packet, a WRITE ONLY with immediate over IPv6, fits. */
static uint8_t
mtu_code(uint32_t ip_mtu)
{
	const uint32_t headers = IPV6_LEN + UDP_LEN + BTH_LEN + RETH_LEN + IMM_LEN + ICRC_LEN;
	uint8_t code = 5;

	while (code > 1 && mtu_bytes(code) + headers > ip_mtu)
		code--;
	return code;
}

void
nic_client_init(struct nic_client *client)
{
	sched_group_init(&client->sched);
	turn_group_init(&client->resp);
	turn_group_init(&client->done);
}

struct nic *
nic_create(const struct nic_conf *conf, uint64_t now_ns)
{
	struct nic *nic;

	if (conf->nb_ips > NIC_MAX_GIDS - 1) {
		errno = EINVAL;
		return NULL;
	}
	nic = calloc(1, sizeof(*nic));
	if (!nic)
		return NULL;
	nic->conf = *conf;
	assert(nic_engine_stats_fit(nic));
	nic->now_ns = now_ns;
	nic->mr_generation = 1;
	nic->gids[0] = link_local(conf->mac);
	memcpy(&nic->gids[1], conf->ips, conf->nb_ips * sizeof(*conf->ips));
	nic->nb_gids = 1 + conf->nb_ips;
	nic->active_mtu = mtu_code(conf->ip_mtu_bytes);
	nic->cc_nic.line_rate_bps = conf->line_rate_bps;
	nic->self = (struct neigh_self){.has_vlan = conf->has_vlan,
	                                .vlan_tci = conf->vlan_tci,
	                                .ips = nic->gids,
	                                .nb_ips = nic->nb_gids};
	memcpy(nic->self.mac, conf->mac, sizeof(conf->mac));
	prng_seed(&nic->prng, conf->seed);
	sched_init(&nic->sched, now_ns);
	wheel_init(&nic->wheel, now_ns, WHEEL_SHIFT);
	nic_client_init(&nic->own_client);
	turns_init(&nic->resp_qps);
	turns_init(&nic->done_qps);
	nic->batch = batch_create();
	nic->neigh = neigh_create(&nic->self, conf->pool, NIC_MAX_NEIGHS);
	if (conf->cc->nic_state_size)
		nic->cc_nic.shared = calloc(1, conf->cc->nic_state_size);
	if (!nic->batch || !nic->neigh || (conf->cc->nic_state_size && !nic->cc_nic.shared)) {
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
	while ((p = pkt_queue_pop(&nic->loop)))
		pkt_free(&p, 1);
	neigh_destroy(nic->neigh);
	batch_destroy(nic->batch);
	keytab_fini(&nic->qps);
	keytab_fini(&nic->keys);
	free(nic->cc_nic.shared);
	free(nic);
}
