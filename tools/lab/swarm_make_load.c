/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <string.h>

#include "flow.h"
#include "swarm_make.h"
#include "workload.h"

/* What befalls frames of links, and what applications do. */

/* ---- [link WHICH] ---- */

/* Of one direction, faults of a kind and how much: one is thrown of each row. */
static const struct {
	const char *key;
	uint32_t once_in;
	const char *values[5];
} faults[] = {
	{"loss", 3, {"0.01%", "0.1%", "1%", "5%", "20%"}},
	{"burst_p", 6, {"0.01%", "0.1%", "0.1%", "1%", "1%"}},
	{"burst_r", 12, {"1%", "5%", "25%", "50%", "100%"}},
	{"burst_bad_loss", 12, {"50%", "90%", "99%", "100%", "100%"}},
	{"burst_good_loss", 24, {"0.01%", "0.1%", "0.1%", "1%", "1%"}},
	{"pattern", 8, {"01", "0001", "1000", "00000001", "0110000000000000"}},
	{"duplicate", 4, {"0.1%", "1%", "5%", "20%", "100%"}},
	{"corrupt", 4, {"0.01%", "0.1%", "1%", "5%", "20%"}},
	{"reorder", 4, {"0.1%", "1%", "5%", "20%", "100%"}},
	{"reorder_pkts", 6, {"1", "2", "8", "32", "64"}},
	{"reorder_time", 6, {"0", "1us", "10us", "100us", "1ms"}},
	{"trim", 8, {"0.1%", "1%", "5%", "20%", "100%"}},
	{"rate", 8, {"1M", "100M", "1G", "10G", "100G"}},
	{"delay", 8, {"1ns", "1us", "10us", "100us", "1ms"}},
	{"jitter", 8, {"1ns", "100ns", "1us", "10us", "100us"}},
};

static void
make_way(struct swarm_dice *d, struct sketch_section *link, const char *prefix)
{
	char key[SKETCH_NAME_LEN];

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		if (!dice_once_in(d, faults[i].once_in))
			continue;
		snprintf(key, sizeof(key), "%s%s", prefix, faults[i].key);
		sketch_set(link, key, "%s", DICE_WORD(d, faults[i].values));
	}
}

/* At times again and again, but not for ever: each time switches work out their routes anew. */
static void
make_outage(struct swarm_dice *d, struct sketch_section *link)
{
	uint64_t for_ns = dice_log(d, 1, d->duration_ns / 4);
	uint64_t pause_ns = dice_log(d, d->duration_ns / 64, d->duration_ns);

	sketch_set(link, "fault_down_at", "%" PRIu64 "ns", dice_log(d, 0, d->duration_ns / 4));
	sketch_set(link, "fault_down_for", "%" PRIu64 "ns", for_ns);
	if (d->has_end && dice_once_in(d, 2))
		sketch_set(link, "fault_down_every", "%" PRIu64 "ns", for_ns + pause_ns);
}

static void
make_link(struct swarm_dice *d, const char *which)
{
	struct sketch_section *link = sketch_section(d->s, which);

	make_way(d, link, "fault_");
	if (dice_once_in(d, 2))
		make_way(d, link, "fault_rx_");
	if (dice_once_in(d, 8))
		make_outage(d, link);
	if (dice_once_in(d, 4))
		sketch_set(link, "fault_seed", "%u", dice_below(d, 1000));
}

/* A host's link by its ends, where its other end has the same name in all fabrics of the kind. */
static void
make_one_link(struct swarm_dice *d)
{
	static const struct {
		const char *kind, *which;
	} rows[] = {
		{"back-to-back", "link h1-h0"},  {"star", "link s0-h1"},
		{"dumbbell", "link left-h0"},    {"two-paths", "link h0-left"},
		{"leaf-spine", "link h0-leaf0"},
	};
	const char *kind = sketch_get(sketch_find(d->s, "topology"), "kind");

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].kind, kind) == 0)
			make_link(d, rows[i].which);
}

void
swarm_make_links(struct swarm_dice *d)
{
	if (dice_once_in(d, 4))
		return; /* nothing happens */
	if (dice_once_in(d, 2))
		make_link(d, "link all");
	if (dice_once_in(d, 4))
		make_link(d, "link host");
	if (d->has_cores && dice_once_in(d, 4))
		make_link(d, "link core");
	if (dice_once_in(d, 4))
		make_one_link(d);
}

