/* SPDX-License-Identifier: BSD-3-Clause */
#include "open_rig.h"

#include <criterion/criterion.h>
#include <string.h>

struct world_conf
wishing(enum framing_wish a, enum framing_wish b)
{
	return (struct world_conf){.step_ns = STEP_NS, .framing = {a, b}};
}

void
pair_wish(struct pair *p, enum framing_wish a, enum framing_wish b)
{
	struct world_conf conf = wishing(a, b);

	pair_make(p, &conf, NULL);
}

void
to_rts(struct app_qp *a, const struct app_qp *peer)
{
	for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTS; state++) {
		struct shm_qp_attr attr = app_attr(a, peer);

		cr_assert_eq(app_to(a, &attr, state), 0);
	}
}

void
both_to_rts(struct app_qp *a, struct app_qp *b)
{
	to_rts(a, b);
	to_rts(b, a);
}

const char *
why_failed(const struct app_qp *a)
{
	static char text[256];
	struct shm_qp_attr attr;

	qp_query(a->qp, &attr, text, sizeof(text));
	return text;
}

void
post_empty_write(struct app_qp *a, uint64_t wr_id)
{
	struct shm_send_wqe wqe = {.wr_id = wr_id,
	                           .op = SHM_WR_WRITE,
	                           .flags = SHM_SEND_SIGNALED | SHM_SEND_INLINE,
	                           .inline_len = 0};

	app_post_inline(a, wqe, "", 0);
}

void
say(struct world *w, int to, const struct hello_msg *msg)
{
	struct wire_addr addr = {.dst = w->nic[to]->gids.entry[1].ip,
	                         .src = w->nic[!to]->gids.entry[1].ip,
	                         .ttl = 64};
	struct pkt *p;

	memcpy(addr.dmac, w->nic[to]->self.mac, 6);
	memcpy(addr.smac, w->nic[!to]->self.mac, 6);
	cr_assert_eq(w->pool->alloc(w->pool, &p, 1), 1);
	p->len = hello_frame(p->data, &addr, msg);
	stack_rx(w->nic[to], &p, 1, w->now_ns);
}
