/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engines.h"
#include "nearest.h"
#include "param.h"

/* ---- NICs ---- */

struct nic_change {
	struct nic *nic;
	struct port *port;
	const struct conf_nic *conf; /* as it shall be */
};

static void
apply_traffic_class(void *arg, uint64_t now_ns)
{
	const struct nic_change *c = arg;

	(void)now_ns;
	c->nic->conf.traffic_class = (int)c->conf->num.traffic_class;
}

static void
apply_fault(void *arg, uint64_t now_ns)
{
	const struct nic_change *c = arg;

	(void)now_ns;
	port_fault_set(c->port, &c->conf->fault);
}

static void
explain_key(const char *nic, const char *key, char *answer, size_t size)
{
	struct nearest near = nearest_of(key);
	int len;

	nearest_offer(&near, conf_traffic_class[0].name);
	for (const struct param_desc *d = fault_param_descs; d->name; d++)
		nearest_offer(&near, d->name);
	nearest_explain(&near, "key", answer, size);
	len = (int)strlen(answer);
	snprintf(answer + len, size - (size_t)len,
	         "; of %s only traffic_class and fault_... change while it runs", nic);
}

static int
set_nic(struct tune *tune, uint32_t i, const char *key, const char *text, char *answer, size_t size)
{
	struct conf_nic *conf = &tune->conf->nics[i], wanted = *conf;
	struct nic_change change = {tune->nodes->nics[i], tune->nodes->host_ports[i], &wanted};
	int err;

	if (param_find(conf_traffic_class, key)) {
		err = param_set(conf_traffic_class, &wanted.num, key, text, answer, size);
		if (err)
			return err;
		wanted.has_traffic_class = true;
		worker_call(tune->nodes->worker, apply_traffic_class, &change);
		snprintf(answer, size, "for connections and address handles from now on");
	} else if (param_find(fault_param_descs, key)) {
		if (!conf->has_fault) {
			snprintf(answer, size,
			         "%s has no fault layer: give its section a key fault_... that is "
			         "not 0, and start again",
			         conf->name);
			return -EOPNOTSUPP;
		}
		err = param_set(fault_param_descs, &wanted.fault, key, text, answer, size);
		if (err)
			return err;
		worker_call(tune->nodes->worker, apply_fault, &change);
		snprintf(answer, size, "for frames from now on");
	} else {
		explain_key(conf->name, key, answer, size);
		return -ENOENT;
	}
	*conf = wanted;
	return 0;
}

/* ---- engines ---- */

struct engine_change {
	const struct nodes *nodes;
	const struct engine_info *engine;
	const void *params; /* as they shall be */
	bool fits;
};

static void
swap(struct nic_conf *conf, const struct engine_info *engine, const void *params)
{
	if (engine == &conf->rel->info)
		conf->rel_params = params;
	if (engine == &conf->cc->info)
		conf->cc_params = params;
	if (engine == &conf->lb->info)
		conf->lb_params = params;
}

/* QPs lie in memory as the parameters of the start made it: others must fit in. */
static bool
fits(struct nic *nic, const struct engine_info *engine, const void *params)
{
	static const uint8_t types[] = {SHM_QPT_RC, SHM_QPT_UC, SHM_QPT_UD};
	const struct nic_conf before = nic->conf;
	bool same = true;

	for (size_t i = 0; i < sizeof(types); i++) {
		struct engine_layout was, is;

		qp_engines_layout(nic, types[i], &was);
		swap(&nic->conf, engine, params);
		qp_engines_layout(nic, types[i], &is);
		nic->conf = before;
		same = same && memcmp(&was, &is, sizeof(was)) == 0;
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
		c->fits = c->fits && fits(c->nodes->nics[i], c->engine, c->params);
	for (uint32_t i = 0; c->fits && i < c->nodes->nb_nics; i++)
		swap(&c->nodes->nics[i]->conf, c->engine, c->params);
}

/* The old ones stay, for connections that have them. */
static int
replace(struct tune *tune, struct conf_engine *e, void *params, const char *key, char *answer,
        size_t size)
{
	struct engine_change change = {tune->nodes, e->info, params, false};

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

int
tune_set(struct tune *tune, const char *target, const char *key, const char *text, char *answer,
         size_t size)
{
	struct nearest near = nearest_of(target);
	struct conf_engine *engine;

	for (uint32_t i = 0; i < tune->conf->nb_nics; i++) {
		if (strcmp(tune->conf->nics[i].name, target) == 0)
			return set_nic(tune, i, key, text, answer, size);
		nearest_offer(&near, tune->conf->nics[i].name);
	}
	engine = find_engine(tune->conf, target, key);
	if (engine)
		return set_engine(tune, engine, key, text, answer, size);
	for (uint32_t i = 0; i < tune->conf->nb_engines; i++)
		nearest_offer(&near, tune->conf->engines[i].info->name);
	nearest_explain(&near, "NIC or engine", answer, size);
	return -ENOENT;
}

void
tune_fini(struct tune *tune)
{
	for (uint32_t i = 0; i < tune->nb_kept; i++)
		free(tune->kept[i]);
	tune->nb_kept = 0;
}
