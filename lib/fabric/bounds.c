/* SPDX-License-Identifier: BSD-3-Clause */
#include "bounds.h"

#include <assert.h>
#include <math.h>

#include "switch.h"

double
trim_weight(uint32_t nb_ports, uint32_t data_bytes, uint32_t header_bytes)
{
	double r = (double)data_bytes / header_bytes, others = nb_ports - 1;

	assert(nb_ports >= 1 && header_bytes > 0);
	return r > others ? others / (r - others) : (double)INFINITY;
}

uint64_t
headroom_need_bytes(uint64_t rate_bps, uint64_t delay_ns, uint32_t frame_bytes)
{
	/* rate / 8 * delay / 10^9, in steps that do not overflow. */
	uint64_t on_the_way = rate_bps / 8000 * delay_ns / 1000000;

	return 2 * on_the_way + 2 * (uint64_t)frame_bytes;
}

uint64_t
mark_before_pause_bytes(uint64_t shared_bytes, uint32_t nb_ports, uint32_t nb_lossless,
                        uint32_t beta_dt)
{
	assert(nb_ports >= 1 && nb_lossless >= 1 && beta_dt >= 1);
	return shared_bytes / (nb_ports * (uint64_t)(nb_lossless + beta_dt));
}

uint64_t
pause_reach_bytes(uint64_t shared_bytes, uint64_t reserve_bytes, uint32_t nb_ports,
                  uint32_t beta_dt)
{
	uint64_t others = nb_ports - 1;

	assert(nb_ports >= 1 && beta_dt >= 1);
	return others * (shared_bytes / (others + beta_dt) + reserve_bytes);
}

enum mark_doubt
mark_doubt(const struct switch_conf *conf, uint32_t queue, uint64_t *from_bytes)
{
	const struct switch_queue *q = &conf->queues[queue];
	uint32_t beta_dt = 1;
	uint64_t shared;

	*from_bytes = 0;
	if (!(conf->lossless >> queue & 1) || q->kmax_bytes == 0)
		return MARKS_FIRST;
	shared = conf->params.buffer_bytes - switch_reserved_bytes(conf);
	for (uint32_t p = 0; p < conf->nb_ports; p++)
		if (conf->ports[p].beta_dt > beta_dt)
			beta_dt = conf->ports[p].beta_dt;
	*from_bytes = mark_before_pause_bytes(
		shared, conf->nb_ports, (uint32_t)__builtin_popcount(conf->lossless), beta_dt);
	if (q->kmin_bytes > *from_bytes)
		return MARKS_LATE;
	*from_bytes = pause_reach_bytes(shared, q->reserve_bytes, conf->nb_ports, beta_dt);
	if (q->kmax_bytes > *from_bytes)
		return MARKS_IN_PART;
	*from_bytes = 0;
	return MARKS_FIRST;
}
