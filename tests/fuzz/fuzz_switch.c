/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any frames may come to any port of a switch, in any order and at any time, over ports with
 * faults: none crashes it, its buffer is exact after each step, and in the end it is empty and
 * every frame is accounted for: in + copies = out + drops.
 *
 * An input is a switch (what it can do, how much it holds) and a script of steps: bursts of frames,
 * golden ones and mutated ones and pause frames among them, time that passes, links that go down
 * and up, prefixes that change, ports that are read or not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "engine.h"
#include "fault.h"
#include "frames.h"
#include "fuzz.h"
#include "hdr.h"
#include "mem.h"
#include "switch.h"
#include "wire.h"

#define PORTS_MAX 8
#define NB_PKTS 2048
#define NOISE_MAX 2048
#define BURST 32

static uint64_t nb_frames;

/* A switch and what is at its ports: wires with faults, and the hosts at their ends. */
struct world {
	struct pkt_pool *pool;
	struct fabric_switch *sw;
	struct port *port[PORTS_MAX], *host[PORTS_MAX];
	uint16_t nb_ports;
	uint64_t now_ns;
	struct prng dice;
};

static uint64_t
pick(struct script *s, const uint64_t *values, uint32_t nb)
{
	return values[script_below(s, nb)];
}

#define PICK(s, ...)                                                                               \
	pick(s, (const uint64_t[]){__VA_ARGS__},                                                   \
	     sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void
make_conf(struct script *s, struct switch_conf *conf, struct switch_port_params *ports)
{
	static uint64_t lb_params[16];
	static const char *const balancers[] = {"ecmp", "spray", "flowlet", "adaptive"};

	switch_conf_default(conf);
	conf->nb_ports = (uint16_t)(1 + script_below(s, PORTS_MAX));
	conf->ports = ports;
	conf->params.buffer_bytes = PICK(s, 1 << 16, 1 << 18, 1 << 20);
	conf->params.buffer_pkts = (uint32_t)PICK(s, 16, 256, NB_PKTS);
	conf->params.macs_max = (uint32_t)PICK(s, 1, 64, 4096);
	conf->params.seed = script_take(s, 2);
	conf->params.alpha_tbo = 0.01;
	conf->trust = (enum switch_trust)script_below(s, 2);
	conf->lossless = (uint8_t)PICK(s, 0, 0x08, 0x08, 0x21);
	conf->trim_queue = (uint8_t)PICK(s, QUEUE_NONE, 7, 7, 4);
	conf->has_int = script_below(s, 2);
	conf->lb = lb_find(balancers[script_below(s, 4)], LB_SWITCH);
	FUZZ_CHECK(conf->lb->info.params_size <= sizeof(lb_params));
	if (conf->lb->info.params)
		param_defaults(conf->lb->info.params, lb_params);
	conf->lb_params = lb_params;
	for (int i = 0; i < QUEUES_NB; i++) {
		conf->queues[i].reserve_bytes = PICK(s, 0, 0, 512);
		conf->queues[i].weight = (double)PICK(s, 0, 1, 1, 3);
		conf->queues[i].limit_bytes = PICK(s, 0, 3000, 100000, 1 << 30);
		conf->queues[i].kmax_bytes = PICK(s, 0, 4000);
		conf->queues[i].kmin_bytes = conf->queues[i].kmax_bytes / 2;
	}
	for (uint16_t i = 0; i < conf->nb_ports; i++) {
		param_defaults(switch_port_descs, &ports[i]);
		ports[i].rate_bps = PICK(s, 1000000000, 10000000000, 100000000000);
		if (!conf->has_int && script_below(s, 2))
			ports[i].rate_bps = 0;
		ports[i].delay_ns = PICK(s, 0, 0, 5000);
		ports[i].headroom_bytes = PICK(s, 0, 2000);
	}
}

static void
add_faults(struct world *w, struct script *s, uint16_t i)
{
	struct fault_params params;

	param_defaults(fault_param_descs, &params);
	params.seed = script_take(s, 2);
	for (int kind = 0; kind < FAULT_NB_SHARES; kind++) {
		params.tx.ppm[kind] = (uint32_t)PICK(s, 0, 1000, 200000);
		params.rx.ppm[kind] = (uint32_t)PICK(s, 0, 1000, 200000);
	}
	params.tx.delay_ns = PICK(s, 0, 3000);
	FUZZ_CHECK(port_fault_wrap(w->port[i], &params, w->pool, &w->port[i]) == 0);
}

static void
world_open(struct world *w, struct script *s)
{
	struct switch_port_params ports[PORTS_MAX];
	struct switch_conf conf;
	struct switch_mistake mistakes[SWITCH_MISTAKES_MAX];

	make_conf(s, &conf, ports);
	FUZZ_CHECK(switch_conf_check(&conf, mistakes) == 0);
	*w = (struct world){.nb_ports = conf.nb_ports, .now_ns = 1};
	w->pool = pkt_pool_mem_create(NB_PKTS, FRAMES_MAX_LEN);
	FUZZ_CHECK(w->pool);
	w->sw = switch_create(&conf, w->pool);
	FUZZ_CHECK(w->sw);
	prng_seed(&w->dice, script_take(s, 4));
	for (uint16_t i = 0; i < w->nb_ports; i++) {
		struct port *ends[2];

		FUZZ_CHECK(port_mem_create_pair(64, ends) == 0);
		w->port[i] = ends[0];
		w->host[i] = ends[1];
		if (script_below(s, 2))
			add_faults(w, s, i);
	}
}

/* ---- frames ---- */

static void
put_mac(uint8_t *mac, uint32_t host)
{
	static const uint8_t first[5] = {0x02};

	memcpy(mac, first, sizeof(first));
	mac[5] = (uint8_t)host;
}

static uint32_t
pause_frame(struct prng *rng, uint8_t *frame)
{
	struct wire_pfc pfc = {.classes = (uint8_t)prng_next(rng)};

	for (int i = 0; i < 8; i++)
		pfc.time_quanta[i] = prng_below(rng, 2) ? 0 : (uint16_t)prng_below(rng, 0x10000);
	wire_build_pfc(frame, (const uint8_t *)"\x02\0\0\0\0\x77", &pfc);
	return WIRE_PFC_LEN;
}

static uint32_t
noise(struct prng *rng, uint8_t *frame)
{
	uint32_t len = prng_below(rng, prng_below(rng, 8) ? 128 : NOISE_MAX);

	for (uint32_t i = 0; i < len; i++)
		frame[i] = (uint8_t)prng_next(rng);
	return len;
}

/* Some host to some host, in any class, with any change. */
static uint32_t
make_frame(struct prng *rng, uint8_t *frame)
{
	static uint32_t (*const kinds[])(struct prng *, uint8_t *) = {
		frames_roce, frames_weft, frames_weft, frames_weft, pause_frame, noise};
	uint32_t kind = prng_below(rng, 6);
	uint32_t len = kinds[kind](rng, frame);

	if (len < ETH_LEN + IPV4_LEN || kinds[kind] == pause_frame)
		return len;
	if (prng_below(rng, 8))
		put_mac(frame, prng_below(rng, PORTS_MAX));
	put_mac(frame + 6, prng_below(rng, PORTS_MAX));
	if (prng_below(rng, 2)) /* IPv4's ToS and destination: another class, another prefix */
		frame[ETH_LEN + 1] = (uint8_t)prng_next(rng);
	if (prng_below(rng, 2))
		frame[ETH_LEN + 19] = (uint8_t)prng_below(rng, PORTS_MAX);
	for (uint32_t n = prng_below(rng, 3); n > 0; n--)
		frame[prng_below(rng, len < 90 ? len : 90)] ^= (uint8_t)(1 << prng_below(rng, 8));
	if (prng_below(rng, 8) == 0)
		len -= prng_below(rng, len);
	return len;
}

/* ---- steps ---- */

static void
host_sends(struct world *w)
{
	struct port *host = w->host[prng_below(&w->dice, w->nb_ports)];
	uint32_t nb = 1 + prng_below(&w->dice, BURST), room = host->ops->tx_room(host);
	struct pkt *pkts[BURST];

	nb = nb < room ? nb : room;
	if (nb == 0 || w->pool->alloc(w->pool, pkts, nb) == 0)
		return;
	for (uint32_t i = 0; i < nb; i++)
		pkts[i]->len = make_frame(&w->dice, pkts[i]->data);
	FUZZ_CHECK(host->ops->tx_burst(host, pkts, nb, w->now_ns) == nb);
	nb_frames += nb;
}

static void
set_route(struct world *w)
{
	struct route route = {.prefix.bits = (uint8_t)(96 + prng_below(&w->dice, 33))};
	uint8_t ip[4] = {10, 0, 0, (uint8_t)prng_below(&w->dice, PORTS_MAX)};

	ip_addr_from_ipv4(&route.prefix.ip, ip);
	route.nb_ports = (uint16_t)(1 + prng_below(&w->dice, w->nb_ports));
	for (uint16_t i = 0; i < route.nb_ports; i++)
		route.ports[i] = (uint16_t)prng_below(&w->dice, w->nb_ports);
	if (prng_below(&w->dice, 8) == 0)
		routes_clear(switch_routes(w->sw));
	else
		routes_set(switch_routes(w->sw), &route);
}

/* Returns frames moved. */
static uint32_t
turn(struct world *w)
{
	struct pkt *pkts[BURST];
	uint32_t nb = 0, n;

	for (uint16_t i = 0; i < w->nb_ports; i++) {
		n = w->port[i]->ops->rx_burst(w->port[i], pkts, BURST, w->now_ns);
		switch_receive(w->sw, i, pkts, n, w->now_ns);
		nb += n;
	}
	switch_tick(w->sw, w->now_ns);
	for (uint16_t i = 0; i < w->nb_ports; i++) {
		struct port *port = w->port[i];
		uint32_t room = port->ops->tx_room(port);

		n = switch_send(w->sw, i, pkts, room < BURST ? room : BURST, w->now_ns);
		FUZZ_CHECK(port->ops->tx_burst(port, pkts, n, w->now_ns) == n);
		nb += n;
	}
	switch_check(w->sw);
	return nb;
}

static void
hosts_read(struct world *w)
{
	struct pkt *pkts[BURST];
	uint32_t n;

	for (uint16_t i = 0; i < w->nb_ports; i++)
		while ((n = w->host[i]->ops->rx_burst(w->host[i], pkts, BURST, w->now_ns)))
			pkt_free(pkts, n);
}

static void
step(struct world *w)
{
	uint16_t port = (uint16_t)prng_below(&w->dice, w->nb_ports);

	switch (prng_below(&w->dice, 64)) {
	case 0:
		switch_set_link(w->sw, port, prng_below(&w->dice, 2), w->now_ns);
		break;
	case 1:
		switch_set_flood(w->sw, port, prng_below(&w->dice, 4));
		break;
	case 2:
	case 3:
		set_route(w);
		break;
	case 4:
		w->now_ns += prng_below(&w->dice, 2) ? 1000000 : 200000000;
		break;
	default:
		host_sends(w);
		break;
	}
	w->now_ns += prng_below(&w->dice, 4000);
	turn(w);
	if (prng_below(&w->dice, 4))
		hosts_read(w);
}

/* ---- the end ---- */

/* Until nobody has anything to do: at most as long as a forged pause lasts. */
static void
run_dry(struct world *w)
{
	uint64_t next_ns = 0;

	for (uint16_t i = 0; i < w->nb_ports; i++)
		switch_set_link(w->sw, i, true, w->now_ns);
	for (uint32_t turns = 0; next_ns != NEVER_NS; turns++) {
		FUZZ_CHECK(turns < 1000000);
		for (uint32_t nb_idle = 0; nb_idle < 3; nb_idle++) {
			hosts_read(w);
			if (turn(w) > 0)
				nb_idle = 0;
		}
		next_ns = switch_next_ns(w->sw);
		/*
		 * A turn that moved nothing can be wanted again once: what it put on a link left
		 * the buffer, and so a pause ends. Not for ever.
		 */
		FUZZ_CHECK(next_ns > w->now_ns);
		for (uint16_t i = 0; i < w->nb_ports; i++) {
			struct port *port = w->port[i];
			uint64_t t = port->ops->next_ns ? port->ops->next_ns(port) : NEVER_NS;

			next_ns = t < next_ns ? t : next_ns;
		}
		if (next_ns != NEVER_NS)
			w->now_ns = next_ns > w->now_ns ? next_ns : w->now_ns + 1;
	}
}

static void
check_sums(const struct world *w)
{
	uint64_t in = 0, out = 0;

	for (uint16_t p = 0; p < w->nb_ports; p++) {
		const struct switch_port_stats *st = switch_port_stats(w->sw, p);

		in += st->rx_packets + st->rx_copies + st->tx_pause_frames;
		out += st->tx_packets + st->rx_filtered + st->rx_control + st->rx_bad +
		       st->rx_off_tree + st->tx_no_buffer + st->tx_full_pkts + st->tx_link_down;
		for (int i = 0; i < QUEUES_NB; i++)
			out += st->q[i].full + st->q[i].headroom;
	}
	FUZZ_CHECK(in == out);
}

static void
world_close(struct world *w)
{
	struct switch_stats stats;

	run_dry(w);
	switch_stats(w->sw, &stats);
	FUZZ_CHECK(stats.buffer_used_bytes == 0);
	check_sums(w);
	switch_destroy(w->sw);
	for (uint16_t i = 0; i < w->nb_ports; i++) {
		w->port[i]->ops->close(w->port[i]);
		w->host[i]->ops->close(w->host[i]);
	}
	FUZZ_CHECK(pkt_pool_mem_nb_free(w->pool) == NB_PKTS);
	pkt_pool_mem_destroy(w->pool);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct script s = {data, len, 0};
	struct world w;
	uint32_t nb_steps;

	world_open(&w, &s);
	nb_steps = 16 + (uint32_t)script_take(&s, 1) * 2;
	while (nb_steps-- > 0)
		step(&w);
	world_close(&w);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
int
main(int argc, char **argv)
{
	static const struct fuzz fuzz = {
		.name = "switch",
		.unit = "frames",
		.max_len = 160,
		.nb_done = &nb_frames,
	};

	return fuzz_main(argc, argv, &fuzz);
}
#endif
