/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "conf_read.h"

/* The section [daemon]. */

static const struct param_desc daemon_numbers[] = {
	{"client_memory", PARAM_U64, offsetof(struct conf_daemon_numbers, client_memory_bytes), 0,
         0, 0x1p48, "B", "our choice: half of the machine's"},
	{"packets", PARAM_U32, offsetof(struct conf_daemon_numbers, packets), 8191, 1023, 1 << 22,
         "pkt", "our choice: four full rings of 1024 frames and as many in queues"},
	{NULL},
};

static void
read_idle(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	struct conf_daemon *d = obj;

	if (strcmp(value, "sleep") != 0 && strcmp(value, "poll") != 0)
		conf_error(r, r->line, "%s '%s': known are sleep and poll", key->name, value);
	else
		d->poll = value[0] == 'p';
}

#define MEMBER(name) offsetof(struct conf_daemon, name)

static const struct conf_key daemon_keys[] = {
	{"name", conf_read_name, MEMBER(name)},
	{"group", conf_read_name, MEMBER(group)},
	{"hugepages", conf_read_yes_no, MEMBER(hugepages)},
	{"userfaultfd", conf_read_yes_no, MEMBER(userfaultfd)},
	{"idle", read_idle},
	{NULL},
};

static void *
begin_daemon(struct conf_reader *r, const char *title)
{
	(void)title;
	if (r->conf->daemon_line) {
		conf_error(r, r->line, "section [daemon] began at line %u already",
		           r->conf->daemon_line);
		return NULL;
	}
	r->conf->daemon_line = r->line;
	conf_add_table(r, daemon_numbers, &r->conf->daemon.num);
	return &r->conf->daemon;
}

const struct conf_section conf_daemon_section = {"daemon", NULL, daemon_keys, begin_daemon};

void
conf_daemon_defaults(struct conf_daemon *daemon)
{
	param_defaults(daemon_numbers, &daemon->num);
}
