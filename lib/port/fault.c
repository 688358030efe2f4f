/* SPDX-License-Identifier: BSD-3-Clause */
#include "fault.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "prng.h"

#define MILLION 1000000
/* Frames that are asked of or handed to the inner port at once. */
#define FAULT_BURST 32

#define ROW(name, type, member, def, min, max, unit)                                               \
	{                                                                                          \
		name, type, offsetof(struct fault_params, member), def, min, max, unit,            \
			"our choice"                                                               \
	}
#define PPM(name, member) ROW(name, PARAM_U32, member, 0, 0, MILLION, "ppm")
#define PKTS(name, member) ROW(name, PARAM_U32, member, 8, 1, FAULT_REORDER_MAX_PKTS, "pkt")
#define TIME(name, member, def) ROW(name, PARAM_U64, member, def, 0, 1e10, "ns")

const struct param_desc fault_param_descs[] = {
	ROW("fault_seed", PARAM_U64, seed, 1, 0, 0x1p53, "1"),
	PPM("fault_loss", tx.ppm[FAULT_LOSS]),
	PPM("fault_duplicate", tx.ppm[FAULT_DUPLICATE]),
	PPM("fault_corrupt", tx.ppm[FAULT_CORRUPT]),
	PPM("fault_reorder", tx.ppm[FAULT_REORDER]),
	PKTS("fault_reorder_pkts", tx.reorder_pkts),
	TIME("fault_reorder_time", tx.reorder_ns, 1e5),
	TIME("fault_delay", tx.delay_ns, 0),
	PPM("fault_rx_loss", rx.ppm[FAULT_LOSS]),
	PPM("fault_rx_duplicate", rx.ppm[FAULT_DUPLICATE]),
	PPM("fault_rx_corrupt", rx.ppm[FAULT_CORRUPT]),
	PPM("fault_rx_reorder", rx.ppm[FAULT_REORDER]),
	PKTS("fault_rx_reorder_pkts", rx.reorder_pkts),
	TIME("fault_rx_reorder_time", rx.reorder_ns, 1e5),
	TIME("fault_rx_delay", rx.delay_ns, 0),
	{NULL},
};

const struct stat_desc fault_stat_descs[] = {
	{"fault_tx_lost", offsetof(struct fault_stats, tx[FAULT_LOSS])},
	{"fault_tx_duplicated", offsetof(struct fault_stats, tx[FAULT_DUPLICATE])},
	{"fault_tx_corrupted", offsetof(struct fault_stats, tx[FAULT_CORRUPT])},
	{"fault_tx_reordered", offsetof(struct fault_stats, tx[FAULT_REORDER])},
	{"fault_rx_lost", offsetof(struct fault_stats, rx[FAULT_LOSS])},
	{"fault_rx_duplicated", offsetof(struct fault_stats, rx[FAULT_DUPLICATE])},
	{"fault_rx_corrupted", offsetof(struct fault_stats, rx[FAULT_CORRUPT])},
	{"fault_rx_reordered", offsetof(struct fault_stats, rx[FAULT_REORDER])},
	{"fault_no_copy", offsetof(struct fault_stats, no_copy)},
	{NULL},
};

struct held {
	struct pkt *pkt;
	uint32_t nb_later; /* frames that must still pass, >= 1 */
	uint64_t due_ns;   /* or until then */
};

/* One direction: frames are judged, some held back, and all leave through a line of fixed delay. */
struct lane {
	struct fault_dir dir;
	struct prng dice[FAULT_NB];
	struct held held[FAULT_REORDER_MAX_PKTS];
	uint32_t nb_held;
	struct pkt_queue line; /* by due_ns */
	struct pkt_pool *pool;
	uint64_t *hits; /* of struct fault_stats, by enum fault_kind */
	uint64_t *no_copy;
};

struct fault_port {
	struct port port;
	struct port *inner;
	struct lane tx, rx;
	uint64_t seed;
	struct fault_stats stats;
};

static bool
lane_hit(struct lane *lane, enum fault_kind kind)
{
	uint32_t ppm = lane->dir.ppm[kind];

	if (ppm == 0 || prng_below(&lane->dice[kind], MILLION) >= ppm)
		return false;
	lane->hits[kind]++;
	return true;
}

static void
lane_append(struct lane *lane, struct pkt *p, uint64_t now_ns)
{
	p->due_ns = now_ns + lane->dir.delay_ns;
	pkt_queue_push(&lane->line, p);
}

/* One more frame came (nb_passed = 1), or just time (0): who was held back long enough? */
static void
lane_release(struct lane *lane, uint32_t nb_passed, uint64_t now_ns)
{
	uint32_t nb_kept = 0;

	for (uint32_t i = 0; i < lane->nb_held; i++) {
		struct held h = lane->held[i];

		h.nb_later -= nb_passed;
		if (h.nb_later == 0 || h.due_ns <= now_ns)
			lane_append(lane, h.pkt, now_ns);
		else
			lane->held[nb_kept++] = h;
	}
	lane->nb_held = nb_kept;
}

