/* SPDX-License-Identifier: BSD-3-Clause */
#include "param.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "nearest.h"
#include "units.h"

static_assert(PARAM_TEXT_MAX >= UNITS_TEXT_MAX, "room for what units_format writes");

/** How values of a parameter are written. A real number of plain unit is no integer kind. */
static enum units
units_of(const struct param_desc *desc)
{
	static const struct {
		const char *unit;
		enum units units;
	} rows[] = {
		{"ns", UNITS_TIME},   {"bps", UNITS_RATE}, {"B", UNITS_SIZE},
		{"pkt", UNITS_COUNT}, {"1", UNITS_COUNT},  {"ppm", UNITS_SHARE},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!strcmp(desc->unit, rows[i].unit))
			return rows[i].units;
	}
	assert(!"a unit that units.h knows");
	return UNITS_COUNT;
}

static bool
is_plain_real(const struct param_desc *desc)
{
	return desc->type == PARAM_F64 && units_of(desc) == UNITS_COUNT;
}

static void
store(const struct param_desc *desc, void *params, double real, uint64_t whole)
{
	char *at = (char *)params + desc->offset;

	switch (desc->type) {
	case PARAM_U32:
		*(uint32_t *)(void *)at = (uint32_t)whole;
		break;
	case PARAM_U64:
		*(uint64_t *)(void *)at = whole;
		break;
	case PARAM_F64:
		*(double *)(void *)at = real;
		break;
	case PARAM_YES_NO:
		*(bool *)(void *)at = whole;
		break;
	case PARAM_PATTERN:
		*(struct param_pattern *)(void *)at = (struct param_pattern){0};
		break;
	}
}

static int
set_yes_no(bool *out, const char *text, const char **why)
{
	if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0) {
		*why = "neither yes nor no";
		return -EINVAL;
	}
	*out = text[0] == 'y';
	return 0;
}

static int
set_pattern(struct param_pattern *out, const char *text, const char **why)
{
	size_t len = strlen(text);
	uint64_t bits = 0;

	if (len == 0 || len > 64 || strspn(text, "01") != len) {
		*why = "1 to 64 digits 0 and 1, please";
		return -EINVAL;
	}
	for (size_t i = 0; i < len; i++)
		bits |= (uint64_t)(text[i] - '0') << i;
	out->bits = bits;
	out->nb_bits = bits ? (uint32_t)len : 0;
	return 0;
}

static const char *
format_pattern(const struct param_pattern *pattern, char text[PARAM_TEXT_MAX])
{
	strcpy(text, "0");
	for (uint32_t i = 0; i < pattern->nb_bits; i++) {
		text[i] = pattern->bits >> i & 1 ? '1' : '0';
		text[i + 1] = '\0';
	}
	return text;
}

void
param_defaults(const struct param_desc *descs, void *params)
{
	for (const struct param_desc *d = descs; d && d->name; d++) {
		assert(d->min <= d->def && d->def <= d->max);
		assert(d->type != PARAM_U32 || d->max <= UINT32_MAX);
		assert(d->type == PARAM_F64 || (d->min >= 0 && d->max <= 0x1p53));
		store(d, params, d->def, d->type == PARAM_F64 ? 0 : (uint64_t)d->def);
	}
}

void
param_copy(const struct param_desc *desc, void *params, const void *from)
{
	static const size_t sizes[] = {
		[PARAM_U32] = sizeof(uint32_t),
		[PARAM_U64] = sizeof(uint64_t),
		[PARAM_F64] = sizeof(double),
		[PARAM_YES_NO] = sizeof(bool),
		[PARAM_PATTERN] = sizeof(struct param_pattern),
	};

	memcpy((char *)params + desc->offset, (const char *)from + desc->offset, sizes[desc->type]);
}

const struct param_desc *
param_find(const struct param_desc *descs, const char *name)
{
	for (const struct param_desc *d = descs; d && d->name; d++) {
		if (!strcmp(d->name, name))
			return d;
	}
	return NULL;
}

/** A value as param_set would read it. */
static const char *
format_value(const struct param_desc *desc, double value, char text[PARAM_TEXT_MAX])
{
	if (is_plain_real(desc)) {
		/* The shortest that reads back the same. */
		for (int digits = 6; digits <= 17; digits++) {
			double again = -1;
			const char *why;

			snprintf(text, PARAM_TEXT_MAX, "%.*f", digits, value);
			if (!units_parse_real(text, &again, &why) && again == value)
				break;
		}
		/* Without the zeros at its end. */
		for (char *end = text + strlen(text) - 1; *end == '0' || *end == '.'; end--) {
			bool point = *end == '.';

			*end = '\0';
			if (point)
				break;
		}
		return text;
	}
	return units_format(units_of(desc), (uint64_t)value, text);
}

int
param_set(const struct param_desc *descs, void *params, const char *name, const char *text,
          char *why, size_t size)
{
	const struct param_desc *desc = param_find(descs, name);
	char min[PARAM_TEXT_MAX], max[PARAM_TEXT_MAX];
	void *at = desc ? (char *)params + desc->offset : NULL;
	const char *reason;
	uint64_t whole = 0;
	double real;
	int err;

	if (!desc) {
		struct nearest near = nearest_of(name);

		for (const struct param_desc *d = descs; d && d->name; d++)
			nearest_offer(&near, d->name);
		nearest_explain(&near, "key", why, size);
		return -ENOENT;
	}
	if (desc->type == PARAM_YES_NO || desc->type == PARAM_PATTERN) {
		err = desc->type == PARAM_YES_NO ? set_yes_no(at, text, &reason)
		                                 : set_pattern(at, text, &reason);
		if (err)
			snprintf(why, size, "%s = %s: %s", name, text, reason);
		return err;
	}
	if (is_plain_real(desc)) {
		err = units_parse_real(text, &real, &reason);
	} else {
		err = units_parse(units_of(desc), text, &whole, &reason);
		real = (double)whole;
	}
	if (err) {
		snprintf(why, size, "%s = %s: %s", name, text, reason);
		return err;
	}
	if (real < desc->min || real > desc->max) {
		snprintf(why, size, "%s = %s: out of range (%s to %s)", name, text,
		         format_value(desc, desc->min, min), format_value(desc, desc->max, max));
		return -ERANGE;
	}
	store(desc, params, real, whole);
	return 0;
}

const char *
param_format(const struct param_desc *desc, const void *params, char text[PARAM_TEXT_MAX])
{
	const char *at = (const char *)params + desc->offset;

	switch (desc->type) {
	case PARAM_U32:
		return units_format(units_of(desc), *(const uint32_t *)(const void *)at, text);
	case PARAM_U64:
		return units_format(units_of(desc), *(const uint64_t *)(const void *)at, text);
	case PARAM_F64:
		return format_value(desc, *(const double *)(const void *)at, text);
	case PARAM_YES_NO:
		return strcpy(text, *(const bool *)(const void *)at ? "yes" : "no");
	case PARAM_PATTERN:
		return format_pattern((const struct param_pattern *)(const void *)at, text);
	}
	return text;
}
