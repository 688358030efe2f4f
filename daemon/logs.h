/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LOGS_H
#define WEFT_LOGS_H

#include <stdbool.h>

/**
 * @file
 * Where lines go: to standard error. Nobody waits for whoever reads them; a line that finds no room
 * is counted and not written. So are a worker's lines when they come too fast, because an
 * application can make them.
 */

/** Set log_fn. Before any other thread. */
void logs_start(bool verbose);

/** The calling thread is a worker. */
void logs_of_worker(void);

#endif
