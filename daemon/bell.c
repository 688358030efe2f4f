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

void
bells_del(struct bells *bells, struct bell_client *client)
{
	if (client->idx < bells->nb_hot)
		make_cold(bells, client);
	swap(bells, client->idx, --bells->nb_clients);
	if (bells->nb_clients == 0) {
		free(bells->clients);
		*bells = (struct bells){0};
	}
}

static uint32_t
take_word(struct bell_client *client, uint32_t word, uint64_t now_ns)
{
	uint64_t bits =
		atomic_exchange_explicit(&client->page->bits[word], 0, memory_order_acquire);
	uint32_t n = 0;

	for (; bits; bits &= bits - 1, n++) {
		struct qp *qp = client->qps[word * 64 + (uint32_t)__builtin_ctzll(bits)];

		if (qp)
			qp_doorbell(qp, now_ns);
	}
	return n;
}

static uint32_t
take_client(struct bell_client *client, uint64_t now_ns)
{
	uint64_t summary;
	uint32_t n = 0;

	if (!atomic_load_explicit(&client->page->summary, memory_order_relaxed))
		return 0;
	summary = atomic_exchange_explicit(&client->page->summary, 0, memory_order_acquire);
	for (; summary; summary &= summary - 1)
		n += take_word(client, (uint32_t)__builtin_ctzll(summary), now_ns);
	client->rung_ns = now_ns;
	return n;
}

static uint32_t
take_cold(struct bells *bells, uint32_t idx, uint64_t now_ns)
{
	uint32_t taken = take_client(bells->clients[idx], now_ns);

	if (taken)
		make_hot(bells, bells->clients[idx]);
	return taken;
}

uint32_t
bells_take(struct bells *bells, bool all, uint64_t now_ns)
{
	uint32_t nb_cold, nb_look, n = 0;

	/* Backwards: one that turns cold changes places with the last hot one, already looked at.
	 */
	for (uint32_t i = bells->nb_hot; i-- > 0;) {
		struct bell_client *client = bells->clients[i];
		uint32_t taken = take_client(client, now_ns);

		n += taken;
		if (!taken && now_ns - client->rung_ns > BELL_COLD_NS)
			make_cold(bells, client);
	}
	nb_cold = bells->nb_clients - bells->nb_hot;
	if (all) {
		/* Forwards: one that turns hot changes places with the first cold one. */
		for (uint32_t i = bells->nb_hot; i < bells->nb_clients; i++)
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
		if (atomic_load_explicit(&bells->clients[i]->page->summary, memory_order_relaxed))
			return true;
	}
	return false;
}
