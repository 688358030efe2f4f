/* SPDX-License-Identifier: BSD-3-Clause */
#include "account.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "event.h"
#include "lines.h"
#include "worker.h"

/* Lines of all clients: so many at once, and then one each so often. Source: our choice. */
#define BURST_LINES 20
#define LINE_NS UINT64_C(1000000000)

/* Names: of one thing, and of the keys behind client_ and user_. */
static const struct {
	const char *one, *key;
} kinds[ACCOUNT_NB] = {
	[ACCOUNT_CLIENTS] = {"a connection", "clients"},
	[ACCOUNT_QPS] = {"a QP", "qps"},
	[ACCOUNT_MRS] = {"a memory region or window", "mrs"},
	[ACCOUNT_OBJECTS] = {"a PD, channel, CQ or SRQ", "objects"},
	[ACCOUNT_MAPPINGS] = {"a mapping", "mappings"},
	[ACCOUNT_MEMORY] = {"shared memory", "memory"},
};

#define REFUSED(kind) offsetof(struct account_stats, refused[kind])

const struct stat_desc account_stat_descs[] = {
	{"refused_clients", REFUSED(ACCOUNT_CLIENTS)},
	{"refused_qps", REFUSED(ACCOUNT_QPS)},
	{"refused_mrs", REFUSED(ACCOUNT_MRS)},
	{"refused_objects", REFUSED(ACCOUNT_OBJECTS)},
	{"refused_mappings", REFUSED(ACCOUNT_MAPPINGS)},
	{"refused_memory", REFUSED(ACCOUNT_MEMORY)},
	{NULL},
};

void
accounts_init(struct accounts *accounts, const struct account_limits *limits)
{
	*accounts = (struct accounts){.limits = *limits};
}

void
accounts_fini(struct accounts *accounts)
{
	assert(accounts->users.nb_objs == 0);
	keytab_fini(&accounts->users);
}

/* ---- the log ---- */

/* Whoever is refused all day long fills no disk. */
static bool
is_due(struct accounts *accounts)
{
	bool due = lines_allow(&accounts->quiet_ns, BURST_LINES, LINE_NS, worker_clock_ns());

	accounts->nb_left_out += !due;
	return due;
}

__attribute__((format(printf, 3, 4))) static void
tell(const struct account *account, bool *told, const char *fmt, ...)
{
	struct accounts *all = account->all;
	char left_out[64] = "", text[256];
	va_list ap;

	if (*told || !is_due(all))
		return;
	*told = true;
	if (all->nb_left_out > 0)
		snprintf(left_out, sizeof(left_out), " (%" PRIu64 " such lines were left out)",
		         all->nb_left_out);
	all->nb_left_out = 0;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	event_tell(EVENT_LIMIT, account->device ? account->device : "control",
	           "pid %d (uid %u) %s%s", (int)account->pid, (unsigned int)account->user->uid,
	           text, left_out);
}

int
account_refuse(struct account *account, enum account_kind kind, const char *why)
{
	account->all->stats.refused[kind]++;
	snprintf(account->why, sizeof(account->why), "refused %s: %s", kinds[kind].one, why);
	tell(account, &account->told[kind], "was %s", account->why);
	return ENOMEM;
}

void
account_too_fast(struct account *account, uint64_t rings_per_s)
{
	bool told = false;

	tell(account, &told,
	     "rings more than %" PRIu64 " doorbells per second, and [daemon] client_doorbells "
	     "allows no more: its requests wait",
	     rings_per_s);
}

/* ---- clients ---- */

static struct account_user *
find_user(struct accounts *accounts, uid_t uid)
{
	struct account_user *user = keytab_get(&accounts->users, uid);

	if (user)
		return user;
	user = calloc(1, sizeof(*user));
	if (!user)
		return NULL;
	user->uid = uid;
	if (keytab_put(&accounts->users, uid, user) != 0) {
		free(user);
		return NULL;
	}
	return user;
}

