/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rte_telemetry.h>

#include "qpns.h"

/* QPNs or clients of one answer: an array's entries. */
#define NUMBERS_MAX RTE_TEL_MAX_ARRAY_ENTRIES
/* Words behind a command. */
#define MAX_WORDS 2

/* DPDK's callbacks have no argument of ours, and each connection has a thread. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct report *served;

/* ---- JSON to telemetry ---- */

/* "1 10.77.0.1" of {"index": 1, "address": "10.77.0.1"}: one text, because depth is bounded. */
static void
flat_text(const json_t *value, char *text, size_t size)
{
	const char *key;
	json_t *member;
	size_t len = 0;

	text[0] = '\0';
	json_object_foreach((json_t *)value, key, member)
	{
		const char *space = len ? " " : "";

		if (len >= size)
			return;
		if (json_is_integer(member))
			len += (size_t)snprintf(text + len, size - len, "%s%" JSON_INTEGER_FORMAT,
			                        space, json_integer_value(member));
		else if (json_is_string(member))
			len += (size_t)snprintf(text + len, size - len, "%s%s", space,
			                        json_string_value(member));
	}
}

static void
fill_array(struct rte_tel_data *data, const json_t *array)
{
	bool is_number = json_is_integer(json_array_get(array, 0));
	size_t i;
	const json_t *value;

	rte_tel_data_start_array(data, is_number ? RTE_TEL_U64_VAL : RTE_TEL_STRING_VAL);
	json_array_foreach(array, i, value)
	{
		char text[RTE_TEL_MAX_STRING_LEN];
		int err;

		if (is_number) {
			err = rte_tel_data_add_array_u64(data, (uint64_t)json_integer_value(value));
		} else if (json_is_string(value)) {
			snprintf(text, sizeof(text), "%s", json_string_value(value));
			err = rte_tel_data_add_array_string(data, text);
		} else {
			flat_text(value, text, sizeof(text));
			err = rte_tel_data_add_array_string(data, text);
		}
		if (err)
			return;
	}
}

static void
add_array(struct rte_tel_data *data, const char *key, const json_t *array)
{
	struct rte_tel_data *inner = rte_tel_data_alloc();

	if (!inner)
		return;
	fill_array(inner, array);
	if (rte_tel_data_add_dict_container(data, key, inner, 0) != 0)
		rte_tel_data_free(inner);
}

static void
fill_dict(struct rte_tel_data *data, const json_t *object)
{
	char text[RTE_TEL_MAX_STRING_LEN];
	const char *key;
	json_t *value;

	rte_tel_data_start_dict(data);
	json_object_foreach((json_t *)object, key, value)
	{
		if (json_is_array(value)) {
			add_array(data, key, value);
		} else if (json_is_integer(value)) {
			rte_tel_data_add_dict_u64(data, key, (uint64_t)json_integer_value(value));
		} else if (json_is_boolean(value)) {
			rte_tel_data_add_dict_string(data, key, json_is_true(value) ? "yes" : "no");
		} else {
			snprintf(text, sizeof(text), "%s",
			         json_is_string(value) ? json_string_value(value) : "");
			rte_tel_data_add_dict_string(data, key, text);
		}
	}
}

/* ---- commands ---- */

static json_t *
make_nodes(const struct report *report, char *const words[MAX_WORDS])
{
	json_t *nodes = report_nodes(report), *names = json_array();
	size_t i;
	const json_t *node;

	(void)words;
	json_array_foreach(nodes, i, node) json_array_append(names, json_object_get(node, "name"));
	json_decref(nodes);
	return names;
}

static json_t *
make_node(const struct report *report, char *const words[MAX_WORDS])
{
	json_t *nodes = words[0] ? report_nodes(report) : NULL, *found = NULL, *node;
	size_t i;

	json_array_foreach(nodes, i, node)
	{
		if (strcmp(json_string_value(json_object_get(node, "name")), words[0]) == 0)
			found = json_incref(node);
	}
	json_decref(nodes);
	return found;
}

