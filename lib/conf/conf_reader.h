/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CONF_READER_H
#define WEFT_CONF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "conf_engine.h"
#include "param.h"

/**
 * @file
 * Conf files: sections of keys, each with one line and a message of its own when it is wrong. A
 * program says which sections there are and what their keys set, and looks at the whole afterwards.
 */

struct conf_reader;

/** A key whose value is not a plain number. */
struct conf_key {
	const char *name;
	void (*read)(struct conf_reader *r, const struct conf_key *key, void *obj,
	             const char *value);
	size_t offset;      /**< for read: of the member of obj that the key sets */
	int arg;            /**< for read */
	bool is_list;       /**< may come again in its section: the list goes on */
	size_t line_offset; /**< of a uint32_t of obj that gets its line; 0 = none */
};

/** A kind of section. */
struct conf_section {
	const char *name;
	const char *title;           /**< what stands behind the name, "NAME"; NULL = nothing */
	const struct conf_key *keys; /**< ends with a NULL name */
	/** A section begins: what do its keys set? NULL after conf_error. */
	void *(*begin)(struct conf_reader *r, const char *title);
	bool is_node;   /**< others refer to what it begins */
	bool names_few; /**< it has so few keys that a message about an unknown one names all */
	/** What may be wrong with a key that is not known, beside hint; NULL = nothing to say. */
	const char *(*explain)(const struct conf_reader *r, const char *key);
};

/** Tables of numbers of one section: [nic] has its own and those of the faults. */
#define CONF_MAX_TABLES 4
/** Keys of one section. */
#define CONF_MAX_KEYS 128
/** Bytes of a conf file. Source: our choice, ten times what the largest conf needs. */
#define CONF_FILE_MAX (1u << 20)
/** A line of a conf file, with its end. Source: libinih's INI_MAX_LINE, and some. */
#define CONF_LINE_MAX 256
/** What stands between the words of a list. */
#define CONF_BETWEEN ", \t"

/**
 * A key of the command line. It stands in place of all lines with this key in such a section of the
 * file; without any, it is the section's last line; and a section that is not there, it begins.
 */
struct conf_override {
	const char *text; /**< as it was given up to '=', for messages */
	const char *value;
	char section[CONF_LINE_MAX]; /**< as between brackets: "queue 3" */
	char key[CONF_LINE_MAX];
	bool is_done;
};

/**
 * Read "SECTION.KEY=VALUE", "SECTION.TITLE.KEY=VALUE" or "KEY=VALUE".
 *
 * @param text     is cut at its '='; and stays part of the override.
 * @param section  of a key alone.
 * @return         false: it is not of this form, and unchanged.
 */
bool conf_override_parse(struct conf_override *o, char *text, const char *section);

/** Bit of a line that is none of the file: the rest is an index of overrides. */
#define CONF_LINE_OVERRIDE (1u << 31)

/** Where a number is said. */
struct conf_said {
	const void *params;
	const char *name;
	uint32_t line;
};

/** While a file is read. Zero but for the first members, which the program sets. */
struct conf_reader {
	struct conf *conf; /**< what sections fill in: each program has one of its own */
	const char *path;  /**< for messages */
	FILE *errors;
	const struct conf_section *const *sections; /**< ends with NULL */
	struct conf_engine *engines;                /**< for the section of engines; may be NULL */
	uint32_t nb_engines;
	struct conf_override *overrides;
	uint32_t nb_overrides;

	char *next, *end; /**< what is left of the file; one byte behind it may be written */
	uint32_t line;    /**< conf_error names it */
	uint32_t nb_errors;
	uint32_t nb_bad_sections; /**< skipped, which may have begun a node */
	const char *too_many[4];  /**< told already */
	bool in_section;
	const struct conf_section *section; /**< NULL: its header was wrong, skip its keys */
	char header[CONF_LINE_MAX];         /**< of it, as conf_override.section */
	void *obj;
	bool is_lost;     /**< a key was so wrong that the section's others mean nothing */
	const char *hint; /**< what may be wrong where a key of the section is not known; or NULL */
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
	struct conf_said *said; /**< every number of the file */
	uint32_t nb_said, said_size;
};

