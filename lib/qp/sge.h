/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SGE_H
#define WEFT_SGE_H

#include <stdbool.h>
#include <stdint.h>

#include "qp.h"

/**
 * Bytes [off, off + len) of a scatter/gather list into a packet, or from one, at the batch's next
 * flush. Each buffer's key is looked up again: it may have been deregistered since it was posted.
 *
 * @return false if a buffer is not there, or not writable for scatter.
 */
bool sge_gather(struct qp *qp, const struct shm_sge *sge, uint32_t nb_sge, uint64_t off,
                uint8_t *pkt, uint32_t len);
bool sge_scatter(struct qp *qp, const struct shm_sge *sge, uint32_t nb_sge, uint64_t off,
                 const uint8_t *pkt, uint32_t len);

#endif
