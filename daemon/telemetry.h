/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TELEMETRY_H
#define WEFT_TELEMETRY_H

#include "report.h"

/**
 * @file
 * The reports of report.h through DPDK's telemetry socket, for what reads that of every DPDK
 * program:
 *
 *     /weft/nodes             names
 *     /weft/node,NAME         one NIC or switch
 *     /weft/counters,OWNER    of a NIC, a port of a switch (sw0/1), or the worker
 *     /weft/qps,NIC[,FROM]    QPNs, from the FROMth on
 *     /weft/qp,NIC,QPN        one QP
 *
 * DPDK 22.11 bounds an answer: 512 entries of an array, 256 of an object, 128 bytes of a text in
 * either, and 16 KB in all. What is longer is cut.
 */

/**
 * Before EAL starts its thread or after it; once per process. Until telemetry_stop the workers run.
 *
 * @param report  must live until telemetry_stop.
 * @return        0 or a negative errno.
 */
int telemetry_start(const struct report *report);

/** From now on all answers are empty. */
void telemetry_stop(void);

#endif
