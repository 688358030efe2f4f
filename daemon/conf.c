/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf.h"

#include <assert.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "conf_read.h"
#include "nearest.h"

void
conf_error(struct conf_reader *r, uint32_t line, const char *fmt, ...)
{
	va_list ap;

	r->nb_errors++;
	fprintf(r->errors, line ? "%s:%u: " : "%s: ", r->path, line);
	va_start(ap, fmt);
	vfprintf(r->errors, fmt, ap);
	va_end(ap);
	fputc('\n', r->errors);
}

void
conf_warning(struct conf_reader *r, uint32_t line, const char *fmt, ...)
{
	va_list ap;

	fprintf(r->errors, "%s:%u: warning: ", r->path, line);
	va_start(ap, fmt);
	vfprintf(r->errors, fmt, ap);
	va_end(ap);
	fputc('\n', r->errors);
}

void
conf_too_many(struct conf_reader *r, bool *is_told, uint32_t max, const char *what)
{
	if (!*is_told)
		conf_error(r, r->line, "more than %u %s", max, what);
	*is_told = true;
}

/* Without memory the line is not known, which only messages miss. */
static void
keep_line(struct conf_reader *r, const void *params, const char *name)
{
	if (r->nb_said == r->said_size) {
		uint32_t size = r->said_size ? 2 * r->said_size : 64;
		struct conf_said *said = realloc(r->said, size * sizeof(*said));

		if (!said)
			return;
		r->said = said;
		r->said_size = size;
	}
	r->said[r->nb_said++] = (struct conf_said){params, name, r->line};
}

uint32_t
conf_line_of(const struct conf_reader *r, const void *params, const char *name)
{
	for (uint32_t i = 0; i < r->nb_said; i++) {
		if (r->said[i].params == params && strcmp(r->said[i].name, name) == 0)
			return r->said[i].line;
	}
	return 0;
}

void
conf_add_table(struct conf_reader *r, const struct param_desc *descs, void *params)
{
	assert(r->nb_tables < CONF_MAX_TABLES);
	r->tables[r->nb_tables].descs = descs;
	r->tables[r->nb_tables].params = params;
	r->nb_tables++;
}

bool
conf_number(struct conf_reader *r, const struct param_desc *descs, void *params, const char *name,
            const char *value)
{
	char why[256];

	if (param_set(descs, params, name, value, why, sizeof(why)) == 0)
		return true;
	conf_error(r, r->line, "%s", why);
	return false;
}

/* Whether a key comes for the first time in its section, or is a list that goes on. */
static bool
may_come(struct conf_reader *r, const char *name, bool is_list)
{
	for (uint32_t i = 0; i < r->nb_seen; i++) {
		if (strcmp(r->seen[i].name, name) != 0)
			continue;
		if (is_list)
			return true;
		conf_error(r, r->line, "key '%s' was set at line %u already", name,
		           r->seen[i].line);
		return false;
	}
	assert(r->nb_seen < CONF_MAX_KEYS);
	r->seen[r->nb_seen].name = name;
	r->seen[r->nb_seen].line = r->line;
	r->nb_seen++;
	return true;
}

static void
unknown_key(struct conf_reader *r, const char *name)
{
	struct nearest n = nearest_of(name);
	const char *names[CONF_MAX_KEYS];
	uint32_t nb = 0;
	char why[256];

	for (const struct conf_key *k = r->section->keys; k->name && nb < CONF_MAX_KEYS; k++)
		names[nb++] = k->name;
	for (uint32_t i = 0; i < r->nb_tables; i++) {
		const struct param_desc *d = r->tables[i].descs;

		for (; d->name && nb < CONF_MAX_KEYS; d++)
			names[nb++] = d->name;
	}
	for (uint32_t i = 0; i < nb; i++)
		nearest_offer(&n, names[i]);
	/* An engine has so few that all can be said. */
	if (nb > 0 && r->section == &conf_engine_section)
		nearest_list(name, "key", names, nb, why, sizeof(why));
	else
		nearest_explain(&n, "key", why, sizeof(why));
	conf_error(r, r->line, "%s", why);
}

