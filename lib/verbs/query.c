/* SPDX-License-Identifier: BSD-3-Clause */
#include <endian.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "advice.h"
#include "shim.h"

static_assert(SHM_PORT_DOWN == (int)IBV_PORT_DOWN && SHM_PORT_ACTIVE == (int)IBV_PORT_ACTIVE &&
                      SHM_MTU_256 == (int)IBV_MTU_256 && SHM_MTU_4096 == (int)IBV_MTU_4096,
              "the ABI has verbs' values");

/** The smaller of two limits, as verbs' signed type. */
static int
at_most(uint32_t a, uint32_t b)
{
	uint32_t least = a < b ? a : b;

	return least > INT_MAX ? INT_MAX : (int)least;
}

static void
fill_device(const struct weft *weft, struct ibv_device_attr *attr)
{
	const struct ctl_opened *info = &weft->info;

	*attr = (struct ibv_device_attr){
		.node_guid = htobe64(info->guid),
		.sys_image_guid = htobe64(info->guid),
		.max_mr_size = info->max_mr_size,
		.page_size_cap = 0xfffff000,
		.vendor_id = SHIM_VENDOR_ID,
		.vendor_part_id = SHIM_VENDOR_PART_ID,
		.max_qp = at_most(info->max_qp, WEFT_MAX_QP),
		.max_qp_wr = WEFT_MAX_WR,
		.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT |
	                            IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN |
	                            IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR |
	                            IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
	                            IBV_DEVICE_MEM_MGT_EXTENSIONS,
		.max_sge = WEFT_MAX_SGE,
		.max_sge_rd = WEFT_MAX_SGE,
		.max_cq = at_most(info->max_cq, WEFT_MAX_CQ),
		.max_cqe = WEFT_MAX_CQE,
		.max_mr = at_most(info->max_mr, WEFT_MAX_MR),
		.max_pd = at_most(info->max_pd, WEFT_MAX_PD),
		.max_qp_rd_atom = WEFT_MAX_RD_ATOMIC,
		.max_res_rd_atom = WEFT_MAX_RD_ATOMIC * at_most(info->max_qp, WEFT_MAX_QP),
		.max_qp_init_rd_atom = WEFT_MAX_RD_ATOMIC,
		.atomic_cap = IBV_ATOMIC_HCA,
		.max_mw = at_most(info->max_mr, WEFT_MAX_MR),
		/* Address handles live in this library. */
		.max_ah = INT_MAX,
		.max_srq = at_most(info->max_srq, WEFT_MAX_SRQ),
		.max_srq_wr = WEFT_MAX_WR,
		.max_srq_sge = WEFT_MAX_SGE,
		.max_pkeys = 1,
		.phys_port_cnt = 1,
	};
	snprintf(attr->fw_ver, sizeof(attr->fw_ver), "%s", WEFT_VERSION);
}

SHIM_EXPORT int
ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	fill_device(to_weft(context), attr);
	return 0;
}

int
shim_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
                     struct ibv_device_attr_ex *attr, size_t size)
{
	struct ibv_device_attr_ex all = {
		.completion_timestamp_mask = UINT64_MAX,
		.hca_core_clock = 1000000, /* kHz: time stamps are nanoseconds */
		.phys_port_cnt_ex = 1,
	};

	if (input && input->comp_mask)
		return EINVAL;
	if (size < sizeof(attr->orig_attr))
		return EINVAL;
	fill_device(to_weft(context), &all.orig_attr);
	all.device_cap_flags_ex = all.orig_attr.device_cap_flags;
	/* A program of another age may know fewer fields, or more. */
	memset(attr, 0, size);
	memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

/** Codes of active_width and active_speed. Source: IBA vol. 1, PortInfo; as ibv_devinfo reads them.
 */
static void
encode_speed(uint32_t mbps, uint8_t *width, uint8_t *speed)
{
	static const struct {
		uint32_t mbps;
		uint8_t width, speed;
	} rows[] = {
		{1000, 1, 1},     /* 1X SDR stands for 1 Gb/s Ethernet */
		{10000, 1, 4},    /* 1X QDR */
		{20000, 2, 2},    /* 4X DDR */
		{25000, 1, 32},   /* 1X EDR */
		{40000, 2, 4},    /* 4X QDR */
		{50000, 16, 32},  /* 2X EDR */
		{100000, 2, 32},  /* 4X EDR */
		{200000, 2, 64},  /* 4X HDR */
		{400000, 2, 128}, /* 4X NDR */
	};
	size_t best = 0;

	for (size_t i = 1; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].mbps <= mbps)
			best = i;
	}
	*width = rows[best].width;
	*speed = rows[best].speed;
}

