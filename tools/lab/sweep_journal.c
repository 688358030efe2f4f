/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep_journal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sweep_line.h"

#define MAGIC "weft-lab sweep 1"

/* ------------------------------------------------------------------------------- the header */

static void
write_line(FILE *out, char *line)
{
	line_seal(line, strlen(line));
	fputs(line, out);
}

static char *
header_text(const struct journal_id *id, const struct matrix *m, size_t *len)
{
	char line[MATRIX_TEXT_MAX + 16 + LINE_SEAL], *text = NULL;
	FILE *out = open_memstream(&text, len);

	if (!out)
		return NULL;
	snprintf(line, sizeof(line), MAGIC "\t%u\t%u\t%u\t%016" PRIx64 "\t%016" PRIx64,
	         matrix_nb_cells(m), id->shard, id->nb_shards, id->scenario, id->program);
	write_line(out, line);
	for (uint32_t i = 0; i < m->nb_axes; i++) {
		snprintf(line, sizeof(line), "key\t%s", m->axes[i].key);
		write_line(out, line);
		for (uint32_t k = 0; k < m->axes[i].nb_values; k++) {
			snprintf(line, sizeof(line), "value\t%s", m->axes[i].values[k]);
			write_line(out, line);
		}
	}
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static bool
header_first(struct journal *j, const char *line)
{
	struct journal_id *id = &j->id;
	int end = -1;

	return sscanf(line,
	              MAGIC "\t%7" SCNu32 "\t%7" SCNu32 "\t%7" SCNu32 "\t%16" SCNx64 "\t%16" SCNx64
	                    "%n",
	              &j->nb_cells, &id->shard, &id->nb_shards, &id->scenario, &id->program,
	              &end) == 5 &&
	       end == (int)strlen(line) && j->nb_cells > 0 && j->nb_cells <= MATRIX_CELLS_MAX &&
	       id->nb_shards > 0 && id->nb_shards <= MATRIX_CELLS_MAX && id->shard < id->nb_shards;
}

static bool
header_next(struct journal *j, const char *line)
{
	struct matrix *m = &j->matrix;
	char why[64];

	if (strncmp(line, "key\t", 4) == 0)
		return (m->nb_axes == 0 || m->axes[m->nb_axes - 1].nb_values > 0) &&
		       matrix_add_axis(m, line + 4, why, sizeof(why)) == 0;
	return strncmp(line, "value\t", 6) == 0 && m->nb_axes > 0 &&
	       matrix_add_value(m, line + 6, why, sizeof(why)) == 0;
}

/* All of the header is there. */
static int
header_done(struct journal *j)
{
	if (matrix_nb_cells(&j->matrix) != j->nb_cells)
		return -EBADMSG;
	j->entries = calloc(j->nb_cells, sizeof(*j->entries));
	if (!j->entries)
		return -ENOMEM;
	if (j->id.shard < j->nb_cells)
		j->nb_mine = (j->nb_cells - j->id.shard - 1) / j->id.nb_shards + 1;
	return 0;
}

/* --------------------------------------------------------------------------------- the rows */

/* A row that starts at so many bytes; its text has len bytes, and has been taken apart. */
static bool
enter(struct journal *j, const struct sweep_row *row, uint64_t at, size_t len)
{
	struct journal_entry *e;

	if (!journal_has(j, row->cell))
		return false;
	e = &j->entries[row->cell];
	if (e->len && !e->failed)
		return false;
	if (e->len)
		j->nb_failed--;
	else
		j->nb_done++;
	*e = (struct journal_entry){.at = at, .len = (uint32_t)len, .failed = !row_is_ok(row)};
	j->nb_failed += e->failed;
	return true;
}

/* A line whose sum is right; the rest is checked as well, because anybody can make a right sum. */
static int
take_line(struct journal *j, uint32_t nb_lines, size_t len)
{
	bool is_row = j->line[0] >= '0' && j->line[0] <= '9';

	if (nb_lines == 1)
		return header_first(j, j->line) ? 0 : -EBADMSG;
	if (is_row && !j->entries) {
		int err = header_done(j);

		if (err)
			return err;
	}
	if (is_row)
		return row_parse(j->line, &j->row) && enter(j, &j->row, j->end, len) ? 0 : -EBADMSG;
	return !j->entries && header_next(j, j->line) ? 0 : -EBADMSG;
}

/*
 * All lines. A last one that is not whole is where the program died in a write, or what a power
 * failure left of it.
 */
static int
load_lines(struct journal *j, FILE *in, uint32_t *nb_lines)
{
	for (*nb_lines = 1;; ++*nb_lines) {
		bool is_whole;
		size_t len = line_read(in, j->line, &is_whole), text_len = 0;
		int err;

		if (len == 0 && !is_whole)
			break;
		if (is_whole)
			text_len = line_open(j->line, len);
		if (text_len == 0) {
			j->was_torn = getc(in) == EOF && *nb_lines > 1;
			if (!j->was_torn)
				return -EBADMSG;
			break;
		}
		err = take_line(j, *nb_lines, text_len);
		if (err)
			return err;
		j->end += len + 1;
	}
	if (ferror(in))
		return -EIO;
	if (*nb_lines == 1)
		return -EBADMSG;
	return j->entries ? 0 : header_done(j);
}

static int
load(struct journal *j, char *why, size_t size)
{
	uint32_t nb_lines = 0;
	FILE *in = fdopen(dup(j->fd), "r");
	int err;

	if (!in)
		return -errno;
	err = load_lines(j, in, &nb_lines);
	fclose(in);
	if (err == -EBADMSG)
		snprintf(why, size,
		         "%s:%" PRIu32 ": damaged, or not the journal of a sweep; move it away, or "
		         "start anew with --fresh",
		         j->path, nb_lines);
	return err;
}

/* ---------------------------------------------------------------------------- open and close */

/*
 * A sweep that was killed has let go of its lock, but a child that it had just forked may hold it
 * for a moment more.
 */
static int
lock(int fd, int how)
{
	static const struct timespec moment = {.tv_nsec = 50000000};

	for (int i = 0; i < 20; i++) {
		if (flock(fd, how | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK)
			break;
		nanosleep(&moment, NULL);
	}
	return errno == EWOULDBLOCK ? -EBUSY : -errno;
}

static int
open_file(struct journal *j, const char *path, bool is_ours, char *why, size_t size)
{
	/* Not to wait for the other end of what is no file. */
	int flags = O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (is_ours ? O_RDWR | O_CREAT : O_RDONLY);
	struct stat st;
	int err = 0;

	*j = (struct journal){.fd = open(path, flags, 0666)};
	if (j->fd < 0)
		err = -errno;
	else if (fstat(j->fd, &st) < 0)
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EINVAL;
	else
		err = lock(j->fd, is_ours ? LOCK_EX : LOCK_SH);
	if (err)
		snprintf(why, size, "%s: %s", path,
		         err == -EBUSY    ? "another sweep is writing it"
		         : err == -EINVAL ? "not a file"
		                          : strerror(-err));
	if (!err) {
		j->path = strdup(path);
		j->line = malloc(LINE_MAX_SIZE);
		if (!j->path || !j->line)
			err = -ENOMEM;
	}
	return err;
}

/* A new file is only there for sure once its folder is on disk. */
static int
sync_folder(const char *path)
{
	char *copy = strdup(path);
	int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int err = fd < 0 || (fsync(fd) < 0 && errno != EINVAL) ? -errno : 0;

	if (fd >= 0)
		close(fd);
	free(copy);
	return err;
}

static int
write_all(int fd, uint64_t at, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = pwrite(fd, text, len, (off_t)at);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			text += n;
			len -= (size_t)n;
			at += (uint64_t)n;
		}
	}
	return 0;
}

