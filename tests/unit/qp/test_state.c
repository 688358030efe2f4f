/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "pair.h"
#include "state.h"

/*
 * The oracle is written here a second time, from IBA vol. 1, ch. 10 and ibv_modify_qp(3), and not
 * taken from the code: what each change of state must and may name.
 */

enum { RC = SHM_QPT_RC, UC = SHM_QPT_UC, UD = SHM_QPT_UD };

struct rule {
	uint8_t type, from, to;
	uint32_t must, may;
};

#define S SHM_QP_STATE
#define RESET SHM_QPS_RESET
#define INIT SHM_QPS_INIT
#define RTR SHM_QPS_RTR
#define RTS SHM_QPS_RTS
#define SQD SHM_QPS_SQD
#define SQE SHM_QPS_SQE

static const struct rule rules[] = {
	{RC, RESET, INIT, S | 0x38, 0},
	{UC, RESET, INIT, S | 0x38, 0},
	{UD, RESET, INIT, S | 0x70, 0},
	{RC, INIT, INIT, 0, S | 0x38},
	{UC, INIT, INIT, 0, S | 0x38},
	{UD, INIT, INIT, 0, S | 0x70},
	{RC, INIT, RTR, 0x129181, 0x18},
	{UC, INIT, RTR, 0x101181, 0x18},
	{UD, INIT, RTR, S, 0x50},
	{RC, RTR, RTS, 0x12e01, SHM_QP_ACCESS_FLAGS | SHM_QP_MIN_RNR_TIMER | SHM_QP_RATE_LIMIT},
	{UC, RTR, RTS, 0x10001, SHM_QP_ACCESS_FLAGS | SHM_QP_RATE_LIMIT},
	{UD, RTR, RTS, 0x10001, SHM_QP_QKEY | SHM_QP_RATE_LIMIT},
	{RC, RTS, RTS, 0, S | SHM_QP_ACCESS_FLAGS | SHM_QP_MIN_RNR_TIMER | SHM_QP_RATE_LIMIT},
	{UC, RTS, RTS, 0, S | SHM_QP_ACCESS_FLAGS | SHM_QP_RATE_LIMIT},
	{UD, RTS, RTS, 0, S | SHM_QP_QKEY | SHM_QP_RATE_LIMIT},
	{RC, RTS, SQD, S, SHM_QP_EN_SQD_ASYNC_NOTIFY},
	{UC, RTS, SQD, S, SHM_QP_EN_SQD_ASYNC_NOTIFY},
	{UD, RTS, SQD, S, SHM_QP_EN_SQD_ASYNC_NOTIFY},
	{RC, SQD, SQD, 0,
         S | SHM_QP_AV | SHM_QP_TIMEOUT | SHM_QP_RETRY_CNT | SHM_QP_RNR_RETRY |
                 SHM_QP_MAX_QP_RD_ATOMIC | SHM_QP_MAX_DEST_RD_ATOMIC | SHM_QP_PKEY_INDEX |
                 SHM_QP_PORT | SHM_QP_ACCESS_FLAGS | SHM_QP_MIN_RNR_TIMER | SHM_QP_RATE_LIMIT},
	{UC, SQD, SQD, 0,
         S | SHM_QP_AV | SHM_QP_ACCESS_FLAGS | SHM_QP_PKEY_INDEX | SHM_QP_RATE_LIMIT},
	{UD, SQD, SQD, 0, S | SHM_QP_QKEY | SHM_QP_PKEY_INDEX},
	{RC, SQD, RTS, S, SHM_QP_ACCESS_FLAGS | SHM_QP_MIN_RNR_TIMER | SHM_QP_RATE_LIMIT},
	{UC, SQD, RTS, S, SHM_QP_ACCESS_FLAGS | SHM_QP_RATE_LIMIT},
	{UD, SQD, RTS, S, SHM_QP_QKEY | SHM_QP_RATE_LIMIT},
	{UC, SQE, RTS, S, SHM_QP_ACCESS_FLAGS | SHM_QP_RATE_LIMIT},
	{UD, SQE, RTS, S, SHM_QP_QKEY | SHM_QP_RATE_LIMIT},
};

/* All bits that ibv_modify_qp knows. */
static const uint32_t all_bits = 0x021fffff;

static const struct rule *
rule_of(uint8_t type, uint8_t from, uint8_t to)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].type == type && rules[i].from == from && rules[i].to == to)
			return &rules[i];
	return NULL;
}

static int
check(uint8_t type, uint8_t from, uint8_t to, uint32_t mask)
{
	struct shm_qp_attr attr = {.state = to, .cur_state = from, .port_num = 1, .path_mtu = 3};

	return state_check(type, from, &attr, mask, 5) ? -22 : 0;
}

Test(qp_state, each_change_takes_its_must_and_may_bits_and_no_others)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct rule *r = &rules[i];

		cr_expect_eq(check(r->type, r->from, r->to, r->must), 0, "row %zu", i);
		cr_expect_eq(check(r->type, r->from, r->to, r->must | r->may), 0, "row %zu", i);
		for (uint32_t bit = 1; bit < 1u << 26; bit <<= 1) {
			uint32_t mask = r->must ^ bit;
			bool ok = r->must & bit ? false : (r->may | SHM_QP_CUR_STATE) & bit;

			if (bit == S) /* without it the change is another one */
				continue;
			cr_expect_eq(check(r->type, r->from, r->to, mask) == 0, ok,
			             "row %zu, bit 0x%x", i, bit);
		}
	}
}

