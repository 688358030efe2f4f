/* SPDX-License-Identifier: BSD-3-Clause */
#include "world.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "param.h"

#define FRAME_ROOM 4352

struct world_event world_events[64];
uint32_t world_nb_events;
void (*world_on_event)(const struct world_event *e);

static void
note(struct world_event e)
{
	if (world_on_event)
		world_on_event(&e);
	if (world_nb_events < 64)
		world_events[world_nb_events] = e;
	world_nb_events++;
}

static void
on_notify(void *owner, uint32_t channel, uint64_t cookie)
{
	(void)owner;
	note((struct world_event){.notify = true, .type = channel, .cookie = cookie});
}

static void
on_event(void *owner, uint32_t type, uint64_t cookie)
{
	(void)owner;
	note((struct world_event){.type = type, .cookie = cookie});
}

static void
on_port_event(void *owner, uint32_t type)
{
	note((struct world_event){.type = type, .nic = owner});
}

static const struct nic_driver driver = {
	.notify = on_notify,
	.event = on_event,
	.port_event = on_port_event,
};

/* Defaults of an engine's parameters, in memory that lives as long as the test. */
static void *
defaults(const struct engine_info *info)
{
	void *params;

	if (!info->params_size)
		return NULL;
	params = calloc(1, info->params_size);
	assert(params);
	param_defaults(info->params, params);
	return params;
}

/* Set one of them that is a uint64_t. */
static void
set_u64(const struct engine_info *info, void *params, const char *name, uint64_t value)
{
	const struct param_desc *desc = param_find(info->params, name);

	assert(desc && desc->type == PARAM_U64);
	memcpy((char *)params + desc->offset, &value, sizeof(value));
}

static void
free_params(const struct nic *nic)
{
	free((void *)nic->conf.bind.params.rel);
	free((void *)nic->conf.bind.params.cc);
	free((void *)nic->conf.bind.params.lb);
}

static void
open_nic(struct world *w, int side)
{
	static const char *const names[] = {"side0", "side1"};
	const struct reliability_ops *rel =
		side && w->conf.rel_of_1 ? w->conf.rel_of_1 : w->conf.rel;
	struct ip_addr ips[2] = {
		{{[10] = 0xff, 0xff, 10, 0, 0, (uint8_t)(side + 1)}},
		{{0xfd, 0, [15] = (uint8_t)(side + 1)}},
	};
	struct nic_conf conf = {
		.name = names[side],
		.mac = {2, 0, 0, 0, 0, (uint8_t)(side + 1)},
		.ips = ips,
		.nb_ips = 2,
		.ip_mtu_bytes = 4200,
		.vlan = w->conf.vlan,
		.traffic_class = w->conf.traffic_class ? *w->conf.traffic_class : -1,
		.obeys_pfc = !w->conf.ignores_pfc,
		.pfc_watchdog_ns = PAUSE_WATCHDOG_NS,
		.line_rate_bps = UINT64_C(100000000000),
		.base_rtt_ns = 10000,
		.window_pkts = w->conf.window_pkts,
		.seed = 1234 + (uint64_t)side + 2 * w->nb_restarts,
		.first_msn = w->conf.first_msn,
		.bind.framing = w->conf.framing[side],
		.bind.set = {rel ? rel : reliability_find("gbn"), cc_find("fixed"),
	                     lb_find("fixed", LB_HOST)},
		.rel_dgram = reliability_find("none"),
		.driver = &driver,
		.owner = &w->nic[side],
		.pool = w->pool,
	};
	void *cc_params = defaults(&conf.bind.set.cc->info);

	if (w->conf.rate_bps)
		set_u64(&conf.bind.set.cc->info, cc_params, "rate", w->conf.rate_bps);
	conf.bind.params.rel = defaults(&conf.bind.set.rel->info);
	conf.bind.params.cc = cc_params;
	conf.bind.params.lb = defaults(&conf.bind.set.lb->info);
	conf.plain = conf.bind.set;
	conf.plain.rel = reliability_find("gbn");
	conf.plain_params = conf.bind.params;
	w->nic[side] = nic_create(&conf, w->now_ns);
	assert(w->nic[side]);
}

void
world_open(struct world *w, const struct world_conf *conf)
{
	static const struct fault_params none;
	int err;

	*w = (struct world){.conf = conf ? *conf : (struct world_conf){0}, .now_ns = 1000000};
	if (!w->conf.nb_pkts)
		w->conf.nb_pkts = 4096;
	if (!w->conf.depth)
		w->conf.depth = 1024;
	if (!w->conf.step_ns)
		w->conf.step_ns = 1000;
	if (!w->conf.window_pkts)
		w->conf.window_pkts = 256;
	world_nb_events = 0;
	w->pool = pkt_pool_mem_create(w->conf.nb_pkts, FRAME_ROOM);
	assert(w->pool);
	err = port_mem_create_pair(w->conf.depth, w->port);
	assert(!err);
	if (memcmp(&w->conf.fault, &none, sizeof(none)))
		world_spoil(w, &w->conf.fault);
	open_nic(w, 0);
	open_nic(w, 1);
}

void
world_spoil(struct world *w, const struct fault_params *fault)
{
	int rc = port_fault_wrap(w->port[0], fault, w->pool, &w->port[0]);

	assert(!rc);
}

void
world_restart(struct world *w, int side)
{
	free_params(w->nic[side]);
	nic_destroy(w->nic[side]);
	w->nb_restarts++;
	open_nic(w, side);
}

void
world_close(struct world *w)
{
	for (int i = 0; i < 2; i++) {
		free_params(w->nic[i]);
		nic_destroy(w->nic[i]);
		w->port[i]->ops->close(w->port[i]);
	}
	pkt_pool_mem_destroy(w->pool);
}

static void
step_side(struct world *w, int i)
{
	struct pkt *pkts[STACK_BURST];
	struct port *port = w->port[i];
	uint32_t n = port->ops->rx_burst(port, pkts, STACK_BURST, w->now_ns), sent;

	for (uint32_t k = 0; k < n && w->conf.tap; k++)
		w->conf.tap(w->conf.tap_arg, pkts[k]);
	if (n)
		stack_rx(w->nic[i], pkts, n, w->now_ns);
	stack_tick(w->nic[i], w->now_ns);
	n = stack_tx(w->nic[i], pkts, STACK_BURST, w->now_ns);
	sent = port->ops->tx_burst(port, pkts, n, w->now_ns);
	pkt_free(pkts + sent, n - sent);
}

void
world_step(struct world *w)
{
	w->now_ns += w->conf.step_ns;
	step_side(w, 0);
	step_side(w, 1);
}

void
world_run(struct world *w, uint64_t turns)
{
	while (turns--)
		world_step(w);
}

void
world_pause(struct world *w, int side, uint8_t classes, uint16_t quanta)
{
	static const uint8_t smac[6] = {2, 0, 0, 0, 0, 9};
	struct wire_pfc pfc = {.classes = classes};
	struct pkt *pkt;
	uint32_t n = w->pool->alloc(w->pool, &pkt, 1);

	assert(n == 1);
	for (int i = 0; i < 8; i++)
		pfc.time_quanta[i] = quanta;
	wire_build_pfc(pkt->data, smac, &pfc);
	pkt->len = WIRE_PFC_LEN;
	stack_rx(w->nic[side], &pkt, 1, w->now_ns);
}
