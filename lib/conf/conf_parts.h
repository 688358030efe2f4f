/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CONF_PARTS_H
#define WEFT_CONF_PARTS_H

#include "conf_reader.h"

/*
 * Between the files of the reader: conf_lines.c (lines and sections), conf_key.c (keys, numbers and
 * messages) and conf_override.c (what the command line says instead).
 */

/** A key of the present section, from the file or not. */
void conf_take_key(struct conf_reader *r, const char *name, const char *value);

/** Begin a section, "nic weft0"; false: what may have been a node is skipped. */
bool conf_begin_section(struct conf_reader *r, const char *text);

/** Whether the command line has this key of the present section, which is taken from there then. */
bool conf_override_key(struct conf_reader *r, const char *name);
/** The section ends: what the command line adds to it. */
void conf_override_rest(struct conf_reader *r);
/** The file ends: sections that only the command line has. */
void conf_override_new(struct conf_reader *r);

#endif
