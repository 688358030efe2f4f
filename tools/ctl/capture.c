/* SPDX-License-Identifier: BSD-3-Clause */
#include "ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The connection of the capture that runs, for the signal handler. */
static struct ask ask;

/* The first signal asks for the end; what was captured until then still comes. */
static void
enough(int signal)
{
	(void)signal;
	ask_enough(&ask);
}

static void
watch_signals(void)
{
	const struct sigaction action = {.sa_handler = enough, .sa_flags = SA_RESETHAND};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* The whole file. @return 0 or EXIT_REFUSED after a message. */
static int
copy(int from, int to, const char *file)
{
	static char buf[256 * 1024];
	ssize_t n;

	for (;;) {
		n = read(from, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		for (ssize_t done = 0, some; done < n; done += some) {
			some = write(to, buf + done, (size_t)(n - done));
			if (some < 0 && errno == EINTR)
				some = 0;
			else if (some < 0) {
				fprintf(stderr, "weftctl: %s: %s\n", file, strerror(errno));
				return EXIT_REFUSED;
			}
		}
	}
	if (n == 0)
		return 0;
	perror("weftctl");
	return EXIT_REFUSED;
}

static int
run(int to, const char *file, bool json, const json_t *request)
{
	json_t *line = NULL;
	bool more;
	int code = ask_send(&ask, request), from;

	if (!code)
		code = ask_next(&ask, &line, &more);
	if (code)
		return code;
	json_decref(line);
	from = ask.came_fd;
	ask.came_fd = -1;
	if (from < 0) {
		fprintf(stderr, "weftctl: %s: no capture came\n", ask.path);
		return EXIT_NO_DAEMON;
	}
	watch_signals();
	ask_patiently(&ask);
	code = copy(from, to, file);
	close(from);
	if (!code)
		code = ask_next(&ask, &line, &more);
	if (code)
		return code;
	/* Not to standard output: that may be the file. */
	if (json)
		json_dumpf(line, stderr, JSON_COMPACT);
	else
		fprintf(stderr,
		        "%" JSON_INTEGER_FORMAT " packets, and %" JSON_INTEGER_FORMAT " dropped",
		        json_integer_value(json_object_get(line, "packets")),
		        json_integer_value(json_object_get(line, "dropped")));
	fputc('\n', stderr);
	json_decref(line);
	return 0;
}

int
capture_to(const char *file, const char *socket, bool json, const json_t *request)
{
	bool is_stdout = strcmp(file, "-") == 0;
	int to, code = ask_open(&ask, socket);

	if (code)
		return code;
	to = is_stdout ? STDOUT_FILENO : open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (to < 0) {
		fprintf(stderr, "weftctl: %s: %s\n", file, strerror(errno));
		code = EXIT_REFUSED;
	} else {
		code = run(to, file, json, request);
	}
	if (to >= 0 && !is_stdout && close(to) < 0 && !code) {
		fprintf(stderr, "weftctl: %s: %s\n", file, strerror(errno));
		code = EXIT_REFUSED;
	}
	ask_close(&ask);
	return code;
}
