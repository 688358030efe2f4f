/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "report.h"

/* What programs have. */

static json_t *
json_client(const struct client_view *v)
{
	return json_pack("{s:I, s:o, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
	                 "client", (json_int_t)v->number, "nic",
	                 v->nic ? json_string(v->nic) : json_null(), "pid", (int)v->pid, "uid",
	                 (json_int_t)v->uid, "qps", (json_int_t)v->nb_qps, "mrs",
	                 (json_int_t)v->nb_mrs, "mws", (json_int_t)v->nb_mws, "cqs",
	                 (json_int_t)v->nb_cqs, "srqs", (json_int_t)v->nb_srqs, "pds",
	                 (json_int_t)v->nb_pds, "channels", (json_int_t)v->nb_channels, "mappings",
	                 (json_int_t)v->nb_mappings, "memory_bytes", (json_int_t)v->memory_bytes);
}

static uint32_t
read_clients(const struct report *report, uint64_t after, struct client_view *views, uint32_t max)
{
	return report->clients ? report->clients(report->clients_arg, after, views, max) : 0;
}

json_t *
report_clients(const struct report *report, const struct nic *nic, uint64_t *after, bool *more)
{
	struct client_view views[REPORT_CLIENTS];
	uint32_t nb = read_clients(report, *after, views, REPORT_CLIENTS);
	json_t *array = json_array();

	for (uint32_t i = 0; i < nb; i++) {
		if (!nic || (views[i].nic && strcmp(views[i].nic, nic->conf.name) == 0))
			json_array_append_new(array, json_client(&views[i]));
		*after = views[i].number;
	}
	*more = nb == REPORT_CLIENTS;
	return array;
}

json_t *
report_client(const struct report *report, uint64_t number)
{
	struct client_view view;

	if (number == 0 || read_clients(report, number - 1, &view, 1) == 0 || view.number != number)
		return json_null();
	return json_client(&view);
}
