/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "conf_read.h"
#include "nearest.h"

/* The key route of [switch NAME]. */

static_assert(CONF_MAX_PORTS <= 64, "a set of ports is a word");
static_assert(CONF_MAX_PORTS <= ROUTE_PORTS_MAX, "a prefix may have all ports");

/* Which port of a switch a word of a list is; -1 after conf_error. */
static int
find_port(struct conf_reader *r, const struct conf_switch *sw, const char *text)
{
	struct nearest near = nearest_of(text);
	char best[CONF_PORT_TEXT], why[2 * CONF_LINE_MAX];
	struct conf_port port = {0};

	if (!conf_port(r, text, &port))
		return -1;
	for (uint32_t p = 0; p < sw->nb_ports; p++) {
		if (conf_same_wire(&sw->ports[p], &port))
			return (int)p;
	}
	conf_offer_ports(&near, sw, best);
	nearest_explain(&near, "port of this switch", why, sizeof(why));
	conf_error(r, r->line, "%s%s", why, sw->nb_ports ? "" : ": ports come first");
	return -1;
}

/* That of a prefix; a new one if there is none. NULL after conf_error. */
static struct conf_route *
find_route(struct conf_reader *r, struct conf_switch *sw, const char *text)
{
	struct conf_route new = {.line = r->line};

	if (!conf_prefix(r, text, &new.prefix))
		return NULL;
	for (uint32_t i = 0; i < sw->nb_routes; i++) {
		struct conf_route *route = &sw->routes[i];

		if (ip_prefix_is_same(&route->prefix, &new.prefix))
			return route;
	}
	if (sw->nb_routes == CONF_MAX_ROUTES) {
		conf_error(r, r->line, "more than %d routes", CONF_MAX_ROUTES);
		return NULL;
	}
	sw->routes[sw->nb_routes] = new;
	return &sw->routes[sw->nb_routes++];
}

void
conf_read_route(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	struct conf_switch *sw = obj;
	char text[CONF_LINE_MAX], *rest = NULL, *prefix;
	struct conf_route *route;
	uint64_t was;

	snprintf(text, sizeof(text), "%s", value);
	prefix = strtok_r(text, CONF_BETWEEN, &rest);
	if (!prefix) {
		conf_error(r, r->line, "%s: PREFIX PORT ...", key->name);
		return;
	}
	route = find_route(r, sw, prefix);
	if (!route)
		return;
	was = route->ports;
	for (char *word = conf_next_port(NULL, &rest); word; word = conf_next_port(NULL, &rest)) {
		int port = find_port(r, sw, word);

		if (port < 0)
			return;
		if (route->ports >> port & 1) {
			conf_error(r, r->line, "%s %s has port '%s' already", key->name, prefix,
			           word);
			return;
		}
		route->ports |= UINT64_C(1) << port;
	}
	if (route->ports == was)
		conf_error(r, r->line, "%s %s: to which ports?", key->name, prefix);
}
