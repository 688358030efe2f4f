/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWEEP_JOURNAL_H
#define WEFT_LAB_SWEEP_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sweep_matrix.h"
#include "sweep_row.h"

/**
 * @file
 * The rows of a sweep in the order in which they came, in a file that outlives the program at any
 * moment: each row is one write at the end, and is on disk before anybody counts on it. A sweep
 * that is started again finds here what is done, and the CSV is made from it.
 *
 * The file is lines of text, each with a sum of its own at its end: first what the sweep is (so
 * that rows of different sweeps never meet in one file), then a line for each row (sweep_row.h). A
 * last line that is not whole was being written when the program died, and is cut off; a damaged
 * line elsewhere is an error.
 */

/** What a sweep is, beside its matrix. */
struct journal_id {
	uint64_t scenario; /**< fingerprint of what the scenario says */
	uint64_t program;  /**< fingerprint of the program that makes the rows */
	uint32_t shard, nb_shards;
};

struct journal_entry {
	uint64_t at;  /**< of the line in the file */
	uint32_t len; /**< of the row's text; 0 = this cell has no row */
	bool failed;
};

struct journal {
	char *path;
	int fd;
	struct journal_id id;
	struct matrix matrix;
	uint32_t nb_cells; /**< of the matrix */
	uint32_t nb_mine;  /**< of these, cells of this shard */
	uint32_t nb_done, nb_failed;
	struct journal_entry *entries; /**< [nb_cells] */
	bool was_torn;                 /**< a last line was cut off */
	uint64_t end;                  /**< size of the file */
	char *line;                    /**< room for one */
	struct sweep_row row;          /**< that journal_row found */
};

enum journal_how {
	JOURNAL_SAME,        /**< go on with what is there, if it is of this sweep */
	JOURNAL_ANY_PROGRAM, /**< the same, also with rows of another build */
	JOURNAL_FRESH,       /**< forget what is there */
};

/**
 * Begin a journal, or go on with one. Only one program can have it open so.
 *
 * @param matrix    is copied.
 * @param[out] why  what is wrong and what helps, in one line.
 * @return          0; then journal_close is due. -EBUSY: another program has it; -EEXIST: it is of
 *                  another sweep; -EBADMSG: it is damaged; or the system's error.
 */
int journal_open(struct journal *j, const char *path, const struct journal_id *id,
                 const struct matrix *matrix, enum journal_how how, char *why, size_t size);

/** Read somebody's journal, which nobody may be writing. Same errors. */
int journal_read(struct journal *j, const char *path, char *why, size_t size);

void journal_close(struct journal *j);

/** Whether a cell is this journal's. */
static inline bool
journal_has(const struct journal *j, uint32_t cell)
{
	return cell < j->nb_cells && cell % j->id.nb_shards == j->id.shard;
}

static inline bool
journal_is_done(const struct journal *j, uint32_t cell)
{
	return j->entries[cell].len != 0;
}

/** Forget the rows of cells that failed; they stay in the file until others take their place. */
void journal_retry(struct journal *j);

/**
 * Add a row. When this returns 0, it is on disk.
 *
 * @param text  see sweep_row.h.
 * @return      0; -EBADMSG: it is no row, or of a cell that is done or not this journal's; or the
 *              system's error, and the file is as it was.
 */
int journal_append(struct journal *j, const char *text);

/**
 * The row of a cell that is done.
 *
 * @return good until the next call; NULL: the file can no longer be read, or it has changed.
 */
const struct sweep_row *journal_row(struct journal *j, uint32_t cell);

#endif
