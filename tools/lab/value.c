/* SPDX-License-Identifier: BSD-3-Clause */
#include "value.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "flow.h"

struct value
value_time(uint64_t at_ps)
{
	return at_ps == NEVER_PS ? value_none() : value_count(at_ps);
}

struct value
value_ratio(double a, double b)
{
	return b == 0 ? value_none() : value_real(a / b);
}

const char *
value_text(const struct value *value, char text[VALUE_TEXT_MAX])
{
	switch (value->kind) {
	case VALUE_NONE:
		return "";
	case VALUE_COUNT:
		snprintf(text, VALUE_TEXT_MAX, "%" PRIu64, value->count);
		return text;
	case VALUE_REAL:
		snprintf(text, VALUE_TEXT_MAX, "%.*g", VALUE_DIGITS, value->real);
		return text;
	case VALUE_WORD:
		return value->word;
	}
	assert(!"a kind of value");
	return "";
}
