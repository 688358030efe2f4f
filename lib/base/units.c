/* SPDX-License-Identifier: BSD-3-Clause */
#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/** Most digits of a number that fit 64 bits whatever they are. */
#define DIGITS_MAX 19

struct suffix {
	const char *text;
	uint64_t factor;
};

/* Largest first: units_format takes the first that divides. */
static const struct suffix count_suffixes[] = {{"", 1}, {"pkt", 1}, {0}};
static const struct suffix time_suffixes[] = {
	{"min", 60000000000}, {"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}, {0},
};
static const struct suffix rate_suffixes[] = {
	{"T", 1000000000000},
	{"G", 1000000000},
	{"M", 1000000},
	{"K", 1000},
	{"", 1},
	{"k", 1000},
	{0},
};
static const struct suffix size_suffixes[] = {
	{"T", UINT64_C(1) << 40},
	{"G", 1 << 30},
	{"M", 1 << 20},
	{"K", 1 << 10},
	{"", 1},
	{"k", 1 << 10},
	{"Ti", UINT64_C(1) << 40},
	{"Gi", 1 << 30},
	{"Mi", 1 << 20},
	{"Ki", 1 << 10},
	{0},
};

static const struct suffix share_suffixes[] = {{"%", 10000}, {"ppm", 1}, {0}};

static const struct {
	const struct suffix *suffixes;
	const char *tails[4]; /**< what may follow the suffix; NULL at the end */
	const char *bad_unit;
} kinds[] = {
	[UNITS_COUNT] = {count_suffixes, {""}, "not a plain number"},
	[UNITS_TIME] = {time_suffixes, {""}, "needs a unit of time (ns, us, ms, s, min)"},
	[UNITS_RATE] = {rate_suffixes,
                        {"", "bps", "bit/s", "b/s"},
                        "not a rate (such as 100G, 100Gbps, 100Gb/s or 100Gbit/s; K, M, G or T)"},
	[UNITS_SIZE] = {size_suffixes, {"", "B"}, "not a size (unit K, M, G or T, in bytes)"},
	[UNITS_SHARE] = {share_suffixes, {""}, "needs a unit of shares (%, ppm)"},
};
#define NB_TAILS 4

/** A decimal number: digits / 10^decimals, and what follows it. */
struct decimal {
	uint64_t digits;
	uint32_t decimals;
	const char *rest;
};

static int
read_decimal(const char *text, struct decimal *d, const char **why)
{
	uint32_t nb_digits = 0;
	bool point = false, any = false;

	*d = (struct decimal){0};
	for (; (*text >= '0' && *text <= '9') || (*text == '.' && !point); text++) {
		if (*text == '.') {
			point = true;
			continue;
		}
		any = true;
		nb_digits += nb_digits > 0 || *text != '0';
		if (nb_digits > DIGITS_MAX) {
			*why = "too many digits";
			return -ERANGE;
		}
		d->digits = d->digits * 10 + (uint64_t)(*text - '0');
		d->decimals += point;
		if (d->decimals > DIGITS_MAX) {
			*why = "too many digits";
			return -ERANGE;
		}
	}
	d->rest = text;
	if (!any) {
		*why = "not a number";
		return -EINVAL;
	}
	return 0;
}

/**
 * digits x factor / 10^decimals, if that is whole.
 *
 * Each decimal takes a 2 and a 5: both from the factor, or the 5 from the digits. (No factor has
 * more fives than twos, so the other way round is not needed.)
 */
static int
scale(struct decimal d, uint64_t factor, uint64_t *value, const char **why)
{
	for (; d.decimals > 0 && d.digits % 10 == 0; d.decimals--)
		d.digits /= 10;
	for (; d.decimals > 0; d.decimals--) {
		if (factor % 10 == 0) {
			factor /= 10;
		} else if (factor % 2 == 0 && d.digits % 5 == 0) {
			factor /= 2;
			d.digits /= 5;
		} else {
			*why = "not a whole number of its smallest unit";
			return -EINVAL;
		}
	}
	if (__builtin_mul_overflow(d.digits, factor, value)) {
		*why = "too large";
		return -ERANGE;
	}
	return 0;
}

static bool
is_tail(enum units units, const char *text)
{
	for (int i = 0; i < NB_TAILS && kinds[units].tails[i]; i++) {
		if (!strcmp(kinds[units].tails[i], text))
			return true;
	}
	return false;
}

/** What the text behind a number means, with its tail; NULL if nothing. */
static const struct suffix *
find_suffix(enum units units, const char *text)
{
	for (const struct suffix *s = kinds[units].suffixes; s->text; s++) {
		size_t len = strlen(s->text);

		if (!strncmp(text, s->text, len) && is_tail(units, text + len))
			return s;
	}
	return NULL;
}

int
units_parse(enum units units, const char *text, uint64_t *value, const char **why)
{
	const struct suffix *s;
	struct decimal d;
	uint64_t scaled;
	int err = read_decimal(text, &d, why);

	if (err)
		return err;
	if (d.digits == 0 && !*d.rest) {
		*value = 0;
		return 0;
	}
	s = find_suffix(units, d.rest);
	if (!s) {
		const char *unit = d.rest + strspn(d.rest, " \t");

		*why = unit > d.rest && *unit && find_suffix(units, unit)
		               ? "no space before the unit"
		               : kinds[units].bad_unit;
		return -EINVAL;
	}
	err = scale(d, s->factor, &scaled, why);
	if (!err)
		*value = scaled;
	return err;
}

int
units_parse_real(const char *text, double *value, const char **why)
{
	struct decimal d;
	double power = 1;
	int err = read_decimal(text, &d, why);

	if (err)
		return err;
	if (!strcmp(d.rest, "%")) {
		d.decimals += 2;
	} else if (*d.rest) {
		*why = "not a number, nor one with %";
		return -EINVAL;
	}
	/* One division by an exact power of ten: the nearest double to 15 digits as written. */
	for (; d.decimals > 0; d.decimals--)
		power *= 10;
	*value = (double)d.digits / power;
	return 0;
}

const char *
units_format(enum units units, uint64_t value, char text[UNITS_TEXT_MAX])
{
	const struct suffix *s = kinds[units].suffixes;

	while (value % s->factor)
		s++;
	if (value == 0)
		snprintf(text, UNITS_TEXT_MAX, "0");
	else
		snprintf(text, UNITS_TEXT_MAX, "%" PRIu64 "%s", value / s->factor, s->text);
	return text;
}
