/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the manual pages must explain, as the code has it. A row each, with tabs between:
 *   key SECTION NAME MIN MAX DEFAULT    the last three "-" if it is not a number
 *   lab SECTION NAME MIN MAX DEFAULT    the same of scenarios; "-" also if weft.conf.5 says it
 *   engine NAME
 *   counter NAME
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account.h"
#include "conf_read.h"
#include "fault.h"
#include "link.h"
#include "neigh.h"
#include "nic.h"
#include "peers.h"
#include "switch.h"
#include "tables.h"
#include "units.h"
#include "worker.h"

void
print_number(const char *page, const char *section, const struct param_desc *d)
{
	static const struct {
		const char *unit;
		enum units units;
	} kinds[] = {
		{"ns", UNITS_TIME},   {"bps", UNITS_RATE},  {"B", UNITS_SIZE},
		{"ppm", UNITS_SHARE}, {"pkt", UNITS_COUNT}, {"1", UNITS_COUNT},
	};
	const double values[] = {d->min, d->max, d->def};
	char text[UNITS_TEXT_MAX];
	size_t k = 0;

	while (k < sizeof(kinds) / sizeof(kinds[0]) - 1 && strcmp(kinds[k].unit, d->unit) != 0)
		k++;
	printf("%s\t%s\t%s", page, section, d->name);
	for (size_t i = 0; i < 3; i++)
		printf("\t%s", d->type == PARAM_U32 || d->type == PARAM_U64
		                       ? units_format(kinds[k].units, (uint64_t)values[i], text)
		                       : "-");
	putchar('\n');
}

static bool
was_printed(const struct param_desc *descs)
{
	static const struct param_desc *printed[64];
	static size_t nb;

	for (size_t i = 0; i < nb; i++) {
		if (printed[i] == descs)
			return true;
	}
	if (nb == sizeof(printed) / sizeof(printed[0]))
		exit(1);
	printed[nb++] = descs;
	return false;
}

static void
print_section(struct conf_reader *r, const struct conf_section *s, const char *title)
{
	r->line++;
	r->nb_tables = 0;
	if (!s->begin(r, title))
		exit(1);
	for (const struct conf_key *k = s->keys; k->name; k++)
		printf("key\t%s\t%s\t-\t-\t-\n", s->name, k->name);
	for (uint32_t i = 0; i < r->nb_tables; i++) {
		/* Explained in the first section that has it. */
		if (was_printed(r->tables[i].descs))
			continue;
		for (const struct param_desc *d = r->tables[i].descs; d->name; d++)
			print_number("key", s->name, d);
	}
}

static void
print_counters(const struct stat_desc *descs)
{
	STAT_FOREACH (d, descs) {
		const char *prio = strstr(d->name, "prio");

		/* Of eight classes alike: one row. */
		if (prio && prio[4] >= '0' && prio[4] <= '7')
			printf("counter\t%.*sN%s\n", (int)(prio + 4 - d->name), d->name, prio + 5);
		else
			printf("counter\t%s\n", d->name);
	}
}

int
main(void)
{
	static struct conf conf;
	struct conf_reader r;

	if (!conf_reader_init(&r, &conf, "tables", stderr))
		return 1;
	print_section(&r, &conf_daemon_section, NULL);
	print_section(&r, &conf_nic_section, "name");
	print_section(&r, &conf_peer_section, "10.0.0.0/8");
	print_section(&r, &conf_switch_section, "name");
	print_section(&r, &conf_queue_section, "name/0");
	conf.switches[0].nb_ports = conf_port(&r, "ring:a", &conf.switches[0].ports[0]);
	print_section(&r, &conf_port_section, "ring:a");
	for (uint32_t i = 0; i < conf.nb_engines; i++) {
		const struct conf_engine *e = &conf.engines[i];

		printf("engine\t%s\n", e->info->name);
		print_counters(e->info->stats);
		/* One section for all of that name. */
		if (!e->line)
			print_section(&r, &conf_engine_section, e->info->name);
	}
	if (!print_lab())
		return 1;
	print_counters(account_stat_descs);
	print_counters(worker_stat_descs);
	print_counters(nic_stat_descs);
	print_counters(neigh_stat_descs);
	print_counters(peers_stat_descs);
	print_counters(fault_stat_descs);
	print_counters(link_stat_descs);
	print_counters(switch_port_stat_descs);
	print_counters(switch_port_level_descs);
	print_counters(switch_stat_descs);
	return 0;
}
