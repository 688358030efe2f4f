/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWEEP_WORK_H
#define WEFT_LAB_SWEEP_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sweep_crew.h"
#include "sweep_journal.h"
#include "sweep_net.h"

/**
 * @file
 * Doing the cells of a sweep. Rank 0 leads: it gives out the cells, each to whoever is free, and
 * alone keeps the journal, so that a sweep can go on with any number of ranks, or with none. The
 * other ranks ask for cells and send rows. Each rank has a crew, rank 0 too. Without mpirun there
 * is rank 0 only.
 */
struct work {
	const struct matrix *matrix;
	struct crew *crew;
	const struct net *net;
	uint64_t id_sum; /**< of scenario, matrix and program: what all ranks must agree on */
	bool is_quiet;
};

enum work_end {
	WORK_DONE,
	WORK_STOPPED, /**< by a signal */
	WORK_FAILED,  /**< why was written */
};

/** Rank 0: until all cells of the journal are done and all ranks know it. */
enum work_end work_lead(const struct work *work, struct journal *journal, char *why, size_t size);

/** Rank 0, of which nothing came: the others end as if all were done. */
void work_dismiss(const struct work *work);

/** Another rank: until rank 0 says that all is done. */
enum work_end work_follow(const struct work *work, char *why, size_t size);

#endif
