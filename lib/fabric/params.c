/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "hdr.h"
#include "int.h"
#include "switch_impl.h"

/* What a conf can say of a switch, what that means, and what does not fit together. */

const struct param_desc switch_param_descs[] = {
	{"macs_max", PARAM_U32, offsetof(struct switch_params, macs_max), 4096, 1, 1 << 24, "1",
         "our choice"},
	{"mac_age", PARAM_U64, offsetof(struct switch_params, mac_age_ns), 300e9, 1e9, 1e15, "ns",
         "IEEE 802.1Q, 8.8.3: 300 s"},
	{"buffer", PARAM_U64, offsetof(struct switch_params, buffer_bytes), 16 << 20, 1 << 16,
         0x1p31, "B", "our choice, half of a 100 Gb/s ToR's"},
	{"buffer_pkts", PARAM_U32, offsetof(struct switch_params, buffer_pkts), 4096, 1, 1 << 22,
         "pkt", "our choice, half of a process's packets"},
	{"pfc_watchdog", PARAM_U64, offsetof(struct switch_params, pfc_watchdog_ns), 100e6, 0, 10e9,
         "ns", "our choice"},
	{"tbo_alpha", PARAM_F64, offsetof(struct switch_params, alpha_tbo), 1.0 / 16, 0, 1, "1",
         "Odin: 1/16"},
	{"seed", PARAM_U64, offsetof(struct switch_params, seed), 1, 0, 0x1p53, "1", "our choice"},
	{NULL},
};

const struct param_desc switch_queue_descs[] = {
	{"weight", PARAM_F64, offsetof(struct switch_queue, weight), 1, 0, 1000, "1",
         "our choice: all alike"},
	{"reserve", PARAM_U64, offsetof(struct switch_queue, reserve_bytes), 4096, 0, 1 << 24, "B",
         "HPCC simulator: 4 KB"},
	{"alpha", PARAM_F64, offsetof(struct switch_queue, alpha), 1, 1.0 / 1024, 1024, "1",
         "our choice: half of the buffer for one queue alone"},
	{"limit", PARAM_U64, offsetof(struct switch_queue, limit_bytes), (double)(1ull << 34), 0,
         (double)(1ull << 34), "B", "our choice: the buffer decides"},
	{"ecn_kmin", PARAM_U64, offsetof(struct switch_queue, kmin_bytes), 0, 0,
         (double)(1ull << 34), "B", "no marks, unless asked for"},
	{"ecn_kmax", PARAM_U64, offsetof(struct switch_queue, kmax_bytes), 0, 0,
         (double)(1ull << 34), "B", "no marks, unless asked for"},
	{"ecn_pmax", PARAM_F64, offsetof(struct switch_queue, pmax), 0.2, 0, 1, "1",
         "HPCC simulator: 20 %"},
	{NULL},
};

const struct param_desc switch_port_descs[] = {
	{"rate", PARAM_U64, offsetof(struct switch_port_params, rate_bps), 0, 0, 1.6e12, "bps",
         "nothing is held back, unless asked for"},
	{"delay", PARAM_U64, offsetof(struct switch_port_params, delay_ns), 0, 0, 1e9, "ns",
         "no delay, unless asked for"},
	{"catch_up", PARAM_U64, offsetof(struct switch_port_params, catch_up_ns), 1e6, 0, 1e9, "ns",
         "our choice: a turn of a worker that shares its core"},
	{"overhead", PARAM_U32, offsetof(struct switch_port_params, overhead_bytes), 24, 0, 64, "B",
         "IEEE 802.3: FCS 4, preamble 8, gap 12"},
	{"headroom", PARAM_U64, offsetof(struct switch_port_params, headroom_bytes), 512 << 10, 0,
         1 << 30, "B", "our choice: bursts of 32 frames of 4 KB on their way, four times"},
	{"beta_dt", PARAM_U32, offsetof(struct switch_port_params, beta_dt), 8, 1, 1024, "1",
         "HPCC simulator: 8"},
	{"flood", PARAM_YES_NO, offsetof(struct switch_port_params, floods), 1, 0, 1, "1",
         "IEEE 802.1Q: all ports"},
	{NULL},
};

