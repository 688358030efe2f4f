/* SPDX-License-Identifier: BSD-3-Clause */
#include "swarm_sketch.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct sketch_section *
sketch_find(struct sketch *s, const char *name)
{
	for (uint32_t i = 0; i < s->nb_sections; i++)
		if (strcmp(s->sections[i].name, name) == 0)
			return &s->sections[i];
	return NULL;
}

struct sketch_section *
sketch_section(struct sketch *s, const char *name)
{
	struct sketch_section *section = sketch_find(s, name);

	if (section)
		return section;
	assert(s->nb_sections < SKETCH_SECTIONS_MAX && strlen(name) < SKETCH_NAME_LEN);
	section = &s->sections[s->nb_sections++];
	strcpy(section->name, name);
	section->nb_keys = 0;
	return section;
}

void
sketch_drop_section(struct sketch *s, uint32_t section)
{
	assert(section < s->nb_sections);
	s->nb_sections--;
	memmove(&s->sections[section], &s->sections[section + 1],
	        (s->nb_sections - section) * sizeof(s->sections[0]));
}

static struct sketch_key *
find_key(const struct sketch_section *section, const char *key)
{
	for (uint32_t i = 0; i < section->nb_keys; i++)
		if (strcmp(section->keys[i].name, key) == 0)
			return (struct sketch_key *)&section->keys[i];
	return NULL;
}

void
sketch_set(struct sketch_section *section, const char *key, const char *fmt, ...)
{
	struct sketch_key *k = find_key(section, key);
	va_list ap;
	int len;

	if (!k) {
		assert(section->nb_keys < SKETCH_KEYS_MAX && strlen(key) < SKETCH_NAME_LEN);
		k = &section->keys[section->nb_keys++];
		strcpy(k->name, key);
	}
	va_start(ap, fmt);
	len = vsnprintf(k->value, sizeof(k->value), fmt, ap);
	va_end(ap);
	assert(len >= 0 && (size_t)len < sizeof(k->value));
}

const char *
sketch_get(const struct sketch_section *section, const char *key)
{
	const struct sketch_key *k = find_key(section, key);

	return k ? k->value : NULL;
}

void
sketch_drop_key(struct sketch_section *section, uint32_t key)
{
	assert(key < section->nb_keys);
	section->nb_keys--;
	memmove(&section->keys[key], &section->keys[key + 1],
	        (section->nb_keys - key) * sizeof(section->keys[0]));
}

void
sketch_write(const struct sketch *s, FILE *out)
{
	for (uint32_t i = 0; i < s->nb_sections; i++) {
		const struct sketch_section *section = &s->sections[i];

		fprintf(out, "%s[%s]\n", i > 0 ? "\n" : "", section->name);
		for (uint32_t k = 0; k < section->nb_keys; k++)
			fprintf(out, "%s = %s\n", section->keys[k].name, section->keys[k].value);
	}
}

char *
sketch_text(const struct sketch *s)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	sketch_write(s, out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
