/* SPDX-License-Identifier: BSD-3-Clause */
#include "gnuplot.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"

extern char **environ;

#define GNUPLOT_LOG "gnuplot.log"

/* Its messages go to a file in the folder, because it has many that mean nothing. */
static int
spawn(char **argv, const char *folder, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int err = posix_spawn_file_actions_init(&actions);

	if (err)
		return err;
	err = posix_spawn_file_actions_addchdir_np(&actions, folder);
	if (!err)
		err = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
		                                       O_RDONLY, 0);
	if (!err)
		err = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, GNUPLOT_LOG,
		                                       O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	if (!err)
		err = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return err;
}

static void
remove_log(const char *folder)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", folder, GNUPLOT_LOG) < (int)sizeof(path))
		unlink(path);
}

static int
run(char **argv, const char *folder)
{
	int err, status = 0;
	pid_t pid;

	err = spawn(argv, folder, &pid);
	if (err) {
		log_error("cannot run gnuplot: %s; install it (Debian: apt-get install "
		          "gnuplot-nox), then draw the figures by 'gnuplot *.gp' in %s",
		          strerror(err), folder);
		remove_log(folder);
		return -err;
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		log_error("gnuplot failed: see %s/%s", folder, GNUPLOT_LOG);
		return -EIO;
	}
	remove_log(folder);
	return 0;
}

/* Whether this stands at the end of a figure, as it does of a whole one. */
static bool
has_end(const char *folder, const char *name, const char *suffix, const char *end)
{
	char path[PATH_MAX], last[16];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.%s", folder, name, suffix);
	f = fopen(path, "re");
	if (f && fseek(f, -(long)sizeof(last), SEEK_END) == 0)
		n = fread(last, 1, sizeof(last), f);
	if (f)
		fclose(f);
	return memmem(last, n, end, strlen(end)) != NULL;
}

int
gnuplot_draw(const char *const *names, size_t nb, const char *folder)
{
	char program[] = "gnuplot", scripts[GNUPLOT_SCRIPTS_MAX][64];
	char *argv[GNUPLOT_SCRIPTS_MAX + 2] = {program};
	int err;

	assert(nb <= GNUPLOT_SCRIPTS_MAX);
	for (size_t i = 0; i < nb; i++) {
		snprintf(scripts[i], sizeof(scripts[i]), "%s.gp", names[i]);
		argv[i + 1] = scripts[i];
	}
	err = run(argv, folder);
	for (size_t i = 0; i < nb && !err; i++) {
		if (has_end(folder, names[i], "png", "IEND") &&
		    has_end(folder, names[i], "svg", "</svg>"))
			continue;
		log_error("gnuplot could not write all of figure '%s' in %s; is the disk full?",
		          names[i], folder);
		err = -EIO;
	}
	return err;
}
