/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_DRAINS_H
#define WEFT_DRAINS_H

#include <stdbool.h>
#include <stdint.h>

#include "control.h"

/**
 * @file
 * NICs that are being drained: nobody new comes, what was posted is finished within a limit, and
 * then programs are sent away, who see their device die. On the control thread.
 */

/** @return 0 or a negative errno. */
int drains_open(struct control *control);
void drains_close(struct control *control);

/**
 * Drain a device; without memory it is ended at once. Draining already: nothing changes.
 *
 * @param device  NULL = all.
 */
void drains_begin(struct control *control, struct device *device);

/** Whether a device is being drained just now; NULL = any of them. */
bool drains_busy(const struct control *control, const struct device *device);

/** End what is being drained now. */
void drains_finish(struct control *control);

/** Take programs again; what is being drained is not drained further. */
void drains_resume(struct control *control, struct device *device);

#endif