#define ROW(type, name, member)                                                                    \
	{                                                                                          \
		name, offsetof(struct type, member)                                                \
	}
#define PORT(name) ROW(switch_port_stats, #name, name)
/* One of each queue or class, named as ethtool does. */
/* clang-format off */
#define PRIO(way, type, suffix, member, i) ROW(type, way "_prio" #i "_" suffix, member[i])
/* Of a member of the structs of queues. */
#define QPRIO(way, suffix, member, i)                                                              \
	ROW(switch_port_stats, way "_prio" #i "_" suffix, q[i].member)
#define QPRIOS(way, suffix, member)                                                                \
	QPRIO(way, suffix, member, 0), QPRIO(way, suffix, member, 1),                              \
	QPRIO(way, suffix, member, 2), QPRIO(way, suffix, member, 3),                              \
	QPRIO(way, suffix, member, 4), QPRIO(way, suffix, member, 5),                              \
	QPRIO(way, suffix, member, 6), QPRIO(way, suffix, member, 7)
#define PRIOS(way, type, suffix, member)                                                           \
	PRIO(way, type, suffix, member, 0), PRIO(way, type, suffix, member, 1),                    \
	PRIO(way, type, suffix, member, 2), PRIO(way, type, suffix, member, 3),                    \
	PRIO(way, type, suffix, member, 4), PRIO(way, type, suffix, member, 5),                    \
	PRIO(way, type, suffix, member, 6), PRIO(way, type, suffix, member, 7)
/* clang-format on */

const struct stat_desc switch_port_stat_descs[] = {
	PORT(rx_packets),
	PORT(rx_bytes),
	PORT(tx_packets),
	PORT(tx_bytes),
	PORT(rx_flooded),
	PORT(rx_copies),
	PORT(rx_filtered),
	PORT(rx_control),
	PORT(rx_bad),
	PORT(rx_off_tree),
	PORT(tx_no_buffer),
	PORT(tx_full_pkts),
	PORT(tx_link_down),
	PORT(tx_late_ns),
	PORT(int_written),
	PORT(int_full),
	PORT(int_lies),
	PORT(int_tbo),
	PORT(tx_pause_frames),
	QPRIOS("tx", "packets", packets),
	QPRIOS("tx", "bytes", bytes),
	QPRIOS("tx", "full", full),
	QPRIOS("rx", "headroom", headroom),
	QPRIOS("tx", "marked", marked),
	QPRIOS("tx", "trimmed", trimmed),
	QPRIOS("tx", "queue_max", bytes_max),
	PRIOS("tx", switch_port_stats, "pause", tx_pause),
	PRIOS("tx", switch_port_stats, "pause_resume", tx_resume),
	PAUSE_STAT_ROWS(struct switch_port_stats, rx_pause),
	{NULL},
};

const struct stat_desc switch_port_level_descs[] = {
	PRIOS("tx", switch_port_levels, "queue", q_bytes),
	{NULL},
};

const struct stat_desc switch_stat_descs[] = {
	ROW(switch_stats, "buffer_used", buffer_used_bytes),
	ROW(switch_stats, "buffer_used_max", buffer_used_bytes_max),
	{NULL},
};

void
switch_conf_default(struct switch_conf *conf)
{
	*conf = (struct switch_conf){.trim_queue = QUEUE_NONE, .mac = {0x02}};
	param_defaults(switch_param_descs, &conf->params);
	for (int i = 0; i < QUEUES_NB; i++)
		param_defaults(switch_queue_descs, &conf->queues[i]);
	for (uint8_t i = 0; i < 64; i++)
		conf->class_of_dscp[i] = i >> 3;
	for (uint8_t i = 0; i < 8; i++)
		conf->class_of_pcp[i] = i;
}

uint64_t
switch_reserved_bytes(const struct switch_conf *conf)
{
	uint64_t sum = 0;
	int nb_lossless = __builtin_popcount(conf->lossless);

	for (uint16_t p = 0; p < conf->nb_ports; p++) {
		for (int i = 0; i < QUEUES_NB; i++)
			sum += conf->queues[i].reserve_bytes;
		sum += (uint64_t)nb_lossless * conf->ports[p].headroom_bytes;
	}
	return sum;
}

static void
check_queue(const struct switch_conf *conf, uint16_t i, struct switch_mistake **next)
{
	const struct switch_queue *q = &conf->queues[i];
	struct switch_mistake *m = *next;

	if (q->kmin_bytes <= q->kmax_bytes)
		return;
	*m = (struct switch_mistake){SWITCH_QUEUE, i, "ecn_kmin", ""};
	if (q->kmax_bytes == 0)
		snprintf(m->why, sizeof(m->why),
		         "ecn_kmin = %" PRIu64
		         ", and ecn_kmax is missing: the bytes above which all is marked",
		         q->kmin_bytes);
	else
		snprintf(m->why, sizeof(m->why),
		         "ecn_kmin = %" PRIu64 " is above ecn_kmax = %" PRIu64, q->kmin_bytes,
		         q->kmax_bytes);
	++*next;
}

static void
check_buffer(const struct switch_conf *conf, struct switch_mistake **next)
{
	uint64_t reserved = switch_reserved_bytes(conf);
	struct switch_mistake *m = *next;

	if (reserved < conf->params.buffer_bytes)
		return;
	*m = (struct switch_mistake){SWITCH_WHOLE, 0, "buffer", ""};
	snprintf(m->why, sizeof(m->why),
	         "reserve and headroom of all ports take %" PRIu64
	         " bytes: no part of buffer = %" PRIu64 " is left to share",
	         reserved, conf->params.buffer_bytes);
	++*next;
}

static bool
is_slow(uint64_t rate_bps)
{
	return rate_bps != 0 && rate_bps < LINK_RATE_MIN_BPS;
}

static bool
has_no_int_code(uint64_t rate_bps)
{
	return !is_slow(rate_bps) && !int_rate_code(rate_bps);
}

/* The first port whose rate is wrong. */
static void
check_rates(const struct switch_conf *conf, bool (*is_wrong)(uint64_t rate_bps), const char *why,
            struct switch_mistake **next)
{
	for (uint16_t p = 0; p < conf->nb_ports; p++) {
		if (!is_wrong(conf->ports[p].rate_bps))
			continue;
		**next = (struct switch_mistake){SWITCH_PORT, p, "rate", ""};
		snprintf((*next)->why, sizeof((*next)->why), "%s", why);
		++*next;
		return;
	}
}

uint32_t
switch_conf_check(const struct switch_conf *conf,
                  struct switch_mistake mistakes[SWITCH_MISTAKES_MAX])
{
	struct switch_mistake *next = mistakes;

	for (uint16_t i = 0; i < QUEUES_NB; i++)
		check_queue(conf, i, &next);
	check_buffer(conf, &next);
	if (conf->trim_queue != QUEUE_NONE && conf->lossless >> conf->trim_queue & 1) {
		*next = (struct switch_mistake){SWITCH_WHOLE, 0, "trim_queue", ""};
		snprintf(next->why, sizeof(next->why),
		         "queue %u cannot be lossless and for header-only packets",
		         conf->trim_queue);
		next++;
	}
	check_rates(conf, is_slow, "rate is less than 1 Mb/s", &next);
	if (conf->has_int)
		check_rates(conf, has_no_int_code,
		            "telemetry knows links of 1, 2.5, 5, 10, 25, 40, 50, 100, 200, 400, "
		            "800 and 1600 Gb/s: set its rate",
		            &next);
	assert(next <= mistakes + SWITCH_MISTAKES_MAX);
	return (uint32_t)(next - mistakes);
}