/* An empty file, or one whose first write was cut short: what is there begins like the header. */
static bool
is_unborn(int fd, const char *header, size_t len)
{
	char *there = malloc(len);
	ssize_t n = there ? pread(fd, there, len, 0) : -1;
	bool unborn = n >= 0 && (size_t)n < len && memcmp(there, header, (size_t)n) == 0;

	free(there);
	return unborn;
}

/* What makes the rows that are there those of another sweep. */
static const char *
difference(const struct journal *j, const struct journal_id *id, const struct matrix *matrix,
           enum journal_how how)
{
	if (!matrix_equal(&j->matrix, matrix))
		return "its parameters are others";
	if (j->id.scenario != id->scenario)
		return "the scenario has changed since";
	if (j->id.shard != id->shard || j->id.nb_shards != id->nb_shards)
		return "it is another shard";
	if (how == JOURNAL_SAME && j->id.program != id->program)
		return "it was made by another build of weft-lab (--resume goes on all the same)";
	return NULL;
}

int
journal_open(struct journal *j, const char *path, const struct journal_id *id,
             const struct matrix *matrix, enum journal_how how, char *why, size_t size)
{
	size_t len = 0;
	char *header = header_text(id, matrix, &len);
	const char *other = NULL;
	int err = open_file(j, path, true, why, size);

	if (!header)
		err = -ENOMEM;
	if (!err && (how == JOURNAL_FRESH || is_unborn(j->fd, header, len))) {
		if (ftruncate(j->fd, 0) < 0)
			err = -errno;
		if (!err)
			err = write_all(j->fd, 0, header, len);
		if (!err && fsync(j->fd) < 0)
			err = -errno;
		if (!err)
			err = sync_folder(path);
		if (err)
			snprintf(why, size, "%s: %s", path, strerror(-err));
	}
	free(header);
	if (!err)
		err = load(j, why, size);
	if (!err)
		other = difference(j, id, matrix, how);
	if (other) {
		snprintf(why, size,
		         "%s is the journal of another sweep: %s; give another -o, or start anew "
		         "with "
		         "--fresh",
		         path, other);
		err = -EEXIST;
	}
	if (!err && j->was_torn && ftruncate(j->fd, (off_t)j->end) < 0)
		err = -errno;
	if (err == -ENOMEM)
		snprintf(why, size, "no memory");
	if (err)
		journal_close(j);
	return err;
}

