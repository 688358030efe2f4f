/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab_impl.h"
#include "pause.h"

/* How a run comes to its end. */

/* ---- silence ---- */

/* Longest that one link keeps a frame beside its own time: its delay, its faults, a pause. */
static uint64_t
keep_ps(const struct lab *lab)
{
	uint64_t most_ns = 0;

	for (uint32_t i = 0; i < lab->net.nb_links; i++) {
		const struct plan_link *link = &lab->conf.plan->links[i];
		uint64_t ns = link->delay_ns + pause_quanta_ns(UINT16_MAX, link->rate_bps);

		if (lab->conf.faults) {
			const struct fault_dir *tx = &lab->conf.faults[i].tx;
			const struct fault_dir *rx = &lab->conf.faults[i].rx;

			ns += tx->delay_ns + tx->jitter_ns + tx->reorder_ns;
			ns += rx->delay_ns + rx->jitter_ns + rx->reorder_ns;
		}
		most_ns = ns > most_ns ? ns : most_ns;
	}
	return most_ns * PS_PER_NS;
}

/*
 * Frames may be waited for as long as a QP's timers run, and then nothing may follow for a while:
 * at least a second, and as long as a link keeps a frame. The longest timer is that of a READ whose
 * response does not come under the weft framing: 4 (retry_cnt + 1) timeouts, twice if a part of it
 * came since. Our choice: one more period than that.
 */
#define STALL_MIN_PS PS_PER_S
#define STALL_TIMEOUTS 8

static uint64_t
stall_ps(const struct lab *lab)
{
	uint64_t timeout_ps = UINT64_C(4096) * PS_PER_NS << lab->conf.host.timeout;
	uint64_t waits = STALL_TIMEOUTS * (lab->conf.host.retry_cnt + UINT64_C(2));
	uint64_t stall_ps = lab->conf.host.timeout ? waits * timeout_ps : 0;

	return keep_ps(lab) + (stall_ps > STALL_MIN_PS ? stall_ps : STALL_MIN_PS);
}

/* Pauses do not count: where nothing goes on they are repeated for ever. */
static uint64_t
sum_sent(const struct lab *lab)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < lab->conf.plan->nb_switches; i++)
		for (uint16_t port = 0; port < lab->conf.plan->switches[i].nb_ports; port++)
			sum -= lab->switches[i].ports[port]->tx_pause_frames;

	for (uint32_t i = 0; i < lab->net.nb_links; i++)
		sum += lab->net.links[i][0].link.nb_pkts + lab->net.links[i][1].link.nb_pkts;
	return sum;
}

/* Nobody has sent anything, no flow has begun, and no workload waits for its time. */
static void
fire_stall(struct event *e, uint64_t now_ps)
{
	struct lab *lab = container_of(e, struct lab, stall);
	uint64_t sent = sum_sent(lab);

	if (sent == lab->stall_pkts && list_is_empty(&lab->timers)) {
		lab->is_over = true;
		return;
	}
	lab->stall_pkts = sent;
	event_arm(&lab->net.clock, e, now_ps + stall_ps(lab));
}

void
lab_arm_stall(struct lab *lab)
{
	lab->stall.fire = fire_stall;
	event_arm(&lab->net.clock, &lab->stall, stall_ps(lab));
}

/* ---- draining ---- */

/*
 * Between two frames that arrive: what a fault's delay and its reordering hold back, and what a
 * pause stops, comes within this, or never. Source: fault_param_descs, 10 s each at most;
 * pfc_watchdog.
 */
#define DRAIN_MAX_PS (30 * PS_PER_S)

static uint64_t
sum_arrived(const struct lab *lab)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < lab->net.nb_links; i++)
		sum += lab->net.links[i][0].nb_delivered + lab->net.links[i][1].nb_delivered;
	return sum;
}

static bool
is_drained(const struct lab *lab)
{
	for (uint32_t i = 0; i < lab->net.nb_links; i++)
		for (int way = 0; way < 2; way++)
			if (sim_link_nb_inside(&lab->net.links[i][way].link) > 0)
				return false;
	for (uint32_t i = 0; i < lab->conf.plan->nb_switches; i++)
		if (switch_nb_held(lab->switches[i].sw) > 0)
			return false;
	return true;
}

void
lab_drain(struct lab *lab)
{
	uint64_t since_ps = lab->end_ps, before = sum_arrived(lab);

	event_cancel(&lab->net.clock, &lab->sample);
	event_cancel(&lab->net.clock, &lab->stop);
	event_cancel(&lab->net.clock, &lab->stall);
	while (!is_drained(lab) && !lab->violation.rule) {
		bool goes_on = net_step(&lab->net);
		uint64_t arrived = sum_arrived(lab);

		if (arrived != before) {
			before = arrived;
			since_ps = lab_now_ps(lab);
		} else if (!goes_on || lab_now_ps(lab) - since_ps > DRAIN_MAX_PS) {
			watch_violated(lab, NULL, "buffers are empty at the end",
			               "all work is done, frames are under way, and none has "
			               "arrived for 30 s");
			return;
		}
	}
}
