/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "batch.h"
#include "fail.h"
#include "path.h"
#include "peers.h"
#include "wr.h"

/* What a NIC does when the interface that it stands on has changed. */

static bool
has_address(const struct qp *qp)
{
	return gid_find(&qp->nic->gids, &qp->own_ip, qp->own_vlan) != NULL;
}

/* A UD QP lives on: each of its messages names the index that it leaves from. */
static void
look_at(struct qp *qp)
{
	const struct gid *gid;

	if (!qp->has_path)
		return;
	if (qp->type != SHM_QPT_UD) {
		if (!has_address(qp))
			qp_fail_address(qp);
		return;
	}
	gid = gid_at(&qp->nic->gids, qp->av.sgid_index);
	if (!gid || gid->vlan != qp->own_vlan || memcmp(&gid->ip, &qp->own_ip, sizeof(gid->ip)))
		path_drop(qp);
}

static void
look_at_all(struct nic *nic)
{
	struct qp *qp;
	uint32_t pos = 0;

	while ((qp = keytab_next(&nic->qps, &pos))) {
		if (!batch_cqe_fits(nic->batch))
			batch_flush_in(nic);
		look_at(qp);
	}
}

static void
tell(struct nic *nic, uint32_t type)
{
	if (nic->conf.driver->port_event)
		nic->conf.driver->port_event(nic->conf.owner, type);
}

static void
set_mtu(struct nic *nic, uint32_t ip_mtu_bytes)
{
	nic->ip_mtu_bytes = ip_mtu_bytes;
	nic->active_mtu = nic_mtu_code(nic, ip_mtu_bytes);
}

static void
judge_link(struct nic *nic)
{
	bool is_up = nic->port_is_up && nic->iface_is_up;

	if (is_up == nic->is_up)
		return;
	nic->is_up = is_up;
	nic->link_ns = nic->now_ns;
	/* Questions that were asked meanwhile are lost. */
	if (is_up)
		neigh_link_up(nic->neigh, nic->now_ns);
	if (is_up && nic->peers)
		peers_link_up(nic->peers, nic->now_ns);
	/* Whoever paused classes is no longer there. */
	pause_clear(&nic->pause, nic->now_ns);
	sched_close(&nic->sched, 0);
	tell(nic, is_up ? SHM_EVENT_PORT_ACTIVE : SHM_EVENT_PORT_ERR);
}

void
nic_set_link(struct nic *nic, bool is_up)
{
	nic->port_is_up = is_up;
	judge_link(nic);
}

struct gid_changes
nic_follow(struct nic *nic, const struct nic_iface *iface, uint64_t now_ns)
{
	bool new_mac = memcmp(nic->self.mac, iface->mac, sizeof(iface->mac)) != 0;
	struct gid_changes changes;

	nic->now_ns = now_ns;
	memcpy(nic->self.mac, iface->mac, sizeof(iface->mac));
	set_mtu(nic, iface->ip_mtu_bytes);
	changes = gid_table_set(&nic->gids, iface->gids, iface->nb_gids);
	if (new_mac || changes.nb_added || changes.nb_removed)
		neigh_self_changed(nic->neigh, now_ns);
	if (changes.nb_added || changes.nb_removed)
		tell(nic, SHM_EVENT_GID_CHANGE);
	if (changes.nb_removed) {
		look_at_all(nic);
		wr_settle(nic);
	}
	nic->iface_is_up = iface->is_up;
	judge_link(nic);
	return changes;
}
