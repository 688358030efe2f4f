/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "af_xdp.h"
#include "conf_read.h"
#include "kernel_if.h"
#include "link_hello.h"

/* How a port is written: KIND:ARG. */

/* Characters of a socket's path. Source: sockaddr_un. */
#define UNIX_PATH_MAX 107

struct port_kind_desc {
	const char *name;
	const char *arg; /**< what ARG is, for messages */
	/** Check ARG and take it over; false after conf_error. */
	bool (*read)(struct conf_reader *r, const char *text, struct conf_port *port);
	bool has_two_ends;      /**< both may be in this file */
	bool is_interface;      /**< of the kernel */
	uint32_t mtu_max_bytes; /**< that its frames can have; 0 = any */
};

static bool
read_ring(struct conf_reader *r, const char *text, struct conf_port *port)
{
	static_assert(sizeof(port->arg) >= WEFT_NAME_LEN, "a name fits");
	return conf_name(r, "ring", text, port->arg);
}

/* Whether there is such an interface is looked up later, and by the port. */
static bool
read_interface(struct conf_reader *r, const char *text, struct conf_port *port)
{
	size_t len = strlen(text);

	if (len == 0 || len >= KERNEL_IF_NAME_LEN || strchr(text, '/')) {
		conf_error(r, r->line, "'%s' cannot be the name of an interface", text);
		return false;
	}
	memcpy(port->arg, text, len + 1);
	return true;
}

/* A name in the folder of sockets, or a path. */
static bool
read_link(struct conf_reader *r, const char *text, struct conf_port *port)
{
	static_assert(sizeof(port->arg) > LINK_PATH_MAX, "a path fits");
	if (strchr(text, '/') && text[0] != '/') {
		conf_error(r, r->line,
		           "link '%s': letters, digits, '_', '-' and '.' only, or an absolute path",
		           text);
		return false;
	}
	if (text[0] != '/')
		return conf_name(r, "link", text, port->arg);
	if (strlen(text) > LINK_PATH_MAX || text[strlen(text) - 1] == '/') {
		conf_error(r, r->line,
		           "link '%s': a path of a socket, of at most %d characters, please", text,
		           LINK_PATH_MAX);
		return false;
	}
	strcpy(port->arg, text);
	return true;
}

/* PATH,ROLE. A role of old is understood, too. */
static bool
read_memif(struct conf_reader *r, const char *text, struct conf_port *port)
{
	static const struct {
		const char *name;
		bool is_server;
	} roles[] = {{"server", true}, {"client", false}, {"master", true}, {"slave", false}};
	const char *comma = strrchr(text, ',');
	size_t len = comma ? (size_t)(comma - text) : 0;

	for (size_t i = 0; comma && i < sizeof(roles) / sizeof(roles[0]); i++) {
		if (strcmp(comma + 1, roles[i].name) != 0 || text[0] != '/' || len > UNIX_PATH_MAX)
			continue;
		memcpy(port->arg, text, len);
		port->arg[len] = '\0';
		port->is_server = roles[i].is_server;
		return true;
	}
	conf_error(r, r->line,
	           "memif '%s': an absolute path of at most %d characters, and ',server' or "
	           "',client', please",
	           text, UNIX_PATH_MAX);
	return false;
}

static const struct port_kind_desc port_kinds[] = {
	[PORT_RING] = {"ring", "NAME", read_ring, .has_two_ends = true},
	[PORT_LINK] = {"link", "SOCKET", read_link, .has_two_ends = true},
	[PORT_AF_PACKET] = {"af_packet", "INTERFACE", read_interface, .is_interface = true},
	[PORT_AF_XDP] = {"af_xdp", "INTERFACE", read_interface, .is_interface = true,
                         .mtu_max_bytes = AF_XDP_MTU_MAX_BYTES},
	[PORT_MEMIF] = {"memif", "SOCKET,ROLE", read_memif},
	[PORT_PCI] = {"pci", "ADDRESS", conf_read_pci},
};

