/* SPDX-License-Identifier: BSD-3-Clause */
#include "ctl.h"

#include <stdlib.h>
#include <string.h>

static const char *
text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "-";
}

static json_int_t
number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

void
show_version(const json_t *line, bool is_first, bool all)
{
	(void)is_first;
	(void)all;
	printf("weftd %s, daemon %s, pid %" JSON_INTEGER_FORMAT ", ABI %" JSON_INTEGER_FORMAT "\n",
	       text(line, "version"), text(line, "name"), number(line, "pid"), number(line, "abi"));
}

/* Columns of a line of ports, and of what stands before them. */
#define LINE_COLUMNS 100
#define PORTS_COLUMN 20

/* " ring:a"; of a switch " 1 ring:b down, 2 ring:c beside the tree", in as many lines as it takes
 */
static void
show_ports(const json_t *ports)
{
	const bool has_many = json_array_size(ports) > 1;
	size_t i, column = PORTS_COLUMN;
	const json_t *port;

	json_array_foreach(ports, i, port)
	{
		char word[256];
		int len = 0;

		if (has_many)
			len = snprintf(word, sizeof(word), " %zu", i);
		len += snprintf(
			word + len, sizeof(word) - (size_t)len, " %s%s%s%s", text(port, "port"),
			strcmp(text(port, "link"), "down") == 0 ? " down" : "",
			json_is_false(json_object_get(port, "floods")) ? " beside the tree" : "",
			i + 1 < json_array_size(ports) ? "," : "");
		if (column > PORTS_COLUMN && column + (size_t)len > LINE_COLUMNS) {
			printf("\n%*s", PORTS_COLUMN, "");
			column = PORTS_COLUMN;
		}
		printf("%s", word);
		column += (size_t)len;
	}
}

static void
show_switch(const json_t *sw)
{
	printf("%-12s         %s, %" JSON_INTEGER_FORMAT " prefixes; buffer %" JSON_INTEGER_FORMAT
	       " of %" JSON_INTEGER_FORMAT " bytes, at most %" JSON_INTEGER_FORMAT "\n",
	       "", text(sw, "lb"), number(sw, "prefixes"), number(sw, "buffer_used"),
	       number(sw, "buffer"), number(sw, "buffer_used_max"));
}

static void
show_nic(const json_t *nic)
{
	size_t i;
	const json_t *gid;

	printf("%-12s         MAC %s, mtu %" JSON_INTEGER_FORMAT ", path MTU %" JSON_INTEGER_FORMAT
	       "\n",
	       "", text(nic, "mac"), number(nic, "mtu"), number(nic, "path_mtu"));
	json_array_foreach(json_object_get(nic, "gids"), i, gid)
	{
		printf("%-12s         GID %-2" JSON_INTEGER_FORMAT " %s", "", number(gid, "index"),
		       text(gid, "address"));
		if (number(gid, "vlan"))
			printf(" VLAN %" JSON_INTEGER_FORMAT, number(gid, "vlan"));
		printf("\n");
	}
	printf("%-12s         %s, %s, %s, %s; %" JSON_INTEGER_FORMAT " QPs, %" JSON_INTEGER_FORMAT
	       " keys\n",
	       "", text(nic, "framing"), text(nic, "reliability"), text(nic, "cc"), text(nic, "lb"),
	       number(nic, "qps"), number(nic, "keys"));
}

void
show_nodes(const json_t *line, bool is_first, bool all)
{
	size_t i;
	const json_t *node;

	(void)is_first;
	(void)all;
	json_array_foreach(json_object_get(line, "nodes"), i, node)
	{
		printf("%-12s %-6s ", text(node, "name"), text(node, "kind"));
		show_ports(json_object_get(node, "ports"));
		printf("%s\n", json_is_true(json_object_get(node, "drained")) ? " drained" : "");
		if (strcmp(text(node, "kind"), "nic") == 0)
			show_nic(node);
		else
			show_switch(node);
	}
}

void
show_counters(const json_t *line, bool is_first, bool all)
{
	const char *owner, *name;
	json_t *own, *value;

	(void)is_first;
	json_object_foreach(json_object_get(line, "counters"), owner, own)
	{
		json_object_foreach(own, name, value)
		{
			if (all || json_integer_value(value) != 0)
				printf("%s %s %" JSON_INTEGER_FORMAT "\n", owner, name,
				       json_integer_value(value));
		}
	}
}

/* "10.77.0.2/0x000012" */
static void
peer_text(const json_t *qp, char *buf, size_t size)
{
	if (json_is_string(json_object_get(qp, "peer")))
		snprintf(buf, size, "%s/0x%06x", text(qp, "peer"),
		         (unsigned int)number(qp, "peer_qpn"));
	else
		snprintf(buf, size, "-");
}

