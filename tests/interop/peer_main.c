/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peer: one end against another stack's verbs. The same program runs at both ends, with the same
 * checks; each check is done with either end as the one that asks.
 *
 *   peer [OPTION...] [HOST]     connects to the one there; without HOST it listens
 *     -t CHECK,CHECK...   default: all but 'outlive'
 *     -p PORT     of TCP
 *     -d DEVICE   the first
 *     -g INDEX    of the GID, 1
 *     -m MTU      of the path, 1024
 *     -n ROUNDS   of 'mix', 8
 *     -b BYTES    of the largest message, 1 MiB
 *     -a END      the only one that asks: client or server
 *
 * The client writes 'ok CHECK by END' for each check that both ends found right.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"

static int
dial(const char *host, const char *port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
	int fd;

	must(getaddrinfo(host, port, &hints, &found) == 0);
	fd = socket(found->ai_family, SOCK_STREAM, 0);
	must(fd >= 0);
	for (int tries = 0; connect(fd, found->ai_addr, found->ai_addrlen) != 0; tries++) {
		must(tries < 50);
		usleep(100000);
	}
	freeaddrinfo(found);
	return fd;
}

static int
answer(const char *port)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6,
	                           .sin6_port = htons((uint16_t)atoi(port))};
	int listener = socket(AF_INET6, SOCK_STREAM, 0), on = 1, fd;

	must(listener >= 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	must(bind(listener, (struct sockaddr *)&any, sizeof(any)) == 0);
	must(listen(listener, 1) == 0);
	fd = accept(listener, NULL, NULL);
	must(fd >= 0);
	close(listener);
	return fd;
}

static void
run_check(struct peer *peer, const struct peer_check *check, bool client_asks)
{
	const char *by = client_asks ? "client" : "server";

	peer->is_active = client_asks == peer->is_client;
	fprintf(stderr, "%s by %s\n", check->name, by);
	peer_connect(peer, &check->link);
	check->run(peer);
	/* The end of 'outlive' is the other end's. */
	if (!check->on_demand)
		peer_meet(peer);
	peer_disconnect(peer);
	if (peer->is_client)
		printf("ok %s by %s\n", check->name, by);
	fflush(stdout);
}

/** Names are separated by commas; NULL = what is not on demand. */
static bool
is_wanted(const struct peer_check *check, const char *names)
{
	size_t len = strlen(check->name);

	if (!names)
		return !check->on_demand;
	for (;; names++) {
		if (strncmp(names, check->name, len) == 0 && (!names[len] || names[len] == ','))
			return true;
		names = strchr(names, ',');
		if (!names)
			return false;
	}
}

int
main(int argc, char **argv)
{
	static const struct peer_check *const lists[] = {peer_transfers, peer_mixes, peer_refusals};
	struct peer peer = {.gid_index = 1,
	                    .mtu = IBV_MTU_1024,
	                    .rounds = 8,
	                    .message_bytes = PEER_MESSAGE_BYTES};
	const char *host, *port = "19000", *device = NULL, *only = "", *names = NULL;
	int option, nb_run = 0, one = 1;

	while ((option = getopt(argc, argv, "t:p:d:g:m:n:b:a:")) != -1) {
		switch (option) {
		case 't':
			names = optarg;
			break;
		case 'p':
			port = optarg;
			break;
		case 'd':
			device = optarg;
			break;
		case 'g':
			peer.gid_index = atoi(optarg);
			break;
		case 'm':
			peer.mtu = IBV_MTU_256;
			while (peer.mtu < IBV_MTU_4096 && 128 << peer.mtu < atoi(optarg))
				peer.mtu++;
			break;
		case 'n':
			peer.rounds = (uint32_t)atoi(optarg);
			break;
		case 'b':
			peer.message_bytes = (uint32_t)atoi(optarg);
			must(peer.message_bytes <= PEER_MESSAGE_BYTES);
			break;
		case 'a':
			only = optarg;
			break;
		default:
			return 2;
		}
	}
	host = argv[optind];
	peer.is_client = host != NULL;
	peer.socket = host ? dial(host, port) : answer(port);
	setsockopt(peer.socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	peer_open(&peer, device);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		for (const struct peer_check *check = lists[i]; check->name; check++) {
			if (!is_wanted(check, names))
				continue;
			if (strcmp(only, "server") != 0)
				run_check(&peer, check, true);
			if (strcmp(only, "client") != 0)
				run_check(&peer, check, false);
			nb_run++;
		}
	}
	must(nb_run > 0);
	return 0;
}
