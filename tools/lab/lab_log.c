/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab_log.h"

#include <stdio.h>

#include "log.h"

static void
write_line(enum log_level level, const char *line)
{
	(void)level;
	fprintf(stderr, "weft-lab: %s\n", line);
}

void
lab_log_start(void)
{
	log_fn = write_line;
}