static void
show_qp_row(const json_t *qp)
{
	char peer[80], engines[64];

	peer_text(qp, peer, sizeof(peer));
	snprintf(engines, sizeof(engines), "%s/%s/%s", text(qp, "reliability"), text(qp, "cc"),
	         text(qp, "lb"));
	printf("%-12s 0x%06x %-4s %-5s %-24s %-7s %-16s", text(qp, "nic"),
	       (unsigned int)number(qp, "qpn"), text(qp, "type"), text(qp, "state"), peer,
	       json_is_string(json_object_get(qp, "framing")) ? text(qp, "framing") : "-", engines);
	for (const char *const *key =
	             (const char *const[]){"psn_una", "psn_next", "psn_expected",
	                                   "inflight_packets", "sends_posted", "retransmits",
	                                   "timeouts", "rnr_naks", "pid", NULL};
	     *key; key++)
		printf(" %8" JSON_INTEGER_FORMAT, number(qp, *key));
	printf("\n");
	if (*text(qp, "error"))
		printf("%-12s   error: %s\n", "", text(qp, "error"));
}

void
show_qps(const json_t *line, bool is_first, bool all)
{
	size_t i;
	const json_t *qp;

	(void)all;
	if (is_first)
		printf("%-12s %-8s %-4s %-5s %-24s %-7s %-16s %8s %8s %8s %8s %8s %8s %8s %8s "
		       "%8s\n",
		       "NIC", "QPN", "TYPE", "STATE", "PEER/QPN", "FRAMING", "ENGINES", "UNA",
		       "NEXT", "EXPECTED", "INFLIGHT", "POSTED", "RETRANS", "TIMEOUTS", "RNR",
		       "PID");
	json_array_foreach(json_object_get(line, "qps"), i, qp) show_qp_row(qp);
}

/* All that there is, a line each. */
void
show_qp(const json_t *line, bool is_first, bool all)
{
	const char *key;
	json_t *value;

	(void)is_first;
	(void)all;
	json_object_foreach(json_object_get(line, "qp"), key, value)
	{
		printf("%-18s ", key);
		if (json_is_integer(value) && strstr(key, "qpn"))
			printf("0x%06x\n", (unsigned int)json_integer_value(value));
		else if (json_is_integer(value))
			printf("%" JSON_INTEGER_FORMAT "\n", json_integer_value(value));
		else
			printf("%s\n", json_is_null(value) ? "-" : json_string_value(value));
	}
}

void
show_clients(const json_t *line, bool is_first, bool all)
{
	static const char *const keys[] = {"pid",      "uid",      "qps",         "mrs",
	                                   "mws",      "cqs",      "srqs",        "pds",
	                                   "channels", "mappings", "memory_bytes"};
	size_t i;
	const json_t *client;

	(void)all;
	if (is_first)
		printf("%8s %-12s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s %12s\n", "CLIENT", "NIC",
		       "PID", "UID", "QPS", "MRS", "MWS", "CQS", "SRQS", "PDS", "CHANNELS",
		       "MAPPINGS", "MEMORY");
	json_array_foreach(json_object_get(line, "clients"), i, client)
	{
		printf("%8" JSON_INTEGER_FORMAT " %-12s", number(client, "client"),
		       text(client, "nic"));
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			printf(" %*" JSON_INTEGER_FORMAT, strlen(keys[k]) > 8 ? 12 : 8,
			       number(client, keys[k]));
		printf("\n");
	}
}

void
show_events(const json_t *line, bool is_first, bool all)
{
	json_int_t missed = number(line, "missed");
	size_t i;
	const json_t *e;

	(void)is_first;
	(void)all;
	if (missed > 0)
		printf("(%" JSON_INTEGER_FORMAT " events were missed)\n", missed);
	json_array_foreach(json_object_get(line, "events"), i, e)
		printf("%s %-9s %s: %s\n", text(e, "time"), text(e, "kind"), text(e, "node"),
	               text(e, "text"));
	fflush(stdout);
}

void
show_set(const json_t *line, bool is_first, bool all)
{
	const json_t *set = json_object_get(line, "set");

	(void)is_first;
	(void)all;
	printf("%s: %s = %s, %s\n", text(set, "target"), text(set, "key"), text(set, "value"),
	       text(set, "effect"));
}

void
show_drain(const json_t *line, bool is_first, bool all)
{
	size_t i;
	const json_t *nic;

	(void)all;
	if (is_first) {
		if (json_array_size(json_object_get(line, "draining")) == 0)
			printf("there is no NIC to drain\n");
		json_array_foreach(json_object_get(line, "draining"), i, nic)
			printf("%s: draining\n", json_string_value(nic));
		fflush(stdout);
	}
	json_array_foreach(json_object_get(line, "drained"), i, nic)
	{
		printf("%s: drained after %" JSON_INTEGER_FORMAT " ms, ", text(nic, "nic"),
		       number(nic, "ms"));
		if (number(nic, "cut_off_sends") + number(nic, "cut_off_newer_sends") == 0)
			printf("nothing was cut off\n");
		else
			printf("cut off: %" JSON_INTEGER_FORMAT " sends of %" JSON_INTEGER_FORMAT
			       " QPs from before, %" JSON_INTEGER_FORMAT
			       " that were posted since\n",
			       number(nic, "cut_off_sends"), number(nic, "cut_off_qps"),
			       number(nic, "cut_off_newer_sends"));
	}
}

void
show_resume(const json_t *line, bool is_first, bool all)
{
	size_t i;
	const json_t *nic;

	(void)is_first;
	(void)all;
	if (json_array_size(json_object_get(line, "resumed")) == 0)
		printf("there is no NIC to resume\n");
	json_array_foreach(json_object_get(line, "resumed"), i, nic)
		printf("%s: takes programs again\n", json_string_value(nic));
}
