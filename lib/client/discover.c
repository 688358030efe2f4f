/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "advice.h"
#include "client.h"
#include "sockdir.h"

/** Longest socket path, with its end. */
#define PATH_SIZE sizeof(((struct sockaddr_un *)NULL)->sun_path)
/** A daemon that does not answer within this is as good as dead. */
#define ANSWER_MS 3000

void
client_log(const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	fprintf(stderr, "weft: %s\n", line);
}

/** The folders in which this user finds daemons; the system's, then the user's own. */
static int
folders(char path[2][PATH_SIZE])
{
	static _Atomic bool told;
	const char *own = secure_getenv("WEFT_RUNTIME_DIR");
	uid_t uid = geteuid();
	int nb = 0, err = sockdir_path(uid, path[0], PATH_SIZE);

	if (err == 0)
		nb = 1;
	if (err == -EINVAL && !atomic_exchange(&told, true))
		client_log("WEFT_RUNTIME_DIR=%s is not an absolute path", own);
	/* WEFT_RUNTIME_DIR stands for all of them. */
	if (uid != 0 && !(own && *own))
		strcpy(path[nb++], SOCKDIR_SYSTEM);
	return nb;
}

void
client_where(char *text, size_t size)
{
	const char *narrowed = secure_getenv("WEFT_SOCKET");
	char path[2][PATH_SIZE];
	int nb;

	if (narrowed && *narrowed) {
		snprintf(text, size, "WEFT_SOCKET=%s", narrowed);
		return;
	}
	nb = folders(path);
	snprintf(text, size, "%s%s%s", nb > 0 ? path[0] : "no folder", nb > 1 ? ", " : "",
	         nb > 1 ? path[1] : "");
}

/** A daemon that was asked last serves no more connections of this user. */
static _Thread_local bool is_full;
/** One is there, or may be, and this user may not use it. */
static _Thread_local bool is_barred;

/** Ask one daemon. @return 1 if it answered and the visitor wants no more, 0 to go on, else errno.
 */
static int
ask(const char *path, client_visit *visit, void *arg, int *nb_daemons)
{
	static _Atomic bool told, told_full;
	char why[CTL_WHY_BYTES];
	union ctl_msg msg;
	int fd = ctl_connect(path, ANSWER_MS), err;

	if (fd < 0) {
		is_barred |= fd == -EACCES;
		advice_socket(path, fd);
		return fd;
	}
	err = ctl_exchange(fd, CTL_LIST, &msg, sizeof(msg.hdr), sizeof(msg.list), NULL, 0, why);
	close(fd);
	if (err == -EAGAIN) {
		++*nb_daemons;
		is_full = true;
		if (!atomic_exchange(&told_full, true))
			client_log("the daemon at %s serves no more programs of this user: end "
			           "one, or raise [daemon] user_clients in its conf file",
			           path);
	}
	if (err == -ESHUTDOWN) {
		is_barred = true;
		client_log("the daemon at %s is ending: it takes no programs any more", path);
	}
	if (err)
		return err;
	if (msg.list.version != WEFT_ABI_VERSION) {
		if (!atomic_exchange(&told, true))
			client_log(
				"the daemon at %s speaks version %u, this library version %u: use "
				"both of one release",
				path, msg.list.version, WEFT_ABI_VERSION);
		return 0;
	}
	if (msg.list.nb_devices > sizeof(msg.list.device) / sizeof(msg.list.device[0]))
		return -EPROTO;
	for (uint32_t i = 0; i < msg.list.nb_devices; i++)
		msg.list.device[i].name[WEFT_NAME_LEN - 1] = '\0';
	++*nb_daemons;
	return visit(arg, path, &msg.list);
}

static bool
trusted(const char *folder)
{
	static _Atomic bool told;
	const char *why;
	int err = sockdir_check(folder, geteuid(), &why);

	if (err == -EPERM && !atomic_exchange(&told, true))
		client_log("ignoring %s: %s", folder, why);
	advice_socket(folder, err);
	is_barred |= err == -EPERM || err == -EACCES;
	return err == 0;
}

/** "FOLDER/NAME", or nothing if that is no path for a socket anyway. */
static void
join(char path[PATH_SIZE], const char *folder, const char *name, const char *end)
{
	int len = snprintf(path, PATH_SIZE, "%s/%s%s", folder, name, end);

	if (len < 0 || (size_t)len >= PATH_SIZE)
		*path = '\0';
}

/** One element of WEFT_SOCKET: a path, or the name of a socket in the usual folders. */
static int
ask_named(const char *name, client_visit *visit, void *arg, int *nb_daemons)
{
	char folder[2][PATH_SIZE], path[PATH_SIZE];
	int nb = folders(folder), stop = 0;

	if (strchr(name, '/')) {
		char *slash;

		if (strlen(name) >= sizeof(path))
			return 0;
		strcpy(path, name);
		slash = strrchr(path, '/');
		*slash = '\0';
		if (!trusted(slash == path ? "/" : path))
			return 0;
		return ask(name, visit, arg, nb_daemons) == 1;
	}
	for (int i = 0; i < nb && !stop; i++) {
		join(path, folder[i], name, SOCKDIR_SUFFIX);
		if (trusted(folder[i]))
			stop = ask(path, visit, arg, nb_daemons) == 1;
	}
	return stop;
}

static int
is_socket(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name), end = strlen(SOCKDIR_SUFFIX);

	return len > end && strcmp(entry->d_name + len - end, SOCKDIR_SUFFIX) == 0;
}

static int
ask_folder(const char *folder, client_visit *visit, void *arg, int *nb_daemons)
{
	char path[PATH_SIZE];
	struct dirent **list;
	int nb, stop = 0;

	if (!trusted(folder))
		return 0;
	nb = scandir(folder, &list, is_socket, alphasort);
	if (nb < 0) {
		is_barred |= errno == EACCES;
		advice_socket(folder, -errno);
		return 0;
	}
	for (int i = 0; i < nb; i++) {
		join(path, folder, list[i]->d_name, "");
		if (!stop)
			stop = ask(path, visit, arg, nb_daemons) == 1;
		free(list[i]);
	}
	free(list);
	return stop;
}

int
client_discover(client_visit *visit, void *arg)
{
	const char *narrowed = secure_getenv("WEFT_SOCKET");
	char folder[2][PATH_SIZE];
	int nb_daemons = 0;

	is_full = is_barred = false;
	if (narrowed && *narrowed) {
		char *copy = strdup(narrowed), *save = NULL;

		for (char *name = copy ? strtok_r(copy, ",", &save) : NULL; name;
		     name = strtok_r(NULL, ",", &save)) {
			if (ask_named(name, visit, arg, &nb_daemons))
				break;
		}
		free(copy);
	} else {
		int nb = folders(folder);

		for (int i = 0; i < nb; i++) {
			if (ask_folder(folder[i], visit, arg, &nb_daemons))
				break;
		}
	}
	errno = is_full ? EAGAIN : is_barred ? EACCES : 0;
	return nb_daemons;
}
