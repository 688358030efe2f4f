/* SPDX-License-Identifier: BSD-3-Clause */
#include "fault_lane.h"

#include <assert.h>
#include <string.h>

#include "engine.h"

/* Of a link, beyond a frame: FCS 4, preamble 8, gap 12. Source: IEEE 802.3. */
#define OVERHEAD_BYTES 24
/* What a late driver may send at once, in time of the link. Our choice, as of a switch's port. */
#define LATE_NS 1000000
/* So much of the link's time may be promised: more, and nobody could overtake what waits there. */
#define AHEAD_NS 10000

static bool
lane_hit(struct fault_lane *lane, enum fault_kind kind)
{
	uint32_t ppm = lane->dir.ppm[kind];

	if (ppm == 0 || !fault_lane_throws(lane, kind, ppm))
		return false;
	lane->hits[kind]++;
	return true;
}

static uint64_t
lane_delay_ns(struct fault_lane *lane)
{
	uint64_t delay_ns = lane->dir.delay_ns;
	uint32_t jitter_ns = lane->dir.jitter_ns;

	if (jitter_ns == 0)
		return delay_ns;
	delay_ns += prng_below(&lane->dice[FAULT_DIE_JITTER], 2 * jitter_ns + 1);
	return delay_ns > jitter_ns ? delay_ns - jitter_ns : 0;
}

static void
lane_append(struct fault_lane *lane, struct pkt *p, uint64_t now_ns)
{
	if (lane->clock.ns_per_byte) {
		link_clock_begin(&lane->clock, now_ns, lane->is_pressed ? LATE_NS : 0);
		link_clock_take(&lane->clock, p->len + OVERHEAD_BYTES);
		now_ns = lane->clock.free_ns;
	}
	p->due_ns = now_ns + lane_delay_ns(lane);
	pkt_queue_push(&lane->line, p);
}