int
journal_read(struct journal *j, const char *path, char *why, size_t size)
{
	int err = open_file(j, path, false, why, size);

	if (!err)
		err = load(j, why, size);
	if (err == -ENOMEM)
		snprintf(why, size, "no memory");
	if (err)
		journal_close(j);
	return err;
}

void
journal_close(struct journal *j)
{
	if (j->fd >= 0)
		close(j->fd);
	matrix_free(&j->matrix);
	free(j->entries);
	free(j->line);
	free(j->path);
	*j = (struct journal){.fd = -1};
}

/* ------------------------------------------------------------------------------ in use */

void
journal_retry(struct journal *j)
{
	for (uint32_t i = 0; i < j->nb_cells; i++) {
		if (j->entries[i].failed)
			j->entries[i] = (struct journal_entry){0};
	}
	j->nb_done -= j->nb_failed;
	j->nb_failed = 0;
}

int
journal_append(struct journal *j, const char *text)
{
	size_t len = strlen(text);
	int err;

	if (len > ROW_TEXT_MAX)
		return -EBADMSG;
	memcpy(j->line, text, len + 1);
	if (!row_parse(j->line, &j->row) || !journal_has(j, j->row.cell) ||
	    journal_is_done(j, j->row.cell))
		return -EBADMSG;
	memcpy(j->line, text, len);
	line_seal(j->line, len);
	err = write_all(j->fd, j->end, j->line, len + LINE_SEAL);
	if (!err && fdatasync(j->fd) < 0)
		err = -errno;
	if (err) {
		/* What of it was written would otherwise be the middle of the file one day. */
		if (ftruncate(j->fd, (off_t)j->end) < 0)
			return -EIO;
		return err;
	}
	memcpy(j->line, text, len + 1);
	if (!row_parse(j->line, &j->row) || !enter(j, &j->row, j->end, len))
		return -EBADMSG;
	j->end += len + LINE_SEAL;
	return 0;
}

const struct sweep_row *
journal_row(struct journal *j, uint32_t cell)
{
	const struct journal_entry *e = &j->entries[cell];
	size_t len = e->len + LINE_SEAL - 1, done = 0;

	assert(journal_is_done(j, cell));
	while (done < len) {
		ssize_t n = pread(j->fd, j->line + done, len - done, (off_t)(e->at + done));

		if (n == 0 || (n < 0 && errno != EINTR))
			return NULL;
		if (n > 0)
			done += (size_t)n;
	}
	j->line[len] = '\0';
	if (line_open(j->line, len) != e->len || !row_parse(j->line, &j->row) ||
	    j->row.cell != cell)
		return NULL;
	return &j->row;
}
