/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "units.h"

#include <errno.h>
#include <string.h>

Test(units, whole_numbers_are_read_exactly_or_refused)
{
	static const struct {
		enum units units;
		const char *text;
		uint64_t want;
		int err;
		const char *why;
	} rows[] = {
		{UNITS_TIME, "55us", 55000, 0, 0},
		{UNITS_TIME, "1.5ms", 1500000, 0, 0},
		{UNITS_TIME, "0.001us", 1, 0, 0},
		{UNITS_TIME, "2s", 2000000000, 0, 0},
		{UNITS_TIME, "3ns", 3, 0, 0},
		{UNITS_TIME, "2min", 120000000000, 0, 0},
		{UNITS_TIME, "0.05min", 3000000000, 0, 0},
		{UNITS_TIME, "0", 0, 0, 0},
		{UNITS_TIME, "0us", 0, 0, 0},
		{UNITS_TIME, "000000000000000000000001us", 1000, 0, 0},
		{UNITS_TIME, "55", 0, -EINVAL, "needs a unit of time (ns, us, ms, s, min)"},
		{UNITS_TIME, "55 us", 0, -EINVAL, "no space before the unit"},
		{UNITS_TIME, "0 us", 0, -EINVAL, "no space before the unit"},
		{UNITS_TIME, "55 ", 0, -EINVAL, "needs a unit of time (ns, us, ms, s, min)"},
		{UNITS_TIME, "55 G", 0, -EINVAL, "needs a unit of time (ns, us, ms, s, min)"},
		{UNITS_TIME, "55G", 0, -EINVAL, "needs a unit of time (ns, us, ms, s, min)"},
		{UNITS_TIME, "55usec", 0, -EINVAL, "needs a unit of time (ns, us, ms, s, min)"},
		{UNITS_TIME, "0.5ns", 0, -EINVAL, "not a whole number of its smallest unit"},
		{UNITS_TIME, "1.0001us", 0, -EINVAL, "not a whole number of its smallest unit"},
		{UNITS_TIME, "99999999999s", 0, -ERANGE, "too large"},
		{UNITS_TIME, "99999999999999999999s", 0, -ERANGE, "too many digits"},
		{UNITS_TIME, "0.00000000000000000001s", 0, -ERANGE, "too many digits"},
		{UNITS_TIME, "", 0, -EINVAL, "not a number"},
		{UNITS_TIME, "us", 0, -EINVAL, "not a number"},
		{UNITS_TIME, ".", 0, -EINVAL, "not a number"},
		{UNITS_TIME, "-1us", 0, -EINVAL, "not a number"},
		{UNITS_TIME, "+1us", 0, -EINVAL, "not a number"},
		{UNITS_TIME, " 1us", 0, -EINVAL, "not a number"},
		{UNITS_TIME, "1..5us", 0, -EINVAL, "needs a unit of time (ns, us, ms, s, min)"},

		{UNITS_RATE, "100G", 100000000000, 0, 0},
		{UNITS_RATE, "2.5Gbps", 2500000000, 0, 0},
		{UNITS_RATE, "10Mbit/s", 10000000, 0, 0},
		{UNITS_RATE, "10Mb/s", 10000000, 0, 0},
		{UNITS_RATE, "1T", 1000000000000, 0, 0},
		{UNITS_RATE, "64k", 64000, 0, 0},
		{UNITS_RATE, "64K", 64000, 0, 0},
		{UNITS_RATE, "9600", 9600, 0, 0},
		{UNITS_RATE, "9600bps", 9600, 0, 0},
		{UNITS_RATE, "1GB", 0, -EINVAL,
	         "not a rate (such as 100G, 100Gbps, 100Gb/s or 100Gbit/s; K, M, G or T)"},
		{UNITS_RATE, "1m", 0, -EINVAL,
	         "not a rate (such as 100G, 100Gbps, 100Gb/s or 100Gbit/s; K, M, G or T)"},
		{UNITS_RATE, "0.1", 0, -EINVAL, "not a whole number of its smallest unit"},

		{UNITS_SIZE, "4K", 4096, 0, 0},
		{UNITS_SIZE, "4KB", 4096, 0, 0},
		{UNITS_SIZE, "4KiB", 4096, 0, 0},
		{UNITS_SIZE, "4Ki", 4096, 0, 0},
		{UNITS_SIZE, "1.5M", 1572864, 0, 0},
		{UNITS_SIZE, "0.25K", 256, 0, 0},
		{UNITS_SIZE, "9216", 9216, 0, 0},
		{UNITS_SIZE, "9216B", 9216, 0, 0},
		{UNITS_SIZE, "18446744073709551615", 0, -ERANGE, "too many digits"},
		{UNITS_SIZE, "16777215T", 16777215ull << 40, 0, 0},
		{UNITS_SIZE, "16777216T", 0, -ERANGE, "too large"},
		{UNITS_SIZE, "0.1K", 0, -EINVAL, "not a whole number of its smallest unit"},
		{UNITS_SIZE, "1iB", 0, -EINVAL, "not a size (unit K, M, G or T, in bytes)"},
		{UNITS_SIZE, "9 K", 0, -EINVAL, "no space before the unit"},
		{UNITS_SIZE, "9  KiB", 0, -EINVAL, "no space before the unit"},
		{UNITS_SIZE, "9 ", 0, -EINVAL, "not a size (unit K, M, G or T, in bytes)"},
		{UNITS_SIZE, "1us", 0, -EINVAL, "not a size (unit K, M, G or T, in bytes)"},
		{UNITS_SHARE, "1%", 10000, 0, 0},
		{UNITS_SHARE, "0.25%", 2500, 0, 0},
		{UNITS_SHARE, "12ppm", 12, 0, 0},
		{UNITS_SHARE, "0", 0, 0, 0},
		{UNITS_SHARE, "50 %", 0, -EINVAL, "no space before the unit"},
		{UNITS_SHARE, "0.5", 0, -EINVAL, "needs a unit of shares (%, ppm)"},
		{UNITS_SHARE, "0.00001%", 0, -EINVAL, "not a whole number of its smallest unit"},

		{UNITS_COUNT, "128", 128, 0, 0},
		{UNITS_COUNT, "128pkt", 128, 0, 0},
		{UNITS_COUNT, "4K", 0, -EINVAL, "not a plain number"},
		{UNITS_COUNT, "0x10", 0, -EINVAL, "not a plain number"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t value = 12345;
		const char *why = NULL;
		int err = units_parse(rows[i].units, rows[i].text, &value, &why);

		cr_expect_eq(err, rows[i].err, "row %zu: %d", i, err);
		cr_expect_eq(value, err ? 12345 : rows[i].want, "row %zu: %lu", i, value);
		if (rows[i].why)
			cr_expect_str_eq(why, rows[i].why, "row %zu: %s", i, why);
		else
			cr_expect_null(why, "row %zu", i);
	}
}

Test(units, real_numbers_and_percents)
{
	static const struct {
		const char *text;
		double want;
		int err;
	} rows[] = {
		{"0.95", 0.95, 0},   {"1%", 0.01, 0},
		{"0.1%", 0.001, 0},  {"95%", 0.95, 0},
		{"100%", 1, 0},      {"0", 0, 0},
		{"3", 3, 0},         {".5", 0.5, 0},
		{"5.", 5, 0},        {"1e3", 0, -EINVAL},
		{"1 %", 0, -EINVAL}, {"", 0, -EINVAL},
		{"%", 0, -EINVAL},   {"-1", 0, -EINVAL},
		{"nan", 0, -EINVAL}, {"0.0000000000000000001%", 1e-21, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double value = -7;
		const char *why = NULL;
		int err = units_parse_real(rows[i].text, &value, &why);

		cr_expect_eq(err, rows[i].err, "row %zu", i);
		cr_expect_eq(value, err ? -7 : rows[i].want, "row %zu: %g", i, value);
		cr_expect_eq(why != NULL, err != 0, "row %zu", i);
	}
}

Test(units, values_are_written_with_the_largest_unit_and_read_back)
{
	static const struct {
		enum units units;
		uint64_t value;
		const char *text;
	} rows[] = {
		{UNITS_TIME, 55000, "55us"},
		{UNITS_TIME, 55001, "55001ns"},
		{UNITS_TIME, 60000000000, "1min"},
		{UNITS_TIME, 0, "0"},
		{UNITS_RATE, 100000000000, "100G"},
		{UNITS_RATE, 9600, "9600"},
		{UNITS_SIZE, 4096, "4K"},
		{UNITS_SIZE, 9216, "9K"},
		{UNITS_SIZE, 1u << 30, "1G"},
		{UNITS_SHARE, 10000, "1%"},
		{UNITS_SHARE, 2500, "2500ppm"},
		{UNITS_COUNT, 1000, "1000"},
		{UNITS_TIME, 9999999999999999999u, "9999999999999999999ns"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[UNITS_TEXT_MAX];
		const char *why;
		uint64_t back;

		cr_expect_str_eq(units_format(rows[i].units, rows[i].value, text), rows[i].text);
		cr_expect_eq(units_parse(rows[i].units, text, &back, &why), 0);
		cr_expect_eq(back, rows[i].value);
	}
}
