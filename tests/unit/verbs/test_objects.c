/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "verbs_world.h"

Test(objects, a_device_shows_itself_and_nothing_behind_itself)
{
	struct ibv_device_attr_ex attr;
	struct ibv_port_attr port;
	struct ibv_device **list;
	int nb;

	world_start(NULL, IBV_QPT_RC);
	list = ibv_get_device_list(&nb);
	cr_assert_eq(nb, 1);
	cr_expect_null(list[1]);
	cr_expect_str_eq(ibv_get_device_name(list[0]), FAKE_DEVICE);
	cr_expect_eq(ibv_get_device_guid(list[0]), htobe64(0x1122334455667788));
	cr_expect_eq(list[0]->node_type, IBV_NODE_CA);
	cr_expect_eq(list[0]->transport_type, IBV_TRANSPORT_IB);
	/* Tools of other vendors read a pointer there. */
	for (size_t i = 0; i < 512; i++)
		cr_assert_eq(((char *)(list[0] + 1))[i], 0);
	ibv_free_device_list(list);

	cr_assert_eq(ibv_query_device_ex(world_context, NULL, &attr), 0);
	cr_expect_eq(attr.orig_attr.max_qp, 100, "the daemon's, which is less than a client's");
	cr_expect_eq(attr.orig_attr.max_qp_wr, WEFT_MAX_WR);
	cr_expect_eq(attr.orig_attr.max_sge, WEFT_MAX_SGE);
	cr_expect_neq(attr.orig_attr.vendor_id, 0);
	cr_expect_neq(attr.orig_attr.vendor_id, 0x2c9);
	cr_expect_eq(attr.phys_port_cnt_ex, attr.orig_attr.phys_port_cnt);
	cr_expect_eq(attr.odp_caps.general_caps, 0);

	cr_assert_eq(ibv_query_port(world_context, 1, &port), 0);
	cr_expect_eq(port.state, IBV_PORT_ACTIVE);
	cr_expect_eq(port.link_layer, IBV_LINK_LAYER_ETHERNET);
	cr_expect_eq(port.gid_tbl_len, 4);
	cr_expect(port.active_width == 2 && port.active_speed == 32, "100 Gb/s is 4X EDR");
	cr_expect_eq(ibv_query_port(world_context, 2, &port), EINVAL);
	cr_expect_eq(ibv_query_port(world_context, 0, &port), EINVAL);
	world_stop();
}

Test(objects, structures_of_other_ages_are_not_overrun)
{
	struct ibv_device_attr_ex attr;
	struct ibv_port_attr port;
	const size_t old = offsetof(struct ibv_device_attr_ex, tm_caps);

	world_start(NULL, IBV_QPT_RC);
	memset(&attr, 0x55, sizeof(attr));
	cr_assert_eq(shim_query_device_ex(world_context, NULL, &attr, old), 0);
	for (size_t i = old; i < sizeof(attr); i++)
		cr_assert_eq(((char *)&attr)[i], 0x55, "byte %zu", i);
	memset(&port, 0x55, sizeof(port));
	cr_assert_eq((ibv_query_port)(world_context, 1, (struct _compat_ibv_port_attr *)&port), 0);
	cr_expect_eq(port.port_cap_flags2, 0x5555);
	cr_expect_eq(port.state, IBV_PORT_ACTIVE);
	world_stop();
}

