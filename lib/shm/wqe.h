/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_WQE_H
#define WEFT_WQE_H

/* What applications and the daemon must agree on about work requests, beyond their layout. */

#include <stdbool.h>

#include "abi.h"

/** A set of operations (enum shm_wr_op) has this bit for each. */
#define SHM_OP_BIT(op) (1u << (op))
#define SHM_OPS_SEND (SHM_OP_BIT(SHM_WR_SEND) | SHM_OP_BIT(SHM_WR_SEND_IMM))
#define SHM_OPS_WRITE (SHM_OP_BIT(SHM_WR_WRITE) | SHM_OP_BIT(SHM_WR_WRITE_IMM))
#define SHM_OPS_ATOMIC (SHM_OP_BIT(SHM_WR_CMP_SWAP) | SHM_OP_BIT(SHM_WR_FETCH_ADD))
/** What the peer answers with data. */
#define SHM_OPS_RD (SHM_OPS_ATOMIC | SHM_OP_BIT(SHM_WR_READ))
/** What sends nothing. */
#define SHM_OPS_LOCAL (SHM_OP_BIT(SHM_WR_LOCAL_INV) | SHM_OP_BIT(SHM_WR_BIND_MW))
/** What carries data to the peer: the only ones that can be inline. */
#define SHM_OPS_OUT (SHM_OPS_SEND | SHM_OPS_WRITE | SHM_OP_BIT(SHM_WR_SEND_INV))

/** The operations of a QP type; none of what is no type. Source: IBA vol. 1, ch. 9. */
static inline uint32_t
shm_ops_of(uint8_t type)
{
	static const uint16_t table[] = {
		[SHM_QPT_RC] = SHM_OPS_OUT | SHM_OPS_RD | SHM_OPS_LOCAL,
		[SHM_QPT_UC] = SHM_OPS_SEND | SHM_OPS_WRITE | SHM_OPS_LOCAL,
		[SHM_QPT_UD] = SHM_OPS_SEND,
	};

	return type < sizeof(table) / sizeof(table[0]) ? table[type] : 0;
}

/** Whether a QP type has an operation; op may be anything. */
static inline bool
shm_op_allowed(uint8_t type, uint32_t op)
{
	return op < SHM_WR_NB && (shm_ops_of(type) & SHM_OP_BIT(op));
}

/** What an operation completes as, an enum shm_wc_op; SEND for what is none. */
static inline uint8_t
shm_wc_op_of(uint8_t op)
{
	static const uint8_t table[SHM_WR_NB] = {
		[SHM_WR_WRITE] = SHM_WC_WRITE,         [SHM_WR_WRITE_IMM] = SHM_WC_WRITE,
		[SHM_WR_SEND] = SHM_WC_SEND,           [SHM_WR_SEND_IMM] = SHM_WC_SEND,
		[SHM_WR_READ] = SHM_WC_READ,           [SHM_WR_CMP_SWAP] = SHM_WC_CMP_SWAP,
		[SHM_WR_FETCH_ADD] = SHM_WC_FETCH_ADD, [SHM_WR_LOCAL_INV] = SHM_WC_LOCAL_INV,
		[SHM_WR_BIND_MW] = SHM_WC_BIND_MW,     [SHM_WR_SEND_INV] = SHM_WC_SEND,
	};

	return op < SHM_WR_NB ? table[op] : SHM_WC_SEND;
}

/** Whether the daemon grants these capacities. */
static inline bool
shm_qp_cap_ok(const struct shm_qp_cap *cap)
{
	return cap->max_send_wr <= WEFT_MAX_WR && cap->max_recv_wr <= WEFT_MAX_WR &&
	       cap->max_send_sge <= WEFT_MAX_SGE && cap->max_recv_sge <= WEFT_MAX_SGE &&
	       cap->max_inline <= WEFT_MAX_INLINE;
}

/** Bytes of a send slot. */
static inline uint32_t
sq_stride(uint32_t max_sge, uint32_t max_inline)
{
	uint32_t tail = max_sge * (uint32_t)sizeof(struct shm_sge);

	if (max_inline > tail)
		tail = max_inline;
	return (uint32_t)(sizeof(struct shm_send_wqe) + tail + 63) & ~63u;
}

/** Bytes of a receive slot. */
static inline uint32_t
rq_stride(uint32_t max_sge)
{
	return (uint32_t)(sizeof(struct shm_recv_wqe) + max_sge * sizeof(struct shm_sge));
}

#endif
