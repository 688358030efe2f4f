/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_STATE_H
#define WEFT_STATE_H

#include <stdint.h>

#include "abi.h"

/**
 * Whether a change of state and attributes is legal; looks only.
 *
 * @param type     enum shm_qp_type.
 * @param from     present state.
 * @param mask     enum shm_qp_mask; without SHM_QP_STATE the state stays.
 * @param max_mtu  largest path MTU code that the link carries.
 * @return         NULL if it is; else what is wrong, for people.
 */
const char *state_check(uint8_t type, uint8_t from, const struct shm_qp_attr *attr, uint32_t mask,
                        uint8_t max_mtu);

/** Copy what the mask names, the state aside. */
void state_copy(struct shm_qp_attr *to, const struct shm_qp_attr *from, uint32_t mask);

#endif
