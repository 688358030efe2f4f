/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_NEAREST_H
#define WEFT_NEAREST_H

#include <stddef.h>
#include <stdint.h>

/**
 * The known name that somebody may have meant.
 *
 *     struct nearest n = nearest_of(word);
 *     for (each known name)
 *             nearest_offer(&n, name);
 *     if (n.name) ... "unknown key 'x' (nearest: 'y')"
 */
struct nearest {
	const char *word; /**< what was written */
	const char *name; /**< best so far; NULL if nothing resembles the word */
	uint32_t edits;   /**< between them */
};

static inline struct nearest
nearest_of(const char *word)
{
	return (struct nearest){.word = word, .edits = UINT32_MAX};
}

/**
 * Consider one name. The first of the equally near ones stays.
 *
 * @param name  stays the caller's and must live as long as n.
 *
 * Near is: fewer edits (insert, delete, replace, swap neighbours; - and _ are alike, and A and a)
 * than half of the longer of the two has letters. Words beyond 63 letters resemble nothing.
 */
void nearest_offer(struct nearest *n, const char *name);

/**
 * A name that is not known, as one line: "unknown KIND 'WORD' (nearest: 'NAME')".
 *
 * @param kind  e.g. "key".
 */
void nearest_explain(const struct nearest *n, const char *kind, char *why, size_t size);

/**
 * The same if there are few names, so that all can be said, the nearest first:
 * "unknown KIND 'WORD' (known: NAME, NAME)".
 *
 * @param names  are sorted.
 */
void nearest_list(const char *word, const char *kind, const char **names, uint32_t nb_names,
                  char *why, size_t size);

#endif
