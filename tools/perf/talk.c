/* SPDX-License-Identifier: BSD-3-Clause */
#include "talk.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A line of the greatest test: some 100 bytes for each QP. */
#define LINE_MAX_BYTES (4u << 20)
/* What a client says first comes within this time. */
#define SPEAK_MS 5000
/* A client starts so long before its server, at most. */
#define CONNECT_TRIES 100
#define CONNECT_NAP_NS 100000000

struct talk {
	FILE *in, *out;
	char peer[INET6_ADDRSTRLEN];
	struct sockaddr_in6 own;
	char *line;
	size_t line_size;
};

static struct sockaddr_in6
mapped(const struct sockaddr_storage *a)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};

	if (a->ss_family == AF_INET6) {
		memcpy(&six, a, sizeof(six));
		return six;
	}
	six.sin6_addr.s6_addr[10] = six.sin6_addr.s6_addr[11] = 0xff;
	memcpy(six.sin6_addr.s6_addr + 12, &((const struct sockaddr_in *)a)->sin_addr, 4);
	return six;
}

static void
name_peer(struct talk *t, int fd)
{
	struct sockaddr_storage a = {0};
	socklen_t len = sizeof(a);
	struct sockaddr_in6 six;
	const uint8_t *b = six.sin6_addr.s6_addr;

	getpeername(fd, (struct sockaddr *)&a, &len);
	six = mapped(&a);
	if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr))
		snprintf(t->peer, sizeof(t->peer), "%u.%u.%u.%u", b[12], b[13], b[14], b[15]);
	else
		inet_ntop(AF_INET6, b, t->peer, sizeof(t->peer));
	len = sizeof(a);
	getsockname(fd, (struct sockaddr *)&a, &len);
	t->own = mapped(&a);
}

static struct talk *
talk_create(int fd)
{
	struct talk *t = calloc(1, sizeof(*t));
	int one = 1, out = dup(fd);

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (t) {
		name_peer(t, fd);
		t->in = fdopen(fd, "r");
		t->out = out >= 0 ? fdopen(out, "w") : NULL;
	}
	if (t && t->in && t->out)
		return t;
	fprintf(stderr, "weft-perf: %s\n", strerror(errno));
	exit(EXIT_FAILURE);
}

/* A client speaks first. Who does not, such as one that looks for open ports, is none. */
static bool
speaks(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char first;

	return poll(&p, 1, SPEAK_MS) == 1 && recv(fd, &first, 1, MSG_PEEK) == 1;
}

/* The next client, or -1. */
static int
next_client(int fd)
{
	for (;;) {
		int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (client < 0 && errno != EINTR && errno != ECONNABORTED)
			return -1;
		if (client >= 0 && speaks(client))
			return client;
		if (client >= 0)
			close(client);
	}
}

struct talk *
talk_accept(uint16_t port)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, zero = 0, client;

	/* Both families; a server that was just ended may start again at once. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0 || listen(fd, 1) < 0) {
		fprintf(stderr, "weft-perf: TCP port %u: %s (another one: --tcp-port)\n", port,
		        strerror(errno));
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	client = next_client(fd);
	if (client < 0)
		fprintf(stderr, "weft-perf: TCP port %u: %s\n", port, strerror(errno));
	close(fd);
	return client < 0 ? NULL : talk_create(client);
}

static int
try_all(const struct addrinfo *list)
{
	for (const struct addrinfo *a = list; a; a = a->ai_next) {
		int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

		if (fd < 0)
			continue;
		if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
			return fd;
		err = errno;
		close(fd);
		errno = err;
	}
	return -1;
}

struct talk *
talk_connect(const char *host, uint16_t port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
	char service[8];
	int fd = -1, err;

	snprintf(service, sizeof(service), "%u", port);
	err = getaddrinfo(host, service, &hints, &list);
	if (err) {
		fprintf(stderr, "weft-perf: %s: %s\n", host, gai_strerror(err));
		return NULL;
	}
	for (int i = 0; i < CONNECT_TRIES && fd < 0; i++) {
		fd = try_all(list);
		if (fd < 0 && errno != ECONNREFUSED)
			break;
		if (fd < 0)
			nanosleep(&(struct timespec){.tv_nsec = CONNECT_NAP_NS}, NULL);
	}
	freeaddrinfo(list);
	if (fd < 0) {
		fprintf(stderr,
		        "weft-perf: %s, TCP port %u: %s (is weft-perf running there, with the same "
		        "--tcp-port?)\n",
		        host, port, strerror(errno));
		return NULL;
	}
	return talk_create(fd);
}

void
talk_close(struct talk *t)
{
	if (!t)
		return;
	fclose(t->in);
	fclose(t->out);
	free(t->line);
	free(t);
}

void
talk_own_ip(const struct talk *t, uint8_t ip[16])
{
	memcpy(ip, t->own.sin6_addr.s6_addr, 16);
}

const char *
talk_peer(const struct talk *t)
{
	return t->peer;
}

bool
talk_say(struct talk *t, json_t *object)
{
	bool ok = object && json_dumpf(object, t->out, JSON_COMPACT) == 0 &&
	          fputc('\n', t->out) != EOF && fflush(t->out) == 0;

	json_decref(object);
	if (!ok)
		fprintf(stderr, "weft-perf: %s has ended\n", t->peer);
	return ok;
}

void
talk_fail(struct talk *t, const char *why)
{
	json_t *object = json_pack("{s:s}", "error", why);

	if (object && json_dumpf(object, t->out, JSON_COMPACT) == 0 && fputc('\n', t->out) != EOF)
		fflush(t->out);
	json_decref(object);
}

/* A line up to LINE_MAX_BYTES; NULL: the peer has ended, or says more. */
static const char *
read_line(struct talk *t)
{
	size_t len = 0;
	int c;

	while ((c = getc(t->in)) != EOF && c != '\n') {
		if (len + 2 > t->line_size) {
			size_t size = t->line_size ? 2 * t->line_size : 4096;
			char *p = size <= LINE_MAX_BYTES ? realloc(t->line, size) : NULL;

			if (!p)
				return NULL;
			t->line = p;
			t->line_size = size;
		}
		t->line[len++] = (char)c;
	}
	if (c == EOF || len == 0)
		return NULL;
	t->line[len] = '\0';
	return t->line;
}

json_t *
talk_hear(struct talk *t)
{
	const char *line = read_line(t);
	const char *error;
	json_t *object;

	if (!line) {
		fprintf(stderr, "weft-perf: %s has ended\n", t->peer);
		return NULL;
	}
	object = json_loads(line, 0, NULL);
	if (!json_is_object(object)) {
		fprintf(stderr, "weft-perf: what talks at %s is no weft-perf\n", t->peer);
		json_decref(object);
		return NULL;
	}
	error = json_string_value(json_object_get(object, "error"));
	if (!error)
		return object;
	fprintf(stderr, "weft-perf: %s says: %.600s\n", t->peer, error);
	json_decref(object);
	return NULL;
}
