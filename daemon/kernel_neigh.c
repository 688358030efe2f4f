/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <unistd.h>

#include "kernel_impl.h"
#include "log.h"

/*
 * Neighbours. A NIC asks where a destination is: the kernel routes it, maybe to a gateway, knows
 * the next hop already or looks for it, and tells when it has found it, or has not.
 */

static void
answer_on_worker(void *arg, uint64_t now_ns)
{
	struct kernel_nic *kn = arg;

	for (uint32_t i = 0; i < kn->nb_answers; i++) {
		const struct answer *a = &kn->answers[i];

		neigh_set(kn->nic->neigh, &a->ip, a->vlan, a->is_known ? a->mac : NULL, now_ns);
	}
}

static void
bring_answers(struct kernel_nic *kn)
{
	if (kn->nb_answers)
		worker_call(kn->worker, answer_on_worker, kn);
	kn->nb_answers = 0;
}

void
kernel_bring_answers(struct kernel *k)
{
	LIST_FOREACH (l, &k->nics)
		bring_answers(container_of(l, struct kernel_nic, link));
}

/* mac NULL: it can't be reached. */
static void
answer(const struct hop_dest *dest, const uint8_t *mac)
{
	struct kernel_nic *kn = dest->nic;
	struct answer *a = &kn->answers[kn->nb_answers++];

	*a = (struct answer){.ip = dest->ip, .vlan = dest->vlan, .is_known = mac != NULL};
	if (mac)
		memcpy(a->mac, mac, sizeof(a->mac));
	if (kn->nb_answers == ANSWERS_MAX)
		bring_answers(kn);
}

void
kernel_on_neigh(struct kernel *k, const struct rt_neigh *neigh)
{
	const uint16_t known = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT;
	const struct hop *hop = hops_find(&k->hops, neigh->ifindex, &neigh->ip);
	bool is_known = (neigh->state & known) && neigh->has_mac;

	if (!hop || (!is_known && !(neigh->state & NUD_FAILED)))
		return;
	LIST_FOREACH (l, &hop->dests)
		answer(container_of(l, struct hop_dest, link), is_known ? neigh->mac : NULL);
}

static void
ignore(void *arg, const struct nlmsghdr *msg)
{
	(void)arg;
	(void)msg;
}

/* Have the kernel look for a neighbour; what it finds comes as a message. */
static void
provoke(struct kernel *k, const struct hop *hop)
{
	uint8_t buf[RTMSG_MAX];
	int err = netlink_ask(&k->ask, rtmsg_put_use_neigh(buf, &hop->ip, hop->ifindex), ignore,
	                      NULL);

	if (err == -EPERM)
		kernel_tell_silent(k);
}

void
kernel_tell_silent(struct kernel *k)
{
	if (!k->is_silent)
		log_warn("the kernel does not look for neighbours on our behalf without "
		         "CAP_NET_ADMIN; only those that it knows by itself are reached");
	k->is_silent = true;
}

static bool
is_in_use(const struct hop *hop)
{
	uint64_t now_ns = worker_clock_ns();

	LIST_FOREACH (l, &hop->dests)
		if (now_ns - container_of(l, struct hop_dest, link)->asked_ns <
		    2 * NEIGH_REFRESH_NS)
			return true;
	return false;
}

void
kernel_on_neigh_deleted(struct kernel *k, const struct rt_neigh *neigh)
{
	struct hop *hop = hops_find(&k->hops, neigh->ifindex, &neigh->ip);

	if (hop && !list_is_linked(&hop->again))
		list_add_tail(&k->again, &hop->again);
}

/* Where the link is down they were deleted for that, and wait until it is up again. */
void
kernel_look_again(struct kernel *k)
{
	struct list all, *l;

	list_init(&all);
	list_splice_tail(&all, &k->again);
	while ((l = list_pop(&all))) {
		struct hop *hop = container_of(l, struct hop, again);
		const struct rt_link *link = netview_link(&k->view, hop->ifindex);

		if (link && !link->is_up)
			list_add_tail(&k->again, &hop->again);
		else if (link && is_in_use(hop))
			provoke(k, hop);
	}
}

static void
get_route(void *arg, const struct nlmsghdr *msg)
{
	rtmsg_route(msg, arg);
}

static void
get_neigh(void *arg, const struct nlmsghdr *msg)
{
	rtmsg_neigh(msg, arg);
}

/* The next hop of a destination as the kernel routes it now; NULL if there is no way. */
static struct hop *
route(struct kernel *k, struct hop_dest *dest)
{
	const struct kernel_nic *kn = dest->nic;
	uint32_t ifindex = netview_vlan(&k->view, kn->ifindex, dest->vlan);
	struct rt_route route = {0};
	uint8_t buf[RTMSG_MAX];

	if (!ifindex ||
	    netlink_ask(&k->ask, rtmsg_put_get_route(buf, &dest->ip, ifindex), get_route, &route) ||
	    route.type != RTN_UNICAST || route.ifindex != ifindex) {
		hops_aim_nowhere(dest);
		return NULL;
	}
	return hops_aim(&k->hops, dest, ifindex, route.has_gateway ? &route.gateway : &dest->ip);
}

static void
look_up(struct kernel *k, struct kernel_nic *kn, const struct ask *ask, uint64_t now_ns)
{
	const uint16_t looked_for =
		NUD_INCOMPLETE | NUD_REACHABLE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT | NUD_NOARP;
	struct hop_dest *dest = hops_ask(&k->hops, kn, &ask->ip, ask->vlan, now_ns);
	struct rt_neigh neigh = {0};
	uint8_t buf[RTMSG_MAX];
	struct hop *hop;

	if (!dest)
		return;
	hop = route(k, dest);
	if (!hop) {
		answer(dest, NULL);
		return;
	}
	netlink_ask(&k->ask, rtmsg_put_get_neigh(buf, &hop->ip, hop->ifindex), get_neigh, &neigh);
	if (neigh.state)
		kernel_on_neigh(k, &neigh);
	if (!(neigh.state & looked_for))
		provoke(k, hop);
}

/* On a worker. */
bool
kernel_put_ask(void *arg, const struct ip_addr *ip, uint16_t vlan)
{
	struct kernel_nic *kn = arg;
	struct kernel *k = kn->kernel;
	const struct ask ask = {.ip = *ip, .vlan = vlan};
	static const uint64_t one = 1;

	if (!asks_put(&kn->asks, &ask))
		return false;
	if (!atomic_exchange(&k->rung, true))
		(void)!write(k->ask_fd, &one, sizeof(one));
	return true;
}

/* As many as fit the ring: what comes meanwhile rings again. */
void
kernel_take_asks(struct kernel *k)
{
	uint64_t nb, now_ns = worker_clock_ns();
	struct ask ask;

	if (read(k->ask_fd, &nb, sizeof(nb)) < 0)
		return;
	atomic_store(&k->rung, false);
	LIST_FOREACH (l, &k->nics) {
		struct kernel_nic *kn = container_of(l, struct kernel_nic, link);

		for (uint32_t i = 0; i < ASKS_MAX && asks_take(&kn->asks, &ask); i++)
			look_up(k, kn, &ask, now_ns);
	}
}
