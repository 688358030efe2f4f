/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "conf_reader.h"

/* How values that are not plain numbers are written. */

bool
conf_name(struct conf_reader *r, const char *what, const char *text, char name[CONF_NAME_LEN])
{
	size_t len = strlen(text);

	for (const char *p = text; *p; p++) {
		if (!isalnum((unsigned char)*p) && !(p > text && strchr("_-.", *p))) {
			conf_error(r, r->line, "%s '%s': letters, digits, '_', '-' and '.' only",
			           what, text);
			return false;
		}
	}
	if (len == 0 || len >= CONF_NAME_LEN) {
		conf_error(r, r->line, "%s '%s': 1 to %d characters", what, text,
		           CONF_NAME_LEN - 1);
		return false;
	}
	memset(name, 0, CONF_NAME_LEN);
	memcpy(name, text, len);
	return true;
}

void
conf_read_name(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	conf_name(r, key->name, value, (char *)obj + key->offset);
}

void
conf_read_yes_no(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	bool *out = (bool *)((char *)obj + key->offset);

	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		conf_error(r, r->line, "%s '%s' is neither yes nor no", key->name, value);
	else
		*out = value[0] == 'y';
}

bool
conf_small(const char *text, uint32_t max, uint8_t *n)
{
	size_t len = strlen(text);
	unsigned long value;

	if (len == 0 || len > 3 || strspn(text, "0123456789") != len)
		return false;
	value = strtoul(text, NULL, 10);
	*n = (uint8_t)value;
	return value <= max;
}