/* From libinih: one key. Always 1, because it counts what returns 0 as its own syntax error. */
static int
on_key(void *user, const char *section, const char *name, const char *value)
{
	struct conf_reader *r = user;
	const char *known = NULL;

	(void)section;
	if (!r->in_section)
		conf_error(r, r->line, "key '%s' stands before the first section", name);
	if (!r->section)
		return 1;
	for (const struct conf_key *k = r->section->keys; k->name; k++) {
		if (strcmp(k->name, name) != 0)
			continue;
		if (!may_come(r, k->name, k->is_list))
			return 1;
		if (k->line_offset)
			memcpy((char *)r->obj + k->line_offset, &r->line, sizeof(r->line));
		k->read(r, k, r->obj, value);
		return 1;
	}
	/* Engines of two kinds may have one name, and then one section. */
	for (uint32_t i = 0; i < r->nb_tables; i++) {
		const struct param_desc *d = param_find(r->tables[i].descs, name);

		if (!d)
			continue;
		if (!known && !may_come(r, d->name, false))
			return 1;
		known = d->name;
		keep_line(r, r->tables[i].params, d->name);
		if (!conf_number(r, r->tables[i].descs, r->tables[i].params, name, value))
			return 1;
	}
	if (!known)
		unknown_key(r, name);
	return 1;
}

const struct conf_section *const conf_sections[] = {
	&conf_daemon_section, &conf_nic_section,  &conf_peer_section,   &conf_switch_section,
	&conf_queue_section,  &conf_port_section, &conf_engine_section, NULL,
};

static const struct conf_section *
find_section(struct conf_reader *r, const char *kind)
{
	struct nearest n = nearest_of(kind);
	char why[256];

	for (const struct conf_section *const *s = conf_sections; *s; s++) {
		if (strcmp((*s)->name, kind) == 0)
			return *s;
		nearest_offer(&n, (*s)->name);
	}
	nearest_explain(&n, "section", why, sizeof(why));
	conf_error(r, r->line, "%s", why);
	return NULL;
}

/* "nic weft0" from between the brackets; false: what may have been a node is skipped. */
static bool
begin_section(struct conf_reader *r, char *text)
{
	const struct conf_section *s;
	char *kind, *title, *rest = NULL;

	r->in_section = true;
	r->section = NULL;
	r->nb_tables = 0;
	r->nb_seen = 0;
	kind = strtok_r(text, " \t", &rest);
	if (!kind) {
		conf_error(r, r->line, "a section without a name");
		return false;
	}
	title = strtok_r(NULL, " \t", &rest);
	s = find_section(r, kind);
	if (!s)
		return false;
	if ((s->title != NULL) != (title != NULL) || (title && strtok_r(NULL, " \t", &rest))) {
		conf_error(r, r->line, "the section is written [%s%s%s]", s->name,
		           s->title ? " " : "", s->title ? s->title : "");
		return false;
	}
	r->obj = s->begin(r, title);
	if (!r->obj)
		return !s->is_node;
	r->section = s;
	return true;
}

/* What some editors begin a file with. */
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* Cut a comment: '#' or ';' at the start of a line or behind a blank. */
static void
cut_comment(char *line)
{
	for (char *p = line; *p; p++) {
		if ((*p == '#' || *p == ';') && (p == line || p[-1] == ' ' || p[-1] == '\t')) {
			*p = '\0';
			return;
		}
	}
}

/*
 * For libinih: the next line, as fgets gives it. It counts lines, which libinih's handler does not
 * know; refuses long ones, which libinih would cut in two; and takes leading blanks away, which
 * libinih would take for a value that goes on.
 */
