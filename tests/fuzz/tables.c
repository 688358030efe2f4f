/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

void
tables_add(struct tables *t, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len < 0 || t->len + (size_t)len > TABLES_MAX_LEN)
		return;
	memcpy(t->buf + t->len, text, (size_t)len);
	t->len += (size_t)len;
}

const char *
tables_blank(struct tables *t)
{
	static const char *const blanks[] = {" ", " ", ",", ", ", "\t", ";", "  "};

	return blanks[prng_below(t->rng, 7)];
}

void
tables_mutate(struct tables *t)
{
	static const char odd[] = "0123456789.%#,;-+eEhKMGTnus \t\r\n\0\xff";
	uint32_t nb_flips = 0;

	if (prng_below(t->rng, 2))
		nb_flips = prng_below(t->rng, 8) ? prng_below(t->rng, 4) : prng_below(t->rng, 60);
	for (uint32_t i = 0; i < nb_flips && t->len > 1; i++) {
		uint32_t at = prng_below(t->rng, (uint32_t)t->len);

		if (prng_below(t->rng, 4) == 0) {
			memmove(t->buf + at, t->buf + at + 1, t->len - at - 1);
			t->len--;
		} else {
			t->buf[at] = odd[prng_below(t->rng, sizeof(odd))];
		}
	}
}

void
tables_check_line(const char *why, bool is_good)
{
	char *end;

	if (is_good) {
		FUZZ_CHECK(why[0] == '\0');
		return;
	}
	FUZZ_CHECK(strncmp(why, "fuzz:", 5) == 0);
	FUZZ_CHECK(strtoul(why + 5, &end, 10) >= 1 && end[0] == ':' && end[1] == ' ' && end[2]);
	FUZZ_CHECK(strlen(why) < 400);
	for (; *why; why++)
		FUZZ_CHECK(*why >= ' ' && *why <= '~');
}
