/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep_scenario.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sweep_sum.h"

/* Add a file's bytes. Only of a plain file: others may never end. */
static int
add_file(const char *path, uint64_t *sum)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err = 0;
	static char bytes[65536];
	struct stat st;
	ssize_t n = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		err = -EINVAL;
	while (!err && (n = read(fd, bytes, sizeof(bytes))) > 0)
		*sum = sum_add(*sum, bytes, (size_t)n);
	if (n < 0)
		err = -errno;
	close(fd);
	return err;
}

/* What a scenario names lies beside it. A name that is no file is that of a shipped one. */
static void
add_named(const char *scenario, const char *name, uint64_t *sum)
{
	const char *slash = strrchr(scenario, '/');
	char *path;

	*sum = sum_add(*sum, name, strlen(name) + 1);
	if (*name == '/' || !slash) {
		add_file(name, sum);
	} else if (asprintf(&path, "%.*s/%s", (int)(slash - scenario), scenario, name) >= 0) {
		add_file(path, sum);
		free(path);
	}
}

/* The value of a line "file = VALUE", cut out of it; NULL if it is another line. */
static char *
value_of_file(char *line)
{
	char *end;

	line += strspn(line, " \t");
	if (strncmp(line, "file", 4) != 0)
		return NULL;
	line += 4 + strspn(line + 4, " \t");
	if (*line++ != '=')
		return NULL;
	line += strspn(line, " \t");
	end = line + strcspn(line, "#;\r\n");
	while (end > line && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return line;
}

static bool
is_key_of_file(const char *key)
{
	const char *dot = strrchr(key, '.');

	return dot && strcmp(dot, ".file") == 0;
}

int
sweep_sum_scenario(const char *path, const struct matrix *matrix, uint64_t *sum)
{
	char *line = NULL, *name;
	size_t size = 0;
	FILE *in;
	int err;

	*sum = SUM_INIT;
	/* Standard input, to weft-lab run. */
	err = strcmp(path, "-") == 0 ? -EINVAL : add_file(path, sum);
	in = err ? NULL : fopen(path, "re");
	if (!in)
		return err ? err : -errno;
	while (getline(&line, &size, in) > 0) {
		name = value_of_file(line);
		if (name)
			add_named(path, name, sum);
	}
	free(line);
	fclose(in);
	for (uint32_t i = 0; i < matrix->nb_axes; i++) {
		const struct axis *a = &matrix->axes[i];

		for (uint32_t k = 0; is_key_of_file(a->key) && k < a->nb_values; k++)
			add_named(path, a->values[k], sum);
	}
	return 0;
}

uint64_t
sweep_sum_program(void)
{
	uint64_t sum = SUM_INIT;

	return add_file("/proc/self/exe", &sum) < 0 ? 0 : sum;
}
