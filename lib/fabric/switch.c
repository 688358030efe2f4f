/* SPDX-License-Identifier: BSD-3-Clause */
#include "switch.h"

#include <assert.h>
#include <stdlib.h>

#include "engine.h"
#include "int.h"
#include "switch_impl.h"

/* Set-up, and what others may ask. The way of a frame begins in forward.c. */

static void
free_all(struct pkt_queue *q)
{
	struct pkt *p;

	while ((p = pkt_queue_pop(q)))
		pkt_free(&p, 1);
}

/* What one turn of the weakest queue sends. Our choice, a frame of a usual Ethernet and some. */
#define QUANTUM_BYTES 2048

static void
init_port(struct fabric_switch *sw, uint16_t idx, uint64_t *seeds)
{
	const struct switch_conf *conf = &sw->conf;
	struct switch_port *port = &sw->ports[idx];
	double weights[QUEUES_NB];
	uint64_t rate_bps = conf->ports[idx].rate_bps;

	port->params = conf->ports[idx];
	port->overhead_bytes = port->params.overhead_bytes;
	port->is_up = true;
	port->floods = port->params.floods;
	port->hop = &sw->hops[idx];
	*port->hop = (struct lb_hop){.id = idx, .up = true};
	port->has_link = !conf->driver_has_links && (rate_bps > 0 || port->params.delay_ns > 0);
	link_clock_set_rate(&port->clock, rate_bps);
	port->rate_code = conf->has_int ? int_rate_code(rate_bps) : 0;
	port->hop_id = (uint16_t)(conf->id + idx * 40503u); /* spread: 2^16 / golden ratio */
	prng_seed(&port->dice, prng_splitmix(seeds));
	pause_init(&port->pause, &port->stats.rx_pause, conf->params.pfc_watchdog_ns);
	for (int i = 0; i < QUEUES_NB; i++) {
		const struct switch_queue *q = &conf->queues[i];
		bool lossless = conf->lossless >> i & 1;

		weights[i] = q->weight;
		port->egress[i].alpha_1024 = (uint64_t)(q->alpha * 1024);
		port->ingress[i].beta_dt = port->params.beta_dt;
		if (lossless) {
			port->ingress[i].reserve_bytes = q->reserve_bytes;
			port->ingress[i].headroom_bytes = port->params.headroom_bytes;
		} else {
			port->egress[i].reserve_bytes = q->reserve_bytes;
		}
	}
	queues_init(&port->queues, weights, QUANTUM_BYTES);
}

static bool
init_lb(struct fabric_switch *sw, uint64_t seed)
{
	const struct switch_conf *conf = &sw->conf;
	/* Seed and ports are a switch's; the rest is what engine.h says is never nothing. */
	const struct engine_env env = {
		.line_rate_bps = UINT64_C(100000000000),
		.base_rtt_ns = 10000,
		.seed = seed,
		.mtu_bytes = 4096,
		.bdp_pkts = 32,
		.window_pkts = 32,
		.max_msgs = 16,
		.nb_hops = conf->nb_ports,
	};
	size_t size = conf->lb->state_size(conf->lb_params, &env);

	size = (size + ENGINE_STATE_ALIGN - 1) / ENGINE_STATE_ALIGN * ENGINE_STATE_ALIGN;
	sw->lb = aligned_alloc(ENGINE_STATE_ALIGN, size);
	if (!sw->lb)
		return false;
	memset(sw->lb, 0, size);
	conf->lb->init(sw->lb, conf->lb_params, &env);
	return true;
}

static void
init_buffer(struct fabric_switch *sw)
{
	const struct switch_params *params = &sw->conf.params;

	sw->buffer.total_pkts = params->buffer_pkts;
	sw->buffer.total_bytes = params->buffer_bytes;
	sw->buffer.shared_bytes = params->buffer_bytes - switch_reserved_bytes(&sw->conf);
	sw->tbo_bytes = (uint64_t)(params->alpha_tbo * (double)params->buffer_bytes);
	for (int i = 0; i < QUEUES_NB; i++) {
		const struct switch_queue *q = &sw->conf.queues[i];

		mark_init(&sw->marks[i], q->kmin_bytes, q->kmax_bytes, q->pmax);
	}
}

