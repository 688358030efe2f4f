/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any frame may meet faults: those that look into it read nothing beyond it, find the queue pair
 * that the parser finds, and trim what may be trimmed. With all kinds at once, in both directions,
 * no frame is made from nothing or forgotten.
 *
 * Inputs are frames: golden ones, mutated.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "frames.h"
#include "fuzz.h"
#include "trim.h"
#include "weft_hdr.h"

#define MILLION 1000000

static uint64_t nb_inputs, nb_roce, nb_trimmed;

/* ---- packets that are as long as their frames, so that the address sanitizer sees more ---- */

static int64_t nb_pkts;

static uint32_t
take(struct pkt_pool *pool, struct pkt **pkts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		pkts[i] = calloc(1, sizeof(*pkts[i]));
		FUZZ_CHECK(pkts[i] && (pkts[i]->data = malloc(pool->room_bytes)));
		pkts[i]->pool = pool;
		pkts[i]->room = pool->room_bytes;
		nb_pkts++;
	}
	return n;
}

static void
give_back(struct pkt_pool *pool, struct pkt **pkts, uint32_t n)
{
	(void)pool;
	for (uint32_t i = 0; i < n; i++) {
		free(pkts[i]->data);
		free(pkts[i]);
		nb_pkts--;
	}
}

static struct pkt_pool pool = {take, give_back, FRAMES_MAX_LEN};

static struct pkt *
make_pkt(const uint8_t *data, uint32_t len)
{
	struct pkt *p;

	pool.room_bytes = len ? len : 1;
	take(&pool, &p, 1);
	pool.room_bytes = FRAMES_MAX_LEN;
	memcpy(p->data, data, len);
	p->len = len;
	return p;
}

/* ---- a port that gives back what it was handed ---- */

struct mirror {
	struct port port;
	struct pkt_queue queue;
};

static uint32_t
mirror_tx(struct port *port, struct pkt **pkts, uint32_t n, uint64_t now_ns)
{
	(void)now_ns;
	for (uint32_t i = 0; i < n; i++)
		pkt_queue_push(&((struct mirror *)port)->queue, pkts[i]);
	return n;
}

static uint32_t
mirror_rx(struct port *port, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	uint32_t n = 0;

	(void)now_ns;
	while (n < max && (pkts[n] = pkt_queue_pop(&((struct mirror *)port)->queue)))
		n++;
	return n;
}

static uint32_t
mirror_room(struct port *port)
{
	(void)port;
	return UINT32_MAX;
}

static void
mirror_close(struct port *port)
{
	(void)port;
}

static const struct port_ops mirror_ops = {.rx_burst = mirror_rx,
                                           .tx_burst = mirror_tx,
                                           .tx_room = mirror_room,
                                           .close = mirror_close};

/* Send a frame through these faults. @return what came back, at most max. */
static uint32_t
pass(const struct fault_params *params, const uint8_t *data, uint32_t len, uint32_t nb_times,
     struct pkt **out, uint32_t max, struct fault_stats *stats)
{
	struct mirror mirror = {.port.ops = &mirror_ops};
	struct port *port;
	uint32_t n = 0;

	FUZZ_CHECK(port_fault_wrap(&mirror.port, params, &pool, &port) == 0);
	for (uint32_t i = 0; i < nb_times; i++) {
		struct pkt *p = make_pkt(data, len);

		FUZZ_CHECK(port->ops->tx_burst(port, &p, 1, i) == 1);
		n += port->ops->rx_burst(port, out + n, max - n, i);
	}
	/* Until nothing is inside: what is delayed longest twice. */
	for (uint64_t i = 1; i <= 4; i++)
		n += port->ops->rx_burst(port, out + n, max - n, i * 1000000);
	*stats = *port_fault_stats(port);
	port->ops->close(port);
	return n;
}

/* ---- what must be so ---- */

