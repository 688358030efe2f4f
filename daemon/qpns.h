/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_QPNS_H
#define WEFT_QPNS_H

#include <stdint.h>

#include "nic.h"
#include "worker.h"

/**
 * The numbers of a NIC's QPs: what a walk begins with, because the NIC's table cannot be walked in
 * slices while it changes. From any thread but the worker, which runs; about 10 ns of it for each.
 *
 * @param[out] nb  how many.
 * @return         to be freed; NULL without memory.
 */
uint32_t *qpns_of(struct worker *worker, const struct nic *nic, uint32_t *nb);

#endif