struct fabric_switch *
switch_create(const struct switch_conf *conf, struct pkt_pool *pool)
{
	struct fabric_switch *sw;
	uint64_t seeds = conf->params.seed ^ (uint64_t)conf->id << 48;
	struct switch_mistake mistakes[SWITCH_MISTAKES_MAX];

	assert(conf->nb_ports >= 1 && conf->nb_ports < FIB_NO_PORT);
	assert(switch_conf_check(conf, mistakes) == 0);
	sw = aligned_alloc(64, sizeof(*sw) + conf->nb_ports * sizeof(sw->ports[0]));
	if (!sw)
		return NULL;
	memset(sw, 0, sizeof(*sw) + conf->nb_ports * sizeof(sw->ports[0]));
	sw->conf = *conf;
	sw->pool = pool;
	sw->salt = prng_splitmix(&seeds);
	sw->looks_at_weft = conf->has_int || conf->trim_queue != QUEUE_NONE;
	sw->hops = calloc(conf->nb_ports, sizeof(sw->hops[0]));
	sw->ready = calloc(conf->nb_ports / 64u + 1, sizeof(sw->ready[0]));
	if (!sw->hops || !sw->ready) {
		free(sw->hops);
		free(sw->ready);
		free(sw);
		return NULL;
	}
	init_buffer(sw);
	for (uint16_t i = 0; i < conf->nb_ports; i++)
		init_port(sw, i, &seeds);
	sw->fib = fib_create(conf->params.macs_max, conf->params.mac_age_ns);
	sw->routes = routes_create(SWITCH_ROUTES_MAX);
	if (!sw->fib || !sw->routes || !init_lb(sw, prng_splitmix(&seeds))) {
		switch_destroy(sw);
		return NULL;
	}
	sw->conf.ports = NULL; /* the caller's, both */
	sw->conf.lb_params = NULL;
	return sw;
}

static void
empty_port(struct fabric_switch *sw, struct switch_port *port)
{
	struct pkt *p;
	uint8_t queue;

	while ((p = queues_pop(&port->queues, 0xff, 0, &queue))) {
		switch_release(sw, port, queue, p);
		port->stats.tx_link_down++;
		pkt_free(&p, 1);
	}
	port->stats.tx_link_down += port->wire.nb_pkts;
	free_all(&port->wire);
}

void
switch_destroy(struct fabric_switch *sw)
{
	if (!sw)
		return;
	for (uint16_t i = 0; i < sw->conf.nb_ports; i++)
		empty_port(sw, &sw->ports[i]);
	assert(sw->buffer.used_pkts == 0 && sw->buffer.used_bytes == 0);
	assert(sw->buffer.shared_used_bytes == 0);
	fib_destroy(sw->fib);
	routes_destroy(sw->routes);
	free(sw->lb);
	free(sw->hops);
	free(sw->ready);
	free(sw);
}

struct routes *
switch_routes(struct fabric_switch *sw)
{
	return sw->routes;
}

void
switch_set_flood(struct fabric_switch *sw, uint16_t port, bool floods)
{
	assert(port < sw->conf.nb_ports);
	floods = floods && sw->ports[port].params.floods;
	if (sw->ports[port].floods == floods)
		return;
	sw->ports[port].floods = floods;
	/* Addresses were learned along the tree, which is another now. */
	sw->has_new_tree = true;
}

bool
switch_floods(const struct fabric_switch *sw, uint16_t port)
{
	assert(port < sw->conf.nb_ports);
	return sw->ports[port].floods;
}