static void
check_qpn(const uint8_t *data, uint32_t len)
{
	struct fault_params params = {.tx.qpn.every = 1};
	struct fault_stats stats;
	struct wire_pkt w;
	enum wire_bad bad;
	bool is_roce = wire_parse(data, len, &w, &bad) == WIRE_ROCE;
	struct pkt *out[4];
	uint32_t n;

	params.tx.qpn.qpn = is_roce ? w.dest_qpn : 1;
	nb_roce += is_roce;
	n = pass(&params, data, len, 1, out, 4, &stats);
	FUZZ_CHECK(n + stats.tx[FAULT_QPN] == 1);
	FUZZ_CHECK(!is_roce || w.dest_qpn == 0 || n == 0);
	if (n == 1)
		FUZZ_CHECK(out[0]->len == len && !memcmp(out[0]->data, data, len));
	pkt_free(out, n);
}

static void
check_trim(const uint8_t *data, uint32_t len)
{
	static const struct fault_params params = {.tx.ppm[FAULT_TRIM] = MILLION};
	struct fault_stats stats;
	struct pkt *out[4];
	uint32_t n = pass(&params, data, len, 1, out, 4, &stats);

	FUZZ_CHECK(n == stats.tx[FAULT_TRIM] && n + stats.tx[FAULT_NO_TRIM] == 1);
	if (n == 1) {
		nb_trimmed++;
		FUZZ_CHECK(out[0]->len < len && out[0]->len >= ETH_LEN + IPV4_LEN);
		FUZZ_CHECK(!memcmp(out[0]->data, data, ETH_LEN));
	}
	pkt_free(out, n);
}

static uint64_t
sum_lost(const uint64_t hits[FAULT_NB])
{
	return hits[FAULT_LOSS] + hits[FAULT_BURST] + hits[FAULT_PATTERN] + hits[FAULT_QPN] +
	       hits[FAULT_NO_TRIM] + hits[FAULT_DOWN];
}

static void
check_all(const uint8_t *data, uint32_t len)
{
	enum { NB_TIMES = 8 };
	static const struct fault_dir dir = {
		.ppm = {[FAULT_LOSS] = 50000,
	                [FAULT_DUPLICATE] = 300000,
	                [FAULT_CORRUPT] = 300000,
	                [FAULT_REORDER] = 300000,
	                [FAULT_TRIM] = 300000},
		.reorder_pkts = 3,
		.reorder_ns = 2,
		.delay_ns = 3,
		.jitter_ns = 3,
		.burst = {100000, 500000, MILLION, 0},
		.qpn = {.qpn = 0x11, .every = 3, .psn = 1, .psn_times = 1},
		.pattern = {.bits = 1, .nb_bits = 11},
	};
	struct fault_params params = {.seed = len,
	                              .tx = dir,
	                              .rx = dir,
	                              .down = {.at_ns = 5, .for_ns = 1, .every_ns = 7}};
	struct fault_stats stats;
	struct pkt *out[4 * NB_TIMES];
	uint32_t n = pass(&params, data, len, NB_TIMES, out, 4 * NB_TIMES, &stats);

	FUZZ_CHECK(stats.no_copy == 0);
	FUZZ_CHECK(n + sum_lost(stats.tx) + sum_lost(stats.rx) ==
	           NB_TIMES + stats.tx[FAULT_DUPLICATE] + stats.rx[FAULT_DUPLICATE]);
	pkt_free(out, n);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	nb_inputs++;
	if (len > FRAMES_MAX_LEN)
		return 0;
	check_qpn(data, (uint32_t)len);
	check_trim(data, (uint32_t)len);
	check_all(data, (uint32_t)len);
	FUZZ_CHECK(nb_pkts == 0);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
int
main(int argc, char **argv)
{
	static const struct fuzz fuzz = {
		.name = "fault",
		.unit = "frames",
		.max_len = FRAMES_MAX_LEN,
		.make = frames_make,
		.nb_done = &nb_inputs,
	};
	int code = fuzz_main(argc, argv, &fuzz);

	printf("%llu of them RoCE, %llu trimmed\n", (unsigned long long)nb_roce,
	       (unsigned long long)nb_trimmed);
	return code ? code : nb_roce < nb_inputs / 10 || !nb_trimmed;
}
#endif
