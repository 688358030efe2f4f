/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LINES_H
#define WEFT_LINES_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Whether one more line may be written to a log that is not to be filled: burst at once, and then
 * one each line_ns.
 *
 * @param full_ns  when burst may be written again; at first 0. It moves if the answer is yes.
 */
static inline bool
lines_allow(uint64_t *full_ns, uint32_t burst, uint64_t line_ns, uint64_t now_ns)
{
	if (*full_ns < now_ns)
		*full_ns = now_ns;
	if (*full_ns - now_ns > (burst - 1) * line_ns)
		return false;
	*full_ns += line_ns;
	return true;
}

#endif
