/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_FAULTS_H
#define WEFT_FAULTS_H

#include "nodes.h"

/**
 * Let these faults happen at a port of a running node, from now on. A port that has no fault layer
 * gets one, between two turns of the worker. From the control thread, which alone changes ports.
 *
 * @param port  its place in struct nodes.
 * @return      0 or -ENOMEM.
 */
int faults_set(const struct nodes *nodes, struct port **port, const struct fault_params *params);

#endif
