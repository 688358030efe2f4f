/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWEEP_SHARD_H
#define WEFT_LAB_SWEEP_SHARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * @file
 * Which share of the cells is this process's: of N shards, shard I has the cells I, I + N, ...
 */
struct shard {
	uint32_t idx, nb;
	bool is_of_slurm;
};

/** @return whether text is "I/N" with I below N. */
bool shard_parse(const char *text, struct shard *shard);

/**
 * What Slurm says: SLURM_PROCID of SLURM_NTASKS; in a job array each element has as many tasks, so
 * that the shards are counted through all elements (SLURM_ARRAY_TASK_ID, _COUNT, _MIN, _STEP).
 *
 * @param[out] shard  0/1 where Slurm says nothing.
 * @param[out] why    what is wrong, in one line, if false is returned.
 */
bool shard_of_slurm(struct shard *shard, char *why, size_t size);

/**
 * The name of a shard's file, "FILE.I-of-N.csv" for "FILE.csv": tasks of Slurm have one command
 * line, and their files must not be one.
 *
 * @return to be freed; NULL without memory.
 */
char *shard_path(const char *path, const struct shard *shard);

#endif