/* A frame leaves at latest with the reorder_pkts-th after it, so the slots are always enough. */
static void
lane_hold(struct lane *lane, struct pkt *p, uint64_t now_ns)
{
	assert(lane->nb_held < FAULT_REORDER_MAX_PKTS);
	lane->held[lane->nb_held++] = (struct held){
		.pkt = p,
		.nb_later = 1 + prng_below(&lane->dice[FAULT_REORDER], lane->dir.reorder_pkts),
		.due_ns = now_ns + lane->dir.reorder_ns,
	};
}

/* The part of a frame's fate that a double has for itself. */
static void
lane_enter(struct lane *lane, struct pkt *p, uint64_t now_ns)
{
	bool is_held;

	if (p->len > 0 && lane_hit(lane, FAULT_CORRUPT)) {
		uint32_t bit = prng_below(&lane->dice[FAULT_CORRUPT], p->len * 8);

		p->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	is_held = lane_hit(lane, FAULT_REORDER);
	if (!is_held)
		lane_append(lane, p, now_ns);
	lane_release(lane, 1, now_ns);
	if (is_held)
		lane_hold(lane, p, now_ns);
}

static struct pkt *
lane_copy(struct lane *lane, const struct pkt *p)
{
	struct pkt *copy;

	if (p->len > lane->pool->room_bytes || lane->pool->alloc(lane->pool, &copy, 1) == 0) {
		(*lane->no_copy)++;
		return NULL;
	}
	memcpy(copy->data, p->data, p->len);
	copy->len = p->len;
	copy->in_port = p->in_port;
	return copy;
}

static void
lane_push(struct lane *lane, struct pkt *p, uint64_t now_ns)
{
	struct pkt *copy = NULL;

	if (lane_hit(lane, FAULT_LOSS)) {
		pkt_free(&p, 1);
		return;
	}
	if (lane_hit(lane, FAULT_DUPLICATE))
		copy = lane_copy(lane, p);
	lane_enter(lane, p, now_ns);
	if (copy)
		lane_enter(lane, copy, now_ns);
}

/* Frames at the end of the line; those held back for too long join it first. */
static uint32_t
lane_pop(struct lane *lane, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	uint32_t n = 0;

	lane_release(lane, 0, now_ns);
	while (n < max && lane->line.head && lane->line.head->due_ns <= now_ns)
		pkts[n++] = pkt_queue_pop(&lane->line);
	return n;
}

/* Doubles may exceed the limit, each frame by one. */
static uint32_t
lane_room(const struct lane *lane, uint32_t limit)
{
	uint32_t nb_inside = lane->line.nb_pkts + lane->nb_held;

	return nb_inside < limit ? limit - nb_inside : 0;
}

static uint64_t
lane_next_ns(const struct lane *lane)
{
	uint64_t next_ns = lane->line.head ? lane->line.head->due_ns : NEVER_NS;

	for (uint32_t i = 0; i < lane->nb_held; i++)
		if (lane->held[i].due_ns < next_ns)
			next_ns = lane->held[i].due_ns;
	return next_ns;
}

static void
lane_clear(struct lane *lane)
{
	struct pkt *p;

	for (uint32_t i = 0; i < lane->nb_held; i++)
		pkt_free(&lane->held[i].pkt, 1);
	while ((p = pkt_queue_pop(&lane->line)))
		pkt_free(&p, 1);
}

static uint32_t
min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* To the inner port what is due and finds room there. */
static void
fault_flush(struct fault_port *fp, uint64_t now_ns)
{
	struct pkt *pkts[FAULT_BURST];
	uint32_t room = fp->inner->ops->tx_room(fp->inner), n, nb_sent;

	do {
		n = lane_pop(&fp->tx, pkts, min_u32(room, FAULT_BURST), now_ns);
		if (n == 0)
			return;
		nb_sent = fp->inner->ops->tx_burst(fp->inner, pkts, n, now_ns);
		assert(nb_sent == n);
		room -= n;
	} while (n == FAULT_BURST);
}

static uint32_t
fault_rx_burst(struct port *port, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	struct fault_port *fp = (struct fault_port *)port;
	uint32_t room = min_u32(max, lane_room(&fp->rx, FAULT_HELD_MAX_PKTS));
	uint32_t n;

	fault_flush(fp, now_ns);
	n = fp->inner->ops->rx_burst(fp->inner, pkts, room, now_ns);
	port->is_down = fp->inner->is_down;
	for (uint32_t i = 0; i < n; i++)
		lane_push(&fp->rx, pkts[i], now_ns);
	n = lane_pop(&fp->rx, pkts, max, now_ns);
	port_count_rx(port, pkts, n);
	return n;
}

/* Without a delay the line holds only what waits for the inner port: it is no further buffer. */
static uint32_t
fault_tx_room(struct port *port)
{
	struct fault_port *fp = (struct fault_port *)port;
	uint32_t limit = FAULT_HELD_MAX_PKTS;

	if (fp->tx.dir.delay_ns == 0)
		limit = min_u32(limit, fp->inner->ops->tx_room(fp->inner));
	return lane_room(&fp->tx, limit);
}

static uint32_t
fault_tx_burst(struct port *port, struct pkt **pkts, uint32_t n, uint64_t now_ns)
{
	struct fault_port *fp = (struct fault_port *)port;

	fault_flush(fp, now_ns);
	n = min_u32(n, fault_tx_room(port));
	port_count_tx(port, pkts, n);
	for (uint32_t i = 0; i < n; i++)
		lane_push(&fp->tx, pkts[i], now_ns);
	fault_flush(fp, now_ns);
	return n;
}

static uint64_t
fault_next_ns(struct port *port)
{
	struct fault_port *fp = (struct fault_port *)port;
	uint64_t next_ns = NEVER_NS, lane_ns[] = {lane_next_ns(&fp->tx), lane_next_ns(&fp->rx)};

	if (fp->inner->ops->next_ns)
		next_ns = fp->inner->ops->next_ns(fp->inner);
	for (int i = 0; i < 2; i++)
		if (lane_ns[i] < next_ns)
			next_ns = lane_ns[i];
	return next_ns;
}

static int
fault_wait_fd(const struct port *port)
{
	const struct port *inner = ((const struct fault_port *)port)->inner;

	return inner->ops->wait_fd ? inner->ops->wait_fd(inner) : -1;
}

static bool
fault_doze(struct port *port, bool dozing)
{
	struct port *inner = ((struct fault_port *)port)->inner;

	return inner->ops->doze && inner->ops->doze(inner, dozing);
}

static const struct stat_desc *
fault_counters(const struct port *port, const void **state)
{
	const struct port *inner = ((const struct fault_port *)port)->inner;

	return inner->ops->counters ? inner->ops->counters(inner, state) : NULL;
}

static void
fault_close(struct port *port)
{
	struct fault_port *fp = (struct fault_port *)port;

	lane_clear(&fp->tx);
	lane_clear(&fp->rx);
	fp->inner->ops->close(fp->inner);
	free(fp);
}

static const struct port_ops fault_ops = {
	.rx_burst = fault_rx_burst,
	.tx_burst = fault_tx_burst,
	.tx_room = fault_tx_room,
	.next_ns = fault_next_ns,
	.wait_fd = fault_wait_fd,
	.doze = fault_doze,
	.counters = fault_counters,
	.close = fault_close,
};

static void
lane_seed(struct lane *lane, uint64_t *seeds)
{
	for (int kind = 0; kind < FAULT_NB; kind++)
		prng_seed(&lane->dice[kind], prng_splitmix(seeds));
}

static void
lane_set(struct lane *lane, const struct fault_dir *dir)
{
	for (int kind = 0; kind < FAULT_NB; kind++)
		assert(dir->ppm[kind] <= MILLION);
	assert(dir->ppm[FAULT_REORDER] == 0 || dir->reorder_pkts >= 1);
	assert(dir->reorder_pkts <= FAULT_REORDER_MAX_PKTS);
	lane->dir = *dir;
}

static void
lane_init(struct lane *lane, const struct fault_dir *dir, struct fault_port *fp,
          struct pkt_pool *pool, uint64_t *hits, uint64_t *seeds)
{
	lane_seed(lane, seeds);
	lane_set(lane, dir);
	lane->pool = pool;
	lane->hits = hits;
	lane->no_copy = &fp->stats.no_copy;
}

int
port_fault_wrap(struct port *inner, const struct fault_params *params, struct pkt_pool *pool,
                struct port **port)
{
	struct fault_port *fp = calloc(1, sizeof(*fp));
	uint64_t seeds = params->seed;

	if (!fp)
		return -ENOMEM;
	fp->port.ops = &fault_ops;
	fp->inner = inner;
	fp->seed = params->seed;
	lane_init(&fp->tx, &params->tx, fp, pool, fp->stats.tx, &seeds);
	lane_init(&fp->rx, &params->rx, fp, pool, fp->stats.rx, &seeds);
	*port = &fp->port;
	return 0;
}

void
port_fault_set(struct port *port, const struct fault_params *params)
{
	struct fault_port *fp = (struct fault_port *)port;
	uint64_t seeds = params->seed;

	lane_set(&fp->tx, &params->tx);
	lane_set(&fp->rx, &params->rx);
	if (params->seed == fp->seed)
		return;
	fp->seed = params->seed;
	lane_seed(&fp->tx, &seeds);
	lane_seed(&fp->rx, &seeds);
}

const struct fault_stats *
port_fault_stats(const struct port *port)
{
	return &((const struct fault_port *)port)->stats;
}
