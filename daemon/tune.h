/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TUNE_H
#define WEFT_TUNE_H

#include <stddef.h>

#include "conf.h"
#include "nodes.h"

/**
 * @file
 * Parameters that an operator may change while the daemon runs: those of NICs' engines, for
 * connections from then on; of a NIC its traffic class; of a NIC and of a port of a switch the
 * faults there. Texts are read as in a conf file, with the same messages.
 */

/** Changes of engines' parameters, each of which is kept as long as the daemon. Source: our choice.
 */
#define TUNE_ENGINES_MAX 4096

struct tune {
	struct nodes *nodes;
	struct conf *conf;            /**< follows what is changed */
	void *kept[TUNE_ENGINES_MAX]; /**< parameters that connections may still use */
	uint32_t nb_kept;
};

/**
 * Change one.
 *
 * @param target    a NIC, a port of a switch ("sw0/1") or an engine.
 * @param answer    gets a sentence: what is so from when on, or why not.
 * @return          0 or a negative errno.
 */
int tune_set(struct tune *tune, const char *target, const char *key, const char *text, char *answer,
             size_t size);

/** No connection is there any more. */
void tune_fini(struct tune *tune);

#endif