/* ---- [workload NAME] ---- */

/* Packets and messages that all flows of a workload ask for together: some milliseconds' work. */
#define PKTS_MAX 3000
#define MESSAGES_MAX 400
#define QPS_MAX 4
/* Of a hotspot: bytes of a flow at least, and about how many there are. */
#define HOT_BYTES 500
#define HOT_FLOWS 300

struct load {
	struct sketch_section *w;
	uint32_t nb_flows; /* that it begins, or more */
	uint64_t bytes_min;
	uint64_t stop_ns; /* counted from its start; 0 = never */
};

static void
make_rounds(struct swarm_dice *d, struct load *l)
{
	uint32_t repeat;

	if (!dice_once_in(d, 3))
		return;
	repeat = 1 + dice_below(d, 5);
	sketch_set(l->w, "repeat", "%u", repeat);
	l->nb_flows *= repeat;
	if (dice_once_in(d, 2))
		sketch_set(l->w, "interval", "%" PRIu64 "ns", dice_log(d, 0, d->duration_ns / 8));
}

static void
make_long(struct swarm_dice *d, struct load *l)
{
	uint32_t src = dice_below(d, d->nb_hosts);

	sketch_set(l->w, "src", "%u", src);
	sketch_set(l->w, "dst", "%u", (src + 1 + dice_below(d, d->nb_hosts - 1)) % d->nb_hosts);
	l->nb_flows = 1;
	make_rounds(d, l);
}

static void
make_incast(struct swarm_dice *d, struct load *l)
{
	uint32_t sinks = 1 + (d->nb_hosts > 2 && dice_once_in(d, 3));
	uint32_t senders = dice_below(d, d->nb_hosts - sinks + 1);

	sketch_set(l->w, "senders", "%u", senders);
	sketch_set(l->w, "sinks", "%u", sinks);
	sketch_set(l->w, "first_sink", "%u", dice_below(d, d->nb_hosts));
	l->nb_flows = sinks * d->nb_hosts;
	make_rounds(d, l);
}

static void
make_permutation(struct swarm_dice *d, struct load *l)
{
	sketch_set(l->w, "shift", "%u", dice_below(d, d->nb_hosts));
	l->nb_flows = d->nb_hosts;
	make_rounds(d, l);
}

static void
make_arrivals(struct swarm_dice *d, struct load *l)
{
	sketch_set(l->w, "load", "%u%%", 1 + dice_below(d, 100));
	l->nb_flows = 1 + dice_below(d, 60);
	sketch_set(l->w, "flows", "%u", l->nb_flows);
}

static void
make_group(struct swarm_dice *d, struct load *l)
{
	bool halves = d->nb_hosts % 2 == 0 && d->nb_hosts > 2;

	if (halves && dice_once_in(d, 3))
		sketch_set(l->w, "group", "%u", d->nb_hosts / 2);
	if (dice_once_in(d, 3))
		sketch_set(l->w, "spread", "yes");
	l->nb_flows = d->nb_hosts * d->nb_hosts * 2;
	make_rounds(d, l);
}

/* Each member has a byte of each ring at least. */
static void
make_allreduce(struct swarm_dice *d, struct load *l)
{
	make_group(d, l);
	l->bytes_min = d->nb_hosts * QPS_MAX;
}

static void
make_all_to_all(struct swarm_dice *d, struct load *l)
{
	if (dice_once_in(d, 2))
		sketch_set(l->w, "staggered", "yes");
	make_group(d, l);
}

/* Flows of every host, one by one, at a share of its rate: some hundred, while that lasts. */
static void
make_hotspot(struct swarm_dice *d, struct load *l)
{
	uint64_t flow_ns = HOT_BYTES * UINT64_C(8000000000) / d->rate_bps + 1;
	uint64_t all_ns = HOT_FLOWS * flow_ns / d->nb_hosts + 1;
	uint64_t on = dice_log(d, 0, all_ns / 2), length = dice_log(d, 1, all_ns);

	sketch_set(l->w, "load", "%u%%", dice_below(d, 100));
	sketch_set(l->w, "on", "%" PRIu64 "ns", on);
	sketch_set(l->w, "off", "%" PRIu64 "ns", on + length);
	if (dice_once_in(d, 2))
		sketch_set(l->w, "every", "%" PRIu64 "ns", length + dice_log(d, 0, length));
	sketch_set(l->w, "hot_share", "%u%%", 100 / d->nb_hosts);
	l->nb_flows = HOT_FLOWS;
	l->bytes_min = HOT_BYTES;
	l->stop_ns = all_ns;
}

