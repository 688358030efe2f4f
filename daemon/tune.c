/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engines.h"
#include "faults.h"
#include "nearest.h"
#include "param.h"

/* ---- NICs and ports of switches ---- */

struct nic_change {
	struct nic *nic;
	uint8_t traffic_class;
};

static void
apply_traffic_class(void *arg, uint64_t now_ns)
{
	const struct nic_change *c = arg;

	(void)now_ns;
	c->nic->conf.traffic_class = c->traffic_class;
}

/* @param known  keys beside those of faults, or NULL. */
static void
explain_key(const char *owner, const struct param_desc *known, const char *key, char *answer,
            size_t size)
{
	struct nearest near = nearest_of(key);
	int len;

	for (const struct param_desc *d = known; d && d->name; d++)
		nearest_offer(&near, d->name);
	for (const struct param_desc *d = fault_param_descs; d->name; d++)
		nearest_offer(&near, d->name);
	nearest_explain(&near, "key", answer, size);
	len = (int)strlen(answer);
	snprintf(answer + len, size - (size_t)len,
	         "; of %s only %s%sfault_... change while it runs", owner, known ? known->name : "",
	         known ? " and " : "");
}

static int
set_faults(struct tune *tune, struct port **port, struct fault_params *faults, const char *key,
           const char *text, char *answer, size_t size)
{
	struct fault_params wanted = *faults;
	int err = param_set(fault_param_descs, &wanted, key, text, answer, size);

	if (err)
		return err;
	err = faults_set(tune->nodes, port, &wanted);
	if (err) {
		snprintf(answer, size, "%s", strerror(-err));
		return err;
	}
	*faults = wanted;
	snprintf(answer, size, "for frames from now on");
	return 0;
}

static int
set_traffic_class(struct tune *tune, uint32_t i, const char *key, const char *text, char *answer,
                  size_t size)
{
	struct conf_nic *conf = &tune->conf->nics[i];
	struct nic_change change = {.nic = tune->nodes->nics[i]};
	int err = param_set(conf_traffic_class, &conf->num, key, text, answer, size);

	if (err)
		return err;
	conf->has_traffic_class = true;
	change.traffic_class = (uint8_t)conf->num.traffic_class;
	worker_call(tune->nodes->worker, apply_traffic_class, &change);
	snprintf(answer, size, "for connections and address handles from now on");
	return 0;
}

static int
set_nic(struct tune *tune, uint32_t i, const char *key, const char *text, char *answer, size_t size)
{
	struct conf_nic *conf = &tune->conf->nics[i];

	if (param_find(conf_traffic_class, key))
		return set_traffic_class(tune, i, key, text, answer, size);
	if (param_find(fault_param_descs, key))
		return set_faults(tune, &tune->nodes->host_ports[i], &conf->fault, key, text,
		                  answer, size);
	explain_key(conf->name, conf_traffic_class, key, answer, size);
	return -ENOENT;
}

/* The port's number behind the slash; nothing else, and no other way to write it. */
static bool
is_port(const char *text, uint32_t nb_ports, uint32_t *port)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	*port = (uint32_t)n;
	return isdigit((unsigned char)text[0]) && !*end && n < nb_ports;
}

/* @param number  behind "sw0/"; NULL = no port is named. */
static int
set_port(struct tune *tune, uint32_t i, const char *number, const char *key, const char *text,
         char *answer, size_t size)
{
	struct conf_switch *conf = &tune->conf->switches[i];
	char owner[WEFT_NAME_LEN + 16];
	uint32_t p;

	if (!number || !is_port(number, conf->nb_ports, &p)) {
		snprintf(answer, size, "of %s: one of its ports, %s/0 to %s/%u", conf->name,
		         conf->name, conf->name, conf->nb_ports - 1);
		return -ENOENT;
	}
	if (param_find(fault_param_descs, key))
		return set_faults(tune, &tune->nodes->switch_ports[i][p], &conf->settings[p].fault,
		                  key, text, answer, size);
	snprintf(owner, sizeof(owner), "%s/%u", conf->name, p);
	explain_key(owner, NULL, key, answer, size);
	return -ENOENT;
}

/* ---- engines ---- */

struct engine_change {
	const struct nodes *nodes;
	const struct engine_info *engine;
	const void *before, *params; /* as they are, as they shall be */
	bool fits;
};

static void
swap_set(const struct engine_set *set, struct engine_set_params *of,
         const struct engine_info *engine, const void *params)
{
	if (engine == &set->rel->info)
		of->rel = params;
	if (engine == &set->cc->info)
		of->cc = params;
	if (engine == &set->lb->info)
		of->lb = params;
}

static void
swap(const struct nodes *nodes, uint32_t i, const struct engine_info *engine, const void *params)
{
	struct nic_conf *conf = &nodes->nics[i]->conf;

	swap_set(&conf->bind.set, &conf->bind.params, engine, params);
	swap_set(&conf->plain, &conf->plain_params, engine, params);
	for (uint32_t p = 0; p < conf->nb_peers; p++)
		swap_set(&nodes->peers[i][p].set, &nodes->peers[i][p].params, engine, params);
}