Test(objects, an_empty_gid_is_zeros_to_one_call_and_no_data_to_the_other)
{
	struct ibv_gid_entry entry, table[8];
	union ibv_gid gid;
	__be16 pkey;

	world_start(NULL, IBV_QPT_RC);
	cr_expect_eq(ibv_query_gid(world_context, 1, FAKE_GID_INDEX, &gid), 0);
	cr_expect_eq(gid.raw[10], 0xff);
	cr_expect_eq(ibv_query_gid(world_context, 1, 0, &gid), 0);
	cr_expect_eq(gid.global.interface_id, 0);
	cr_expect_eq(ibv_query_gid(world_context, 1, 4, &gid), -1);
	cr_expect_eq(ibv_query_gid(world_context, 1, -1, &gid), -1);
	cr_expect_eq(ibv_query_gid(world_context, 2, 0, &gid), -1);
	cr_expect_eq(ibv_query_gid_ex(world_context, 1, 0, &entry, 0), ENODATA);
	cr_expect_eq(ibv_query_gid_ex(world_context, 1, 4, &entry, 0), EINVAL);
	cr_expect_eq(ibv_query_gid_ex(world_context, 1, FAKE_GID_INDEX, &entry, 0), 0);
	cr_expect(entry.gid_type == IBV_GID_TYPE_ROCE_V2 && entry.gid_index == FAKE_GID_INDEX &&
	          entry.port_num == 1 && entry.ndev_ifindex == FAKE_IFINDEX);
	cr_expect_eq(ibv_query_gid_ex(world_context, 1, FAKE_GID_INDEX, &entry, 1), EOPNOTSUPP);
	cr_expect_eq(ibv_query_gid_table(world_context, table, 8, 0), 1);
	cr_expect_eq(table[0].gid_index, FAKE_GID_INDEX);
	cr_expect_eq(ibv_query_pkey(world_context, 1, 0, &pkey), 0);
	cr_expect_eq(pkey, 0xffff);
	cr_expect_eq(ibv_query_pkey(world_context, 1, 1, &pkey), -1);
	cr_expect_eq(ibv_get_pkey_index(world_context, 1, 0xffff), 0);
	cr_expect_eq(ibv_get_pkey_index(world_context, 1, 0x7fff), -1);
	world_stop();
}

Test(objects, attributes_reach_the_daemon_and_come_back)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_2048,
		.rq_psn = 0x123456,
		.sq_psn = 0x654321,
		.dest_qp_num = 0xabc,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_RELAXED_ORDERING,
		.ah_attr = {.is_global = 1,
	                    .port_num = 1,
	                    .grh = {.sgid_index = 1, .hop_limit = 5, .flow_label = 0xfffff}},
		.max_rd_atomic = 3,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.port_num = 1,
		.timeout = 14,
		.retry_cnt = 6,
		.rnr_retry = 7,
		.rate_limit = 9,
		.qkey = 0x11111111,
	};
	const int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr got;

	world_start(NULL, IBV_QPT_RC);
	attr.ah_attr.grh.dgid.raw[15] = 7;
	cr_assert_eq(ibv_modify_qp(world_qp, &attr, mask), 0);
	cr_expect_eq(world_qp->state, IBV_QPS_RTR);
	cr_expect_eq(world_view()->mask, (unsigned)mask);
	cr_expect_eq(world_view()->attr.access, IBV_ACCESS_REMOTE_READ);
	cr_expect_eq(world_view()->attr.rate_limit_kbps, 9);
	cr_assert_eq(ibv_query_qp(world_qp, &got, 0, &init), 0);
	cr_expect(got.qp_state == IBV_QPS_RTR && got.path_mtu == IBV_MTU_2048 &&
	          got.rq_psn == 0x123456 && got.sq_psn == 0x654321 && got.dest_qp_num == 0xabc &&
	          got.max_rd_atomic == 3 && got.max_dest_rd_atomic == 4 &&
	          got.min_rnr_timer == 12 && got.timeout == 14 && got.retry_cnt == 6 &&
	          got.rnr_retry == 7 && got.qkey == 0x11111111);
	cr_expect(got.ah_attr.is_global == 1 && got.ah_attr.grh.sgid_index == 1 &&
	          got.ah_attr.grh.dgid.raw[15] == 7 && got.ah_attr.grh.flow_label == 0xfffff);
	cr_expect(init.cap.max_send_wr == 4 && init.cap.max_inline_data == 64 &&
	          init.send_cq == world_cq && init.qp_type == IBV_QPT_RC);

	attr.ah_attr.is_global = 0;
	cr_expect_eq(ibv_modify_qp(world_qp, &attr, mask), EINVAL, "RoCE has only global routes");
	attr.ah_attr.is_global = 1;
	attr.path_mtu = (enum ibv_mtu)257;
	cr_expect_eq(ibv_modify_qp(world_qp, &attr, mask), EINVAL, "not taken for 1");
	attr.path_mtu = IBV_MTU_256;
	attr.qp_state = (enum ibv_qp_state)(256 + IBV_QPS_RTS);
	cr_expect_eq(ibv_modify_qp(world_qp, &attr, mask), EINVAL, "not taken for RTS");
	world_stop();
}

