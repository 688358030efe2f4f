/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep_shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweep_matrix.h"

/* A whole number up to MATRIX_CELLS_MAX that ends at an end; *text is behind it then. */
static bool
number(const char **text, char end, uint32_t *value)
{
	size_t len = strspn(*text, "0123456789");

	if (len == 0 || len > 7 || (*text)[len] != end)
		return false;
	*value = (uint32_t)strtoul(*text, NULL, 10);
	*text += len + (end != '\0');
	return *value <= MATRIX_CELLS_MAX;
}

bool
shard_parse(const char *text, struct shard *shard)
{
	uint32_t idx, nb;

	if (!number(&text, '/', &idx) || !number(&text, '\0', &nb) || idx >= nb)
		return false;
	*shard = (struct shard){.idx = idx, .nb = nb};
	return true;
}

/* Of the environment: whether it is there and a number; if it is not there, value is left. */
static bool
from_env(const char *name, uint32_t *value, bool *is_there)
{
	const char *text = getenv(name);

	*is_there = text && *text;
	return !*is_there || number(&text, '\0', value);
}

bool
shard_of_slurm(struct shard *shard, char *why, size_t size)
{
	uint32_t task = 0, nb_tasks = 1, elem = 0, nb_elems = 1, min = 0, step = 1;
	bool has_task, has_nb, has_elem, has_count, ignored;
	uint64_t nb;

	*shard = (struct shard){.nb = 1};
	if (!from_env("SLURM_PROCID", &task, &has_task) ||
	    !from_env("SLURM_NTASKS", &nb_tasks, &has_nb) ||
	    !from_env("SLURM_ARRAY_TASK_ID", &elem, &has_elem) ||
	    !from_env("SLURM_ARRAY_TASK_COUNT", &nb_elems, &has_count) ||
	    !from_env("SLURM_ARRAY_TASK_MIN", &min, &ignored) ||
	    !from_env("SLURM_ARRAY_TASK_STEP", &step, &ignored)) {
		snprintf(
			why, size,
			"a variable SLURM_... is not a number: say --shard I/N, or --shard 0/1 for "
			"all cells");
		return false;
	}
	if (!has_task || !has_nb)
		task = 0, nb_tasks = 1;
	if (!has_elem || !has_count)
		elem = min = 0, nb_elems = 1;
	/* An array of any numbers, "1,5,7", has none for its elements but these. */
	if (task >= nb_tasks || elem < min || step == 0 || (elem - min) % step != 0 ||
	    (elem - min) / step >= nb_elems) {
		snprintf(why, size,
		         "SLURM_PROCID, SLURM_NTASKS and SLURM_ARRAY_TASK_... are no share of "
		         "anything: say --shard I/N, or --shard 0/1 for all cells");
		return false;
	}
	nb = (uint64_t)nb_tasks * nb_elems;
	if (nb > MATRIX_CELLS_MAX) {
		snprintf(why, size, "Slurm has more tasks than a sweep has cells");
		return false;
	}
	shard->idx = (elem - min) / step * nb_tasks + task;
	shard->nb = (uint32_t)nb;
	shard->is_of_slurm = nb > 1;
	return true;
}

char *
shard_path(const char *path, const struct shard *shard)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
	int stem = (int)strlen(path);
	char *text;

	if (dot && dot != path && (!slash || dot > slash + 1))
		stem = (int)(dot - path);
	if (asprintf(&text, "%.*s.%u-of-%u%s", stem, path, shard->idx, shard->nb, path + stem) < 0)
		return NULL;
	return text;
}