/* QPs lie in memory as the parameters of the start made it: others must fit in. */
static bool
fits(const struct engine_change *c, uint32_t i)
{
	static const uint8_t types[] = {SHM_QPT_RC, SHM_QPT_UC, SHM_QPT_UD};
	const struct nic *nic = c->nodes->nics[i];
	bool same = true;

	for (size_t t = 0; t < sizeof(types); t++) {
		size_t was = qp_engines_size(nic, types[t]);

		swap(c->nodes, i, c->engine, c->params);
		same = same && qp_engines_size(nic, types[t]) == was;
		swap(c->nodes, i, c->engine, c->before);
	}
	return same;
}

/* On all NICs or on none. Whoever has the engine reads them when it binds its next connection. */
static void
apply_params(void *arg, uint64_t now_ns)
{
	struct engine_change *c = arg;

	(void)now_ns;
	c->fits = true;
	for (uint32_t i = 0; i < c->nodes->nb_nics; i++)
		c->fits = c->fits && fits(c, i);
	for (uint32_t i = 0; c->fits && i < c->nodes->nb_nics; i++)
		swap(c->nodes, i, c->engine, c->params);
}

/* The old ones stay, for connections that have them. */
static int
replace(struct tune *tune, struct conf_engine *e, void *params, const char *key, char *answer,
        size_t size)
{
	struct engine_change change = {tune->nodes, e->info, e->params, params, false};

	if (e->kind == CONF_ENGINE_SWITCH_LB) {
		snprintf(answer, size,
		         "%s of switches is read when they start: set it in the conf, and start "
		         "again",
		         key);
		return -EOPNOTSUPP;
	}
	worker_call(tune->nodes->worker, apply_params, &change);
	if (!change.fits) {
		snprintf(answer, size,
		         "%s changes how much memory each QP has: set it in the conf, and start "
		         "again",
		         key);
		return -EOPNOTSUPP;
	}
	tune->kept[tune->nb_kept++] = e->params;
	e->params = params;
	snprintf(answer, size, "for connections from now on");
	return 0;
}

static int
set_engine(struct tune *tune, struct conf_engine *e, const char *key, const char *text,
           char *answer, size_t size)
{
	void *params;
	int err;

	if (tune->nb_kept == TUNE_ENGINES_MAX) {
		snprintf(answer, size, "%u changes are enough: set it in the conf, and start again",
		         TUNE_ENGINES_MAX);
		return -ENOSPC;
	}
	params = e->info->params_size ? malloc(e->info->params_size) : NULL;
	if (!params && e->info->params_size) {
		snprintf(answer, size, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	if (params)
		memcpy(params, e->params, e->info->params_size);
	err = param_set(e->info->params, params, key, text, answer, size);
	if (!err)
		err = replace(tune, e, params, key, answer, size);
	if (err)
		free(params);
	return err;
}

/* Engines of different kinds may share a name: the one that has the key. */
static struct conf_engine *
find_engine(struct conf *conf, const char *name, const char *key)
{
	struct conf_engine *found = NULL;

	for (uint32_t i = 0; i < conf->nb_engines; i++) {
		struct conf_engine *e = &conf->engines[i];

		if (strcmp(e->info->name, name) != 0)
			continue;
		if (param_find(e->info->params, key))
			return e;
		if (!found || e->info->params)
			found = e;
	}
	return found;
}

/* Of a switch: "sw0/1", or "sw0" by mistake. @return whether it is one. */
static bool
find_switch(const struct conf *conf, const char *target, uint32_t *idx, const char **number)
{
	size_t len = strcspn(target, "/");

	*number = target[len] ? target + len + 1 : NULL;
	for (*idx = 0; *idx < conf->nb_switches; ++*idx) {
		const char *name = conf->switches[*idx].name;

		if (strlen(name) == len && memcmp(name, target, len) == 0)
			return true;
	}
	return false;
}

static int
explain_target(const struct tune *tune, const char *target, char *answer, size_t size)
{
	struct nearest near = nearest_of(target);

	for (uint32_t i = 0; i < tune->conf->nb_nics; i++)
		nearest_offer(&near, tune->conf->nics[i].name);
	for (uint32_t i = 0; i < tune->conf->nb_switches; i++)
		nearest_offer(&near, tune->conf->switches[i].name);
	for (uint32_t i = 0; i < tune->conf->nb_engines; i++)
		nearest_offer(&near, tune->conf->engines[i].info->name);
	nearest_explain(&near, "NIC, switch or engine", answer, size);
	return -ENOENT;
}

int
tune_set(struct tune *tune, const char *target, const char *key, const char *text, char *answer,
         size_t size)
{
	struct conf_engine *engine;
	const char *number;
	uint32_t i;

	for (i = 0; i < tune->conf->nb_nics; i++) {
		if (strcmp(tune->conf->nics[i].name, target) == 0)
			return set_nic(tune, i, key, text, answer, size);
	}
	if (find_switch(tune->conf, target, &i, &number))
		return set_port(tune, i, number, key, text, answer, size);
	engine = find_engine(tune->conf, target, key);
	if (engine)
		return set_engine(tune, engine, key, text, answer, size);
	return explain_target(tune, target, answer, size);
}

void
tune_fini(struct tune *tune)
{
	for (uint32_t i = 0; i < tune->nb_kept; i++)
		free(tune->kept[i]);
	tune->nb_kept = 0;
}
