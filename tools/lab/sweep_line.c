/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep_line.h"

#include <inttypes.h>
#include <string.h>

#include "sweep_sum.h"

static void
write_seal(const char *text, size_t len, char seal[LINE_SEAL + 1])
{
	uint64_t sum = sum_add(SUM_INIT, text, len);

	snprintf(seal, LINE_SEAL + 1, "\t%08" PRIx32 "\n", (uint32_t)(sum ^ sum >> 32));
}

void
line_seal(char *text, size_t len)
{
	char seal[LINE_SEAL + 1];

	write_seal(text, len, seal);
	memcpy(text + len, seal, sizeof(seal));
}

size_t
line_open(char *line, size_t len)
{
	char seal[LINE_SEAL + 1];

	if (len < LINE_SEAL || strlen(line) != len)
		return 0;
	len -= LINE_SEAL - 1;
	write_seal(line, len, seal);
	if (memcmp(line + len, seal, LINE_SEAL - 1) != 0)
		return 0;
	line[len] = '\0';
	return len;
}

size_t
line_read(FILE *in, char *line, bool *is_whole)
{
	size_t len = 0;
	int c = EOF;

	while (len < LINE_MAX_SIZE - 1 && (c = getc(in)) != EOF && c != '\n')
		line[len++] = (char)c;
	line[len] = '\0';
	*is_whole = c == '\n';
	return len;
}
