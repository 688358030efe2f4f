/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf_start.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "caps.h"
#include "conf_read.h"
#include "kernel_port.h"
#include "sockdir.h"
#include "socket_folder.h"
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
	char why[CONF_PORT_ARG_LEN + 128];

	if ((port->kind == PORT_MEMIF || port->kind == PORT_LINK) && port->arg[0] == '/' &&
	    socket_folder_check(port->arg, why, sizeof(why)) != 0)
		tell(l, port, why);
	if (conf_port_is_interface(port)) {
		look_at_rights(l, port);
		look_at_interface(l, port);
	}
}

/* That of the sockets is made if it is not there, and no other. */
static void
look_at_sockdir(struct look *l)
{
	char dir[CONF_PORT_ARG_LEN], name[CONF_PORT_ARG_LEN + 2], why[CONF_PORT_ARG_LEN + 128];
	struct stat st;

	if (sockdir_path(geteuid(), dir, sizeof(dir)) != 0)
		return;
	snprintf(name, sizeof(name), "%s%s", dir, stat(dir, &st) == 0 ? "/x" : "");
	if (socket_folder_check(name, why, sizeof(why)) == 0)
		return;
	fprintf(l->out, "environment: sockets in %s: %s\n", dir, why);
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
