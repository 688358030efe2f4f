/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <string.h>

#include "peers_impl.h"

/* Asking a peer who it is: when each HELLO is due, and when silence is an answer. */

/* While the next hop's MAC is not known, look again after this, later and later. */
#define RETRY_NS UINT64_C(1000000)
#define RETRY_SLOW_NS UINT64_C(50000000)

const uint64_t peers_try_ns[PEERS_TRIES] = {0, 2000000, 8000000, 32000000, 128000000};

void
peers_ask(struct peers *ps, struct peer_entry *e, uint64_t now_ns)
{
	if (e->ask.is_on)
		return;
	e->ask = (struct peer_ask){.nonce = peers_draw(ps), .begun_ns = now_ns, .is_on = true};
	wheel_arm(&ps->ask_wheel, &e->ask_timer, now_ns);
}

void
peers_ask_again(struct peers *ps, struct peer_entry *e, const uint8_t cookie[HELLO_COOKIE_LEN],
                uint64_t now_ns)
{
	bool is_same = e->ask.has_cookie && !memcmp(e->ask.cookie, cookie, HELLO_COOKIE_LEN);

	/* Another HELLO was answered late: the present round goes on. */
	if (is_same || e->ask.nb_rounds >= PEERS_ROUNDS)
		return;
	memcpy(e->ask.cookie, cookie, HELLO_COOKIE_LEN);
	e->ask.has_cookie = true;
	e->ask.nb_rounds++;
	e->ask.nb_sent = 0;
	wheel_arm(&ps->ask_wheel, &e->ask_timer, now_ns);
}

void
peers_link_up(struct peers *ps, uint64_t now_ns)
{
	for (uint32_t i = 0; i < ps->map.nb_peers; i++) {
		struct peer_entry *e = &ps->map.entries[i];

		if (!e->ask.is_on)
			continue;
		e->ask.nb_sent = 0;
		e->ask.begun_ns = now_ns;
		wheel_arm(&ps->ask_wheel, &e->ask_timer, now_ns);
	}
}

void
peers_stop_asking(struct peers *ps, struct peer_entry *e)
{
	e->ask.is_on = false;
	wheel_cancel(&ps->ask_wheel, &e->ask_timer);
}

/* ---- one whose timer came up ---- */

/* When the next HELLO is due, or silence has lasted long enough. */
static uint64_t
next_try_ns(const struct peer_ask *ask)
{
	if (ask->nb_sent < PEERS_TRIES)
		return ask->begun_ns + peers_try_ns[ask->nb_sent];
	if (!ask->has_cookie)
		return ask->begun_ns + PEERS_SILENCE_NS;
	return ask->begun_ns + peers_try_ns[PEERS_TRIES - 1] +
	       (ask->nb_sent - PEERS_TRIES + 1u) * PEERS_SLOW_NS;
}

/* The time of a round counts from its first HELLO, and that needs a MAC. */
static void
wait_for_neigh(struct peers *ps, struct peer_entry *e, uint64_t now_ns)
{
	uint64_t wait_ns = (now_ns - e->ask.begun_ns) / 4;

	wait_ns = wait_ns < RETRY_NS ? RETRY_NS : wait_ns;
	wait_ns = wait_ns > RETRY_SLOW_NS ? RETRY_SLOW_NS : wait_ns;
	neigh_want(ps->conf.neigh, e->neigh, now_ns);
	wheel_arm(&ps->ask_wheel, &e->ask_timer, now_ns + wait_ns);
}

/* Nobody answers. One that is asked again after a STALE stays what it was: that alone says nothing.
 */
static void
give_up(struct peers *ps, struct peer_entry *e, uint64_t now_ns)
{
	if (e->p.state == PEER_WEFT)
		peers_stop_asking(ps, e);
	else
		peers_decide(ps, e, PEER_PLAIN, now_ns);
}

static struct pkt *
hello_of(struct peers *ps, const struct peer_entry *e)
{
	struct cookie_pair pair = peers_pair(e);
	struct hello_msg msg = {.type = HELLO_ASK, .version = HELLO_VERSION, .nonce = e->ask.nonce};

	if (!ps->conf.offer(ps->conf.arg, &e->p.ip, &msg.who))
		return NULL;
	msg.who.boot_id = ps->boot_id;
	msg.who.version_min = HELLO_VERSION;
	if (e->ask.has_cookie) {
		memcpy(msg.cookie, e->ask.cookie, sizeof(msg.cookie));
		msg.who.token = cookie_token(&ps->jar, &pair);
	}
	return peers_pkt(ps, &pair, &msg);
}

struct pkt *
peers_ask_due(struct peers *ps, struct peer_entry *e, uint64_t now_ns)
{
	struct peer_ask *ask = &e->ask;
	struct pkt *pkt;

	assert(ask->is_on && e->nb_refs);
	if (ask->nb_sent >= PEERS_TRIES && !ask->has_cookie) {
		give_up(ps, e, now_ns);
		return NULL;
	}
	if (!e->neigh->valid) {
		wait_for_neigh(ps, e, now_ns);
		return NULL;
	}
	if (ask->nb_sent == 0)
		ask->begun_ns = now_ns;
	pkt = hello_of(ps, e);
	ps->stats.tx_hellos += pkt != NULL;
	if (ask->nb_sent < UINT8_MAX)
		ask->nb_sent++;
	wheel_arm(&ps->ask_wheel, &e->ask_timer, next_try_ns(ask));
	return pkt;
}
