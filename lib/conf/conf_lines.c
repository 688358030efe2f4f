/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#include "conf_parts.h"
#include "nearest.h"

/* From bytes to lines, and from lines to sections and keys. */

static const struct conf_section *
find_section(struct conf_reader *r, const char *kind)
{
	struct nearest n = nearest_of(kind);
	char why[256];

	for (const struct conf_section *const *s = r->sections; *s; s++) {
		if (strcmp((*s)->name, kind) == 0)
			return *s;
		nearest_offer(&n, (*s)->name);
	}
	nearest_explain(&n, "section", why, sizeof(why));
	conf_error(r, r->line, "%s", why);
	return NULL;
}

bool
conf_begin_section(struct conf_reader *r, const char *header)
{
	char text[CONF_LINE_MAX], *kind, *title, *rest = NULL;
	const struct conf_section *s;

	snprintf(text, sizeof(text), "%s", header);
	r->in_section = true;
	r->section = NULL;
	r->nb_tables = 0;
	r->nb_seen = 0;
	r->is_lost = false;
	r->hint = NULL;
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
	snprintf(r->header, sizeof(r->header), "%s%s%s", kind, title ? " " : "",
	         title ? title : "");
	return true;
}

/* From libinih: one key. Always 1, because it counts what returns 0 as its own syntax error. */
static int
on_key(void *user, const char *section, const char *name, const char *value)
{
	struct conf_reader *r = user;

	(void)section;
	if (!r->in_section)
		conf_error(r, r->line, "key '%s' stands before the first section", name);
	if (r->section && !conf_override_key(r, name))
		conf_take_key(r, name, value);
	return 1;
}

static void
end_section(struct conf_reader *r)
{
	if (r->section)
		conf_override_rest(r);
	r->in_section = true;
	r->section = NULL;
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
		r->next = r->end; /* so would all the rest be */
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
		end_section(r);
		if (!conf_begin_section(r, text + 1))
			r->nb_bad_sections++;
		/* Ours now; libinih cuts long names. */
		buf[0] = '\0';
	} else if (text[0] == '[') {
		/* libinih will refuse it. What follows does not belong to the section before. */
		end_section(r);
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

bool
conf_read_sections(struct conf_reader *r, FILE *stream)
{
	char *text = malloc(CONF_FILE_MAX + 1);
	int bad_line;

	if (!text || !read_all(r, stream, text)) {
		if (!text)
			conf_error(r, 0, "%s", strerror(ENOMEM));
		free(text);
		return false;
	}
	bad_line = ini_parse_stream(next_line, r, on_key, r);
	if (bad_line > 0)
		conf_error(r, (uint32_t)bad_line, "neither [SECTION] nor KEY = VALUE");
	end_section(r);
	conf_override_new(r);
	free(text);
	return true;
}
