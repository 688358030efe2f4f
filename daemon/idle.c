/* SPDX-License-Identifier: BSD-3-Clause */
#include "idle.h"

/*
 * Measured on two cores shared with the programs: a loop that only pauses costs the others their
 * time slices (4 ms per message), naps of fixed length cost latency and a quarter of a core, a
 * sleep costs 3 us and nothing while it lasts.
 */
/*
 * So many idle turns with a pause only, about 1 us: the next message may be on its way already.
 * More of them, 32, held a core that the programs needed: 9.6 us instead of 6.5 for ib_write_lat.
 */
#define PAUSE_TURNS 4
/*
 * Then yields, as long as they come back soon. Processes that wait for each other (hosts, a switch,
 * a program that polls) take the core in turns of some ten microseconds: that is as it should be. A
 * yield that took longer gave a whole slice of time to somebody who does not wait for us; then it
 * is better to sleep, and to be woken by a doorbell. Measured with two hosts and a switch in three
 * processes on two cores: with a limit of 50 us they slept after every few dozen packets, and
 * passed half as much.
 */
#define YIELD_SLOW_NS 1000000
/* After a slow yield no more yields for so many idle turns, */
#define YIELD_OFF_TURNS 32
/* twice as many after each further one, half after each quick one: a hog is there to stay. */
#define YIELD_OFF_TURNS_MAX 65536
/* Silence that ends in a sleep, whatever yields cost. */
#define SILENCE_NS 1000000
/* A deadline that is so near is not slept for: waking up takes as long. */
#define NEAR_NS 20000

void
idle_init(struct idle *idle, bool poll)
{
	*idle = (struct idle){.poll = poll, .yield_cost = YIELD_OFF_TURNS};
}

void
idle_busy(struct idle *idle, uint64_t now_ns)
{
	idle->busy_ns = now_ns;
	idle->nb_turns = 0;
}

enum idle_act
idle_next(struct idle *idle, uint64_t now_ns, uint64_t next_ns)
{
	idle->nb_turns++;
	if (idle->yield_off > 0)
		idle->yield_off--;
	if (idle->poll)
		return IDLE_PAUSE;
	if (next_ns <= now_ns)
		return IDLE_STEP_ASIDE;
	if (idle->nb_turns <= PAUSE_TURNS || next_ns - now_ns < NEAR_NS)
		return IDLE_PAUSE;
	if (idle->yield_off == 0 && now_ns - idle->busy_ns < SILENCE_NS)
		return IDLE_YIELD;
	return IDLE_SLEEP;
}

bool
idle_yielded(struct idle *idle, uint64_t took_ns)
{
	if (took_ns > YIELD_SLOW_NS) {
		idle->yield_off = idle->yield_cost;
		if (idle->yield_cost < YIELD_OFF_TURNS_MAX)
			idle->yield_cost *= 2;
		return true;
	}
	if (idle->yield_cost > YIELD_OFF_TURNS)
		idle->yield_cost /= 2;
	return false;
}
