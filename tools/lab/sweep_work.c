/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep_work.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sweep_progress.h"

/*
 * Messages: a letter, and what belongs to it as text.
 *
 * A follower says HELLO with its sum once, then asks for a cell (WANT) whenever it has room for
 * one, and sends a ROW for each. The lead answers each WANT with a CELL or NONE, and at last says
 * END to all. So a follower has at most one question open, and knows when it need not ask again.
 */
enum { HELLO = 'h', WANT = 'w', ROW = 'r', CELL = 'c', NONE = 'n', END = 'e' };

/* How often messages are looked for. A cell takes longer, mostly. */
#define LOOK_MS 5
/* Without messages: how often progress is told. */
#define TURN_MS 500

static void
say(const struct net *net, int to, char kind, const char *text)
{
	size_t len = strlen(text);
	char *bytes = malloc(len + 1);

	if (!bytes) {
		net->abort(EXIT_FAILURE);
		return;
	}
	bytes[0] = kind;
	memcpy(bytes + 1, text, len);
	net->send(to, bytes, len + 1);
	free(bytes);
}

static int
start(const struct work *w, uint32_t cell)
{
	char **overrides = matrix_overrides(w->matrix, cell);
	int err = overrides ? crew_start(w->crew, cell, overrides) : -ENOMEM;

	free(overrides);
	return err;
}

/* ------------------------------------------------------------------------------------ rank 0 */

struct lead {
	const struct work *work;
	struct journal *journal;
	struct sweep_progress progress;
	uint32_t next;    /* all cells below were given to somebody */
	uint32_t nb_away; /* given to other ranks, and not back */
	int nb_idle;      /* ranks that were told NONE */
	char *why;
	size_t size;
};

static bool
next_cell(struct lead *l, uint32_t *cell)
{
	const struct journal *j = l->journal;

	while (l->next < j->nb_cells && (!journal_has(j, l->next) || journal_is_done(j, l->next)))
		l->next++;
	*cell = l->next;
	return l->next < j->nb_cells;
}

static bool
give_crew(struct lead *l)
{
	uint32_t cell;

	while (crew_has_room(l->work->crew) && next_cell(l, &cell)) {
		int err = start(l->work, cell);

		if (err) {
			snprintf(l->why, l->size, "no process for a cell: %s", strerror(-err));
			return false;
		}
		l->next++;
	}
	return true;
}

static bool
take_row(struct lead *l, const char *row)
{
	int err = journal_append(l->journal, row);

	if (err)
		snprintf(l->why, l->size, "%s: %s", l->journal->path,
		         err == -EBADMSG ? "a row that is none came for it" : strerror(-err));
	return !err;
}

static bool
take_message(struct lead *l, int from, const char *text)
{
	const struct net *net = l->work->net;
	char sum[24], number[16];
	uint32_t cell;

	snprintf(sum, sizeof(sum), "%016" PRIx64, l->work->id_sum);
	switch (text[0]) {
	case HELLO:
		if (strcmp(text + 1, sum) == 0)
			return true;
		snprintf(l->why, l->size,
		         "rank %d has another scenario or another build of weft-lab: all machines "
		         "need the same",
		         from);
		return false;
	case WANT:
		if (!next_cell(l, &cell)) {
			l->nb_idle++;
			say(net, from, NONE, "");
			return true;
		}
		snprintf(number, sizeof(number), "%" PRIu32, cell);
		say(net, from, CELL, number);
		l->next++;
		l->nb_away++;
		return true;
	case ROW:
		l->nb_away--;
		return take_row(l, text + 1);
	}
	snprintf(l->why, l->size, "rank %d speaks another language: another build?", from);
	return false;
}

static bool
take_messages(struct lead *l)
{
	const struct net *net = l->work->net;
	size_t len;
	char *text;
	int from;
	bool ok = true;

	while (ok && net->nb_ranks > 1 && (text = net->recv(&from, &len))) {
		ok = take_message(l, from, text);
		free(text);
	}
	return ok;
}

static bool
lead_turn(struct lead *l)
{
	const struct work *w = l->work;
	char *row = NULL;
	bool ok;

	if (!give_crew(l))
		return false;
	sweep_progress_tell(&l->progress, l->journal, w->crew->nb_running + l->nb_away);
	if (crew_wait(w->crew, w->net->nb_ranks > 1 ? LOOK_MS : TURN_MS, &row) < 0) {
		snprintf(l->why, l->size, "no memory for a row");
		return false;
	}
	ok = (!row || take_row(l, row)) && take_messages(l);
	free(row);
	return ok;
}

enum work_end
work_lead(const struct work *work, struct journal *journal, char *why, size_t size)
{
	const struct net *net = work->net;
	struct lead lead = {.work = work, .journal = journal, .why = why, .size = size};

	sweep_progress_begin(&lead.progress, journal, work->is_quiet);
	while (journal->nb_done < journal->nb_mine || lead.nb_idle < net->nb_ranks - 1) {
		bool ok = lead_turn(&lead);

		if (!ok || crew_is_told_to_stop) {
			sweep_progress_end(&lead.progress);
			return ok ? WORK_STOPPED : WORK_FAILED;
		}
	}
	sweep_progress_end(&lead.progress);
	for (int i = 1; i < net->nb_ranks; i++)
		say(net, i, END, "");
	return WORK_DONE;
}

void
work_dismiss(const struct work *work)
{
	static const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};
	const struct net *net = work->net;
	int nb_idle = 0, from;
	size_t len;
	char *text;

	/* Each has a question on its way, and would go on waiting for the answer. */
	while (nb_idle < net->nb_ranks - 1) {
		text = net->recv(&from, &len);
		if (!text) {
			nanosleep(&pause, NULL);
			continue;
		}
		if (text[0] == WANT) {
			nb_idle++;
			say(net, from, END, "");
		}
		free(text);
	}
}

/* ------------------------------------------------------------------------------- other ranks */

struct follower {
	const struct work *work;
	bool is_asking; /* a WANT has no answer yet */
	bool has_none;  /* and there will be no more cells */
	bool is_done;
};

static int
obey(struct follower *f, const char *text)
{
	f->is_asking = false;
	switch (text[0]) {
	case CELL:
		return start(f->work, (uint32_t)strtoul(text + 1, NULL, 10));
	case NONE:
		f->has_none = true;
		return 0;
	case END:
		f->is_done = true;
		return 0;
	}
	return -EBADMSG;
}

static int
follow_turn(struct follower *f)
{
	const struct work *w = f->work;
	char *row, *text;
	size_t len;
	int from, err;

	if (!f->is_asking && !f->has_none && crew_has_room(w->crew)) {
		say(w->net, 0, WANT, "");
		f->is_asking = true;
	}
	err = crew_wait(w->crew, LOOK_MS, &row);
	if (row)
		say(w->net, 0, ROW, row);
	free(row);
	while (!err && (text = w->net->recv(&from, &len))) {
		err = obey(f, text);
		free(text);
	}
	return err;
}

enum work_end
work_follow(const struct work *work, char *why, size_t size)
{
	struct follower f = {.work = work};
	char sum[24];
	int err = 0;

	snprintf(sum, sizeof(sum), "%016" PRIx64, work->id_sum);
	say(work->net, 0, HELLO, sum);
	while (!err && !f.is_done && !crew_is_told_to_stop)
		err = follow_turn(&f);
	if (err) {
		snprintf(why, size, "rank %d: no process for a cell: %s", work->net->rank,
		         strerror(-err));
		return WORK_FAILED;
	}
	return f.is_done ? WORK_DONE : WORK_STOPPED;
}