/**
 * Read all sections of a file, then what overrides add. Mistakes are told, and counted in
 * nb_errors.
 *
 * @return  false: it is no conf file at all, and no more is to be said.
 */
bool conf_read_sections(struct conf_reader *r, FILE *stream);
/** After the last conf_line_of. */
void conf_reader_free(struct conf_reader *r);

/** Whether sections were skipped, and that was told: what refers to them is no mistake of its own.
 */
static inline bool
conf_is_partial(const struct conf_reader *r)
{
	return r->nb_bad_sections != 0 && r->nb_errors != 0;
}

/** Tell of one mistake. line 0: of the file as a whole. */
__attribute__((format(printf, 3, 4))) void conf_error(struct conf_reader *r, uint32_t line,
                                                      const char *fmt, ...);

/** Tell of what is allowed and yet hardly meant. */
__attribute__((format(printf, 3, 4))) void conf_warning(struct conf_reader *r, uint32_t line,
                                                        const char *fmt, ...);

/** Tell that there are more of a kind than max, once of each. */
void conf_too_many(struct conf_reader *r, uint32_t max, const char *what);

/** The line of a number of these params, by the name of its key; 0 = not said. */
uint32_t conf_line_of(const struct conf_reader *r, const void *params, const char *name);

/** For begin, and for a key that brings others: the section also has these numbers. */
void conf_add_table(struct conf_reader *r, const struct param_desc *descs, void *params);

/** Read a number as a table describes it; false after conf_error. */
bool conf_number(struct conf_reader *r, const struct param_desc *descs, void *params,
                 const char *name, const char *value);

/* ---- values; false or NULL after conf_error ---- */

/** Bytes of a name, with the 0. */
#define CONF_NAME_LEN 32

/** A name of a device, daemon, switch or ring: also part of a file's name. */
bool conf_name(struct conf_reader *r, const char *what, const char *text, char name[CONF_NAME_LEN]);
/** A number from 0 to max, without a unit; false without conf_error. */
bool conf_small(const char *text, uint32_t max, uint8_t *n);
/** An engine of this build. */
const struct engine_info *conf_engine(struct conf_reader *r, enum conf_engine_kind kind,
                                      const char *name);

/* ---- for conf_key ---- */

/** A name. */
void conf_read_name(struct conf_reader *r, const struct conf_key *key, void *obj,
                    const char *value);
/** A bool: yes or no. */
void conf_read_yes_no(struct conf_reader *r, const struct conf_key *key, void *obj,
                      const char *value);
/** A pointer to the ops of an engine of kind key->arg. */
void conf_read_engine(struct conf_reader *r, const struct conf_key *key, void *obj,
                      const char *value);
/** An enum framing_wish: auto, weft or rocev2. */
void conf_read_framing(struct conf_reader *r, const struct conf_key *key, void *obj,
                       const char *value);

/* ---- [engine NAME] ---- */

extern const struct conf_section conf_engine_section;

/* ---- for [switch]: members of a struct switch_conf ---- */

/** trust: dscp or pcp. */
void conf_read_trust(struct conf_reader *r, const struct conf_key *key, void *obj,
                     const char *value);
/** class_of_dscp, class_of_pcp: a list of CODE:CLASS; key->arg is the largest code. */
void conf_read_class_map(struct conf_reader *r, const struct conf_key *key, void *obj,
                         const char *value);
/** lossless: a list of classes. */
void conf_read_lossless(struct conf_reader *r, const struct conf_key *key, void *obj,
                        const char *value);
/** trim_queue. */
void conf_read_trim_queue(struct conf_reader *r, const struct conf_key *key, void *obj,
                          const char *value);

#endif
