/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_FORKGUARD_H
#define WEFT_FORKGUARD_H

/**
 * Keep forked children off their parent's remapped memory and devices, from now on. To be called
 * early: handlers of fork run in the order in which they were given.
 */
void forkguard_start(void);

#endif
