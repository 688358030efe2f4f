/* SPDX-License-Identifier: BSD-3-Clause */
#include "ctl.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "sockdir.h"

/* A daemon that does not answer within this is as good as dead. Source: our choice. */
#define ANSWER_S 15

/* Daemons that were found in the folders. */
struct found {
	struct ask *ask; /* the first that answers */
	char names[256]; /* of all of them */
	unsigned int nb;
	int err;             /* of the last that could not be reached */
	char err_paths[512]; /* of all that could not */
};

/* @return a descriptor or a negative errno. */
static int
connect_to(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct timeval patience = {.tv_sec = ANSWER_S};
	int fd, err;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static bool
ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len > end_len && strcmp(text + len - end_len, end) == 0;
}

static void
try_socket(struct found *found, const char *dir, const char *file)
{
	char path[256];
	size_t len = strlen(found->names);
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path))
		return;
	fd = connect_to(path);
	if (fd == -ECONNREFUSED || fd == -ENOENT)
		return; /* what a daemon that died has left */
	if (fd < 0) {
		len = strlen(found->err_paths);
		found->err = -fd;
		snprintf(found->err_paths + len, sizeof(found->err_paths) - len, "%s%s",
		         len ? ", " : "", path);
		return;
	}
	snprintf(found->names + len, sizeof(found->names) - len, "%s%.*s", len ? ", " : "",
	         (int)(strlen(file) - strlen(SOCKDIR_OPERATOR_SUFFIX)), file);
	if (found->nb++ == 0) {
		found->ask->fd = fd;
		strcpy(found->ask->path, path);
	} else {
		close(fd);
	}
}

/* @param name  of the daemon; NULL = any. */
static void
look_in(struct found *found, const char *dir, const char *name)
{
	struct dirent **list;
	const char *why;
	int nb, err = sockdir_check(dir, geteuid(), &why);

	if (err == -EPERM)
		fprintf(stderr, "weftctl: ignoring %s: %s; -s %s/NAME%s asks all the same\n", dir,
		        why, dir, SOCKDIR_OPERATOR_SUFFIX);
	nb = err ? 0 : scandir(dir, &list, NULL, alphasort);
	for (int i = 0; i < nb; i++) {
		const char *file = list[i]->d_name;
		size_t len = name ? strlen(name) : 0;

		if (ends_with(file, SOCKDIR_OPERATOR_SUFFIX) &&
		    (!name || (strncmp(file, name, len) == 0 &&
		               strcmp(file + len, SOCKDIR_OPERATOR_SUFFIX) == 0)))
			try_socket(found, dir, file);
		free(list[i]);
	}
	if (nb > 0)
		free(list);
}

/* The folders in which this user finds daemons: his own, then the system's. */
static int
look(struct found *found, const char *name)
{
	const char *named = secure_getenv("WEFT_RUNTIME_DIR");
	char dir[256];
	int err = sockdir_path(geteuid(), dir, sizeof(dir));

	if (err) {
		fprintf(stderr, "weftctl: WEFT_RUNTIME_DIR=%s is not a path that can be used\n",
		        named ? named : "");
		return EXIT_NO_DAEMON;
	}
	look_in(found, dir, name);
	if (strcmp(dir, SOCKDIR_SYSTEM) != 0 && !(named && *named)) {
		look_in(found, SOCKDIR_SYSTEM, name);
		strcat(dir, " or " SOCKDIR_SYSTEM);
	}
	if (found->nb == 0 && found->err)
		fprintf(stderr, "weftctl: %s: %s%s\n", found->err_paths, strerror(found->err),
		        found->err == EACCES ? " (root, its own user and the group of '[daemon] "
		                               "operators' may)"
		                             : "");
	else if (found->nb == 0)
		fprintf(stderr, "weftctl: no weftd %s%sis running in %s\n", name ? name : "",
		        name ? " " : "", dir);
	return found->nb ? 0 : EXIT_NO_DAEMON;
}

static int
open_path(struct ask *ask, const char *path)
{
	size_t len = strlen(path);

	/* That of applications names its neighbour. */
	if (ends_with(path, SOCKDIR_SUFFIX))
		len -= strlen(SOCKDIR_SUFFIX);
	if (ends_with(path, SOCKDIR_OPERATOR_SUFFIX))
		len -= strlen(SOCKDIR_OPERATOR_SUFFIX);
	snprintf(ask->path, sizeof(ask->path), "%.*s%s", (int)len, path, SOCKDIR_OPERATOR_SUFFIX);
	ask->fd = connect_to(ask->path);
	if (ask->fd >= 0)
		return 0;
	fprintf(stderr, "weftctl: %s: %s\n", ask->path, strerror(-ask->fd));
	return EXIT_NO_DAEMON;
}

