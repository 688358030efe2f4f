/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep_crew.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "progress.h"
#include "sweep_row.h"
#include "units.h"

/* Last line of a child's results: without it there are more that didn't come. */
#define END_MARK "\tend\n"

volatile sig_atomic_t crew_is_told_to_stop;

/* Those that crew_wait looks out for; they are blocked elsewhere. */
static const int signals[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
#define NB_SIGNALS (sizeof(signals) / sizeof(signals[0]))
static sigset_t outside;

static void
on_signal(int number)
{
	if (number != SIGCHLD)
		crew_is_told_to_stop = number;
}

int
crew_init(struct crew *crew, crew_cell run, const char *scenario, uint32_t nb_jobs,
          uint64_t timeout_ns)
{
	struct sigaction action = {.sa_handler = on_signal}, before;
	sigset_t ours;

	assert(nb_jobs > 0 && nb_jobs <= CREW_MAX);
	*crew = (struct crew){
		.run = run, .scenario = scenario, .timeout_ns = timeout_ns, .nb_jobs = nb_jobs};
	crew->children = calloc(nb_jobs, sizeof(*crew->children));
	if (!crew->children)
		return -ENOMEM;
	sigemptyset(&ours);
	for (size_t i = 0; i < NB_SIGNALS; i++) {
		sigaddset(&ours, signals[i]);
		/* What is ignored, as by nohup, stays so. */
		sigaction(signals[i], NULL, &before);
		if (before.sa_handler != SIG_IGN || signals[i] == SIGCHLD)
			sigaction(signals[i], &action, NULL);
	}
	sigprocmask(SIG_BLOCK, &ours, &outside);
	for (size_t i = 0; i < NB_SIGNALS; i++)
		sigdelset(&outside, signals[i]);
	crew_is_told_to_stop = 0;
	return 0;
}

/* --------------------------------------------------------------------------- in the child */

/* All files but the first four: the journal's lock, other children's pipes, and whatever. */
static void
close_others(void)
{
	if (close_range(4, ~0U, 0) == 0)
		return;
	for (int fd = 4; fd < 65536; fd++)
		close(fd);
}

static void
move_fd(int from, int to)
{
	if (from == to || dup2(from, to) == to)
		return;
	_exit(125);
}

static _Noreturn void
be_child(const struct crew *crew, pid_t parent, int row_fd, int said_fd, char *const *overrides)
{
	struct sigaction by_default = {.sa_handler = SIG_DFL}, before;
	FILE *row;
	int nothing;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(125);
	/* A ^C is for the parent. */
	setpgid(0, 0);
	for (size_t i = 0; i < NB_SIGNALS; i++) {
		sigaction(signals[i], NULL, &before);
		if (before.sa_handler == on_signal)
			sigaction(signals[i], &by_default, NULL);
	}
	sigprocmask(SIG_SETMASK, &outside, NULL);
	/* Above the places where they go, so that none is in the way of another. */
	row_fd = fcntl(row_fd, F_DUPFD, 16);
	said_fd = fcntl(said_fd, F_DUPFD, 16);
	nothing = open("/dev/null", O_RDWR);
	move_fd(nothing, 0);
	move_fd(nothing, 1);
	move_fd(said_fd, 2);
	move_fd(row_fd, 3);
	close_others();
	row = fdopen(3, "w");
	if (!row || crew->run(crew->scenario, overrides, row) != 0) {
		fflush(stderr);
		_exit(1);
	}
	fputs(END_MARK, row);
	_exit(fflush(row) == 0 ? 0 : 124);
}

/* -------------------------------------------------------------------------- in the parent */

static int
open_pipes(int row[2], int said[2])
{
	if (pipe2(row, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(said, O_CLOEXEC) < 0) {
		int err = -errno;

		close(row[0]);
		close(row[1]);
		return err;
	}
	/* The parent's ends only. */
	fcntl(row[0], F_SETFL, O_NONBLOCK);
	fcntl(said[0], F_SETFL, O_NONBLOCK);
	return 0;
}

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int
crew_start(struct crew *crew, uint32_t cell, char *const *overrides)
{
	struct crew_child *c = crew->children;
	pid_t parent = getpid();
	int row[2], said[2], err;

	assert(crew_has_room(crew));
	while (c->pid)
		c++;
	err = open_pipes(row, said);
	if (err)
		return err;
	*c = (struct crew_child){.cell = cell, .row_fd = row[0], .said_fd = said[0]};
	c->deadline_ns = crew->timeout_ns ? progress_clock_ns() + crew->timeout_ns : UINT64_MAX;
	c->row = malloc(ROW_TEXT_MAX);
	/* What is not written yet would be written twice. */
	fflush(NULL);
	c->pid = c->row ? fork() : -1;
	if (c->pid == 0)
		be_child(crew, parent, row[1], said[1], overrides);
	err = c->row ? -errno : -ENOMEM;
	close(row[1]);
	close(said[1]);
	if (c->pid < 0) {
		close_fd(&c->row_fd);
		close_fd(&c->said_fd);
		free(c->row);
		*c = (struct crew_child){0};
		return err;
	}
	crew->nb_running++;
	return 0;
}

/*
 * All that is there now; what is beyond the room is read and lost. Closes at the end.
 *
 * @return whether something was lost.
 */
static bool
drain_fd(int *fd, char *text, uint32_t size, uint32_t *len)
{
	bool lost = false;

	while (*fd >= 0) {
		char rest[4096];
		bool has_room = *len < size;
		ssize_t n = has_room ? read(*fd, text + *len, size - *len)
		                     : read(*fd, rest, sizeof(rest));

		if (n > 0 && has_room)
			*len += (uint32_t)n;
		else if (n > 0)
			lost = true;
		else if (n < 0 && errno == EAGAIN)
			break;
		else if (n == 0 || errno != EINTR)
			close_fd(fd);
	}
	return lost;
}

static void
drain(struct crew_child *c)
{
	if (drain_fd(&c->row_fd, c->row, ROW_TEXT_MAX, &c->row_len))
		c->is_too_long = true;
	drain_fd(&c->said_fd, c->said, CREW_SAID_MAX, &c->said_len);
}

/* The first line with a letter: what a program that gives up says first. */
static void
first_line(struct crew_child *c, char *line, size_t size)
{
	char *p = c->said;

	c->said[c->said_len < CREW_SAID_MAX ? c->said_len : CREW_SAID_MAX - 1] = '\0';
	*line = '\0';
	while (*p) {
		size_t len = strcspn(p, "\n");

		for (size_t i = 0; i < len; i++) {
			if (isalpha((unsigned char)p[i])) {
				snprintf(line, size, "%.*s", (int)len, p);
				return;
			}
		}
		p += len + (p[len] != '\0');
	}
}

/* Why a child that gave no results didn't. */
static char *
row_of_dead(const struct crew *crew, struct crew_child *c, int status)
{
	char why[ROW_STATUS_MAX], line[ROW_STATUS_MAX - 32], time[UNITS_TEXT_MAX];

	first_line(c, line, sizeof(line));
	if (c->is_late)
		snprintf(why, sizeof(why), "longer than %s",
		         units_format(UNITS_TIME, crew->timeout_ns, time));
	else if (WIFSIGNALED(status))
		snprintf(why, sizeof(why), "signal %s%s%s", sigabbrev_np(WTERMSIG(status)),
		         *line ? ": " : "", line);
	else if (WEXITSTATUS(status) && *line)
		snprintf(why, sizeof(why), "%s", line);
	else if (WEXITSTATUS(status))
		snprintf(why, sizeof(why), "exit code %d", WEXITSTATUS(status));
	else
		snprintf(why, sizeof(why), "ended without all of its results");
	return row_of_failure(c->cell, why);
}

/* The child has ended, and is collected; NULL without memory. */
static char *
finish(struct crew *crew, struct crew_child *c, int status)
{
	size_t mark = strlen(END_MARK);
	char *row;

	drain(c);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		row = row_of_dead(crew, c, status);
	} else if (c->is_too_long) {
		row = row_of_failure(c->cell, "more results than a row can have");
	} else if (c->row_len < mark || memcmp(c->row + c->row_len - mark, END_MARK, mark) != 0) {
		row = row_of_dead(crew, c, status);
	} else {
		row = row_of_results(c->cell, c->row, c->row_len - mark);
		if (!row)
			row = row_of_failure(c->cell, "its results are not readable");
	}
	close_fd(&c->row_fd);
	close_fd(&c->said_fd);
	free(c->row);
	*c = (struct crew_child){0};
	crew->nb_running--;
	return row;
}

/* Kill those that are late, and collect one that has ended; NULL = nobody has. */
static struct crew_child *
collect(struct crew *crew, int *status)
{
	uint64_t now = progress_clock_ns();

	for (uint32_t i = 0; i < crew->nb_jobs; i++) {
		struct crew_child *c = &crew->children[i];

		if (!c->pid)
			continue;
		if (waitpid(c->pid, status, WNOHANG) == c->pid)
			return c;
		if (now >= c->deadline_ns && !c->is_late) {
			c->is_late = true;
			if (kill(-c->pid, SIGKILL) < 0)
				kill(c->pid, SIGKILL);
		}
	}
	return NULL;
}

/* Until something comes from a child, or a signal, or a deadline. */
static void
wait_for_children(struct crew *crew, uint64_t until_ns)
{
	struct pollfd fds[2 * CREW_MAX];
	uint64_t now = progress_clock_ns(), left;
	nfds_t nb = 0;

	for (uint32_t i = 0; i < crew->nb_jobs; i++) {
		const struct crew_child *c = &crew->children[i];

		if (!c->pid)
			continue;
		if (!c->is_late && c->deadline_ns < until_ns)
			until_ns = c->deadline_ns;
		if (c->row_fd >= 0)
			fds[nb++] = (struct pollfd){.fd = c->row_fd, .events = POLLIN};
		if (c->said_fd >= 0)
			fds[nb++] = (struct pollfd){.fd = c->said_fd, .events = POLLIN};
	}
	left = until_ns > now ? until_ns - now : 0;
	ppoll(fds, nb,
	      &(struct timespec){.tv_sec = (time_t)(left / 1000000000),
	                         .tv_nsec = (long)(left % 1000000000)},
	      &outside);
	for (uint32_t i = 0; i < crew->nb_jobs; i++) {
		if (crew->children[i].pid)
			drain(&crew->children[i]);
	}
}

int
crew_wait(struct crew *crew, uint32_t ms, char **row)
{
	uint64_t until_ns = progress_clock_ns() + ms * UINT64_C(1000000);
	struct crew_child *c;
	int status;

	for (*row = NULL; !crew_is_told_to_stop; wait_for_children(crew, until_ns)) {
		c = collect(crew, &status);
		if (c) {
			*row = finish(crew, c, status);
			return *row ? 0 : -ENOMEM;
		}
		if (progress_clock_ns() >= until_ns)
			break;
	}
	return 0;
}

void
crew_fini(struct crew *crew)
{
	for (uint32_t i = 0; i < crew->nb_jobs; i++) {
		struct crew_child *c = &crew->children[i];

		if (!c->pid)
			continue;
		if (kill(-c->pid, SIGKILL) < 0)
			kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
		close_fd(&c->row_fd);
		close_fd(&c->said_fd);
		free(c->row);
	}
	free(crew->children);
	crew->children = NULL;
	crew->nb_running = 0;
}
