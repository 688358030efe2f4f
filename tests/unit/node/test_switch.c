/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "bind.h"
#include "engine.h"
#include "mem.h"
#include "switch_node.h"

Test(switch_node, is_driven_like_any_node)
{
	struct pkt_pool *pool = pkt_pool_mem_create(4, 64);
	struct switch_port_params ports[3];
	struct switch_conf conf;
	struct fabric_switch *sw;
	struct switch_node node;
	struct node *n = &node.node;
	struct pkt *p, *out[4];

	switch_conf_default(&conf);
	for (int i = 0; i < 3; i++)
		param_defaults(switch_port_descs, &ports[i]);
	conf.nb_ports = 3;
	conf.ports = ports;
	conf.lb = lb_find("ecmp", LB_SWITCH);
	sw = switch_create(&conf, pool);
	cr_assert_not_null(sw);
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