#define NB_KINDS (sizeof(port_kinds) / sizeof(port_kinds[0]))

const char *
conf_port_kind(const struct conf_port *port)
{
	return port_kinds[port->kind].name;
}

bool
conf_port_is_interface(const struct conf_port *port)
{
	return port_kinds[port->kind].is_interface;
}

bool
conf_port_has_two_ends(const struct conf_port *port)
{
	return port_kinds[port->kind].has_two_ends;
}

bool
conf_same_wire(const struct conf_port *a, const struct conf_port *b)
{
	return a->kind == b->kind && strcmp(a->arg, b->arg) == 0;
}

uint32_t
conf_port_mtu_max(const struct conf_port *port)
{
	uint32_t max_bytes = port_kinds[port->kind].mtu_max_bytes;

	return max_bytes ? max_bytes : UINT32_MAX;
}

static void
unknown_kind(struct conf_reader *r, const char *text)
{
	char known[256];
	size_t len = 0;

	for (size_t i = 0; i < NB_KINDS && len < sizeof(known); i++)
		len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s:%s", i ? ", " : "",
		                        port_kinds[i].name, port_kinds[i].arg);
	conf_error(r, r->line, "port '%s' is none of %s", text, known);
}

bool
conf_port(struct conf_reader *r, const char *text, struct conf_port *port)
{
	const char *colon = strchr(text, ':');

	port->line = r->line;
	for (size_t i = 0; colon && i < NB_KINDS; i++) {
		size_t len = strlen(port_kinds[i].name);

		if ((size_t)(colon - text) != len || memcmp(text, port_kinds[i].name, len) != 0)
			continue;
		port->kind = (enum port_kind)i;
		return port_kinds[i].read(r, colon + 1, port);
	}
	unknown_kind(r, text);
	return false;
}

/* A port may have a comma in itself: what follows one without a colon of its own belongs to it. */
char *
conf_next_port(char *text, char **rest)
{
	char *word = strtok_r(text, CONF_BETWEEN, rest);

	while (word && **rest && !strchr(CONF_BETWEEN, **rest)) {
		size_t len = strcspn(*rest, CONF_BETWEEN);

		if (memchr(*rest, ':', len))
			break;
		(*rest)[-1] = ',';
		strtok_r(NULL, CONF_BETWEEN, rest);
	}
	return word;
}

const char *
conf_port_text(const struct conf_port *port, char text[CONF_PORT_TEXT])
{
	const char *role = port->is_server ? ",server" : ",client";

	snprintf(text, CONF_PORT_TEXT, "%s:%s%s", conf_port_kind(port), port->arg,
	         port->kind == PORT_MEMIF ? role : "");
	return text;
}

void
conf_offer_ports(struct nearest *near, const struct conf_switch *sw, char best[CONF_PORT_TEXT])
{
	for (uint32_t p = 0; p < sw->nb_ports; p++) {
		char text[CONF_PORT_TEXT];

		nearest_offer(near, conf_port_text(&sw->ports[p], text));
		if (near->name == text)
			near->name = strcpy(best, text);
	}
}

static uint32_t
collect(const struct conf_port *port, enum port_kind kind, const struct conf_port **ports,
        uint32_t n, uint32_t max)
{
	if (port->line && port->kind == kind && n < max)
		ports[n++] = port;
	return n;
}

uint32_t
conf_ports_of(const struct conf *conf, enum port_kind kind, const struct conf_port **ports,
              uint32_t max)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < conf->nb_nics; i++)
		n = collect(&conf->nics[i].port, kind, ports, n, max);
	for (uint32_t i = 0; i < conf->nb_switches; i++)
		for (uint32_t p = 0; p < conf->switches[i].nb_ports; p++)
			n = collect(&conf->switches[i].ports[p], kind, ports, n, max);
	return n;
}
