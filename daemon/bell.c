/* SPDX-License-Identifier: BSD-3-Clause */
#include "bell.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "qp.h"

static void
place(struct bells *bells, struct bell_client *client, uint32_t idx)
{
	bells->clients[idx] = client;
	client->idx = idx;
}

static void
swap(struct bells *bells, uint32_t a, uint32_t b)
{
	struct bell_client *client = bells->clients[a];

	place(bells, bells->clients[b], a);
	place(bells, client, b);
}

int
bells_add(struct bells *bells, struct bell_client *client)
{
	if (bells->nb_clients == bells->room) {
		uint32_t room = bells->room ? bells->room * 2 : 16;
		struct bell_client **p = realloc(bells->clients, room * sizeof(*p));

		if (!p)
			return -ENOMEM;
		bells->clients = p;
		bells->room = room;
	}
	place(bells, client, bells->nb_clients++);
	return 0;
}

static void
make_hot(struct bells *bells, struct bell_client *client)
{
	assert(client->idx >= bells->nb_hot);
	swap(bells, client->idx, bells->nb_hot++);
}

static void
make_cold(struct bells *bells, struct bell_client *client)
{
	assert(client->idx < bells->nb_hot);
	swap(bells, client->idx, --bells->nb_hot);
}

static void
end_wait(struct bells *bells, struct bell_client *client)
{
	bells->nb_waiting -= client->waits;
	client->waits = false;
}

void
bells_del(struct bells *bells, struct bell_client *client)
{
	end_wait(bells, client);
	if (client->idx < bells->nb_hot)
		make_cold(bells, client);
	swap(bells, client->idx, --bells->nb_clients);
	if (bells->nb_clients == 0) {
		free(bells->clients);
		*bells = (struct bells){.nb_waits = bells->nb_waits};
	}
}

/* A turn's share of one client's bits. */
struct take {
	uint32_t nb;   /* taken */
	uint32_t next; /* bit at which the share was full; UINT32_MAX = it was not */
};

/* Ring the bits of a word from first on. Returns those that are left. */
static uint64_t
take_word(struct bell_client *client, uint32_t word, uint32_t first, struct take *take,
          uint64_t now_ns)
{
	uint64_t rung =
		atomic_exchange_explicit(&client->page->bits[word], 0, memory_order_acquire);
	uint64_t bits = rung >> first << first;
	struct qp *qps[BELL_TURN_BITS];
	uint32_t nb_qps = 0;

	for (; bits; bits &= bits - 1) {
		uint32_t bit = word * 64 + (uint32_t)__builtin_ctzll(bits);

		if (take->nb == BELL_TURN_BITS) {
			take->next = bit;
			break;
		}
		if (client->qps[bit])
			qps[nb_qps++] = client->qps[bit];
		take->nb++;
	}
	qp_doorbells(qps, nb_qps, now_ns);
	bits |= rung & ((UINT64_C(1) << first) - 1);
	if (bits)
		atomic_fetch_or_explicit(&client->page->bits[word], bits, memory_order_relaxed);
	return bits;
}

static bool
is_rung(const struct bell_client *client)
{
	for (uint32_t k = 0; k < client->nb_words; k++)
		if (atomic_load_explicit(&client->page->summary[k], memory_order_relaxed))
			return true;
	return false;
}

/* It rang before it may. */
static void
wait_for_rate(struct bells *bells, struct bell_client *client)
{
	if (client->waits)
		return;
	client->waits = true;
	bells->nb_waiting++;
	bells->nb_waits++;
	if (client->too_fast)
		client->too_fast(client);
	client->too_fast = NULL;
}

static void
pace(struct bell_client *client, uint32_t nb, uint64_t now_ns)
{
	if (client->due_ns + BELL_BURST_NS < now_ns)
		client->due_ns = now_ns - BELL_BURST_NS;
	client->due_ns += nb * client->ns_per_ring;
}

/* Where to begin in a word of the summary, and which of its words of bits are meant. */
struct part {
	uint64_t which;
	uint32_t word, first; /* of this word only the bits from first on */
};

/* Ring what one word of the summary stands for. What is left is rung again. */
static void
take_part(struct bell_client *client, uint32_t idx, const struct part *part, struct take *take,
          uint64_t now_ns)
{
	_Atomic uint64_t *summary = &client->page->summary[idx];
	uint64_t rung, words, left;

	if (!atomic_load_explicit(summary, memory_order_relaxed))
		return;
	rung = atomic_exchange_explicit(summary, 0, memory_order_acquire);
	left = rung & ~part->which;
	for (words = rung & part->which; words && take->next == UINT32_MAX; words &= words - 1) {
		uint32_t word = (uint32_t)__builtin_ctzll(words);

		if (take_word(client, idx * 64 + word, word == part->word ? part->first : 0, take,
		              now_ns))
			left |= UINT64_C(1) << word;
	}
	left |= words;
	if (left)
		atomic_fetch_or_explicit(summary, left, memory_order_release);
}

