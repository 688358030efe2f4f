/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

uint8_t pair_timeout = 14;

/* The first IPv4 entry of the GID table. */
static void
find_gid(struct end *end)
{
	for (end->gid_index = 0; end->gid_index < 16; end->gid_index++) {
		must(ibv_query_gid(end->context, 1, end->gid_index, &end->gid) == 0);
		if (end->gid.raw[10] == 0xff && end->gid.raw[11] == 0xff)
			return;
	}
	must(!"a GID of an IPv4 address");
}

void
end_new_qp(struct end *end, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.srq = end->srq,
		.cap = {PAIR_DEPTH, PAIR_DEPTH, 4, 4, 64},
		.qp_type = type,
	};

	if (end->qp)
		must(ibv_destroy_qp(end->qp) == 0);
	end->qp = ibv_create_qp(end->pd, &init);
	must(end->qp);
}

void
end_open(struct end *end, const char *device, enum ibv_qp_type type)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | VERBS_REMOTE_ALL | IBV_ACCESS_MW_BIND;

	end->context = verbs_open(device);
	must(end->context);
	find_gid(end);
	end->pd = ibv_alloc_pd(end->context);
	must(end->pd);
	end->channel = ibv_create_comp_channel(end->context);
	must(end->channel);
	end->cq = ibv_create_cq(end->context, 4 * PAIR_DEPTH, NULL, end->channel, 0);
	must(end->cq);
	/* Not aligned: a buffer has a head and a tail of its own kind. */
	end->buffer = malloc(PAIR_BYTES);
	must(end->buffer);
	memset(end->buffer, 0, PAIR_BYTES);
	end->mr = ibv_reg_mr(end->pd, end->buffer, PAIR_BYTES, access);
	must(end->mr);
	end_new_qp(end, type);
}

void
end_close(struct end *end)
{
	if (end->qp)
		must(ibv_destroy_qp(end->qp) == 0);
	if (end->srq)
		must(ibv_destroy_srq(end->srq) == 0);
	must(ibv_destroy_cq(end->cq) == 0);
	must(ibv_destroy_comp_channel(end->channel) == 0);
	must(ibv_dereg_mr(end->mr) == 0);
	free(end->buffer);
	must(ibv_dealloc_pd(end->pd) == 0);
	must(ibv_close_device(end->context) == 0);
}

void
pair_open(struct pair *pair, const char *dev_a, const char *dev_b, enum ibv_qp_type type)
{
	memset(pair, 0, sizeof(*pair));
	end_open(&pair->a, dev_a, type);
	end_open(&pair->b, dev_b, type);
	pair_connect(pair);
}

void
pair_close(struct pair *pair)
{
	end_close(&pair->a);
	end_close(&pair->b);
}

void
end_connect(struct end *end, const struct end *peer)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = VERBS_REMOTE_ALL,
		.qkey = 0x1234,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = peer->qp->qp_num & 0xfff,
		.sq_psn = end->qp->qp_num & 0xfff,
		.max_rd_atomic = 8,
		.max_dest_rd_atomic = 8,
		.min_rnr_timer = 12,
		.timeout = pair_timeout,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr =
			{
				.is_global = 1,
				.port_num = 1,
				.grh = {.dgid = peer->gid,
	                                .sgid_index = (uint8_t)end->gid_index,
	                                .hop_limit = 64},
			},
	};

	attr.qp_state = IBV_QPS_RESET;
	must(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE) == 0);
	verbs_to_rts(end->qp, attr);
}

void
pair_connect(struct pair *pair)
{
	end_connect(&pair->a, &pair->b);
	end_connect(&pair->b, &pair->a);
}

void
end_use_srq(struct end *end, uint32_t max_wr)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = max_wr, .max_sge = 1}};

	end->srq = ibv_create_srq(end->pd, &init);
	must(end->srq);
	end_new_qp(end, end->qp->qp_type);
}

void
end_send(struct end *end, struct ibv_send_wr wr, uint64_t offset, uint32_t bytes)
{
	struct ibv_sge sge = {(uintptr_t)end->buffer + offset, bytes, end->mr->lkey};
	struct ibv_send_wr *bad;
	int err;

	wr.sg_list = &sge;
	wr.num_sge = bytes > 0;
	do
		err = ibv_post_send(end->qp, &wr, &bad);
	while (err == ENOMEM);
	must(err == 0);
}

void
end_recv(struct end *end, uint64_t wr_id, uint64_t offset, uint32_t bytes)
{
	struct ibv_sge sge = {(uintptr_t)end->buffer + offset, bytes, end->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = bytes > 0}, *bad;

	if (end->srq)
		must(ibv_post_srq_recv(end->srq, &wr, &bad) == 0);
	else
		must(ibv_post_recv(end->qp, &wr, &bad) == 0);
}

struct ibv_wc
end_poll(struct end *end)
{
	time_t limit = time(NULL) + 10;
	struct ibv_wc wc;
	int nb;

	while ((nb = ibv_poll_cq(end->cq, 1, &wc)) == 0)
		must(time(NULL) < limit);
	must(nb == 1);
	return wc;
}

struct ibv_wc
end_poll_good(struct end *end)
{
	return verbs_good(end_poll(end));
}

bool
end_is_quiet(struct end *end)
{
	struct ibv_wc wc;

	for (int i = 0; i < 20; i++) {
		if (ibv_poll_cq(end->cq, 1, &wc))
			return false;
		usleep(1000);
	}
	return true;
}