static bool
reclaim(struct accounts *accounts)
{
	return accounts->reclaim && accounts->reclaim(accounts->reclaim_arg);
}

int
account_open(struct account *account, struct accounts *accounts, pid_t pid, uid_t uid)
{
	uint64_t limit = accounts->limits.of_user[ACCOUNT_CLIENTS];
	struct account_user *user;

	/* A user goes with his last client. */
	do
		user = find_user(accounts, uid);
	while (user && user->used[ACCOUNT_CLIENTS] >= limit && reclaim(accounts));
	if (!user)
		return ENOMEM;
	*account = (struct account){.all = accounts, .user = user, .pid = pid};
	if (user->used[ACCOUNT_CLIENTS] < limit) {
		account_add(account, ACCOUNT_CLIENTS, 1);
		return 0;
	}
	accounts->stats.refused[ACCOUNT_CLIENTS]++;
	tell(account, &user->told,
	     "was refused a connection: its user has %" PRIu64
	     ", and [daemon] user_clients allows no more",
	     user->used[ACCOUNT_CLIENTS]);
	return EAGAIN;
}

void
account_close(struct account *account)
{
	struct account_user *user = account->user;

	account_sub(account, ACCOUNT_CLIENTS, 1);
	user->told = false;
	for (uint32_t kind = 0; kind < ACCOUNT_NB; kind++)
		assert(account->used[kind] == 0);
	if (user->used[ACCOUNT_CLIENTS] > 0)
		return;
	for (uint32_t kind = 0; kind < ACCOUNT_NB; kind++)
		assert(user->used[kind] == 0);
	keytab_del(&account->all->users, user->uid);
	free(user);
}

/* ---- what they have ---- */

static bool
fits(uint64_t used, uint64_t amount, uint64_t limit)
{
	return used <= limit && amount <= limit - used;
}

static int
judge(struct account *account, enum account_kind kind, uint64_t amount)
{
	const struct account_limits *limits = &account->all->limits;
	const struct {
		const char *who, *prefix;
		uint64_t used, limit;
	} rows[] = {
		{"the program", "client", account->used[kind], limits->of_client[kind]},
		{"its user", "user", account->user->used[kind], limits->of_user[kind]},
	};

	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char more[48] = "no more", why[160];

		if (fits(rows[i].used, amount, rows[i].limit))
			continue;
		if (kind == ACCOUNT_MEMORY)
			snprintf(more, sizeof(more), "%" PRIu64 " bytes, not %" PRIu64 " more",
			         rows[i].limit, amount);
		snprintf(why, sizeof(why), "%s has %" PRIu64 ", and [daemon] %s_%s allows %s",
		         rows[i].who, rows[i].used, rows[i].prefix, kinds[kind].key, more);
		return account_refuse(account, kind, why);
	}
	return 0;
}

int
account_check(struct account *account, enum account_kind kind, uint64_t amount)
{
	const struct account_limits *limits = &account->all->limits;

	/* His other programs may have ended a moment ago. */
	while (!fits(account->user->used[kind], amount, limits->of_user[kind]) &&
	       reclaim(account->all))
		;
	return judge(account, kind, amount);
}

void
account_add(struct account *account, enum account_kind kind, uint64_t amount)
{
	account->used[kind] += amount;
	account->user->used[kind] += amount;
	account->told[kind] = false;
}

void
account_sub(struct account *account, enum account_kind kind, uint64_t amount)
{
	assert(amount <= account->used[kind] && amount <= account->user->used[kind]);
	account->used[kind] -= amount;
	account->user->used[kind] -= amount;
}

uint64_t
account_most(const struct account *account, enum account_kind kind)
{
	const struct account_limits *limits = &account->all->limits;
	uint64_t a = limits->of_client[kind], b = limits->of_user[kind];

	return a < b ? a : b;
}