/** A receive whose first 40 bytes are these, from a completion with a GRH. */
static int
answer_to(const void *grh, struct ibv_ah_attr *attr)
{
	struct ibv_wc wc = {.wc_flags = IBV_WC_GRH, .sl = 2};

	return ibv_init_ah_from_wc(world_context, 1, &wc, (struct ibv_grh *)grh, attr);
}

Test(objects, the_way_back_is_read_from_the_header_of_a_message)
{
	/* Hand-made: 10.77.0.9 to 10.77.0.1 (the fake's GID 1), ToS 0x28, checksum by hand. */
	uint8_t v4[40] = {0x60,        [20] = 0x45, 0x28, 0,  0x40, 0, 0,  0x40, 0, 64, 17,
	                  [30] = 0x25, 0x79,        10,   77, 0,    9, 10, 77,   0, 1};
	uint8_t v6[40] = {0x62, 0x8a,     0xbc,        0xde, 0,  20, 0x1b, 64, 0xfe,
	                  0x80, [23] = 9, [34] = 0xff, 0xff, 10, 77, 0,    1};
	struct ibv_wc plain = {.wc_flags = 0};
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;
	uint32_t sum = 0;

	for (int i = 20; i < 40; i += 2)
		sum += (uint32_t)(i == 30 ? 0 : v4[i] << 8 | v4[i + 1]);
	sum = ~((sum & 0xffff) + (sum >> 16));
	v4[30] = (uint8_t)(sum >> 8);
	v4[31] = (uint8_t)sum;

	world_start(NULL, IBV_QPT_RC);
	cr_assert_eq(answer_to(v4, &attr), 0);
	cr_expect(attr.is_global == 1 && attr.port_num == 1 && attr.grh.sgid_index == 1 &&
	          attr.grh.traffic_class == 0x28 && attr.grh.dgid.raw[10] == 0xff &&
	          attr.grh.dgid.raw[15] == 9);
	cr_expect_eq(memcmp(attr.grh.dgid.raw + 12, v4 + 32, 4), 0);

	cr_assert_eq(answer_to(v6, &attr), 0);
	cr_expect(attr.grh.flow_label == 0xabcde && attr.grh.traffic_class == 0x28 &&
	          attr.grh.sgid_index == 1);
	cr_expect_eq(memcmp(attr.grh.dgid.raw, v6 + 8, 16), 0);

	v4[39] = 2;
	cr_expect_neq(answer_to(v4, &attr), 0, "the checksum is wrong and it is no IPv6 to us");
	cr_expect_eq(ibv_init_ah_from_wc(world_context, 1, &plain, NULL, &attr), 0);
	cr_expect_eq(attr.is_global, 0);
	cr_expect_null(ibv_create_ah(world_pd, &attr), "no address without a GRH");
	v4[39] = 1;
	plain.wc_flags = IBV_WC_GRH;
	ah = ibv_create_ah_from_wc(world_pd, &plain, (struct ibv_grh *)v4, 1);
	cr_assert_not_null(ah);
	cr_expect_eq(((struct shim_ah *)ah)->av.dgid[15], 9);
	cr_expect_eq(ibv_destroy_ah(ah), 0);
	world_stop();
}

Test(objects, shared_receive_queues_grant_refuse_and_tell)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 10, .max_sge = 3}};
	struct ibv_srq_attr attr = {.srq_limit = 4};
	struct ibv_recv_wr wr = {.num_sge = 4}, *bad;
	struct ibv_sge sges[4] = {{0}};
	struct ibv_srq *srq;

	world_start(NULL, IBV_QPT_RC);
	srq = ibv_create_srq(world_pd, &init);
	cr_assert_not_null(srq);
	cr_expect_eq(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	cr_expect_eq(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EOPNOTSUPP);
	cr_expect_eq(ibv_modify_srq(srq, &attr, 4), EINVAL);
	cr_expect_eq(ibv_query_srq(srq, &attr), 0);
	cr_expect(attr.max_wr == 10 && attr.max_sge == 3 && attr.srq_limit == 7);
	wr.sg_list = sges;
	cr_expect_eq(ibv_post_srq_recv(srq, &wr, &bad), EINVAL);
	cr_expect_eq(bad, &wr);
	wr.num_sge = 3;
	for (int i = 0; i < 10; i++)
		cr_expect_eq(ibv_post_srq_recv(srq, &wr, &bad), 0);
	cr_expect_eq(ibv_post_srq_recv(srq, &wr, &bad), ENOMEM);
	cr_expect_eq(ibv_destroy_srq(srq), 0);
	init.attr.max_wr = WEFT_MAX_WR + 1;
	cr_expect_null(ibv_create_srq(world_pd, &init));
	world_stop();
}