/* Round the bits, from where the last share was full. */
static uint32_t
take_client(struct bells *bells, struct bell_client *client, uint64_t now_ns)
{
	uint32_t nb = client->nb_words, word = client->next_bit / 64;
	const struct part from = {UINT64_MAX << word % 64, word % 64, client->next_bit % 64};
	const struct part all = {UINT64_MAX, 0, 0};
	const struct part to = {(UINT64_C(2) << word % 64) - 1, 0, 0};
	struct take take = {.next = UINT32_MAX};

	if (nb == 0)
		return 0;
	if (client->due_ns > now_ns) {
		if (is_rung(client))
			wait_for_rate(bells, client);
		return 0;
	}
	end_wait(bells, client);
	take_part(client, word / 64, &from, &take, now_ns);
	for (uint32_t i = 1; i < nb && take.next == UINT32_MAX; i++)
		take_part(client, (word / 64 + i) % nb, &all, &take, now_ns);
	if (client->next_bit && take.next == UINT32_MAX)
		take_part(client, word / 64, &to, &take, now_ns);
	client->next_bit = take.next == UINT32_MAX ? 0 : take.next;
	if (take.nb)
		client->rung_ns = now_ns;
	if (client->ns_per_ring)
		pace(client, take.nb, now_ns);
	return take.nb;
}

static uint32_t
take_cold(struct bells *bells, uint32_t idx, uint64_t now_ns)
{
	uint32_t taken = take_client(bells, bells->clients[idx], now_ns);

	if (taken)
		make_hot(bells, bells->clients[idx]);
	return taken;
}

/* Each once, from where the last turn ended, as far as a turn goes. */
static uint32_t
take_hot(struct bells *bells, uint64_t now_ns)
{
	uint32_t n = 0;

	for (uint32_t look = bells->nb_hot; look > 0 && n < BELL_TURN_BITS_ALL; look--) {
		struct bell_client *client;
		uint32_t taken;

		if (bells->next_hot >= bells->nb_hot)
			bells->next_hot = 0;
		client = bells->clients[bells->next_hot];
		taken = take_client(bells, client, now_ns);
		n += taken;
		/* One that turns cold changes places with the last hot one, which is looked at
		 * next. */
		if (!taken && now_ns - client->rung_ns > BELL_COLD_NS)
			make_cold(bells, client);
		else
			bells->next_hot++;
	}
	return n;
}

uint32_t
bells_take(struct bells *bells, bool all, uint64_t now_ns)
{
	uint32_t n = take_hot(bells, now_ns);
	uint32_t nb_cold = bells->nb_clients - bells->nb_hot, nb_look;

	if (all) {
		/* Forwards: one that turns hot changes places with the first cold one. */
		for (uint32_t i = bells->nb_hot; i < bells->nb_clients && n < BELL_TURN_BITS_ALL;
		     i++)
			n += take_cold(bells, i, now_ns);
		return n;
	}
	nb_look = (nb_cold + BELL_COLD_TURNS - 1) / BELL_COLD_TURNS;
	for (uint32_t i = 0; i < nb_look && bells->nb_hot < bells->nb_clients; i++) {
		uint32_t k = bells->next_cold++ % (bells->nb_clients - bells->nb_hot);

		n += take_cold(bells, bells->nb_hot + k, now_ns);
	}
	return n;
}

void
bells_need_wake(struct bells *bells, bool need)
{
	for (uint32_t i = 0; i < bells->nb_clients; i++)
		atomic_store_explicit(&bells->clients[i]->page->need_wake, need,
		                      memory_order_relaxed);
}

bool
bells_rung(const struct bells *bells)
{
	for (uint32_t i = 0; i < bells->nb_clients; i++) {
		const struct bell_client *client = bells->clients[i];

		if (!client->waits && is_rung(client))
			return true;
	}
	return false;
}

uint64_t
bells_next_ns(const struct bells *bells)
{
	uint64_t next = UINT64_MAX;

	for (uint32_t i = 0; bells->nb_waiting > 0 && i < bells->nb_clients; i++) {
		const struct bell_client *client = bells->clients[i];

		if (client->waits && client->due_ns < next)
			next = client->due_ns;
	}
	return next;
}
