/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf_read.h"

/* The section [daemon]. */

/* PDs, channels, CQs and SRQs of one application, all there can be. */
#define MAX_OBJECTS (WEFT_MAX_PD + 2 * WEFT_MAX_CQ + WEFT_MAX_SRQ)

#define CLIENT(kind) PARAM_U64, offsetof(struct conf_daemon_numbers, limits.of_client[kind])
#define USER(kind) PARAM_U64, offsetof(struct conf_daemon_numbers, limits.of_user[kind])

static const struct param_desc daemon_numbers[] = {
	{"client_memory", CLIENT(ACCOUNT_MEMORY), 0, 0, 0x1p48, "B",
         "our choice: half of the machine's"},
	{"client_qps", CLIENT(ACCOUNT_QPS), WEFT_MAX_QP, 1, WEFT_MAX_QP, "1", "a doorbell each"},
	{"client_mrs", CLIENT(ACCOUNT_MRS), WEFT_MAX_MR, 1, WEFT_MAX_MR, "1", "our choice"},
	{"client_objects", CLIENT(ACCOUNT_OBJECTS), MAX_OBJECTS, 1, MAX_OBJECTS, "1",
         "all that there can be"},
	{"client_mappings", CLIENT(ACCOUNT_MAPPINGS), 4096, 1, 4096, "1", "our choice"},
	{"client_doorbells", PARAM_U64, offsetof(struct conf_daemon_numbers, client_doorbells), 0,
         0, 1000000000, "1", "our choice: turns are fair without"},
	{"user_clients", USER(ACCOUNT_CLIENTS), 512, 1, 1024, "1", "our choice: half of them"},
	{"user_memory", USER(ACCOUNT_MEMORY), 0, 0, 0x1p48, "B",
         "our choice: half of the machine's"},
	{"user_qps", USER(ACCOUNT_QPS), 262144, 1, 1 << 24, "1", "our choice: two devices'"},
	{"user_mrs", USER(ACCOUNT_MRS), 524288, 1, 1 << 26, "1", "our choice, 150 MB"},
	{"user_objects", USER(ACCOUNT_OBJECTS), 65536, 1, 1 << 24, "1", "our choice, 20 MB"},
	{"user_mappings", USER(ACCOUNT_MAPPINGS), 16384, 1, 32768, "1",
         "our choice: half of the daemon's"},
	{"drain", PARAM_U64, offsetof(struct conf_daemon_numbers, drain_ns), 5e9, 0, 300e9, "ns",
         "our choice"},
	{NULL},
};

/* Apart, because its line is wanted. */
static const struct param_desc packets_number[] = {
	{"packets", PARAM_U32, offsetof(struct conf_daemon_numbers, packets), 8191, 1023, 1 << 22,
         "pkt", "our choice: four full rings of 1024 frames and as many in queues"},
	{NULL},
};

static void
read_packets(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	conf_number(r, packets_number, &((struct conf_daemon *)obj)->num, key->name, value);
}

/* Whether this process may give a file to the group: root, or a member. */
static bool
is_member(gid_t gid)
{
	gid_t *gids;
	bool found = geteuid() == 0 || getegid() == gid;
	int n = getgroups(0, NULL);

	gids = n > 0 ? calloc((size_t)n, sizeof(*gids)) : NULL;
	if (!gids)
		return found;
	n = getgroups(n, gids);
	for (int i = 0; i < n && !found; i++)
		found = gids[i] == gid;
	free(gids);
	return found;
}

static void
read_group(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	const struct group *group;

	errno = 0;
	group = getgrnam(value);
	if (!group && errno != 0 && errno != ENOENT)
		conf_error(r, r->line, "%s '%s': %s", key->name, value, strerror(errno));
	else if (!group)
		conf_error(r, r->line, "%s '%s': there is no such group", key->name, value);
	else if (!is_member(group->gr_gid))
		conf_error(r, r->line,
		           "%s '%s': user %u is not in it (under systemd: SupplementaryGroups=%s)",
		           key->name, value, (unsigned int)geteuid(), value);
	else
		*(gid_t *)(void *)((char *)obj + key->offset) = group->gr_gid;
}

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
	{"name", conf_read_name, MEMBER(name), .line_offset = MEMBER(name_line)},
	{"group", read_group, MEMBER(gid)},
	{"operators", read_group, MEMBER(operators_gid)},
	{"hugepages", conf_read_yes_no, MEMBER(hugepages), .line_offset = MEMBER(hugepages_line)},
	{"userfaultfd", conf_read_yes_no, MEMBER(userfaultfd),
         .line_offset = MEMBER(userfaultfd_line)},
	{"idle", read_idle},
	{"packets", read_packets, .line_offset = MEMBER(packets_line)},
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
	param_defaults(packets_number, &daemon->num);
	daemon->gid = daemon->operators_gid = (gid_t)-1;
}
