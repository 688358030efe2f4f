/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "bind.h"
#include "conf_read.h"
#include "path_mtu.h"

/* Framing and engines of a connection: what a NIC says, and what the peer's section says instead.
 */

struct conf_bind
conf_bind_of(const struct conf_nic *nic, const struct conf_peer *peer)
{
	struct conf_bind bind = nic->bind;
	const struct conf_bind *said = peer ? &peer->bind : &nic->bind;

	if (said->has_framing)
		bind.framing = said->framing;
	if (said->set.rel)
		bind.set.rel = said->set.rel;
	if (said->set.cc)
		bind.set.cc = said->set.cc;
	if (said->set.lb)
		bind.set.lb = said->set.lb;
	if (said->has_fabric)
		bind.fabric = said->fabric;
	bind.line = said->line;
	return bind;
}

struct nic_bind
conf_nic_bind(const struct conf *conf, const struct conf_nic *nic, const struct conf_peer *peer)
{
	const struct conf_bind bind = conf_bind_of(nic, peer);
	static const struct ip_prefix all;

	return (struct nic_bind){
		.peers = peer ? peer->prefix : all,
		.framing = bind.framing,
		.set = bind.set,
		.params = conf_set_params(conf->engines, conf->nb_engines, &bind.set),
	};
}

uint32_t
conf_overhead_bytes(const struct conf *conf, const struct conf_nic *nic)
{
	uint32_t max = path_mtu_overhead(&nic->bind.set, nic->bind.framing);

	for (uint32_t i = 0; i < conf->nb_peers; i++) {
		const struct conf_bind bind = conf_bind_of(nic, &conf->peers[i]);
		uint32_t bytes = path_mtu_overhead(&bind.set, bind.framing);

		max = bytes > max ? bytes : max;
	}
	return max;
}

uint32_t
conf_path_mtu(const struct conf *conf, const struct conf_nic *nic)
{
	return mtu_bytes(path_mtu_code(nic->num.mtu, conf_overhead_bytes(conf, nic)));
}

/* @return false after conf_error. */
static bool
check_bind(struct conf_reader *r, const struct conf_nic *nic, const struct conf_peer *peer)
{
	const struct conf_bind bind = conf_bind_of(nic, peer);
	const struct engine_set plain = conf_plain_set();
	const char *where = peer ? "[peer] for " : "";
	char why[512];

	if (bind.set.rel == reliability_find("none")) {
		conf_error(r, bind.line,
		           "%s[nic %s]: reliability none is that of UC and UD; RC needs another",
		           where, nic->name);
		return false;
	}
	if (engine_set_check_wish(&bind.set, bind.framing, &plain, bind.fabric, why, sizeof(why)) ==
	    0)
		return true;
	conf_error(r, bind.line, "%s[nic %s]: %s", where, nic->name, why);
	return false;
}

/* Of all that a NIC may run, one congestion control at most has a state that its QPs share. */
static void
check_shared(struct conf_reader *r, const struct conf_nic *nic)
{
	const struct cc_ops *shared = nic->bind.set.cc;

	for (uint32_t i = 0; i < r->conf->nb_peers; i++) {
		const struct conf_peer *peer = &r->conf->peers[i];
		const struct cc_ops *cc = conf_bind_of(nic, peer).set.cc;

		if (cc->nic_state_size == 0 || cc == shared)
			continue;
		if (shared->nic_state_size > 0) {
			conf_error(
				r, peer->bind.line,
				"[peer] for [nic %s]: cc %s and cc %s both keep a state per NIC, "
				"and a NIC has room for one: the same cc, or one that keeps none",
				nic->name, cc->info.name, shared->info.name);
			return;
		}
		shared = cc;
	}
}

void
conf_check_binds(struct conf_reader *r)
{
	const struct conf *conf = r->conf;

	for (uint32_t i = 0; i < conf->nb_nics; i++)
		check_bind(r, &conf->nics[i], NULL);
	/* What a [peer] does not say, each NIC may say otherwise: told of the first that it fails.
	 */
	for (uint32_t p = 0; p < conf->nb_peers && r->nb_errors == 0; p++)
		for (uint32_t i = 0; i < conf->nb_nics; i++)
			if (!check_bind(r, &conf->nics[i], &conf->peers[p]))
				break;
	for (uint32_t i = 0; i < conf->nb_nics && r->nb_errors == 0; i++)
		check_shared(r, &conf->nics[i]);
}
