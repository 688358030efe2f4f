/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>

#include "nic.h"
#include "qp.h"

/* What a NIC counts, by name. */

#define STAT(member)                                                                               \
	{                                                                                          \
		.name = #member, .offset = offsetof(struct nic_stats, member)                      \
	}
#define BAD(name, why)                                                                             \
	{                                                                                          \
		name, offsetof(struct nic_stats, bad[why])                                         \
	}
#define DROP(name, why)                                                                            \
	{                                                                                          \
		name, offsetof(struct nic_stats, drop[why])                                        \
	}

const struct stat_desc nic_stat_descs[] = {
	STAT(rx_packets),
	STAT(rx_bytes),
	STAT(tx_packets),
	STAT(tx_bytes),
	STAT(rx_write_requests),
	STAT(rx_read_requests),
	STAT(rx_atomic_requests),
	STAT(out_of_sequence),
	STAT(packet_seq_err),
	STAT(duplicate_request),
	STAT(local_ack_timeout_err),
	STAT(implied_nak_seq_err),
	STAT(rnr_nak_retry_err),
	STAT(out_of_buffer),
	STAT(no_memory),
	STAT(retransmits),
	STAT(rx_trimmed),
	STAT(np_cnp_sent),
	STAT(rp_cnp_handled),
	STAT(np_ecn_marked_roce_packets),
	STAT(req_remote_invalid_request),
	STAT(req_remote_access_errors),
	STAT(resp_local_length_error),
	STAT(resp_remote_access_errors),
	STAT(req_cqe_error),
	STAT(req_cqe_flush_error),
	STAT(resp_cqe_error),
	STAT(resp_cqe_flush_error),
	PAUSE_STAT_ROWS(struct nic_stats, pfc),
	BAD("rx_bad_short", WIRE_BAD_SHORT),
	BAD("rx_bad_ip", WIRE_BAD_IP),
	BAD("rx_bad_udp", WIRE_BAD_UDP),
	BAD("rx_bad_opcode", WIRE_BAD_OPCODE),
	BAD("rx_bad_length", WIRE_BAD_LENGTH),
	BAD("rx_bad_field", WIRE_BAD_FIELD),
	BAD("rx_bad_sum", WIRE_BAD_SUM),
	DROP("rx_icrc_encapsulated", DROP_ICRC),
	DROP("drop_not_roce", DROP_NOT_ROCE),
	DROP("drop_no_qp", DROP_NO_QP),
	DROP("drop_qp_type", DROP_QP_TYPE),
	DROP("drop_qp_state", DROP_QP_STATE),
	DROP("drop_address", DROP_ADDRESS),
	DROP("drop_pkey", DROP_PKEY),
	DROP("drop_qkey", DROP_QKEY),
	DROP("drop_no_recv", DROP_NO_RECV),
	DROP("drop_length", DROP_LENGTH),
	DROP("drop_gap", DROP_GAP),
	DROP("drop_stale", DROP_STALE),
	DROP("drop_busy", DROP_BUSY),
	DROP("drop_sequence", DROP_SEQUENCE),
	DROP("drop_memory", DROP_MEMORY),
	DROP("drop_vlan", DROP_VLAN),
	DROP("drop_no_neigh", DROP_NO_NEIGH),
	DROP("drop_link", DROP_LINK),
	DROP("drop_mtu", DROP_MTU),
	DROP("drop_framing", DROP_FRAMING),
	DROP("drop_parts", DROP_PARTS),
	DROP("drop_message", DROP_MESSAGE),
	{NULL},
};

/* ---- counters of engines, which lie in the states of QPs ---- */

/* The slot of a table of counters; nb_engine_stats if it has none yet. */
static uint32_t
slot_of(const struct nic *nic, const struct stat_desc *descs)
{
	uint32_t i = 0;

	while (i < nic->nb_engine_stats && nic->engine_stats[i] != descs)
		i++;
	return i;
}

static bool
find_stats(struct nic *nic, const struct engine_info *info)
{
	uint32_t i = slot_of(nic, info->stats), nb = 0;

	if (!info->stats || i < nic->nb_engine_stats)
		return true;
	STAT_FOREACH (d, info->stats)
		nb++;
	if (i == NIC_ENGINES_MAX || nb > NIC_ENGINE_STATS_MAX)
		return false;
	nic->engine_stats[i] = info->stats;
	nic->nb_engine_stats++;
	return true;
}

static bool
find_set_stats(struct nic *nic, const struct engine_set *set)
{
	return find_stats(nic, &set->rel->info) && find_stats(nic, &set->cc->info) &&
	       find_stats(nic, &set->lb->info);
}

bool
nic_find_engine_stats(struct nic *nic)
{
	const struct nic_conf *conf = &nic->conf;
	bool fit = find_set_stats(nic, &conf->bind.set);

	fit = fit && find_stats(nic, &conf->rel_dgram->info) && find_set_stats(nic, &conf->plain);
	for (uint32_t i = 0; fit && i < conf->nb_peers; i++)
		fit = find_set_stats(nic, &conf->peers[i].set);
	return fit;
}

static void
add(const struct nic *nic, const struct engine_info *info, const void *state,
    struct nic_engine_sums *sums)
{
	uint32_t i = slot_of(nic, info->stats);

	if (!info->stats)
		return;
	assert(i < nic->nb_engine_stats);
	stat_add(info->stats, state, sums->engine[i]);
}

void
nic_add_engine_stats(const struct qp *qp, struct nic_engine_sums *sums)
{
	add(qp->nic, &qp->rel_ops->info, qp->rel, sums);
	add(qp->nic, &qp->cc_ops->info, qp->cc, sums);
	add(qp->nic, &qp->lb_ops->info, qp->lb, sums);
}

void
nic_engine_stats(const struct nic *nic, struct nic_engine_sums *sums)
{
	const struct qp *qp;
	uint32_t pos = 0;

	*sums = nic->ended_stats;
	while ((qp = keytab_next(&nic->qps, &pos)))
		nic_add_engine_stats(qp, sums);
}
