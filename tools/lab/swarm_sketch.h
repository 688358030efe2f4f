/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWARM_SKETCH_H
#define WEFT_LAB_SWARM_SKETCH_H

#include <stdint.h>
#include <stdio.h>

/**
 * @file
 * A scenario while it is made up or made smaller: sections of keys, as texts. What is in it means
 * nothing here; scenario.h reads what sketch_write writes. Plain data: an assignment copies it.
 */

#define SKETCH_SECTIONS_MAX 32
#define SKETCH_KEYS_MAX 48
#define SKETCH_NAME_LEN 48
#define SKETCH_VALUE_LEN 80

struct sketch_key {
	char name[SKETCH_NAME_LEN];
	char value[SKETCH_VALUE_LEN];
};

struct sketch_section {
	char name[SKETCH_NAME_LEN]; /**< as between brackets */
	uint32_t nb_keys;
	struct sketch_key keys[SKETCH_KEYS_MAX];
};

struct sketch {
	uint32_t nb_sections;
	struct sketch_section sections[SKETCH_SECTIONS_MAX];
};

/** The section of this name, which is made at the end if it is not there. */
struct sketch_section *sketch_section(struct sketch *s, const char *name);
/** The same, or NULL. */
struct sketch_section *sketch_find(struct sketch *s, const char *name);
void sketch_drop_section(struct sketch *s, uint32_t section);

/** Set a key, which is made at the end if it is not there. */
void sketch_set(struct sketch_section *section, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** The value of a key, or NULL. */
const char *sketch_get(const struct sketch_section *section, const char *key);
void sketch_drop_key(struct sketch_section *section, uint32_t key);

/** As a scenario file. */
void sketch_write(const struct sketch *s, FILE *out);
/** The same as a text to be freed; NULL without memory. */
char *sketch_text(const struct sketch *s);

#endif
