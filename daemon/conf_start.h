/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CONF_START_H
#define WEFT_CONF_START_H

#include "conf.h"

/**
 * @file
 * What would stop a start that is not in the conf file itself: privileges, folders, who has an
 * interface just now. It looks, and changes nothing; the ports find out the same when they open.
 */

/**
 * Look, as the user that this process has.
 *
 * @param path  of the file, for messages.
 * @return      whether a start would go on; what stops it is written with its line.
 */
bool conf_start_check(const struct conf *conf, const char *path, FILE *out);

#endif
