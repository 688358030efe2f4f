/* SPDX-License-Identifier: BSD-3-Clause */
#include "human.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Units of a kind, each so many times the first. */
struct scale {
	const char *unit;
	struct step {
		const char *name;
		double factor;
	} steps[6];
};

static const struct scale scales[] = {
	{"ns", {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}},
	{"bps", {{"b/s", 1}, {"kb/s", 1e3}, {"Mb/s", 1e6}, {"Gb/s", 1e9}, {"Tb/s", 1e12}}},
	{"B", {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}}},
};

/* Digits behind the point that make so many, 3 or 4, in all. */
static int
decimals(double x, int digits)
{
	const double half = digits == 4 ? 0.5e-4 : 0.5e-3; /* would be rounded up to ten */
	int n = digits - 1;

	if (x == floor(x) && x < 1000)
		return 0;
	for (double ten = 10; n > 0 && x >= ten * (1 - half); ten *= 10)
		n--;
	return n;
}

static const char *
scaled(const struct scale *scale, double x, int digits, char *text)
{
	const struct step *step = scale->steps;

	while (step[1].name && x >= (digits == 4 ? 0.99995 : 0.9995) * step[1].factor)
		step++;
	x /= step->factor;
	snprintf(text, HUMAN_TEXT_MAX, "%.*f %s", decimals(x, digits), x, step->name);
	return text;
}

static const char *
grouped(uint64_t n, char *text)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n), at = 0;

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = 0;
	return text;
}

static const char *
written(struct value value, const char *unit, int digits, char *text)
{
	switch (value.kind) {
	case VALUE_NONE:
		return "-";
	case VALUE_WORD:
		return value.word;
	case VALUE_COUNT:
	case VALUE_REAL:
		break;
	}
	for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
		if (strcmp(scales[i].unit, unit) == 0)
			return scaled(&scales[i],
			              value.kind == VALUE_REAL ? value.real : (double)value.count,
			              digits, text);
	}
	if (value.kind == VALUE_COUNT)
		return grouped(value.count, text);
	snprintf(text, HUMAN_TEXT_MAX, "%.*f", value.real < 99.995 ? 3 : 1, value.real);
	return text;
}

const char *
human(struct value value, const char *unit, char text[HUMAN_TEXT_MAX])
{
	return written(value, unit, 4, text);
}

const char *
human_short(struct value value, const char *unit, char text[HUMAN_TEXT_MAX])
{
	return written(value, unit, 3, text);
}

const char *
human_share(struct value value, char text[HUMAN_TEXT_MAX])
{
	if (value.kind != VALUE_REAL)
		return "-";
	snprintf(text, HUMAN_TEXT_MAX, "%.3g %%", 100 * value.real);
	return text;
}
