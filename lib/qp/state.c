/* SPDX-License-Identifier: BSD-3-Clause */
#include "state.h"

#include <stddef.h>

#include "psn.h"

/*
 * Which attributes each change of state must and may come with. Source: IBA vol. 1, ch. 10 (QP
 * state transitions) and ibv_modify_qp(3). STATE and CUR_STATE are allowed everywhere.
 */

#define BASE (SHM_QP_STATE | SHM_QP_CUR_STATE)
#define ANY_TYPE 0

#define INIT_CONN (SHM_QP_PKEY_INDEX | SHM_QP_PORT | SHM_QP_ACCESS_FLAGS)
#define INIT_UD (SHM_QP_PKEY_INDEX | SHM_QP_PORT | SHM_QP_QKEY)
#define RTR_UC (SHM_QP_AV | SHM_QP_PATH_MTU | SHM_QP_DEST_QPN | SHM_QP_RQ_PSN)
#define RTR_RC (RTR_UC | SHM_QP_MAX_DEST_RD_ATOMIC | SHM_QP_MIN_RNR_TIMER)
#define RTS_RC                                                                                     \
	(SHM_QP_SQ_PSN | SHM_QP_TIMEOUT | SHM_QP_RETRY_CNT | SHM_QP_RNR_RETRY |                    \
	 SHM_QP_MAX_QP_RD_ATOMIC)
#define OPT_ALIVE_RC (SHM_QP_ACCESS_FLAGS | SHM_QP_MIN_RNR_TIMER | SHM_QP_RATE_LIMIT)
#define OPT_SQD_RC                                                                                 \
	(SHM_QP_AV | SHM_QP_TIMEOUT | SHM_QP_RETRY_CNT | SHM_QP_RNR_RETRY |                        \
	 SHM_QP_MAX_QP_RD_ATOMIC | SHM_QP_MAX_DEST_RD_ATOMIC | SHM_QP_PKEY_INDEX | SHM_QP_PORT |   \
	 OPT_ALIVE_RC)

struct transition {
	uint8_t from, to, type; /**< type 0 = all */
	uint32_t must, may;
};

static const struct transition transitions[] = {
	{SHM_QPS_RESET, SHM_QPS_INIT, SHM_QPT_RC, INIT_CONN, 0},
	{SHM_QPS_RESET, SHM_QPS_INIT, SHM_QPT_UC, INIT_CONN, 0},
	{SHM_QPS_RESET, SHM_QPS_INIT, SHM_QPT_UD, INIT_UD, 0},

	{SHM_QPS_INIT, SHM_QPS_INIT, SHM_QPT_RC, 0, INIT_CONN},
	{SHM_QPS_INIT, SHM_QPS_INIT, SHM_QPT_UC, 0, INIT_CONN},
	{SHM_QPS_INIT, SHM_QPS_INIT, SHM_QPT_UD, 0, INIT_UD},

	{SHM_QPS_INIT, SHM_QPS_RTR, SHM_QPT_RC, RTR_RC, SHM_QP_ACCESS_FLAGS | SHM_QP_PKEY_INDEX},
	{SHM_QPS_INIT, SHM_QPS_RTR, SHM_QPT_UC, RTR_UC, SHM_QP_ACCESS_FLAGS | SHM_QP_PKEY_INDEX},
	{SHM_QPS_INIT, SHM_QPS_RTR, SHM_QPT_UD, 0, SHM_QP_PKEY_INDEX | SHM_QP_QKEY},

	{SHM_QPS_RTR, SHM_QPS_RTS, SHM_QPT_RC, RTS_RC, OPT_ALIVE_RC},
	{SHM_QPS_RTR, SHM_QPS_RTS, SHM_QPT_UC, SHM_QP_SQ_PSN,
         SHM_QP_ACCESS_FLAGS | SHM_QP_RATE_LIMIT},
	{SHM_QPS_RTR, SHM_QPS_RTS, SHM_QPT_UD, SHM_QP_SQ_PSN, SHM_QP_QKEY | SHM_QP_RATE_LIMIT},

	{SHM_QPS_RTS, SHM_QPS_RTS, SHM_QPT_RC, 0, OPT_ALIVE_RC},
	{SHM_QPS_RTS, SHM_QPS_RTS, SHM_QPT_UC, 0, SHM_QP_ACCESS_FLAGS | SHM_QP_RATE_LIMIT},
	{SHM_QPS_RTS, SHM_QPS_RTS, SHM_QPT_UD, 0, SHM_QP_QKEY | SHM_QP_RATE_LIMIT},

	{SHM_QPS_RTS, SHM_QPS_SQD, ANY_TYPE, 0, SHM_QP_EN_SQD_ASYNC_NOTIFY},
	{SHM_QPS_SQD, SHM_QPS_SQD, SHM_QPT_RC, 0, OPT_SQD_RC},
	{SHM_QPS_SQD, SHM_QPS_SQD, SHM_QPT_UC, 0,
         SHM_QP_AV | SHM_QP_ACCESS_FLAGS | SHM_QP_PKEY_INDEX | SHM_QP_RATE_LIMIT},
	{SHM_QPS_SQD, SHM_QPS_SQD, SHM_QPT_UD, 0, SHM_QP_QKEY | SHM_QP_PKEY_INDEX},
	{SHM_QPS_SQD, SHM_QPS_RTS, SHM_QPT_RC, 0, OPT_ALIVE_RC},
	{SHM_QPS_SQD, SHM_QPS_RTS, SHM_QPT_UC, 0, SHM_QP_ACCESS_FLAGS | SHM_QP_RATE_LIMIT},
	{SHM_QPS_SQD, SHM_QPS_RTS, SHM_QPT_UD, 0, SHM_QP_QKEY | SHM_QP_RATE_LIMIT},

	{SHM_QPS_SQE, SHM_QPS_RTS, SHM_QPT_UC, 0, SHM_QP_ACCESS_FLAGS | SHM_QP_RATE_LIMIT},
	{SHM_QPS_SQE, SHM_QPS_RTS, SHM_QPT_UD, 0, SHM_QP_QKEY | SHM_QP_RATE_LIMIT},
};