/* Kinds without a row run as they are by default, unless they need a file. */
static const struct {
	const char *kind;
	void (*make)(struct swarm_dice *d, struct load *l);
} kinds[] = {
	{"long", make_long},           {"incast", make_incast},
	{"uniform", make_arrivals},    {"permutation", make_permutation},
	{"allreduce", make_allreduce}, {"all-to-all", make_all_to_all},
	{"hotspot", make_hotspot},
};

static const struct workload_ops *
throw_kind(struct swarm_dice *d)
{
	const struct workload_ops *fit[64];
	uint32_t nb = 0;

	if (dice_once_in(d, 3)) /* what shows most */
		return workload_find("long");
	for (const struct workload_ops *const *w = workload_kinds; *w && nb < 64; w++)
		if (!(*w)->needs_file)
			fit[nb++] = *w;
	return fit[dice_below(d, nb)];
}

/* Around a number of packets: one byte less or more is another packet. */
static uint64_t
near_packets(struct swarm_dice *d, uint64_t nb_pkts)
{
	uint64_t bytes = nb_pkts * d->path_mtu;

	switch (dice_below(d, 4)) {
	case 0:
		return bytes;
	case 1:
		return bytes - 1;
	case 2:
		return bytes + 1;
	default:
		return dice_log(d, 1, bytes);
	}
}

static void
make_sizes(struct swarm_dice *d, struct load *l)
{
	uint32_t qps = dice_once_in(d, 3) ? 1 + dice_below(d, QPS_MAX) : 1;
	uint64_t pkts_max = PKTS_MAX / (l->nb_flows + 1) + 1;
	uint64_t nb_pkts = dice_once_in(d, 3) ? dice_below(d, (uint32_t)pkts_max) + 1
	                                      : dice_log(d, 1, pkts_max);
	uint64_t bytes = near_packets(d, nb_pkts);
	uint64_t message = near_packets(d, dice_log(d, 1, pkts_max));
	uint64_t messages_max = MESSAGES_MAX / (l->nb_flows + 1) + 1;

	if (bytes < l->bytes_min)
		bytes = l->bytes_min;
	if (bytes < qps) /* each has one */
		bytes = qps;
	if (bytes / message > messages_max)
		message = bytes / messages_max;
	sketch_set(l->w, "bytes", "%" PRIu64, bytes);
	sketch_set(l->w, "message", "%" PRIu64, message);
	sketch_set(l->w, "qps", "%u", qps);
}

static void
make_workload(struct swarm_dice *d, uint32_t idx)
{
	const struct workload_ops *ops = throw_kind(d);
	struct load l = {.nb_flows = d->nb_hosts * d->nb_hosts, .bytes_min = 1};
	uint64_t start_ns = dice_once_in(d, 4) ? dice_log(d, 0, d->duration_ns / 4) : 0;
	char name[16];

	snprintf(name, sizeof(name), "workload w%u", idx);
	l.w = sketch_section(d->s, name);
	sketch_set(l.w, "kind", "%s", ops->name);
	sketch_set(l.w, "verb", "%s", flow_verb_names[dice_below(d, FLOW_NB_VERBS)]);
	if (start_ns)
		sketch_set(l.w, "start", "%" PRIu64 "ns", start_ns);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].kind, ops->name) == 0)
			kinds[i].make(d, &l);
	if (l.stop_ns)
		sketch_set(l.w, "stop", "%" PRIu64 "ns", start_ns + l.stop_ns);
	make_sizes(d, &l);
}

void
swarm_make_workloads(struct swarm_dice *d)
{
	uint32_t nb = 1 + dice_below(d, 3);

	for (uint32_t i = 0; i < nb; i++)
		make_workload(d, i);
}
