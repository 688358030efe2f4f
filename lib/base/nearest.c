/* SPDX-License-Identifier: BSD-3-Clause */
#include "nearest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 63

/* - and _ are alike, and so are A and a. */
static char
fold(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return c == '-' ? '_' : c;
}

static bool
same(char a, char b)
{
	return fold(a) == fold(b);
}

static uint32_t
least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/**
 * Edits between two words; optimal string alignment, three rows of the table at a time.
 * UINT32_MAX if one is longer than WORD_MAX.
 */
static uint32_t
edits_between(const char *a, size_t na, const char *b, size_t nb)
{
	uint32_t rows[3][WORD_MAX + 1];
	uint32_t *before = rows[0], *above = rows[1], *row = rows[2];

	if (na > WORD_MAX || nb > WORD_MAX)
		return UINT32_MAX;
	for (size_t j = 0; j <= nb; j++)
		above[j] = (uint32_t)j;
	for (size_t i = 1; i <= na; i++) {
		uint32_t *spare = before;

		row[0] = (uint32_t)i;
		for (size_t j = 1; j <= nb; j++) {
			row[j] = above[j - 1] + !same(a[i - 1], b[j - 1]);
			row[j] = least(row[j], 1 + least(above[j], row[j - 1]));
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
				row[j] = least(row[j], 1 + before[j - 2]);
		}
		before = above;
		above = row;
		row = spare;
	}
	return above[nb];
}

void
nearest_offer(struct nearest *n, const char *name)
{
	size_t len = strlen(name), word_len = strlen(n->word);
	uint32_t edits = edits_between(n->word, word_len, name, len);

	if (edits < n->edits && edits * 2 < (len > word_len ? len : word_len)) {
		n->edits = edits;
		n->name = name;
	}
}

void
nearest_explain(const struct nearest *n, const char *kind, char *why, size_t size)
{
	if (n->name)
		snprintf(why, size, "unknown %s '%s' (nearest: '%s')", kind, n->word, n->name);
	else
		snprintf(why, size, "unknown %s '%s'", kind, n->word);
}

/* Insertion sort: the names are few, and equally near ones stay in their order. */
static void
sort_by_edits(const char *word, const char **names, uint32_t nb_names)
{
	size_t word_len = strlen(word);

	for (uint32_t i = 1; i < nb_names; i++) {
		const char *name = names[i];
		uint32_t edits = edits_between(word, word_len, name, strlen(name)), k = i;

		while (k > 0 &&
		       edits_between(word, word_len, names[k - 1], strlen(names[k - 1])) > edits) {
			names[k] = names[k - 1];
			k--;
		}
		names[k] = name;
	}
}

void
nearest_list(const char *word, const char *kind, const char **names, uint32_t nb_names, char *why,
             size_t size)
{
	int len = snprintf(why, size, "unknown %s '%s' (known: ", kind, word);

	sort_by_edits(word, names, nb_names);
	for (uint32_t i = 0; i < nb_names && len >= 0 && (size_t)len < size; i++)
		len += snprintf(why + len, size - (size_t)len, "%s%s", i ? ", " : "", names[i]);
	if (len >= 0 && (size_t)len < size)
		snprintf(why + len, size - (size_t)len, ")");
}
