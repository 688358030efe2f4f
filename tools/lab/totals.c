/* SPDX-License-Identifier: BSD-3-Clause */
#include "totals.h"

#include <errno.h>
#include <stdlib.h>

#include "done.h"

/* When its last byte came, or no more was to come. */
static uint64_t
over_ps(const struct result *r, const struct flow *f)
{
	if (f->delivered_ps != NEVER_PS)
		return f->delivered_ps;
	return f->end_ps != NEVER_PS ? f->end_ps : r->end_ps;
}

static void
add_flows(struct totals *t, const struct result *r)
{
	for (uint32_t i = 0; i < r->nb_flows; i++) {
		const struct flow *f = &r->flows[i];
		uint64_t end_ps = over_ps(r, f);
		struct shares *s = &t->shares[f->conf.workload];
		double x = 0;

		t->flows_done += f->status == FLOW_DONE;
		t->flows_failed += f->status == FLOW_FAILED;
		t->is_dst[f->conf.dst] = true;
		if (end_ps > f->start_ps)
			x = (double)f->delivered_bytes * PS_PER_S / (double)(end_ps - f->start_ps);
		s->nb++;
		s->sum += x;
		s->squares += x * x;
	}
}

static void
add_pause(struct totals *t, const struct pause_stats *p)
{
	for (uint32_t c = 0; c < PAUSE_CLASSES; c++)
		t->paused_us += p->duration_us[c];
}

static void
add_host(struct totals *t, const struct host_result *h)
{
	for (uint32_t i = 0; i < WIRE_BAD_NB; i++)
		t->drops_nic += h->nic->bad[i];
	for (uint32_t i = 0; i < DROP_NB; i++)
		t->drops_nic += h->nic->drop[i];
	add_pause(t, &h->nic->pfc);
	t->qps += h->nb_qps;
	t->qps_failed += h->nb_failed_qps;
	t->tx_data_pkts += h->tx_data_pkts;
	t->retransmitted += h->retransmitted_pkts;
	t->spurious += h->spurious_pkts;
	t->timeouts += h->nic->local_ack_timeout_err;
	t->naks += h->nic->packet_seq_err;
	t->rnr_naks += h->nic->rnr_nak_retry_err;
	t->cnps += h->nic->np_cnp_sent;
}

static void
add_port(struct totals *t, const struct switch_port_stats *p)
{
	t->drops_switch += p->rx_bad + p->rx_filtered + p->rx_off_tree + p->tx_no_buffer +
	                   p->tx_full_pkts + p->tx_link_down;
	for (uint32_t q = 0; q < QUEUES_NB; q++) {
		t->drops_switch += p->q[q].full + p->q[q].headroom;
		t->trimmed += p->q[q].trimmed;
		t->marked += p->q[q].marked;
		t->pauses += p->tx_pause[q];
		if (p->q[q].bytes_max > t->queue_max_bytes)
			t->queue_max_bytes = p->q[q].bytes_max;
	}
	add_pause(t, &p->rx_pause);
}

static void
add_switch(struct totals *t, const struct switch_result *s, uint16_t nb_ports)
{
	if (s->stats.buffer_used_bytes_max > t->buffer_max_bytes)
		t->buffer_max_bytes = s->stats.buffer_used_bytes_max;
	for (uint16_t p = 0; p < nb_ports; p++)
		add_port(t, s->ports[p]);
}

static void
add_link(struct totals *t, const struct link_result ways[2])
{
	const struct fault_stats *faults = &ways[0].faults;

	t->drops_link += ways[0].lost_pkts + ways[1].lost_pkts;
	t->trimmed += faults->tx[FAULT_TRIM] + faults->rx[FAULT_TRIM];
}

int
totals_create(struct totals *totals, const struct result *r)
{
	*totals = (struct totals){
		.is_dst = calloc((size_t)r->plan->nb_hosts + 1, sizeof(*totals->is_dst)),
		.shares = calloc((size_t)r->nb_workloads + 1, sizeof(*totals->shares)),
	};
	if (!totals->is_dst || !totals->shares) {
		totals_free(totals);
		return -ENOMEM;
	}
	add_flows(totals, r);
	for (uint32_t i = 0; i < r->plan->nb_hosts; i++)
		add_host(totals, &r->hosts[i]);
	for (uint32_t i = 0; i < r->plan->nb_switches; i++)
		add_switch(totals, &r->switches[i], r->plan->switches[i].nb_ports);
	for (uint32_t i = 0; i < r->plan->nb_links; i++)
		add_link(totals, r->links[i]);
	return 0;
}

void
totals_free(struct totals *totals)
{
	free(totals->is_dst);
	free(totals->shares);
	*totals = (struct totals){0};
}

uint64_t
totals_active_ps(const struct result *r)
{
	uint64_t first_ps = NEVER_PS, last_ps = 0;

	for (uint32_t i = 0; i < r->nb_flows; i++) {
		const struct flow *f = &r->flows[i];
		uint64_t end_ps = over_ps(r, f);

		first_ps = f->start_ps < first_ps ? f->start_ps : first_ps;
		last_ps = end_ps > last_ps ? end_ps : last_ps;
	}
	return last_ps > first_ps ? last_ps - first_ps : 0;
}

struct value
totals_fairness(const struct shares *s)
{
	return value_ratio(s->sum * s->sum, s->nb * s->squares);
}

struct value
totals_queue(const struct result *r, const struct totals *t, uint32_t permille)
{
	const struct queue_histogram *h = r->queues;
	uint64_t rank, below = 0;
	uint32_t bin = 0;

	if (!h || h->nb == 0)
		return value_none();
	rank = rank_of(h->nb, permille);
	while (bin < QUEUE_BINS - 1 && below + h->count[bin] <= rank)
		below += h->count[bin++];
	return value_count(queue_bin_max(bin) < t->queue_max_bytes ? queue_bin_max(bin)
	                                                           : t->queue_max_bytes);
}
