/* SPDX-License-Identifier: BSD-3-Clause */
#include <libgen.h>
#include <string.h>

#include "bind.h"
#include "conf_read.h"

static void
check_names(struct conf_reader *r)
{
	const struct conf *conf = r->conf;

	for (uint32_t i = 0; i < conf->nb_switches; i++) {
		for (uint32_t k = 0; k < conf->nb_nics; k++) {
			if (strcmp(conf->switches[i].name, conf->nics[k].name) == 0)
				conf_error(r, conf->switches[i].line,
				           "[switch %s] has the name of [nic %s] at line %u",
				           conf->switches[i].name, conf->nics[k].name,
				           conf->nics[k].line);
		}
	}
}

/* No address twice, in one NIC or in two. */
static void
check_ips(struct conf_reader *r)
{
	const struct conf *conf = r->conf;

	for (uint32_t i = 0; i < conf->nb_nics; i++) {
		const struct conf_nic *nic = &conf->nics[i];

		for (uint32_t k = 0; k <= i; k++) {
			const struct conf_nic *other = &conf->nics[k];

			for (uint32_t a = 0; a < nic->nb_ips; a++) {
				for (uint32_t b = 0; b < (k == i ? a : other->nb_ips); b++) {
					if (memcmp(&nic->ips[a], &other->ips[b],
					           sizeof(nic->ips[a])) == 0)
						conf_error(r, nic->ip_lines[a],
						           "[nic %s] has an ip that [nic %s] has "
						           "at line %u",
						           nic->name, other->name,
						           other->ip_lines[b]);
				}
			}
		}
	}
}

/* A locally administered address that name and ip lead to, so that it is the same at each start. */
static void
derive_mac(struct conf_nic *nic, uint32_t attempt)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) + attempt; /* FNV-1a */

	for (const char *p = nic->name; *p; p++)
		h = (h ^ (uint8_t)*p) * UINT64_C(0x100000001b3);
	for (uint32_t i = 0; i < sizeof(nic->ips[0].b); i++)
		h = (h ^ nic->ips[0].b[i]) * UINT64_C(0x100000001b3);
	for (int i = 0; i < 6; i++)
		nic->mac[i] = (uint8_t)(h >> (8 * i));
	nic->mac[0] = (nic->mac[0] & 0xfc) | 0x02;
}

static const struct conf_nic *
other_with_mac(const struct conf *conf, const struct conf_nic *nic)
{
	for (uint32_t i = 0; i < conf->nb_nics; i++) {
		if (&conf->nics[i] != nic &&
		    memcmp(conf->nics[i].mac, nic->mac, sizeof(nic->mac)) == 0)
			return &conf->nics[i];
	}
	return NULL;
}

static void
check_macs(struct conf_reader *r)
{
	struct conf *conf = r->conf;

	for (uint32_t i = 0; i < conf->nb_nics; i++) {
		struct conf_nic *nic = &conf->nics[i];
		const struct conf_nic *other = nic->mac_line ? other_with_mac(conf, nic) : NULL;

		if (other && other < nic && other->mac_line)
			conf_error(r, nic->mac_line, "[nic %s] has the mac of [nic %s] at line %u",
			           nic->name, other->name, other->mac_line);
	}
	for (uint32_t i = 0; i < conf->nb_nics; i++) {
		struct conf_nic *nic = &conf->nics[i];

		for (uint32_t attempt = 0; !nic->mac_line && !nic->on_interface; attempt++) {
			derive_mac(nic, attempt);
			if (!other_with_mac(conf, nic))
				break;
		}
	}
}

static void
check_nic(struct conf_reader *r, struct conf_nic *nic)
{
	if (!nic->port.line)
		conf_error(r, nic->line, "[nic %s] has no port", nic->name);
	if (!nic->ip_line && !nic->on_interface)
		conf_error(r, nic->line, "[nic %s] has no ip", nic->name);
	else if (nic->ip_line && nic->nb_ips == 0 && r->nb_errors == 0)
		conf_error(r, nic->ip_line, "ip is empty");
	nic->has_fault = fault_any(&nic->fault);
}

/* "conf/loopback.conf" names its daemon "loopback". */
static void
name_daemon(struct conf_reader *r)
{
	struct conf_daemon *d = &r->conf->daemon;
	char path[4096];
	char *base, *dot;

	if (d->name[0])
		return;
	snprintf(path, sizeof(path), "%s", r->path);
	base = basename(path);
	dot = strrchr(base, '.');
	if (dot && dot > base)
		*dot = '\0';
	for (char *p = base; *p; p++) {
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.",
		            *p))
			*p = '_';
	}
	if (base[0] == '.')
		base[0] = '_';
	snprintf(d->name, sizeof(d->name), "%.*s", WEFT_NAME_LEN - 1, base);
}

void
conf_check(struct conf_reader *r)
{
	struct conf *conf = r->conf;
	bool is_map; /* which has no room for what is wrong */

	if (conf->nb_nics + conf->nb_switches == 0 && !conf_is_partial(r))
		conf_error(r, r->line, "neither a [nic NAME] nor a [switch NAME]: nothing to run");
	conf_check_interfaces(r);
	for (uint32_t i = 0; i < conf->nb_nics; i++)
		check_nic(r, &conf->nics[i]);
	for (uint32_t i = 0; i < conf->nb_switches; i++) {
		if (!conf->switches[i].has_ports)
			conf_error(r, conf->switches[i].line, "[switch %s] has no ports",
			           conf->switches[i].name);
	}
	conf_check_binds(r);
	check_names(r);
	conf_check_rings(r);
	check_ips(r);
	is_map = r->nb_errors == 0;
	conf_check_port_sections(r);
	conf_check_fabric(r);
	conf_check_pci(r);
	check_macs(r);
	if (is_map)
		conf_check_graph(r);
	if (r->nb_errors == 0)
		conf_check_doubts(r);
	name_daemon(r);
	conf_check_machine(r);
}