Test(objects, posting_to_a_shared_receive_queue_rings_for_nobody)
{
	const struct fake_conf idle = {.idle = true};
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4}};
	struct ibv_recv_wr wr = {0}, *bad;
	struct shm_wq *ring;
	struct ibv_srq *srq;

	world_start(&idle, IBV_QPT_RC);
	srq = ibv_create_srq(world_pd, &init);
	cr_assert_not_null(srq);
	ring = to_srq(srq)->weft.rq.shm;
	atomic_store(&ring->need_bell, 1);
	cr_expect_eq(ibv_post_srq_recv(srq, &wr, &bad), 0);
	cr_expect_eq(atomic_load(&ring->ring.tail), 1);
	cr_expect_eq(atomic_load(&to_weft(world_context)->bell->summary[0]), 0);
	cr_expect_eq(ibv_destroy_srq(srq), 0);
	world_stop();
}

Test(objects, a_qp_that_asks_for_too_much_is_refused)
{
	static const struct {
		struct ibv_qp_cap cap;
		enum ibv_qp_type type;
		int want;
	} rows[] = {
		{{WEFT_MAX_WR + 1, 1, 1, 1, 0}, IBV_QPT_RC, EINVAL},
		{{1, WEFT_MAX_WR + 1, 1, 1, 0}, IBV_QPT_RC, EINVAL},
		{{1, 1, WEFT_MAX_SGE + 1, 1, 0}, IBV_QPT_RC, EINVAL},
		{{1, 1, 1, WEFT_MAX_SGE + 1, 0}, IBV_QPT_RC, EINVAL},
		{{1, 1, 1, 1, WEFT_MAX_INLINE + 1}, IBV_QPT_RC, EINVAL},
		{{1, 1, 1, 1, 0}, IBV_QPT_RAW_PACKET, EOPNOTSUPP},
		{{1, 1, 1, 1, 0}, IBV_QPT_XRC_SEND, EOPNOTSUPP},
	};

	world_start(NULL, IBV_QPT_RC);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ibv_qp_init_attr init = {.send_cq = world_cq,
		                                .recv_cq = world_cq,
		                                .cap = rows[i].cap,
		                                .qp_type = rows[i].type};

		errno = 0;
		cr_expect_null(ibv_create_qp(world_pd, &init), "row %zu", i);
		cr_expect_eq(errno, rows[i].want, "row %zu", i);
	}
	world_stop();
}

Test(objects, words_and_rates_are_as_ever)
{
	cr_expect_str_eq(ibv_wc_status_str(IBV_WC_RETRY_EXC_ERR),
	                 "transport retry counter exceeded");
	cr_expect_str_eq(ibv_wc_status_str((enum ibv_wc_status)99), "unknown");
	cr_expect_str_eq(ibv_node_type_str(IBV_NODE_UNKNOWN), "unknown");
	cr_expect_str_eq(ibv_port_state_str(IBV_PORT_ACTIVE), "active");
	cr_expect_str_eq(ibv_event_type_str(IBV_EVENT_DEVICE_FATAL), "local catastrophic error");
	cr_expect_eq(ibv_rate_to_mult(IBV_RATE_40_GBPS), 16);
	cr_expect_eq(mult_to_ibv_rate(16), IBV_RATE_40_GBPS);
	cr_expect_eq(ibv_rate_to_mbps(IBV_RATE_100_GBPS), 103125);
	cr_expect_eq(mbps_to_ibv_rate(103125), IBV_RATE_100_GBPS);
	cr_expect_eq(ibv_rate_to_mbps((enum ibv_rate)99), -1);
	cr_expect_eq(mult_to_ibv_rate(0), IBV_RATE_MAX);
}