static const struct transition *
find(uint8_t type, uint8_t from, uint8_t to)
{
	for (uint32_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		const struct transition *t = &transitions[i];

		if (t->from == from && t->to == to && (t->type == ANY_TYPE || t->type == type))
			return t;
	}
	return NULL;
}

static const char *
check_masks(uint8_t type, uint8_t from, uint8_t to, uint32_t mask)
{
	const struct transition *t;

	if (to >= SHM_QPS_NB)
		return "there is no such state";
	/* To RESET and to ERR one gets from everywhere, with nothing else. */
	if (to == SHM_QPS_RESET || to == SHM_QPS_ERR)
		return mask & ~(uint32_t)BASE ? "to RESET and ERR only by themselves" : NULL;
	t = find(type, from, to);
	if (!t)
		return "no way leads there from this state";
	if ((mask & t->must) != t->must)
		return "attributes are missing that this change needs";
	if (mask & ~(BASE | t->must | t->may))
		return "attributes are named that this change does not take";
	return NULL;
}

static const char *
check_values(const struct shm_qp_attr *a, uint32_t mask, uint8_t max_mtu)
{
	const uint32_t remote = SHM_ACCESS_LOCAL_WRITE | SHM_ACCESS_REMOTE_WRITE |
	                        SHM_ACCESS_REMOTE_READ | SHM_ACCESS_REMOTE_ATOMIC;
	const struct {
		uint32_t bit;
		uint64_t value, min, max;
		const char *why;
	} rows[] = {
		{SHM_QP_PORT, a->port_num, 1, 1, "port is not 1"},
		{SHM_QP_PKEY_INDEX, a->pkey_index, 0, 0, "P_Key index is not 0"},
		{SHM_QP_ACCESS_FLAGS, a->access & ~remote & 0xfffff, 0, 0, "unknown access flags"},
		{SHM_QP_PATH_MTU, a->path_mtu, 1, max_mtu, "path MTU is none, or above the NIC's"},
		{SHM_QP_DEST_QPN, a->dest_qpn, 0, PSN_MASK,
	         "QPN of the peer has more than 24 bits"},
		{SHM_QP_RQ_PSN, a->rq_psn, 0, PSN_MASK, "PSN has more than 24 bits"},
		{SHM_QP_SQ_PSN, a->sq_psn, 0, PSN_MASK, "PSN has more than 24 bits"},
		{SHM_QP_TIMEOUT, a->timeout, 0, 31, "timeout is above 31"},
		{SHM_QP_RETRY_CNT, a->retry_cnt, 0, 7, "retry_cnt is above 7"},
		{SHM_QP_RNR_RETRY, a->rnr_retry, 0, 7, "rnr_retry is above 7"},
		{SHM_QP_MIN_RNR_TIMER, a->min_rnr_timer, 0, 31, "min_rnr_timer is above 31"},
		{SHM_QP_MAX_QP_RD_ATOMIC, a->max_rd_atomic, 0, WEFT_MAX_RD_ATOMIC,
	         "max_rd_atomic is above max_qp_rd_atom"},
		{SHM_QP_MAX_DEST_RD_ATOMIC, a->max_dest_rd_atomic, 0, WEFT_MAX_RD_ATOMIC,
	         "max_dest_rd_atomic is above max_qp_rd_atom"},
	};

	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if ((mask & rows[i].bit) &&
		    (rows[i].value < rows[i].min || rows[i].value > rows[i].max))
			return rows[i].why;
	return NULL;
}

const char *
state_check(uint8_t type, uint8_t from, const struct shm_qp_attr *attr, uint32_t mask,
            uint8_t max_mtu)
{
	const char *why;

	if ((mask & SHM_QP_CUR_STATE) && attr->cur_state != from)
		return "the present state is another one";
	why = check_masks(type, from, mask & SHM_QP_STATE ? attr->state : from, mask);
	return why ? why : check_values(attr, mask, max_mtu);
}

void
state_copy(struct shm_qp_attr *to, const struct shm_qp_attr *from, uint32_t mask)
{
#define COPY(bit, field)                                                                           \
	do {                                                                                       \
		if (mask & (bit))                                                                  \
			to->field = from->field;                                                   \
	} while (0)
	COPY(SHM_QP_ACCESS_FLAGS, access);
	COPY(SHM_QP_PKEY_INDEX, pkey_index);
	COPY(SHM_QP_PORT, port_num);
	COPY(SHM_QP_QKEY, qkey);
	COPY(SHM_QP_AV, av);
	COPY(SHM_QP_PATH_MTU, path_mtu);
	COPY(SHM_QP_TIMEOUT, timeout);
	COPY(SHM_QP_RETRY_CNT, retry_cnt);
	COPY(SHM_QP_RNR_RETRY, rnr_retry);
	COPY(SHM_QP_RQ_PSN, rq_psn);
	COPY(SHM_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	COPY(SHM_QP_MIN_RNR_TIMER, min_rnr_timer);
	COPY(SHM_QP_SQ_PSN, sq_psn);
	COPY(SHM_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	COPY(SHM_QP_DEST_QPN, dest_qpn);
	COPY(SHM_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_notify);
	COPY(SHM_QP_RATE_LIMIT, rate_limit_kbps);
#undef COPY
}