void
switch_set_link(struct fabric_switch *sw, uint16_t port_idx, bool is_up, uint64_t now_ns)
{
	struct switch_port *port = &sw->ports[port_idx];

	assert(port_idx < sw->conf.nb_ports);
	sw->now_ns = now_ns;
	if (port->is_up == is_up)
		return;
	port->is_up = is_up;
	port->hop->up = is_up;
	fib_forget_port(sw->fib, port_idx);
	if (!is_up) {
		empty_port(sw, port);
		return;
	}
	/* Neither end knows what it was told before. */
	pause_clear(&port->pause, now_ns);
	port->asked = 0;
	port->news = 0;
	for (uint8_t cls = 0; cls < QUEUES_NB; cls++)
		if (sw->conf.lossless >> cls & 1)
			pfc_look(sw, port, cls);
}

void
switch_tick(struct fabric_switch *sw, uint64_t now_ns)
{
	struct lb_notice notice = {LB_NOTICE_NONE};

	sw->now_ns = now_ns;
	if (sw->lb->deadline_ns <= now_ns && sw->conf.lb->on_timer)
		sw->conf.lb->on_timer(sw->lb, now_ns, &notice);
}

uint16_t
switch_nb_ports(const struct fabric_switch *sw)
{
	return sw->conf.nb_ports;
}

const struct switch_port_stats *
switch_port_stats(const struct fabric_switch *sw, uint16_t port)
{
	assert(port < sw->conf.nb_ports);
	return &sw->ports[port].stats;
}

void
switch_port_levels(const struct fabric_switch *sw, uint16_t port, struct switch_port_levels *levels)
{
	assert(port < sw->conf.nb_ports);
	for (int i = 0; i < QUEUES_NB; i++)
		levels->q_bytes[i] = sw->ports[port].queues.q[i].nb_bytes;
}

uint32_t
switch_nb_paused(const struct fabric_switch *sw, uint16_t port)
{
	return (uint32_t)__builtin_popcount(sw->ports[port].pause.held);
}

uint32_t
switch_nb_held(const struct fabric_switch *sw)
{
	uint32_t nb = sw->buffer.used_pkts;

	for (uint16_t i = 0; i < sw->conf.nb_ports; i++)
		nb += sw->ports[i].wire.nb_pkts;
	return nb;
}

void
switch_stats(const struct fabric_switch *sw, struct switch_stats *stats)
{
	*stats = (struct switch_stats){
		.buffer_used_bytes = sw->buffer.used_bytes,
		.buffer_used_bytes_max = sw->buffer.used_bytes_max,
	};
}

void
switch_check(const struct fabric_switch *sw)
{
	uint64_t in = 0, out = 0, shared = 0, nb = 0, charged = 0;

	for (uint16_t p = 0; p < sw->conf.nb_ports; p++) {
		const struct switch_port *port = &sw->ports[p];
		uint64_t queued = 0;

		for (int i = 0; i < QUEUES_NB; i++) {
			const struct buffer_ingress *ing = &port->ingress[i];
			const struct buffer_egress *eg = &port->egress[i];

			in += ing->held_bytes;
			queued += port->queues.q[i].nb_bytes;
			nb += port->queues.q[i].nb_pkts;
			charged += ing->used_pkts + eg->used_pkts;
			shared += buffer_beyond(ing->used_bytes, ing->reserve_bytes) +
			          buffer_beyond(eg->used_bytes, eg->reserve_bytes);
			assert(ing->headroom_used_bytes <= ing->headroom_bytes);
			assert(eg->used_bytes <= port->queues.q[i].nb_bytes);
		}
		assert(queued == port->hop->queue_bytes);
		out += queued;
	}
	assert(in == out && in == sw->buffer.used_bytes);
	assert(shared == sw->buffer.shared_used_bytes && shared <= sw->buffer.shared_bytes);
	assert(sw->buffer.used_bytes <= sw->buffer.total_bytes);
	assert(nb == sw->buffer.used_pkts && nb == charged && nb <= sw->buffer.total_pkts);
}
