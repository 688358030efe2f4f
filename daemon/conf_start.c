/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf_start.h"

#include <errno.h>
#include <libgen.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "caps.h"
#include "conf_read.h"
#include "kernel_port.h"
#include "sockdir.h"
#include "xdp_prog.h"

struct look {
	const char *path;
	FILE *out;
	bool is_good;
};

static void
tell(struct look *l, const struct conf_port *port, const char *text)
{
	fprintf(l->out, "%s:%u: %s: %s\n", l->path, port->line, port->arg, text);
	l->is_good = false;
}

bool
conf_start_has_folder(const struct conf_port *port, char dir[CONF_PORT_ARG_LEN])
{
	char path[CONF_PORT_ARG_LEN];
	struct stat st;

	if ((port->kind != PORT_MEMIF && port->kind != PORT_LINK) || port->arg[0] != '/')
		return true;
	strcpy(path, port->arg);
	strcpy(dir, dirname(path));
	return stat(dir, &st) == 0 && S_ISDIR(st.st_mode);
}

static void
look_at_rights(struct look *l, const struct conf_port *port)
{
	if (port->kind == PORT_AF_PACKET && !caps_have(CAP_NET_RAW))
		tell(l, port, "not permitted to this user: it needs CAP_NET_RAW");
	if (port->kind == PORT_AF_XDP && (!caps_have(CAP_NET_RAW) || !caps_have(CAP_NET_ADMIN) ||
	                                  (!caps_have(CAP_BPF) && !caps_have(CAP_SYS_ADMIN))))
		tell(l, port,
		     "not permitted to this user: it needs CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF");
}

/* Who has it may be the daemon of this very file, which is to be started again: no mistake. */
static void
look_at_interface(struct look *l, const struct conf_port *port)
{
	char name[XDP_PROG_NAME_LEN], text[256 + CONF_PORT_ARG_LEN];
	struct kernel_if kif;
	pid_t pid;

	if (kernel_if_find(port->arg, &kif) != 0)
		return;
	pid = kernel_port_holder(&kif);
	if (pid != 0) {
		fprintf(l->out,
		        "%s:%u: warning: %s is in use by process %d: a start fails while that "
		        "runs\n",
		        l->path, port->line, port->arg, (int)pid);
		return;
	}
	if (port->kind != PORT_AF_XDP || !xdp_prog_is_foreign(&kif, name))
		return;
	snprintf(text, sizeof(text),
	         "it has an XDP program '%s' and can have only one; if it is not needed: 'ip link "
	         "set %s xdp off'",
	         name, port->arg);
	tell(l, port, text);
}

static void
look_at_port(struct look *l, const struct conf_port *port)
{
	char dir[CONF_PORT_ARG_LEN], text[CONF_PORT_ARG_LEN + 64];

	if (!conf_start_has_folder(port, dir)) {
		snprintf(text, sizeof(text), "there is no folder %s: make it", dir);
		tell(l, port, text);
	}
	if (conf_port_is_interface(port)) {
		look_at_rights(l, port);
		look_at_interface(l, port);
	}
}

/* That of the sockets is made if it is not there, and no other. */
static void
look_at_sockdir(struct look *l)
{
	char dir[CONF_PORT_ARG_LEN];
	struct stat st;

	if (sockdir_path(geteuid(), dir, sizeof(dir)) != 0 || stat(dir, &st) == 0 ||
	    stat(dirname(dir), &st) == 0)
		return;
	fprintf(l->out, "environment: there is no folder %s for the folder of sockets: make it\n",
	        dir);
	l->is_good = false;
}

bool
conf_start_check(const struct conf *conf, const char *path, FILE *out)
{
	struct look l = {.path = path, .out = out, .is_good = true};

	look_at_sockdir(&l);
	for (uint32_t i = 0; i < conf->nb_nics; i++)
		look_at_port(&l, &conf->nics[i].port);
	for (uint32_t i = 0; i < conf->nb_switches; i++)
		for (uint32_t p = 0; p < conf->switches[i].nb_ports; p++)
			look_at_port(&l, &conf->switches[i].ports[p]);
	return l.is_good;
}
