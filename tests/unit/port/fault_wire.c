/* SPDX-License-Identifier: BSD-3-Clause */
#include "fault_wire.h"

#include <criterion/criterion.h>
#include <string.h>

#include "mem.h"

struct fault_wire
fault_wire_open(const struct fault_params *params, uint32_t depth_pkts)
{
	struct fault_wire w = {.nb_pkts = 8192};
	struct port *ends[2];

	w.pool = pkt_pool_mem_create(w.nb_pkts, 512);
	cr_assert_eq(port_mem_create_pair(depth_pkts, ends), 0);
	cr_assert_eq(port_fault_wrap(ends[0], params, w.pool, &w.node), 0);
	w.far = ends[1];
	return w;
}

void
fault_wire_close(struct fault_wire *w)
{
	w->node->ops->close(w->node);
	w->far->ops->close(w->far);
	cr_expect_eq(pkt_pool_mem_nb_free(w->pool), w->nb_pkts);
	pkt_pool_mem_destroy(w->pool);
}

void
fault_wire_send_bytes(struct fault_wire *w, struct port *from, const uint8_t *bytes, uint32_t len,
                      uint64_t now_ns)
{
	struct pkt *p;

	cr_assert_eq(w->pool->alloc(w->pool, &p, 1), 1);
	cr_assert_leq(len, p->room);
	p->len = len;
	memcpy(p->data, bytes, len);
	cr_assert_eq(from->ops->tx_burst(from, &p, 1, now_ns), 1);
}

void
fault_wire_send(struct fault_wire *w, struct port *from, uint32_t number, uint64_t now_ns)
{
	uint8_t bytes[FAULT_WIRE_LEN] = {0};

	memcpy(bytes, &number, sizeof(number));
	fault_wire_send_bytes(w, from, bytes, sizeof(bytes), now_ns);
}

uint32_t
fault_wire_receive(struct port *to, uint32_t *numbers, uint32_t max, uint64_t now_ns)
{
	struct pkt *pkts[64];
	uint32_t n = to->ops->rx_burst(to, pkts, max < 64 ? max : 64, now_ns);

	for (uint32_t i = 0; i < n; i++)
		memcpy(&numbers[i], pkts[i]->data, sizeof(numbers[i]));
	pkt_free(pkts, n);
	return n;
}

uint32_t
fault_wire_run(struct fault_wire *w, bool outwards, uint32_t total, uint32_t *numbers, uint32_t max)
{
	struct port *from = outwards ? w->node : w->far, *to = outwards ? w->far : w->node;
	uint32_t n = 0;

	for (uint32_t i = 0; i < total; i++) {
		fault_wire_send(w, from, i, i * UINT64_C(1000));
		n += fault_wire_receive(to, &numbers[n], max - n, i * UINT64_C(1000));
	}
	for (int i = 0; i < 10; i++) {
		uint64_t now_ns = UINT64_C(1000000000) + i;

		w->node->ops->tx_burst(w->node, NULL, 0, now_ns);
		n += fault_wire_receive(to, &numbers[n], max - n, now_ns);
	}
	return n;
}