/* A file of this folder, too, if it is called as sockets are. */
static bool
is_path(const char *which)
{
	return strchr(which, '/') || ends_with(which, SOCKDIR_SUFFIX) ||
	       ends_with(which, SOCKDIR_OPERATOR_SUFFIX);
}

int
ask_open(struct ask *ask, const char *which)
{
	struct found found = {.ask = ask};
	int code;

	*ask = (struct ask){.fd = -1, .came_fd = -1};
	code = which && is_path(which) ? open_path(ask, which) : look(&found, which);
	if (code)
		return code;
	if (found.nb > 1) {
		fprintf(stderr, "weftctl: several daemons run (%s): choose one by --socket NAME\n",
		        found.names);
		ask_close(ask);
		return EXIT_NO_DAEMON;
	}
	return 0;
}

void
ask_close(struct ask *ask)
{
	if (ask->fd >= 0)
		close(ask->fd);
	if (ask->came_fd >= 0)
		close(ask->came_fd);
	free(ask->buf);
	*ask = (struct ask){.fd = -1, .came_fd = -1};
}

void
ask_enough(struct ask *ask)
{
	shutdown(ask->fd, SHUT_WR);
}

void
ask_patiently(struct ask *ask)
{
	const struct timeval for_ever = {0};

	setsockopt(ask->fd, SOL_SOCKET, SO_RCVTIMEO, &for_ever, sizeof(for_ever));
}

int
ask_send(struct ask *ask, const json_t *request)
{
	char *text = json_dumps(request, JSON_COMPACT);
	size_t len = text ? strlen(text) + 1 : 0, sent = 0;

	if (text)
		text[len - 1] = '\n';
	while (sent < len) {
		ssize_t n = send(ask->fd, text + sent, len - sent, MSG_NOSIGNAL);

		if (n < 0)
			break;
		sent += (size_t)n;
	}
	free(text);
	if (len > 0 && sent == len)
		return 0;
	fprintf(stderr, "weftctl: %s: %s\n", ask->path, strerror(len ? errno : ENOMEM));
	return EXIT_NO_DAEMON;
}

static void
take_fd(struct ask *ask, struct msghdr *msg)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);

	if (!cmsg || cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS ||
	    cmsg->cmsg_len != CMSG_LEN(sizeof(int)))
		return;
	if (ask->came_fd >= 0)
		close(ask->came_fd);
	memcpy(&ask->came_fd, CMSG_DATA(cmsg), sizeof(int));
}

/* Read what is there. @return bytes; 0 at the end; -1 and errno. */
static ssize_t
fill(struct ask *ask)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov;
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	ssize_t n;

	if (ask->len == ask->size) {
		char *more = realloc(ask->buf, ask->size ? 2 * ask->size : 65536);

		if (!more)
			return -1;
		ask->buf = more;
		ask->size = ask->size ? 2 * ask->size : 65536;
	}
	iov = (struct iovec){ask->buf + ask->len, ask->size - ask->len};
	do
		n = recvmsg(ask->fd, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n > 0) {
		take_fd(ask, &msg);
		ask->len += (size_t)n;
	}
	return n;
}

/* @return 0 and its length with its newline; or EXIT_NO_DAEMON after a message. */
static int
read_line(struct ask *ask, size_t *len)
{
	size_t seen = 0;
	ssize_t n;

	for (;;) {
		char *end = ask->len > seen ? memchr(ask->buf + seen, '\n', ask->len - seen) : NULL;

		if (end) {
			*len = (size_t)(end - ask->buf) + 1;
			return 0;
		}
		seen = ask->len;
		n = fill(ask);
		if (n > 0)
			continue;
		fprintf(stderr, "weftctl: %s: %s\n", ask->path,
		        n == 0            ? "the daemon has ended"
		        : errno == EAGAIN ? "the daemon does not answer"
		                          : strerror(errno));
		return EXIT_NO_DAEMON;
	}
}

int
ask_next(struct ask *ask, json_t **line, bool *more)
{
	const char *error;
	size_t len;
	int code = read_line(ask, &len);

	if (code)
		return code;
	*line = json_loadb(ask->buf, len, 0, NULL);
	ask->len -= len;
	memmove(ask->buf, ask->buf + len, ask->len);
	if (!json_is_object(*line)) {
		fprintf(stderr, "weftctl: %s: an answer that is no JSON object\n", ask->path);
		json_decref(*line);
		return EXIT_NO_DAEMON;
	}
	error = json_string_value(json_object_get(*line, "error"));
	if (error) {
		fprintf(stderr, "weftctl: %s\n", error);
		json_decref(*line);
		return EXIT_REFUSED;
	}
	*more = json_is_true(json_object_get(*line, "more"));
	json_object_del(*line, "more");
	return 0;
}
