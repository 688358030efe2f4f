/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The private node that Debian's provider libraries (libmlx5, libefa) import, so that programs
 * linked with them start. Our devices are none of theirs, so nothing of this is ever needed: the
 * constructors register drivers into the void, everything else refuses.
 */
#include "shim.h"

#define REFUSE(name)                                                                               \
	SHIM_EXPORT int name(void);                                                                \
	SHIM_EXPORT int name(void)                                                                 \
	{                                                                                          \
		return ENOSYS;                                                                     \
	}
#define REFUSE_NULL(name)                                                                          \
	SHIM_EXPORT void *name(void);                                                              \
	SHIM_EXPORT void *name(void)                                                               \
	{                                                                                          \
		return shim_null(-ENOSYS);                                                         \
	}
#define IGNORE(name)                                                                               \
	SHIM_EXPORT void name(void);                                                               \
	SHIM_EXPORT void name(void)                                                                \
	{                                                                                          \
	}

SHIM_EXPORT extern bool verbs_allow_disassociate_destroy;
bool verbs_allow_disassociate_destroy;

IGNORE(verbs_register_driver_34)
IGNORE(__verbs_log)
IGNORE(verbs_init_cq)
IGNORE(verbs_set_ops)
IGNORE(verbs_uninit_context)
REFUSE_NULL(_verbs_init_and_alloc_context)
REFUSE_NULL(verbs_open_device)
REFUSE(__ioctl_final_num_attrs)
REFUSE(execute_ioctl)
REFUSE(ibv_read_ibdev_sysfs_file)

REFUSE(ibv_cmd_advise_mr)
REFUSE(ibv_cmd_alloc_dm)
REFUSE(ibv_cmd_alloc_mw)
REFUSE(ibv_cmd_alloc_pd)
REFUSE(ibv_cmd_attach_mcast)
REFUSE(ibv_cmd_close_xrcd)
REFUSE(ibv_cmd_create_ah)
REFUSE(ibv_cmd_create_counters)
REFUSE(ibv_cmd_create_cq)
REFUSE(ibv_cmd_create_cq_ex)
REFUSE(ibv_cmd_create_flow)
REFUSE(ibv_cmd_create_flow_action_esp)
REFUSE(ibv_cmd_create_qp)
REFUSE(ibv_cmd_create_qp_ex)
REFUSE(ibv_cmd_create_qp_ex2)
REFUSE(ibv_cmd_create_rwq_ind_table)
REFUSE(ibv_cmd_create_srq)
REFUSE(ibv_cmd_create_srq_ex)
REFUSE(ibv_cmd_create_wq)
REFUSE(ibv_cmd_dealloc_mw)
REFUSE(ibv_cmd_dealloc_pd)
REFUSE(ibv_cmd_dereg_mr)
REFUSE(ibv_cmd_destroy_ah)
REFUSE(ibv_cmd_destroy_counters)
REFUSE(ibv_cmd_destroy_cq)
REFUSE(ibv_cmd_destroy_flow)
REFUSE(ibv_cmd_destroy_flow_action)
REFUSE(ibv_cmd_destroy_qp)
REFUSE(ibv_cmd_destroy_rwq_ind_table)
REFUSE(ibv_cmd_destroy_srq)
REFUSE(ibv_cmd_destroy_wq)
REFUSE(ibv_cmd_detach_mcast)
REFUSE(ibv_cmd_free_dm)
REFUSE(ibv_cmd_get_context)
REFUSE(ibv_cmd_modify_cq)
REFUSE(ibv_cmd_modify_flow_action_esp)
REFUSE(ibv_cmd_modify_qp)
REFUSE(ibv_cmd_modify_qp_ex)
REFUSE(ibv_cmd_modify_srq)
REFUSE(ibv_cmd_modify_wq)
REFUSE(ibv_cmd_open_qp)
REFUSE(ibv_cmd_open_xrcd)
REFUSE(ibv_cmd_poll_cq)
REFUSE(ibv_cmd_post_recv)
REFUSE(ibv_cmd_post_send)
REFUSE(ibv_cmd_post_srq_recv)
REFUSE(ibv_cmd_query_context)
REFUSE(ibv_cmd_query_device_any)
REFUSE(ibv_cmd_query_mr)
REFUSE(ibv_cmd_query_port)
REFUSE(ibv_cmd_query_qp)
REFUSE(ibv_cmd_query_srq)
REFUSE(ibv_cmd_read_counters)
REFUSE(ibv_cmd_reg_dm_mr)
REFUSE(ibv_cmd_reg_dmabuf_mr)
REFUSE(ibv_cmd_reg_mr)
REFUSE(ibv_cmd_req_notify_cq)
REFUSE(ibv_cmd_rereg_mr)
REFUSE(ibv_cmd_resize_cq)
