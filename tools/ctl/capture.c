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

/* Ask for it. @return 0 and where the file comes from; else an exit code after a message. */
static int
begin(const json_t *request, int *from)
{
	json_t *line = NULL;
	bool more;
	int code = ask_send(&ask, request);

	if (!code)
		code = ask_next(&ask, &line, &more);
	if (code)
		return code;
	json_decref(line);
	*from = ask.came_fd;
	ask.came_fd = -1;
	if (*from >= 0)
		return 0;
	fprintf(stderr, "weftctl: %s: no capture came\n", ask.path);
	return EXIT_NO_DAEMON;
}

static int
end(bool json)
{
	json_t *line = NULL;
	bool more;
	int code = ask_next(&ask, &line, &more);

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

/* Write it to the file, which is not touched before there is something for it. */
static int
keep(int from, const char *file)
{
	bool is_stdout = strcmp(file, "-") == 0;
	int to = is_stdout ? STDOUT_FILENO
	                   : open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int code = to < 0 ? EXIT_REFUSED : copy(from, to, file);

	if (to < 0 || (!is_stdout && close(to) < 0 && !code)) {
		fprintf(stderr, "weftctl: %s: %s\n", file, strerror(errno));
		code = EXIT_REFUSED;
	}
	return code;
}

int
capture_to(const char *file, const char *socket, bool json, const json_t *request)
{
	int from = -1, code;

	if (strcmp(file, "-") == 0 && isatty(STDOUT_FILENO)) {
		fputs("weftctl: a capture is no text for a terminal: name a file, or a pipe such "
		      "as '| tcpdump -r -'\n",
		      stderr);
		return EXIT_USAGE;
	}
	code = ask_open(&ask, socket);
	if (code)
		return code;
	code = begin(request, &from);
	if (!code) {
		watch_signals();
		ask_patiently(&ask);
		code = keep(from, file);
		close(from);
	}
	if (!code)
		code = end(json);
	ask_close(&ask);
	return code;
}