int
shim_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t size)
{
	struct weft *weft = to_weft(context);
	union ctl_msg msg;
	int err;

	if (port != 1)
		return shim_errno(-EINVAL);
	err = ctl_call(weft, CTL_QUERY_PORT, &msg, sizeof(msg.hdr), sizeof(msg.port), NULL, 0);
	if (err)
		return shim_errno(err);

	struct ibv_port_attr all = {
		.state = msg.port.state,
		.max_mtu = msg.port.max_mtu,
		.active_mtu = msg.port.active_mtu,
		.gid_tbl_len = weft->info.nb_gids,
		.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS,
		.max_msg_sz = WEFT_MAX_MSG,
		.bad_pkey_cntr = (uint32_t)msg.port.nb_pkey_violations,
		.qkey_viol_cntr = (uint32_t)msg.port.nb_qkey_violations,
		.pkey_tbl_len = 1,
		.max_vl_num = 1,
		.phys_state = msg.port.state == IBV_PORT_ACTIVE ? 5 : 3, /* LinkUp, Disabled */
		.link_layer = IBV_LINK_LAYER_ETHERNET,
		.flags = IBV_QPF_GRH_REQUIRED,
	};
	encode_speed(msg.port.speed_mbps, &all.active_width, &all.active_speed);
	memset(attr, 0, size);
	memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

#undef ibv_query_port
/** For programs built before the port's attributes grew. */
SHIM_EXPORT int
ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	return context->ops._compat_query_port(context, port, attr);
}

/** @return 0, ENODATA for an empty entry, or another errno; ifindex may be NULL. */
static int
query_gid(struct ibv_context *context, uint32_t port, uint32_t index, union ibv_gid *gid,
          uint32_t *ifindex)
{
	struct weft *weft = to_weft(context);
	struct ctl_gid msg = {.index = index};
	int err;

	if (port == 1 && index >= weft->info.nb_gids)
		advice_gid(weft, index);
	if (port != 1 || index >= weft->info.nb_gids)
		return EINVAL;
	err = ctl_call(weft, CTL_QUERY_GID, &msg, sizeof(msg), sizeof(msg), NULL, 0);
	if (err)
		return -err;
	memcpy(gid->raw, msg.gid, sizeof(gid->raw));
	if (ifindex)
		*ifindex = msg.ifindex;
	return msg.valid ? 0 : ENODATA;
}

int
shim_find_gid(struct ibv_context *context, const union ibv_gid *gid)
{
	union ibv_gid entry;

	for (uint32_t i = 0; i < to_weft(context)->info.nb_gids; i++) {
		if (query_gid(context, 1, i, &entry, NULL) == 0 &&
		    memcmp(&entry, gid, sizeof(entry)) == 0)
			return (int)i;
	}
	return -ENOENT;
}

SHIM_EXPORT int
ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	int err = index < 0 ? EINVAL : query_gid(context, port, (uint32_t)index, gid, NULL);

	/* Unlike the extended call, this one shows an empty entry as zeros. */
	if (err == ENODATA) {
		memset(gid, 0, sizeof(*gid));
		return 0;
	}
	errno = err ? err : errno;
	return err ? -1 : 0;
}

SHIM_EXPORT int
_ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
                  struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	struct ibv_gid_entry all = {
		.gid_index = index, .port_num = port, .gid_type = IBV_GID_TYPE_ROCE_V2};
	int err = flags ? EOPNOTSUPP : query_gid(context, port, index, &all.gid, &all.ndev_ifindex);

	if (err)
		return shim_errno(-err);
	memset(entry, 0, size);
	memcpy(entry, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

SHIM_EXPORT ssize_t
_ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max,
                     uint32_t flags, size_t size)
{
	size_t nb = 0;

	if (flags)
		return -EOPNOTSUPP;
	for (uint32_t i = 0; i < to_weft(context)->info.nb_gids && nb < max; i++) {
		struct ibv_gid_entry *entry = (void *)((char *)entries + nb * size);
		int err = _ibv_query_gid_ex(context, 1, i, entry, 0, size);

		if (err && err != ENODATA)
			return -err;
		nb += !err;
	}
	return (ssize_t)nb;
}

SHIM_EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned index,
                                   unsigned *type);
/** ibv_devinfo and pyverbs import it from the private node: 0 = RoCE v1 or unknown, 1 = v2. */
SHIM_EXPORT int
ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned index, unsigned *type)
{
	union ibv_gid gid;
	int err = query_gid(context, port, index, &gid, NULL);

	if (err && err != ENODATA) {
		errno = err;
		return -1;
	}
	*type = err ? 0 : 1;
	return 0;
}

SHIM_EXPORT int
ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	(void)context;
	if (port != 1 || index != 0) {
		errno = EINVAL;
		return -1;
	}
	*pkey = htobe16(SHIM_PKEY);
	return 0;
}

SHIM_EXPORT int
ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
	(void)context;
	if (port == 1 && pkey == htobe16(SHIM_PKEY))
		return 0;
	errno = EINVAL;
	return -1;
}
