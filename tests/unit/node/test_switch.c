/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "engine.h"
#include "mem.h"
#include "switch_node.h"

Test(switch_node, is_driven_like_any_node)
{
	static const struct switch_params params = {
		.macs_max = 16, .mac_age_ns = 1000, .queue_pkts_max = 8, .queue_bytes_max = 10000};
	struct pkt_pool *pool = pkt_pool_mem_create(4, 64);
	struct fabric_switch *sw = switch_create(3, &params, pool);
	struct switch_node node;
	struct node *n = &node.node;
	struct pkt *p, *out[4];

	switch_node_init(&node, sw);
	cr_expect_eq(n->nb_ports, 3);
	cr_expect_eq(n->ops->next_ns(n), NEVER_NS);
	cr_assert_eq(pool->alloc(pool, &p, 1), 1);
	memset(p->data, 0xff, 60);
	p->len = 60;
	n->ops->receive(n, 1, &p, 1, 5);
	n->ops->tick(n, 5);
	cr_expect_eq(n->ops->next_ns(n), 0);
	cr_expect_eq(n->ops->send(n, 1, out, 4, 5), 0);
	cr_assert_eq(n->ops->send(n, 0, out, 4, 5), 1);
	cr_assert_eq(n->ops->send(n, 2, &out[1], 3, 5), 1);
	cr_expect_eq(n->ops->next_ns(n), NEVER_NS);
	pkt_free(out, 2);
	switch_destroy(sw);
	pkt_pool_mem_destroy(pool);
}