static json_t *
make_counters(const struct report *report, char *const words[MAX_WORDS])
{
	json_t *all = words[0] ? report_counters(report, words[0]) : NULL;
	json_t *own = json_incref(words[0] ? json_object_get(all, words[0]) : NULL);

	json_decref(all);
	return own;
}

static json_t *
make_qps(const struct report *report, char *const words[MAX_WORDS])
{
	const struct nic *nic = words[0] ? report_nic(report, words[0]) : NULL;
	uint32_t from = words[1] ? (uint32_t)strtoul(words[1], NULL, 0) : 0, nb;
	uint32_t *qpns = nic ? qpns_of(report->nodes->worker, nic, &nb) : NULL;
	json_t *array = qpns ? json_array() : NULL;

	for (uint32_t i = from; qpns && i < nb && json_array_size(array) < NUMBERS_MAX; i++)
		json_array_append_new(array, json_integer(qpns[i]));
	free(qpns);
	return array;
}

static json_t *
make_qp(const struct report *report, char *const words[MAX_WORDS])
{
	const struct nic *nic = words[0] && words[1] ? report_nic(report, words[0]) : NULL;

	return nic ? report_qp(report, nic, (uint32_t)strtoul(words[1], NULL, 0)) : NULL;
}

static json_t *
make_clients(const struct report *report, char *const words[MAX_WORDS])
{
	uint64_t after = words[0] ? strtoull(words[0], NULL, 0) : 0;
	json_t *numbers = json_array();
	bool more = true;

	while (more && json_array_size(numbers) < NUMBERS_MAX) {
		json_t *clients = report_clients(report, NULL, &after, &more), *client;
		size_t i;

		json_array_foreach(clients, i, client)
			json_array_append(numbers, json_object_get(client, "client"));
		json_decref(clients);
	}
	return numbers;
}

static json_t *
make_client(const struct report *report, char *const words[MAX_WORDS])
{
	return words[0] ? report_client(report, strtoull(words[0], NULL, 0)) : NULL;
}

/* ---- the table ---- */

static const struct command {
	const char *name;
	const char *help;
	json_t *(*make)(const struct report *report, char *const words[MAX_WORDS]);
} commands[] = {
	{"/weft/nodes", "Names of NICs and switches.", make_nodes},
	{"/weft/node", "One NIC or switch. Parameters: NAME", make_node},
	{"/weft/counters", "Counters. Parameters: NIC, SWITCH, SWITCH/PORT or worker",
         make_counters},
	{"/weft/qps", "QP numbers, 512 at most. Parameters: NIC[,FROM]", make_qps},
	{"/weft/qp", "One QP. Parameters: NIC,QPN", make_qp},
	{"/weft/clients", "Programs' connections, 512 at most. Parameters: [AFTER]", make_clients},
	{"/weft/client", "What one has. Parameters: NUMBER", make_client},
};

#define NB_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int
answer(const char *name, const char *params, struct rte_tel_data *data)
{
	char text[128], *rest = NULL, *words[MAX_WORDS] = {NULL};
	json_t *made = NULL;
	int err;

	snprintf(text, sizeof(text), "%s", params ? params : "");
	for (int i = 0; i < MAX_WORDS; i++)
		words[i] = strtok_r(i == 0 ? text : NULL, ",", &rest);
	pthread_mutex_lock(&lock);
	for (size_t i = 0; served && i < NB_COMMANDS; i++) {
		if (strcmp(commands[i].name, name) == 0)
			made = commands[i].make(served, words);
	}
	pthread_mutex_unlock(&lock);
	if (json_is_array(made))
		fill_array(data, made);
	else if (json_is_object(made))
		fill_dict(data, made);
	err = made && !json_is_null(made) ? 0 : -EINVAL;
	json_decref(made);
	return err;
}

int
telemetry_start(const struct report *report)
{
	int err = 0;

	pthread_mutex_lock(&lock);
	served = report;
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; i < NB_COMMANDS && !err; i++)
		err = rte_telemetry_register_cmd(commands[i].name, answer, commands[i].help);
	return err;
}

void
telemetry_stop(void)
{
	pthread_mutex_lock(&lock);
	served = NULL;
	pthread_mutex_unlock(&lock);
}
