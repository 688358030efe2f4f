/* SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>

void (*log_fn)(enum log_level level, const char *line);
enum log_level log_level_max = LOG_LEVEL_INFO;

void
log_write(enum log_level level, const char *fmt, ...)
{
	char line[LOG_LINE_MAX];
	va_list ap;

	if (!log_fn || level > log_level_max)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	log_fn(level, line);
}
