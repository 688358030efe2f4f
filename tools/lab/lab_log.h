/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_LOG_H
#define WEFT_LAB_LOG_H

/** From now on what is logged (log.h) stands on stderr, as "weft-lab: LINE". */
void lab_log_start(void);

#endif