Test(qp_state, to_reset_and_to_error_one_gets_from_everywhere_with_nothing_else)
{
	static const uint8_t types[] = {RC, UC, UD};

	for (size_t t = 0; t < 3; t++)
		for (uint8_t from = 0; from < SHM_QPS_NB; from++)
			for (uint8_t to = 0; to <= SHM_QPS_ERR; to += SHM_QPS_ERR) {
				cr_expect_eq(check(types[t], from, to, S), 0);
				cr_expect_eq(check(types[t], from, to, S | SHM_QP_CUR_STATE), 0);
				for (uint32_t bit = 4; bit < 1u << 26; bit <<= 1)
					cr_expect_eq(check(types[t], from, to, S | bit), -22,
					             "%u to %u with 0x%x", from, to, bit);
			}
}

Test(qp_state, no_other_change_is_legal_with_any_mask)
{
	static const uint8_t types[] = {RC, UC, UD};

	for (size_t t = 0; t < 3; t++)
		for (uint8_t from = 0; from < SHM_QPS_NB; from++)
			for (unsigned to = 0; to < 256; to++) {
				bool end = to == RESET || to == SHM_QPS_ERR;

				if (end || rule_of(types[t], from, (uint8_t)to))
					continue;
				cr_expect_eq(check(types[t], from, (uint8_t)to, S), -22,
				             "type %u, %u to %u", types[t], from, to);
				cr_expect_eq(check(types[t], from, (uint8_t)to, all_bits), -22);
				for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
					cr_expect_eq(check(types[t], from, (uint8_t)to,
					                   S | rules[i].must | rules[i].may),
					             -22, "type %u, %u to %u", types[t], from, to);
			}
}

Test(qp_state, the_current_state_must_be_named_right)
{
	struct shm_qp_attr attr = {.state = RTS, .cur_state = SQD};

	cr_expect_null(state_check(RC, SQD, &attr, S | SHM_QP_CUR_STATE, 5));
	attr.cur_state = RTS;
	cr_expect_not_null(state_check(RC, SQD, &attr, S | SHM_QP_CUR_STATE, 5));
}

/* What a value may be: the last right and the first wrong one. */
#define ROW(b, f, good, bad)                                                                       \
	{                                                                                          \
		b, offsetof(struct shm_qp_attr, f), sizeof(((struct shm_qp_attr *)0)->f), good,    \
			bad                                                                        \
	}
static const struct {
	uint32_t bit;
	size_t off, size;
	uint32_t good, bad;
} ranges[] = {
	ROW(SHM_QP_PORT, port_num, 1, 0),
	ROW(SHM_QP_PORT, port_num, 1, 2),
	ROW(SHM_QP_PKEY_INDEX, pkey_index, 0, 1),
	ROW(SHM_QP_ACCESS_FLAGS, access, 15, 16),
	ROW(SHM_QP_ACCESS_FLAGS, access, 0, 32),
	ROW(SHM_QP_PATH_MTU, path_mtu, 1, 0),
	ROW(SHM_QP_PATH_MTU, path_mtu, 5, 6),
	ROW(SHM_QP_DEST_QPN, dest_qpn, 0xffffff, 0x1000000),
	ROW(SHM_QP_RQ_PSN, rq_psn, 0xffffff, 0x1000000),
	ROW(SHM_QP_SQ_PSN, sq_psn, 0xffffff, 0x1000000),
	ROW(SHM_QP_TIMEOUT, timeout, 31, 32),
	ROW(SHM_QP_RETRY_CNT, retry_cnt, 7, 8),
	ROW(SHM_QP_RNR_RETRY, rnr_retry, 7, 8),
	ROW(SHM_QP_MIN_RNR_TIMER, min_rnr_timer, 31, 32),
	ROW(SHM_QP_MAX_QP_RD_ATOMIC, max_rd_atomic, 16, 17),
	ROW(SHM_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic, 16, 17),
};

Test(qp_state, each_value_has_its_range_and_counts_only_if_named)
{
	static const struct {
		uint8_t from, to;
		uint32_t mask;
	} steps[] = {{RESET, INIT, 0x39}, {INIT, RTR, 0x129181}, {RTR, RTS, 0x1ae01}};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		for (size_t k = 0; k < 3; k++) {
			struct shm_qp_attr attr = {.port_num = 1, .path_mtu = 3};
			bool named = steps[k].mask & ranges[i].bit;

			attr.state = steps[k].to;
			memcpy((char *)&attr + ranges[i].off, &ranges[i].good, ranges[i].size);
			cr_expect_null(state_check(RC, steps[k].from, &attr, steps[k].mask, 5),
			               "row %zu, good", i);
			memcpy((char *)&attr + ranges[i].off, &ranges[i].bad, ranges[i].size);
			cr_expect_eq(!state_check(RC, steps[k].from, &attr, steps[k].mask, 5),
			             !named, "row %zu, bad, step %zu", i, k);
		}
}

Test(qp_state, a_path_mtu_above_the_links_is_refused)
{
	struct shm_qp_attr attr = {.state = RTR, .path_mtu = 4};

	cr_expect_not_null(state_check(RC, INIT, &attr, 0x129181, 3));
	attr.path_mtu = 3;
	cr_expect_null(state_check(RC, INIT, &attr, 0x129181, 3));
}

Test(qp_state, access_ignores_the_optional_flags)
{
	struct shm_qp_attr attr = {.state = INIT, .port_num = 1, .access = 15 | 1u << 20};

	cr_expect_null(state_check(RC, RESET, &attr, 0x39, 5));
}
