/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "bind.h"

#define LINE_BPS UINT64_C(100000000000)

Test(cc_fixed, rate_and_window_come_from_the_parameters_and_stay)
{
	static const struct {
		const char *rate, *window;
		uint64_t rate_bps, window_bytes;
	} rows[] = {
		{NULL, NULL, LINE_BPS, CC_NO_WINDOW},
		{"0", "0", LINE_BPS, CC_NO_WINDOW},
		{"25G", NULL, 25000000000, CC_NO_WINDOW},
		{"100M", "64K", 100000000, 65536},
		{"400G", NULL, LINE_BPS, CC_NO_WINDOW}, /* the line is no faster than it is */
		{"1", "1", 1, 1},
	};
	const struct cc_ops *ops = cc_find("fixed");
	const struct engine_env env = {.line_rate_bps = LINE_BPS};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_Alignas(ENGINE_STATE_ALIGN) uint8_t state[256];
		_Alignas(uint64_t) uint8_t params[64];
		const struct cc_head *head = (void *)state;
		struct cc_nic nic = {.line_rate_bps = LINE_BPS};
		struct cc_ack ack = {.acked_bytes = 1000, .ecn_echo = true};
		char why[100];

		cr_assert_leq(ops->info.params_size, sizeof(params));
		param_defaults(ops->info.params, params);
		if (rows[i].rate)
			cr_assert_eq(param_set(ops->info.params, params, "rate", rows[i].rate, why,
			                       sizeof(why)),
			             0);
		if (rows[i].window)
			cr_assert_eq(param_set(ops->info.params, params, "window", rows[i].window,
			                       why, sizeof(why)),
			             0);
		cr_assert_leq(ops->state_size(params, &env), sizeof(state));
		memset(state, 0xa5, sizeof(state));
		ops->init(state, &nic, params, &env);
		for (int k = 0; k < 2; k++) {
			cr_expect_eq(head->rate_bps, rows[i].rate_bps, "row %zu", i);
			cr_expect_eq(head->window_bytes, rows[i].window_bytes, "row %zu", i);
			cr_expect_eq(head->deadline_ns, NEVER_NS);
			cr_expect_eq(head->ack_every_pkts, 0);
			ops->on_ack(state, &nic, &ack, 1000);
		}
	}
}
