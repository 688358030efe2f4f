/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <endian.h>
#include <netinet/ip.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

SHIM_EXPORT struct ibv_ah *
ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	static const union ibv_gid nowhere;
	struct shim_ah *ah;
	struct shm_av av;

	if (attr->port_num != 1 || shim_av(attr, &av) ||
	    av.sgid_index >= to_weft(pd->context)->info.nb_gids ||
	    memcmp(&attr->grh.dgid, &nowhere, sizeof(nowhere)) == 0)
		return shim_null(-EINVAL);
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	ah->ah.context = pd->context;
	ah->ah.pd = pd;
	ah->av = av;
	__atomic_add_fetch(&((struct shim_pd *)pd)->nb_ahs, 1, __ATOMIC_ACQ_REL);
	return &ah->ah;
}

SHIM_EXPORT int
ibv_destroy_ah(struct ibv_ah *ah)
{
	__atomic_sub_fetch(&((struct shim_pd *)ah->pd)->nb_ahs, 1, __ATOMIC_ACQ_REL);
	free(ah);
	return 0;
}

/** Source: RFC 1071; 0 for a header with a right checksum. */
static uint16_t
ip_checksum(const uint8_t *header)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < sizeof(struct iphdr); i += 2)
		sum += (uint32_t)header[i] << 8 | header[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void
map_v4(uint32_t addr_be, union ibv_gid *gid)
{
	memset(gid->raw, 0, 10);
	memset(gid->raw + 10, 0xff, 2);
	memcpy(gid->raw + 12, &addr_be, sizeof(addr_be));
}

/** What the 40 bytes in front of a UD message say about where it came from. */
static int
read_header(const struct ibv_grh *grh, struct ibv_global_route *back, union ibv_gid *own)
{
	const uint8_t *bytes = (const uint8_t *)grh;
	uint32_t first = be32toh(grh->version_tclass_flow);
	struct iphdr ip;

	/* IPv4 lies in the last 20 bytes, whatever the others hold. Source: IBA vol. 1, A17.4.5.1.
	 */
	memcpy(&ip, bytes + 20, sizeof(ip));
	if (ip.version == 4 && ip.ihl == 5 && ip_checksum(bytes + 20) == 0) {
		map_v4(ip.saddr, &back->dgid);
		map_v4(ip.daddr, own);
		back->traffic_class = ip.tos;
		back->flow_label = 0;
		return 0;
	}
	if (first >> 28 != 6)
		return -EPROTONOSUPPORT;
	back->dgid = grh->sgid;
	*own = grh->dgid;
	back->traffic_class = (uint8_t)(first >> 20);
	back->flow_label = first & IB_GRH_FLOWLABEL_MASK;
	return 0;
}

SHIM_EXPORT int
ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
                    struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	union ibv_gid own;
	int idx;

	memset(attr, 0, sizeof(*attr));
	attr->dlid = wc->slid;
	attr->sl = wc->sl;
	attr->src_path_bits = wc->dlid_path_bits;
	attr->port_num = port;
	if (!(wc->wc_flags & IBV_WC_GRH))
		return 0;
	attr->is_global = 1;
	idx = read_header(grh, &attr->grh, &own);
	if (!idx)
		idx = shim_find_gid(context, &own);
	if (idx < 0) {
		errno = -idx;
		return -1;
	}
	attr->grh.sgid_index = (uint8_t)idx;
	attr->grh.hop_limit = 0xff;
	return 0;
}

SHIM_EXPORT struct ibv_ah *
ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port)
{
	struct ibv_ah_attr attr;

	if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr))
		return NULL;
	return ibv_create_ah(pd, &attr);
}

/** The daemon knows neighbours; applications never need their MAC. */
SHIM_EXPORT int
ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
                            uint8_t mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	(void)context;
	(void)attr;
	(void)mac;
	(void)vid;
	return shim_errno(-EOPNOTSUPP);
}
