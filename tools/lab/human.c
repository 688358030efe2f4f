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

/* Digits behind the point that make it four in all. */
static int
decimals(double x)
{
	if (x == floor(x) && x < 1000)
		return 0;
	return x < 9.9995 ? 3 : x < 99.995 ? 2 : x < 999.95 ? 1 : 0;
}

static const char *
scaled(const struct scale *scale, double x, char *text)
{
	const struct step *step = scale->steps;

	while (step[1].name && x >= 0.99995 * step[1].factor)
		step++;
	x /= step->factor;
	snprintf(text, HUMAN_TEXT_MAX, "%.*f %s", decimals(x), x, step->name);
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

const char *
human(struct value value, const char *unit, char text[HUMAN_TEXT_MAX])
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
			              text);
	}
	if (value.kind == VALUE_COUNT)
		return grouped(value.count, text);
	snprintf(text, HUMAN_TEXT_MAX, "%.*f", value.real < 99.995 ? 3 : 1, value.real);
	return text;
}

const char *
human_share(struct value value, char text[HUMAN_TEXT_MAX])
{
	if (value.kind != VALUE_REAL)
		return "-";
	snprintf(text, HUMAN_TEXT_MAX, "%.3g %%", 100 * value.real);
	return text;
}
