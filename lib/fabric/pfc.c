/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine.h"
#include "switch_impl.h"
#include "wire.h"

/*
 * Priority flow control, IEEE 802.1Qbb: a lossless class that holds too much of the buffer makes
 * the peer of its ingress port pause that class, and go on when it holds less. A pause is told
 * again before it ends by itself.
 */

/* Without a packet for it, a frame waits so long before it is tried again. Our choice. */
#define NO_BUFFER_NS 10000
/* The longest that can be told. */
#define PAUSE_QUANTA 0xffff

static uint64_t
rate_bps(const struct switch_port *port)
{
	return port->params.rate_bps ? port->params.rate_bps : SWITCH_PAUSE_RATE_BPS;
}

/*
 * The peer may count in units of another rate than ours; a faster one's are shorter. But pauses
 * must not fill a slow link: a share of 1/64 of it at most.
 */
static uint64_t
refresh_after_ns(const struct switch_port *port)
{
	uint64_t rate = rate_bps(port), half_ns, least_ns;

	least_ns = 64 * (WIRE_PFC_LEN + port->overhead_bytes) * UINT64_C(8000000000) / rate;
	if (rate < SWITCH_PAUSE_RATE_BPS)
		rate = SWITCH_PAUSE_RATE_BPS;
	half_ns = pause_quanta_ns(PAUSE_QUANTA, rate) / 2;
	return half_ns > least_ns ? half_ns : least_ns;
}

void
pfc_look(struct fabric_switch *sw, struct switch_port *in, uint8_t cls)
{
	bool asks = buffer_ingress_asks(&sw->buffer, &in->ingress[cls]);
	uint8_t bit = (uint8_t)(1u << cls);

	if (asks == !!(in->asked & bit))
		in->news &= (uint8_t)~bit; /* told already, or changed its mind in time */
	else
		in->news |= bit;
	if (in->news)
		switch_wake(sw, in);
}

static void
tell(struct switch_port *port, uint64_t now_ns)
{
	for (uint8_t cls = 0; cls < QUEUES_NB; cls++) {
		uint8_t bit = (uint8_t)(1u << cls);

		if (!(port->news & bit))
			continue;
		port->asked ^= bit;
		if (port->asked & bit)
			port->stats.tx_pause[cls]++;
		else
			port->stats.tx_resume[cls]++;
	}
	port->news = 0;
	port->news_ns = 0;
	port->refresh_ns = now_ns + refresh_after_ns(port);
}

struct pkt *
pfc_frame(struct fabric_switch *sw, struct switch_port *port, uint64_t now_ns)
{
	struct wire_pfc pfc = {.classes = port->news | port->asked};
	struct pkt *p;

	if (sw->pool->alloc(sw->pool, &p, 1) == 0) {
		port->refresh_ns = port->news_ns = now_ns + NO_BUFFER_NS;
		return NULL;
	}
	tell(port, now_ns);
	for (int i = 0; i < QUEUES_NB; i++)
		pfc.time_quanta[i] = port->asked >> i & 1 ? PAUSE_QUANTA : 0;
	wire_build_pfc(p->data, sw->conf.mac, &pfc);
	p->len = WIRE_PFC_LEN;
	port->stats.tx_pause_frames++;
	return p;
}

void
pfc_receive(struct fabric_switch *sw, struct switch_port *port, const struct pkt *p,
            uint64_t now_ns)
{
	struct wire_pfc pfc;

	if (!wire_parse_pfc(p->data, p->len, &pfc))
		return;
	pause_receive_frame(&port->pause, pfc.classes & sw->conf.lossless, pfc.time_quanta,
	                    rate_bps(port), now_ns);
}
