/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CLAIM_H
#define WEFT_CLAIM_H

#include <stddef.h>

/**
 * @file
 * Names that only one living process may have: a locked file. The lock ends with its holder,
 * however that dies.
 */

struct claim {
	int fd; /**< -1 = not held */
	char path[256];
};

/**
 * Take a name.
 *
 * @param dir, file     where the lock lies.
 * @param text          who we are, for those who come later.
 * @param holder, size  on -EBUSY who has it.
 * @return              0; -EBUSY; or the error of a system call.
 */
int claim_take(struct claim *claim, const char *dir, const char *file, const char *text,
               char *holder, size_t size);

/** Give it back, if held. */
void claim_drop(struct claim *claim);

#endif
