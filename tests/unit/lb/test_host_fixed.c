/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "bind.h"

Test(lb_host_fixed, every_packet_has_the_port_that_the_host_chose)
{
	static const uint16_t ports[] = {0xc000, 0xffff, 0xd123};
	const struct lb_ops *ops = lb_find("fixed", LB_HOST);

	for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		_Alignas(ENGINE_STATE_ALIGN) uint8_t state[256];
		const struct engine_env env = {.base_sport = ports[i], .nb_hops = 4};
		const struct lb_hop hops[4] = {{.id = 0}, {.id = 1}, {.id = 2}, {.id = 3}};
		const struct lb_head *head = (void *)state;

		cr_assert_leq(ops->state_size(NULL, &env), sizeof(state));
		memset(state, 0xa5, sizeof(state));
		ops->init(state, NULL, &env);
		cr_expect_eq(head->deadline_ns, NEVER_NS);
		for (uint64_t psn = 0; psn < 10; psn++) {
			struct lb_pkt pkt = {.psn = psn, .retransmit = psn % 3 == 0};
			struct lb_choice choice = {.hop = 3};

			ops->select(state, &pkt, hops, 4, psn * 1000, &choice);
			cr_expect_eq(choice.udp_sport, ports[i]);
			cr_expect_eq(choice.hop, 0);
		}
	}
}
