/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab_rig.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "param.h"

static void *
defaults(const struct engine_info *info)
{
	void *params;

	if (!info->params_size)
		return NULL;
	params = calloc(1, info->params_size);
	assert(params);
	param_defaults(info->params, params);
	return params;
}

struct plan_params
lab_rig_topology(void)
{
	struct plan_params params = {0};

	param_defaults(plan_param_descs, &params);
	return params;
}

void
lab_rig_init(struct lab_rig *r, enum plan_kind kind, const struct plan_params *topology)
{
	struct lab_engines *e = &r->conf.engines;
	const char *key;
	char why[256];
	int err;

	memset(r, 0, sizeof(*r));
	r->topology = topology ? *topology : lab_rig_topology();
	err = plan_create(&r->plan, kind, &r->topology, &key, why, sizeof(why));
	if (err)
		fprintf(stderr, "%s\n", why);
	assert(err == 0);
	r->conf.seed = 1;
	r->conf.first_psn = LAB_PSN_RANDOM;
	r->conf.plan = &r->plan;
	param_defaults(lab_host_param_descs, &r->conf.host);
	*e = (struct lab_engines){
		.framing = FRAMING_WISH_ROCEV2,
		.set = {reliability_find("gbn"), cc_find("fixed"), lb_find("fixed", LB_HOST)},
		.rel_dgram = reliability_find("none"),
	};
	e->plain = e->set;
	e->params.rel = e->plain_params.rel = defaults(&e->set.rel->info);
	e->params.cc = e->plain_params.cc = defaults(&e->set.cc->info);
	e->params.lb = e->plain_params.lb = defaults(&e->set.lb->info);
	switch_conf_default(&r->conf.sw);
	r->conf.sw.lb = lb_find("ecmp", LB_SWITCH);
	r->conf.sw.lb_params = defaults(&r->conf.sw.lb->info);
	param_defaults(switch_port_descs, &r->conf.port);
	r->conf.workloads = r->workloads;
}

struct workload *
lab_rig_workload(struct lab_rig *r, const char *kind, enum flow_verb verb)
{
	struct workload *w = &r->workloads[r->conf.nb_workloads++];

	assert(r->conf.nb_workloads <= LAB_RIG_WORKLOADS);
	w->ops = workload_find(kind);
	assert(w->ops);
	snprintf(w->name, sizeof(w->name), "w%u", r->conf.nb_workloads - 1);
	param_defaults(workload_param_descs, &w->params);
	w->own_params = calloc(1, w->ops->params_size + 1);
	assert(w->own_params);
	if (w->ops->params)
		param_defaults(w->ops->params, w->own_params);
	w->verb = (uint8_t)verb;
	return w;
}

void
lab_rig_set(struct workload *w, const char *key, const char *value)
{
	bool is_own = w->ops->params && param_find(w->ops->params, key);
	char why[256];
	int err = param_set(is_own ? w->ops->params : workload_param_descs,
	                    is_own ? w->own_params : (void *)&w->params, key, value, why,
	                    sizeof(why));

	if (err)
		fprintf(stderr, "%s\n", why);
	assert(err == 0);
}

void
lab_rig_set_engine(const struct engine_info *info, const void *params, const char *key,
                   const char *value)
{
	char why[256];
	int err = param_set(info->params, (void *)params, key, value, why, sizeof(why));

	if (err)
		fprintf(stderr, "%s\n", why);
	assert(err == 0);
}

struct fault_params *
lab_rig_faults(struct lab_rig *r, uint32_t link)
{
	assert(link < r->plan.nb_links);
	if (!r->faults)
		r->faults = calloc(r->plan.nb_links, sizeof(*r->faults));
	assert(r->faults);
	r->conf.faults = r->faults;
	return &r->faults[link];
}

const struct result *
lab_rig_run(struct lab_rig *r)
{
	r->lab = lab_create(&r->conf);
	assert(r->lab);
	while (lab_run(r->lab, 1000000))
		;
	return lab_result(r->lab);
}

void
lab_rig_fini(struct lab_rig *r)
{
	struct lab_engines *e = &r->conf.engines;

	lab_destroy(r->lab);
	free((void *)e->plain_params.rel);
	free((void *)e->plain_params.cc);
	free((void *)e->plain_params.lb);
	free((void *)r->conf.sw.lb_params);
	for (uint32_t i = 0; i < r->conf.nb_workloads; i++)
		free(r->workloads[i].own_params);
	free(r->faults);
	plan_free(&r->plan);
}
