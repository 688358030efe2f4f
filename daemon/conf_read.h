/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CONF_READ_H
#define WEFT_CONF_READ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "conf.h"
#include "param.h"

/*
 * Between conf.c (lines, sections, keys), conf_keys.c (what each key means) and conf_check.c (what
 * they mean together).
 */

struct conf_reader;

/** A key whose value is not a plain number. */
struct conf_key {
	const char *name;
	void (*read)(struct conf_reader *r, void *obj, const char *value);
};

/** A kind of section. */
struct conf_section {
	const char *name;
	bool named;                  /**< [nic NAME] and not [daemon] */
	const struct conf_key *keys; /**< ends with a NULL name */
	/** A section begins: what do its keys set? NULL after conf_error. */
	void *(*begin)(struct conf_reader *r, const char *name);
};

/** Ends with a NULL name. */
extern const struct conf_section conf_sections[];

/** Tables of numbers of one section: [nic] has its own and those of the faults. */
#define CONF_MAX_TABLES 4
/** Keys of one section. */
#define CONF_MAX_KEYS 128

struct conf_reader {
	struct conf *conf;
	const char *path;
	FILE *stream, *errors;
	uint32_t line;
	uint32_t nb_errors;
	bool in_section;
	const struct conf_section *section; /**< NULL: its header was wrong, skip its keys */
	void *obj;
	struct {
		const struct param_desc *descs;
		void *params;
	} tables[CONF_MAX_TABLES];
	uint32_t nb_tables;
	struct {
		const char *name; /**< as the table has it */
		uint32_t line;
	} seen[CONF_MAX_KEYS];
	uint32_t nb_seen;
};

/** Tell of one mistake. */
__attribute__((format(printf, 3, 4))) void conf_error(struct conf_reader *r, uint32_t line,
                                                      const char *fmt, ...);

/** For begin: the section also has these numbers. */
void conf_add_table(struct conf_reader *r, const struct param_desc *descs, void *params);

/** Read a number as a table describes it; false after conf_error. */
bool conf_number(struct conf_reader *r, const struct param_desc *descs, void *params,
                 const char *name, const char *value);

/** Fill in what no section says, before reading: false without memory. */
bool conf_defaults(struct conf *conf);

/** Look at the whole, after reading; fill in what follows from it. */
void conf_check(struct conf_reader *r);

#endif