/* One more frame came (nb_passed = 1), or just time (0): who was held back long enough? */
static void
lane_release(struct fault_lane *lane, uint32_t nb_passed, uint64_t now_ns)
{
	uint32_t nb_kept = 0;

	for (uint32_t i = 0; i < lane->nb_held; i++) {
		struct fault_held h = lane->held[i];

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
lane_hold(struct fault_lane *lane, struct pkt *p, uint64_t now_ns)
{
	assert(lane->nb_held < FAULT_REORDER_MAX_PKTS);
	lane->held[lane->nb_held++] = (struct fault_held){
		.pkt = p,
		.nb_later = 1 + prng_below(&lane->dice[FAULT_REORDER], lane->dir.reorder_pkts),
		.due_ns = now_ns + lane->dir.reorder_ns,
	};
}

/* Without an ICRC nobody would find the bit: then the frame says so itself. */
static void
lane_damage(struct fault_lane *lane, struct pkt *p)
{
	uint32_t bit = prng_below(&lane->dice[FAULT_CORRUPT], p->len * 8);

	if (p->absent)
		p->is_damaged = true;
	else
		p->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
}

/* The part of a frame's fate that a double has for itself. */
static void
lane_enter(struct fault_lane *lane, struct pkt *p, uint64_t now_ns)
{
	bool is_held;

	if (p->len > 0 && lane_hit(lane, FAULT_CORRUPT))
		lane_damage(lane, p);
	is_held = lane_hit(lane, FAULT_REORDER);
	if (!is_held)
		lane_append(lane, p, now_ns);
	lane_release(lane, 1, now_ns);
	if (is_held)
		lane_hold(lane, p, now_ns);
}

static struct pkt *
lane_copy(struct fault_lane *lane, const struct pkt *p)
{
	struct pkt *copy;

	if (pkt_held(p) > lane->pool->room_bytes || lane->pool->alloc(lane->pool, &copy, 1) == 0) {
		(*lane->no_copy)++;
		return NULL;
	}
	pkt_copy(copy, p);
	return copy;
}

/* Whether a frame never arrives. */
static bool
lane_loses(struct fault_lane *lane, struct pkt *p)
{
	if (lane->is_cut) {
		lane->hits[FAULT_DOWN]++;
		return true;
	}
	return fault_lane_loses(lane, p);
}

void
fault_lane_push(struct fault_lane *lane, struct pkt *p, uint64_t now_ns)
{
	struct pkt *copy = NULL;

	if (lane_loses(lane, p)) {
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
uint32_t
fault_lane_pop(struct fault_lane *lane, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	uint32_t n = 0;

	lane_release(lane, 0, now_ns);
	while (n < max && lane->line.head && lane->line.head->due_ns <= now_ns)
		pkts[n++] = pkt_queue_pop(&lane->line);
	return n;
}

/* Frames of the largest size that the link can begin within AHEAD_NS; one at least, when it is
 * free. */
static uint32_t
lane_rate_room(const struct fault_lane *lane, uint64_t now_ns)
{
	const struct link_clock *c = &lane->clock;
	uint64_t frame_ns = lane->pool->room_bytes * c->ns_per_byte >> LINK_CLOCK_FRAC_BITS;
	uint64_t nb;

	if (c->free_ns >= now_ns + AHEAD_NS)
		return 0;
	nb = 1 + (now_ns + AHEAD_NS - c->free_ns) / (frame_ns + 1);
	return nb < FAULT_HELD_MAX_PKTS ? (uint32_t)nb : FAULT_HELD_MAX_PKTS;
}

uint32_t
fault_lane_room(const struct fault_lane *lane, uint32_t limit, uint64_t now_ns)
{
	uint32_t nb_inside = lane->line.nb_pkts + lane->nb_held;
	uint32_t room = nb_inside < limit ? limit - nb_inside : 0;

	if (lane->clock.ns_per_byte == 0)
		return room;
	return lane_rate_room(lane, now_ns) < room ? lane_rate_room(lane, now_ns) : room;
}

void
fault_lane_grant(struct fault_lane *lane, uint32_t room)
{
	if (lane->nb_granted)
		lane->is_pressed = false; /* there was room, and nobody came */
	lane->nb_granted = room;
}

void
fault_lane_taken(struct fault_lane *lane, uint32_t nb)
{
	lane->is_pressed = nb > 0 && nb >= lane->nb_granted;
	lane->nb_granted = 0;
}

uint64_t
fault_lane_next_ns(const struct fault_lane *lane, uint64_t now_ns)
{
	uint64_t next_ns = lane->line.head ? lane->line.head->due_ns : NEVER_NS;
	uint64_t room_ns = lane->clock.free_ns > AHEAD_NS ? lane->clock.free_ns - AHEAD_NS : 0;

	if (lane->clock.ns_per_byte && (lane->is_pressed || room_ns > now_ns) && room_ns < next_ns)
		next_ns = room_ns;

	for (uint32_t i = 0; i < lane->nb_held; i++)
		if (lane->held[i].due_ns < next_ns)
			next_ns = lane->held[i].due_ns;
	return next_ns;
}

uint32_t
fault_lane_clear(struct fault_lane *lane)
{
	uint32_t nb = lane->nb_held + lane->line.nb_pkts;
	struct pkt *p;

	for (uint32_t i = 0; i < lane->nb_held; i++)
		pkt_free(&lane->held[i].pkt, 1);
	lane->nb_held = 0;
	while ((p = pkt_queue_pop(&lane->line)))
		pkt_free(&p, 1);
	return nb;
}

void
fault_lane_cut(struct fault_lane *lane, bool is_cut)
{
	if (is_cut && !lane->is_cut)
		lane->hits[FAULT_DOWN] += fault_lane_clear(lane);
	lane->is_cut = is_cut;
}

/*
 * Dice that came to this file later take their seeds behind all others, so that a seed goes on
 * meaning what it meant.
 */
void
fault_lanes_seed(struct fault_lane *tx, struct fault_lane *rx, uint64_t seed)
{
	static const int born[] = {0, FAULT_TRIM, FAULT_NB_DICE};
	struct fault_lane *lanes[] = {tx, rx};

	for (uint32_t age = 0; age + 1 < sizeof(born) / sizeof(born[0]); age++)
		for (uint32_t i = 0; i < 2; i++)
			for (int die = born[age]; die < born[age + 1]; die++)
				prng_seed(&lanes[i]->dice[die], prng_splitmix(&seed));
}

static void
lane_init(struct fault_lane *lane, const struct fault_dir *dir, struct pkt_pool *pool,
          uint64_t *hits, uint64_t *no_copy)
{
	fault_lane_set(lane, dir);
	lane->pool = pool;
	lane->hits = hits;
	lane->no_copy = no_copy;
}

void
fault_lanes_init(struct fault_lane *tx, struct fault_lane *rx, const struct fault_params *params,
                 struct pkt_pool *pool, struct fault_stats *stats)
{
	lane_init(tx, &params->tx, pool, stats->tx, &stats->no_copy);
	lane_init(rx, &params->rx, pool, stats->rx, &stats->no_copy);
	fault_lanes_seed(tx, rx, params->seed);
}

void
fault_lane_set(struct fault_lane *lane, const struct fault_dir *dir)
{
	const struct param_pattern *was = &lane->dir.pattern, *is = &dir->pattern;

	for (int kind = 0; kind < FAULT_NB_SHARES; kind++)
		assert(dir->ppm[kind] <= MILLION);
	assert(dir->ppm[FAULT_REORDER] == 0 || dir->reorder_pkts >= 1);
	assert(dir->reorder_pkts <= FAULT_REORDER_MAX_PKTS);
	assert(dir->jitter_ns <= 1000000000 && dir->pattern.nb_bits <= 64);
	if (dir->burst.p_ppm == 0)
		lane->is_bad = false;
	if (was->bits != is->bits || was->nb_bits != is->nb_bits)
		lane->pattern_at = 0;
	if (memcmp(&lane->dir.qpn, &dir->qpn, sizeof(dir->qpn)) != 0) {
		lane->nb_qpn = 0;
		lane->nb_psn = 0;
	}
	link_clock_set_rate(&lane->clock, dir->rate_bps && dir->rate_bps < LINK_RATE_MIN_BPS
	                                          ? LINK_RATE_MIN_BPS
	                                          : dir->rate_bps);
	lane->is_pressed = false;
	lane->nb_granted = 0;
	lane->dir = *dir;
	lane->is_clean = !fault_dir_any(dir);
}