static char *
next_line(char *buf, int size, void *user)
{
	struct conf_reader *r = user;
	char *line = r->next, *eol, *text;
	size_t len;

	if (line == r->end)
		return NULL;
	eol = memchr(line, '\n', (size_t)(r->end - line));
	r->next = eol ? eol + 1 : r->end;
	if (!eol)
		eol = r->end;
	*eol = '\0';
	r->line++;
	buf[0] = '\0';
	if (line + strlen(line) != eol) {
		conf_error(r, r->line, "not a text file");
		return buf;
	}
	cut_comment(line);
	text = line;
	if (r->line == 1 && strncmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0)
		text += strlen(BYTE_ORDER_MARK);
	text += strspn(text, " \t\r\n");
	for (len = strlen(text); len > 0 && strchr(" \t\r\n", text[len - 1]); len--)
		text[len - 1] = '\0';
	if (len >= (size_t)size) {
		conf_error(r, r->line,
		           "a line of more than %d characters; a list goes on in another line "
		           "with the same key",
		           size - 1);
		return buf;
	}
	memcpy(buf, text, len + 1);
	if (len > 1 && text[0] == '[' && text[len - 1] == ']') {
		text[len - 1] = '\0';
		if (!begin_section(r, text + 1))
			r->nb_bad_sections++;
		/* Ours now; libinih cuts long names. */
		buf[0] = '\0';
	} else if (text[0] == '[') {
		/* libinih will refuse it. What follows does not belong to the section before. */
		r->in_section = true;
		r->section = NULL;
		r->nb_bad_sections++;
	}
	return buf;
}

/* All of a file into text, which has room for CONF_FILE_MAX bytes and one more. */
static bool
read_all(struct conf_reader *r, FILE *stream, char *text)
{
	size_t len = fread(text, 1, CONF_FILE_MAX + 1, stream);

	if (ferror(stream)) {
		conf_error(r, 0, "%s", strerror(errno));
		return false;
	}
	if (len > CONF_FILE_MAX) {
		conf_error(r, 0, "more than %u bytes: not a conf file", CONF_FILE_MAX);
		return false;
	}
	r->next = text;
	r->end = text + len;
	return true;
}

struct conf *
conf_read_stream(FILE *stream, const char *path, FILE *errors)
{
	struct conf_reader r = {.path = path, .errors = errors};
	char *text = malloc(CONF_FILE_MAX + 1);
	int bad_line;

	r.conf = calloc(1, sizeof(*r.conf));
	if (!text || !r.conf || !conf_defaults(r.conf)) {
		conf_error(&r, 0, "%s", strerror(ENOMEM));
		goto out;
	}
	if (!read_all(&r, stream, text))
		goto out;
	bad_line = ini_parse_stream(next_line, &r, on_key, &r);
	if (bad_line > 0)
		conf_error(&r, (uint32_t)bad_line, "neither [SECTION] nor KEY = VALUE");
	conf_check(&r);
out:
	free(text);
	free(r.said);
	if (r.nb_errors == 0)
		return r.conf;
	conf_free(r.conf);
	return NULL;
}

struct conf *
conf_read(const char *path, FILE *errors)
{
	FILE *stream = fopen(path, "r");
	struct conf *conf;

	if (!stream) {
		fprintf(errors, "weftd: %s: %s\n", path, strerror(errno));
		return NULL;
	}
	conf = conf_read_stream(stream, path, errors);
	fclose(stream);
	return conf;
}

bool
conf_defaults(struct conf *conf)
{
	conf_daemon_defaults(&conf->daemon);
	return conf_engine_defaults(conf);
}

void
conf_free(struct conf *conf)
{
	if (!conf)
		return;
	for (uint32_t i = 0; i < conf->nb_engines; i++)
		free(conf->engines[i].params);
	free(conf->engines);
	free(conf);
}

const void *
conf_params(const struct conf *conf, const struct engine_info *info)
{
	for (uint32_t i = 0; i < conf->nb_engines; i++) {
		if (conf->engines[i].info == info)
			return conf->engines[i].params;
	}
	return NULL;
}

const struct conf_peer *
conf_peer_find(const struct conf *conf, const struct ip_addr *ip)
{
	const struct conf_peer *best = NULL;

	for (uint32_t i = 0; i < conf->nb_peers; i++) {
		const struct conf_peer *p = &conf->peers[i];

		if (ip_prefix_covers(&p->prefix, ip) &&
		    (!best || p->prefix.bits > best->prefix.bits))
			best = p;
	}
	return best;
}
