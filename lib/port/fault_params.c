/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>

#include "fault_lane.h"

/* What operators can ask of the fault layer, and what they can read. */

#define ROW(name, type, member, def, min, max, unit, source)                                       \
	{                                                                                          \
		name, type, offsetof(struct fault_params, member), def, min, max, unit, source     \
	}
#define PPM(name, member) ROW(name, PARAM_U32, member, 0, 0, MILLION, "ppm", "our choice")
#define GILBERT(name, member, def)                                                                 \
	ROW(name, PARAM_U32, member, def, 0, MILLION, "ppm", "tc-netem(8), gemodel")
#define COUNT(name, member, max) ROW(name, PARAM_U32, member, 0, 0, max, "1", "our choice")
#define TIME(name, member, def, max) ROW(name, PARAM_U64, member, def, 0, max, "ns", "our choice")

/* Of one direction. */
/* clang-format off */
#define DIR(prefix, dir)                                                                           \
	PPM(prefix "loss", dir.ppm[FAULT_LOSS]),                                                   \
	GILBERT(prefix "burst_p", dir.burst.p_ppm, 0),                                             \
	GILBERT(prefix "burst_r", dir.burst.r_ppm, MILLION / 4),                                   \
	GILBERT(prefix "burst_bad_loss", dir.burst.bad_ppm, MILLION),                              \
	GILBERT(prefix "burst_good_loss", dir.burst.good_ppm, 0),                                  \
	ROW(prefix "pattern", PARAM_PATTERN, dir.pattern, 0, 0, 1, "1", "our choice"),             \
	COUNT(prefix "qpn", dir.qpn.qpn, 0xffffff),                                                \
	COUNT(prefix "qpn_every", dir.qpn.every, 0xffffff),                                        \
	COUNT(prefix "qpn_psn", dir.qpn.psn, 0xffffff),                                            \
	COUNT(prefix "qpn_psn_times", dir.qpn.psn_times, 1000000000),                              \
	PPM(prefix "trim", dir.ppm[FAULT_TRIM]),                                                   \
	PPM(prefix "duplicate", dir.ppm[FAULT_DUPLICATE]),                                         \
	PPM(prefix "corrupt", dir.ppm[FAULT_CORRUPT]),                                             \
	PPM(prefix "reorder", dir.ppm[FAULT_REORDER]),                                             \
	ROW(prefix "reorder_pkts", PARAM_U32, dir.reorder_pkts, 8, 1, FAULT_REORDER_MAX_PKTS,      \
	    "pkt", "our choice"),                                                                  \
	TIME(prefix "reorder_time", dir.reorder_ns, 1e5, 1e10),                                    \
	ROW(prefix "rate", PARAM_U64, dir.rate_bps, 0, 0, 1.6e12, "bps", "our choice"),            \
	TIME(prefix "delay", dir.delay_ns, 0, 1e10),                                               \
	ROW(prefix "jitter", PARAM_U32, dir.jitter_ns, 0, 0, 1e9, "ns", "our choice")
/* clang-format on */

const struct param_desc fault_param_descs[] = {
	TIME("fault_down_at", down.at_ns, 0, 1e15),
	TIME("fault_down_for", down.for_ns, 0, 1e15),
	TIME("fault_down_every", down.every_ns, 0, 1e15),
	ROW("fault_down", PARAM_YES_NO, down.now, 0, 0, 1, "1", "our choice"),
	ROW("fault_seed", PARAM_U64, seed, 1, 0, 0x1p53, "1", "our choice"),
	DIR("fault_", tx),
	DIR("fault_rx_", rx),
	{NULL},
};

#define HIT(name, member)                                                                          \
	{                                                                                          \
		name, offsetof(struct fault_stats, member)                                         \
	}
/* clang-format off */
#define HITS(prefix, dir)                                                                          \
	HIT(prefix "lost", dir[FAULT_LOSS]),                                                       \
	HIT(prefix "lost_burst", dir[FAULT_BURST]),                                                \
	HIT(prefix "lost_pattern", dir[FAULT_PATTERN]),                                            \
	HIT(prefix "lost_qpn", dir[FAULT_QPN]),                                                    \
	HIT(prefix "lost_trim", dir[FAULT_NO_TRIM]),                                               \
	HIT(prefix "lost_down", dir[FAULT_DOWN]),                                                  \
	HIT(prefix "trimmed", dir[FAULT_TRIM]),                                                    \
	HIT(prefix "duplicated", dir[FAULT_DUPLICATE]),                                            \
	HIT(prefix "corrupted", dir[FAULT_CORRUPT]),                                               \
	HIT(prefix "reordered", dir[FAULT_REORDER])
/* clang-format on */

const struct stat_desc fault_stat_descs[] = {
	HITS("fault_tx_", tx),
	HITS("fault_rx_", rx),
	HIT("fault_no_copy", no_copy),
	{NULL},
};

bool
fault_dir_any(const struct fault_dir *dir)
{
	for (int i = 0; i < FAULT_NB_SHARES; i++) {
		if (dir->ppm[i])
			return true;
	}
	return dir->rate_bps || dir->delay_ns || dir->jitter_ns || dir->burst.p_ppm ||
	       dir->pattern.nb_bits || (dir->qpn.qpn && (dir->qpn.every || dir->qpn.psn_times));
}

bool
fault_any(const struct fault_params *params)
{
	return fault_dir_any(&params->tx) || fault_dir_any(&params->rx) || params->down.now ||
	       params->down.for_ns;
}
