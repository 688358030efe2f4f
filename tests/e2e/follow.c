/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an application sees of a device whose interface changes: prints each event, and for each
 * line of its input the port and the GIDs, until its input ends.
 *
 *   follow DEVICE        of the port
 *   follow DEVICE INDEX  also of a QP on that GID, connected to another one there
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "pair.h"

static void
show(const struct ibv_context *context)
{
	struct ibv_gid_entry entries[256];
	struct ibv_port_attr port;
	ssize_t nb = ibv_query_gid_table((struct ibv_context *)context, entries, 256, 0);

	must(ibv_query_port((struct ibv_context *)context, 1, &port) == 0 && nb >= 0);
	printf("port %s mtu %d\n", port.state == IBV_PORT_ACTIVE ? "active" : "down",
	       128 << port.active_mtu);
	for (ssize_t i = 0; i < nb; i++) {
		char text[INET6_ADDRSTRLEN];

		inet_ntop(AF_INET6, entries[i].gid.raw, text, sizeof(text));
		printf("gid %u %s if %u\n", entries[i].gid_index, text, entries[i].ndev_ifindex);
	}
	printf("end\n");
}

static void
tell_event(struct ibv_context *context)
{
	struct ibv_async_event event;

	must(ibv_get_async_event(context, &event) == 0);
	printf("event %s\n", ibv_event_type_str(event.event_type));
	ibv_ack_async_event(&event);
}

/* Both ends on one GID: what is sent comes back without leaving the NIC. */
static void
connect_to_self(struct pair *p, const char *device, int index)
{
	end_open(&p->a, device, IBV_QPT_RC);
	end_open(&p->b, device, IBV_QPT_RC);
	p->a.gid_index = p->b.gid_index = index;
	must(ibv_query_gid(p->a.context, 1, index, &p->a.gid) == 0);
	p->b.gid = p->a.gid;
	pair_connect(p);
	end_recv(&p->b, 1, 0, 64);
	end_send(&p->a,
	         (struct ibv_send_wr){.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, 0,
	         64);
	end_poll_good(&p->a);
	printf("connected\n");
}

int
main(int argc, char **argv)
{
	static struct pair p;
	struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.events = POLLIN}};
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	must(argc >= 2);
	if (argc > 2)
		connect_to_self(&p, argv[1], atoi(argv[2]));
	else
		end_open(&p.a, argv[1], IBV_QPT_RC);
	fds[1].fd = p.a.context->async_fd;
	show(p.a.context);
	for (;;) {
		must(poll(fds, 2, -1) > 0);
		if (fds[1].revents)
			tell_event(p.a.context);
		if (!fds[0].revents)
			continue;
		if (read(STDIN_FILENO, line, sizeof(line)) <= 0)
			return 0;
		show(p.a.context);
	}
}
